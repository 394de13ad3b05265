//! Bundled trace: a shell runs three commands on a machine with one CPU.
//!
//! The words of a hook follow `docs/hooks.md`, and the built-in format file prints them.

use crate::{EventWriter, Header, Rng, Stamp, StartProcess, TimeBase, TraceHook, Width};

/// A 512 MHz time base: 125 ns are 64 ticks.
const TIME_BASE: TimeBase = TimeBase { multiplier: 1000, divisor: 512 };
const START_TICKS: u64 = 0x0000_4A31_7C80_0000;
const BUFFER_BYTES: usize = 8192;
const CPU: u16 = 0;

/// Interrupt kinds of hook 100.
const DATA_PAGE_FAULT: u64 = 2;
const IO_INTERRUPT: u64 = 4;
const DECREMENTER: u64 = 8;

const ENOENT: u32 = 2;

/// Trace buffers of a recording: the initial conditions (headers, time base, process table), then complete events. The
/// seed varies times and addresses.
pub fn shell_buffers(width: Width, seed: u64) -> impl Iterator<Item = Vec<u8>> {
    let mut system = System::new(width, seed);
    let initial = system.header();
    system.session();
    std::iter::once(initial).chain(system.finish())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ShellThread {
    pid: u64,
    tid: u64,
    priority: u64,
}

const IDLE: ShellThread = ShellThread { pid: 516, tid: 517, priority: 127 };
const TRACE: ShellThread = ShellThread { pid: 6160, tid: 9747, priority: 60 };
const KSH: ShellThread = ShellThread { pid: 4522, tid: 8191, priority: 60 };
const LS: ShellThread = ShellThread { pid: 6418, tid: 10011, priority: 61 };
const SORT: ShellThread = ShellThread { pid: 6420, tid: 10015, priority: 61 };
const SORT_MERGE: ShellThread = ShellThread { pid: 6420, tid: 10017, priority: 62 };
const CAT: ShellThread = ShellThread { pid: 6422, tid: 10021, priority: 61 };

/// The traced machine: its clock, the running thread, and the buffers.
struct System {
    width: Width,
    rng: Rng,
    time_ns: u64,
    running: ShellThread,
    writer: EventWriter,
    full: Vec<Vec<u8>>,
    next_buf: u64,
}

impl System {
    fn new(width: Width, seed: u64) -> Self {
        System {
            width,
            rng: Rng::new(seed),
            time_ns: 0,
            running: TRACE,
            writer: EventWriter::new(width),
            full: Vec::new(),
            next_buf: 0xF100_0A00_1000_2000,
        }
    }

    fn header(&mut self) -> Vec<u8> {
        let header = Header {
            start: 941_117_645, // Thu Oct 28 13:34:05 1999
            utsname: ["AIX", "lantern", "2", "7", "00C0FFEE4C00"],
            command: "trace -a -o shell.trc",
            time_base: TIME_BASE,
            ip_address: [192, 0, 2, 17],
            cpus: 1,
            processes: &[
                StartProcess { pid: 1, tid: 259, path: "/etc/init" },
                StartProcess { pid: IDLE.pid, tid: IDLE.tid, path: "wait" },
                StartProcess { pid: KSH.pid, tid: KSH.tid, path: "/usr/bin/ksh" },
                StartProcess { pid: TRACE.pid, tid: TRACE.tid, path: "/usr/bin/trace" },
            ],
        };
        header.write(TRACE.tid, START_TICKS, self.width, &mut self.writer);
        self.writer.take()
    }

    fn finish(mut self) -> Vec<Vec<u8>> {
        self.full.push(self.writer.take());
        self.full
    }

    fn pass(&mut self, low_ns: u32, high_ns: u32) {
        self.time_ns += u64::from(self.rng.range(low_ns, high_ns));
    }

    /// Traces a hook in the running thread, shortly after the last one.
    fn trace(&mut self, hook: TraceHook) {
        self.pass(180, 900);
        let ticks = START_TICKS + self.time_ns * TIME_BASE.divisor / TIME_BASE.multiplier;
        let mut event = EventWriter::new(self.width);
        event.put(&hook.width(self.width), &Stamp::at(self.running.tid, ticks));
        if self.writer.events().len() + event.events().len() > BUFFER_BYTES {
            self.full.push(self.writer.take());
        }
        self.writer.raw(event.events());
    }

    fn address(&mut self, base: u64) -> u64 {
        base + u64::from(self.rng.below(0x4000)) * 4
    }
}

/// Actions of the kernel, with their hooks.
impl System {
    fn dispatch(&mut self, thread: ShellThread) {
        let old = self.running;
        let id = if thread == IDLE { 0x10C0 } else { 0x1060 };
        self.running = thread;
        self.trace(TraceHook::words(id, CPU, &[thread.pid, thread.tid, thread.priority, old.tid, old.priority]));
    }

    fn interrupt(&mut self, kind: u64) -> u64 {
        let iar = self.address(if self.running == IDLE { 0x0002_3C00 } else { 0x1000_0A40 });
        self.trace(TraceHook::words(0x1000, CPU, &[kind, iar]));
        iar
    }

    fn resume(&mut self, iar: u64) {
        self.trace(TraceHook::words(0x2000, CPU, &[iar]));
    }

    fn page_fault(&mut self) {
        let iar = self.interrupt(DATA_PAGE_FAULT);
        self.pass(2_000, 9_000);
        self.resume(iar);
    }

    fn clock_tick(&mut self) {
        let iar = self.interrupt(DECREMENTER);
        self.trace(TraceHook::words(0x1020, CPU, &[0x0005_2A80, 11]));
        self.pass(3_000, 8_000);
        self.trace(TraceHook::words(0x1030, CPU, &[]));
        self.resume(iar);
    }

    fn enter(&mut self, call: &str) {
        let caller = self.address(0xD011_0000);
        self.trace(TraceHook::generic(0x1010, 0, caller, call.as_bytes()));
        self.pass(700, 5_000);
    }

    fn leave(&mut self, call: &str, result: i64, errno: u32) {
        let bytes = [&errno.to_be_bytes()[..], call.as_bytes()].concat();
        self.trace(TraceHook::generic(0x1040, 0, result as u64, &bytes));
        self.pass(500, 4_000);
    }

    fn call(&mut self, call: &str, result: i64) {
        self.enter(call);
        self.leave(call, result, 0);
    }

    /// Starts a transfer, idles until the disk interrupts, and resumes the thread that waited.
    fn disk(&mut self, subhook: u16, block: u64, len: u64) {
        let (waiter, buf) = (self.running, self.next_buf);
        self.next_buf += 0x180;
        self.trace(TraceHook::words(0x1050, subhook, &[buf, 0x000A_0007, block, len]));
        self.dispatch(IDLE);
        for _ in 0..self.rng.below(2) {
            self.pass(900_000, 1_600_000);
            self.clock_tick();
        }
        self.pass(1_200_000, 4_800_000);
        self.interrupt(IO_INTERRUPT);
        self.trace(TraceHook::words(0x1020, CPU, &[0x0141_7D20, 3]));
        self.pass(2_000, 7_000);
        self.trace(TraceHook::words(0x1050, 3, &[buf, 0]));
        self.trace(TraceHook::words(0x1030, CPU, &[]));
        self.dispatch(waiter);
    }

    fn read_blocks(&mut self, block: u64) {
        self.disk(1, block, 4096);
    }

    fn write_blocks(&mut self, block: u64, len: u64) {
        self.disk(2, block, len);
    }

    fn fork(&mut self, child: ShellThread) {
        self.enter("kfork");
        self.pass(60_000, 110_000);
        self.trace(TraceHook::words(0x1390, CPU, &[child.pid, child.tid]));
        self.leave("kfork", child.pid as i64, 0);
    }

    fn exec(&mut self, path: &str) {
        self.enter("execve");
        self.page_fault();
        self.trace(TraceHook::generic(0x1340, 0, self.running.pid, path.as_bytes()));
        self.leave("execve", 0, 0);
        self.page_fault();
        for _ in 0..2 {
            self.call("__loadx", 0);
            self.page_fault();
        }
        self.call("sbrk", 0x2000_1A30);
        self.call("sigaction", 0);
    }

    fn exit(&mut self, code: u64) {
        self.enter("_exit");
        self.trace(TraceHook::words(0x1350, CPU, &[self.running.pid, code << 8]));
    }

    fn create_thread(&mut self, thread: ShellThread) {
        self.enter("thread_create");
        self.trace(TraceHook::words(0x4650, CPU, &[thread.pid, thread.tid, thread.priority, 0]));
        self.leave("thread_create", thread.tid as i64, 0);
    }
}

/// Events during the trace.
impl System {
    fn session(&mut self) {
        self.trace(TraceHook::words(0x0010, 0, &[0]));
        self.call("kwrite", 1);
        self.dispatch(KSH);
        self.command(12, LS, Self::list_directory);
        self.command(17, SORT, Self::sort_file);
        self.command(18, CAT, Self::show_files);
        self.dispatch(TRACE);
        self.trace(TraceHook::words(0x0020, 0, &[0]));
    }

    /// The shell reads a line, forks, and waits for the child, which runs `work`.
    fn command(&mut self, line_bytes: i64, child: ShellThread, work: fn(&mut Self)) {
        self.enter("kread");
        self.dispatch(IDLE);
        self.pass(1_500_000, 4_000_000);
        self.clock_tick();
        self.dispatch(KSH);
        self.leave("kread", line_bytes, 0);
        self.call("sigprocmask", 0);
        self.fork(child);
        self.enter("kwaitpid");
        self.dispatch(child);
        work(self);
        self.dispatch(KSH);
        self.leave("kwaitpid", child.pid as i64, 0);
        self.call("sigprocmask", 0);
        self.call("kwrite", 2);
    }

    fn list_directory(&mut self) {
        self.exec("/usr/bin/ls");
        self.call("kioctl", 0);
        self.enter("kopen");
        self.leave("kopen", 3, 0);
        self.enter("getdirent");
        self.read_blocks(0x0001_8A40);
        self.leave("getdirent", 168, 0);
        for _ in 0..14 {
            self.call("statx", 0);
        }
        self.call("getdirent", 0);
        self.call("close", 0);
        self.page_fault();
        self.call("kwrite", 412);
        self.exit(0);
    }

    fn sort_file(&mut self) {
        self.exec("/usr/bin/sort");
        self.call("kopen", 3);
        self.create_thread(SORT_MERGE);
        for block in [0x0004_0100, 0x0004_0108, 0x0004_0110, 0x0004_0118] {
            self.enter("kread");
            self.read_blocks(block);
            self.leave("kread", 4096, 0);
            self.pass(80_000, 300_000);
            self.page_fault();
        }
        self.call("kread", 0);
        self.call("thread_post", 0);
        self.dispatch(SORT_MERGE);
        self.pass(200_000, 700_000);
        self.clock_tick();
        self.call("thread_tsleep", 0);
        self.dispatch(SORT);
        self.call("kopen", 4);
        self.enter("kwrite");
        self.write_blocks(0x0005_2220, 12_288);
        self.leave("kwrite", 12_288, 0);
        self.call("close", 0);
        self.exit(0);
    }

    fn show_files(&mut self) {
        self.exec("/usr/bin/cat");
        self.enter("kopen");
        self.leave("kopen", -1, ENOENT);
        self.call("kwrite", 31);
        self.call("kopen", 3);
        self.enter("kread");
        self.read_blocks(0x0006_0040);
        self.leave("kread", 1873, 0);
        self.call("kwrite", 1873);
        self.call("kread", 0);
        self.call("close", 0);
        self.exit(2);
    }
}
