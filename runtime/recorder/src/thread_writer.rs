//! Writes events into the buffers of a thread.
//!
//! A thread has one writer per channel: the buffer that it owns in the channel's session. While the session lasts and
//! the buffer has room, recording an event takes a few stores to memory that no other thread writes to. A signal
//! handler that interrupts a hook uses writers of its own, up to [`DEPTH`] levels.
//!
//! Nothing here allocates, blocks on a lock, or panics.

#![expect(unsafe_code, reason = "events are written to shared memory by address")]

use crate::buffer_pool::{BufferHeader, BufferPool, EVENT_HEAD, EventWord, flag, state};
use crate::clock::ClockSource;
use crate::control::{self, ALL_CHANNELS};
use crate::sys;
use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, compiler_fence};

/// Maximum number of nested events of one thread: signal handlers within hooks within signal handlers.
const DEPTH: usize = 3;
/// Maximum number of sessions mapped by a process: one per channel, and older ones that some thread still uses.
const MAX_MAPPED: usize = 64;

struct ThreadWriter {
    /// Number of the writer's session, 0 for none.
    session: Cell<u64>,
    /// Index of the session's memory in [`TABLE`].
    mapped: Cell<usize>,
    /// Header of the thread's own buffer, or null; then `room` is 0.
    head: Cell<*const BufferHeader>,
    data: Cell<*mut u8>,
    used: Cell<usize>,
    room: Cell<usize>,
    pool: Cell<Option<BufferPool>>,
    /// Index of the process in the session's table.
    process: Cell<u32>,
    flags: Cell<u32>,
}

struct ThreadState {
    depth: Cell<usize>,
    tid: Cell<u32>,
    writers: [[ThreadWriter; ALL_CHANNELS]; DEPTH],
}

impl ThreadWriter {
    /// A writer without a session.
    const fn new() -> Self {
        ThreadWriter {
            session: Cell::new(0),
            mapped: Cell::new(0),
            head: Cell::new(std::ptr::null()),
            data: Cell::new(std::ptr::null_mut()),
            used: Cell::new(0),
            room: Cell::new(0),
            pool: Cell::new(None),
            process: Cell::new(0),
            flags: Cell::new(0),
        }
    }
}

thread_local! {
    static THREAD: ThreadState = const {
        ThreadState { depth: Cell::new(0), tid: Cell::new(0), writers: [const { [const { ThreadWriter::new() }; ALL_CHANNELS] }; DEPTH] }
    };
}

/// Memory of one session in this process.
struct MappedSession {
    channel: Cell<usize>,
    session: Cell<u64>,
    pool: Cell<Option<BufferPool>>,
    process: Cell<u32>,
    writers: Cell<usize>,
}

/// Memory of all sessions in this process, modified by one thread at a time.
struct SessionTable {
    busy: AtomicBool,
    sessions: UnsafeCell<[MappedSession; MAX_MAPPED]>,
}

// SAFETY: `sessions` is only accessed in `Table::with`, by one thread at a time.
unsafe impl Sync for SessionTable {}

static TABLE: SessionTable = SessionTable {
    busy: AtomicBool::new(false),
    sessions: UnsafeCell::new(
        [const {
            MappedSession {
                channel: Cell::new(0),
                session: Cell::new(0),
                pool: Cell::new(None),
                process: Cell::new(0),
                writers: Cell::new(0),
            }
        }; MAX_MAPPED],
    ),
};

impl SessionTable {
    /// Runs `work` with exclusive access to the table. Signals are blocked: a handler could record an event and wait
    /// for the thread that it interrupted. Other threads finish within microseconds.
    fn with<T>(&self, work: impl FnOnce(&[MappedSession; MAX_MAPPED]) -> Option<T>) -> Option<T> {
        const TRIES: usize = 100_000;
        let _blocked = sys::BlockedSignals::new();
        let mut tries = TRIES;
        while self.busy.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            tries -= 1;
            if tries == 0 {
                return None;
            }
            if tries > TRIES - 100 { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        // SAFETY: `busy` was false, and every other thread waits until it is false again.
        let result = work(unsafe { &*self.sessions.get() });
        self.busy.store(false, Ordering::Release);
        result
    }
}

/// Records an event. `kind` has no CPU yet. `fill` writes the data: `len` bytes, padded to a multiple of 8.
#[inline(always)]
pub(crate) fn put(channel: usize, id: u16, len: usize, kind: EventWord, fill: impl FnOnce(*mut u64)) {
    let len = EVENT_HEAD + len.next_multiple_of(8);
    // SAFETY: the thread's writers live as long as the thread, and consist of cells, so no mutable reference exists.
    let thread = unsafe { &*THREAD.with(std::ptr::from_ref) };
    if thread.depth.get() == 0 {
        // A signal handler that interrupts from here on sees the higher depth and does not use this writer.
        thread.depth.set(1);
        compiler_fence(Ordering::SeqCst);
        // One comparison each for session, flags and room. Whatever needs more is done on the slow path, once per
        // buffer.
        let is_ready = |writer: &&ThreadWriter| {
            writer.session.get() == control::session_of(channel) && writer.is_plain() && len <= writer.room.get()
        };
        if let Some(writer) = thread.writers[0].get(channel).filter(is_ready) {
            writer.write(len, kind, ClockSource::Cycles, fill);
            compiler_fence(Ordering::SeqCst);
            thread.depth.set(0);
            return;
        }
        thread.depth.set(0);
    }
    put_slowly(thread, channel, id, len, kind, fill);
}

/// Slow path of [`put`]: enters sessions, takes buffers, and handles nested events.
#[cold]
#[inline(never)]
fn put_slowly(thread: &ThreadState, channel: usize, id: u16, len: usize, kind: EventWord, fill: impl FnOnce(*mut u64)) {
    if thread.with_writer(channel, |writer| writer.put(thread, channel, id, len, kind, fill)).is_none() {
        count_missed(channel, id);
    }
}

/// Counts an event that could not be recorded because the thread has no writer.
fn count_missed(channel: usize, id: u16) {
    // Keeps `errno`, because a hook may run between a system call and the program's check of `errno`.
    let kept = sys::errno();
    TABLE.with(|table| {
        let mapped = &table[use_session(table, channel, control::session_of(channel))?];
        let pool = mapped.pool.get().filter(|pool| pool.records(id));
        pool.map(|pool| pool.header().missed.fetch_add(1, Ordering::Relaxed));
        release(mapped);
        Some(())
    });
    sys::set_errno(kept);
}

/// True if a channel's session records events of an id.
pub(crate) fn records(channel: usize, id: u16) -> bool {
    THREAD.with(|thread| {
        let records = |writer: &ThreadWriter| writer.enter(thread, channel) && writer.records(id);
        thread.with_writer(channel, records).unwrap_or(false)
    })
}

/// Counts an event whose data was cut.
pub(crate) fn count_cut(channel: usize) {
    THREAD.with(|thread| {
        if let Some(pool) = thread.writers.iter().find_map(|writers| writers[channel].pool.get()) {
            pool.header().cut.fetch_add(1, Ordering::Relaxed);
        }
    });
}

impl ThreadState {
    /// Runs `work` with the writer for the current depth, which is higher by one meanwhile. Returns `None` at
    /// [`DEPTH`].
    #[inline(always)]
    fn with_writer<T>(&self, channel: usize, work: impl FnOnce(&ThreadWriter) -> T) -> Option<T> {
        let depth = self.depth.get();
        let writer = self.writers.get(depth)?.get(channel)?;
        self.depth.set(depth + 1);
        compiler_fence(Ordering::SeqCst);
        let result = work(writer);
        compiler_fence(Ordering::SeqCst);
        self.depth.set(depth);
        Some(result)
    }
}

impl ThreadWriter {
    fn put(
        &self,
        thread: &ThreadState,
        channel: usize,
        id: u16,
        len: usize,
        kind: EventWord,
        fill: impl FnOnce(*mut u64),
    ) {
        if !self.enter(thread, channel) {
            return;
        }
        let flags = self.flags.get();
        // The filter is in shared memory, so that one load per event decides.
        if flags & flag::FILTERED != 0 && !self.records(id) {
            return;
        }
        if len > self.room.get() && !self.take_buffer(thread, channel) {
            return;
        }
        let cpu = if flags & flag::CPU != 0 { u64::from(sys::cpu() & 0xFFF) << 4 } else { 0 };
        self.write(len, EventWord(kind.0 | cpu), flag::source(flags), fill);
    }

    /// Writes an event into the buffer, which has room for it.
    #[inline(always)]
    fn write(&self, len: usize, kind: EventWord, source: ClockSource, fill: impl FnOnce(*mut u64)) {
        let used = self.used.get();
        // SAFETY: `take_buffer` set `head` and `data` to a buffer of a mapping that lives as long as the writer uses
        // it, and that this writer owns. The callers checked `room`, which is 0 before that.
        unsafe {
            let committed = &(*self.head.get()).committed;
            let at = self.data.get().add(used).cast::<u64>();
            // Marks an event as being written: the merger must wait for it, since it may be older than events that
            // others record meanwhile.
            committed.store(used as u32 | 1, Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
            at.write(source.now());
            at.add(1).write(kind.0);
            fill(at.add(2));
            committed.store((used + len) as u32, Ordering::Release);
        }
        self.used.set(used + len);
        self.room.set(self.room.get() - len);
    }

    /// True if an event only needs room: all ids are recorded, CPUs are not, and the clock is the cycle counter.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.flags.get() & (flag::FILTERED | flag::CPU | flag::CYCLES) == flag::CYCLES
    }

    fn records(&self, id: u16) -> bool {
        self.pool.get().is_some_and(|pool| pool.records(id))
    }

    /// Makes sure that the writer is in the channel's current session, if there is one.
    fn enter(&self, thread: &ThreadState, channel: usize) -> bool {
        let session = self.session.get();
        (session == control::session_of(channel) && session != 0) || self.attach(thread, channel)
    }

    /// Leaves the old session and enters the current one.
    #[cold]
    #[inline(never)]
    fn attach(&self, thread: &ThreadState, channel: usize) -> bool {
        let kept = sys::errno();
        self.leave();
        let session = control::session_of(channel);
        let entered = session != 0
            && TABLE
                .with(|table| {
                    let mapped = use_session(table, channel, session)?;
                    self.mapped.set(mapped);
                    self.pool.set(table[mapped].pool.get());
                    self.process.set(table[mapped].process.get());
                    self.flags.set(self.pool.get()?.header().flags.load(Ordering::Relaxed));
                    self.session.set(session);
                    Some(())
                })
                .is_some();
        // The first event of a thread registers its end.
        if thread.tid.get() == 0 {
            thread.tid.set(sys::tid());
            leave_at_exit();
        }
        sys::set_errno(kept);
        entered
    }

    /// Takes a buffer of the session to replace a full one.
    #[cold]
    #[inline(never)]
    fn take_buffer(&self, thread: &ThreadState, channel: usize) -> bool {
        let kept = sys::errno();
        self.give_buffer();
        let Some(pool) = self.pool.get() else { return false };
        let taken = take(&pool, self.flags.get() & flag::CIRCULAR != 0);
        if let Some(i) = taken {
            let head = &pool.heads()[i];
            head.pid.store(sys::pid(), Ordering::Relaxed);
            head.tid.store(thread.tid.get(), Ordering::Relaxed);
            head.process.store(self.process.get(), Ordering::Relaxed);
            head.order.store(pool.header().order.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
            head.state.store(state::OWNED, Ordering::Release);
            self.head.set(head);
            self.data.set(pool.buffer(i));
            // Faults of the pages would otherwise come one by one, in the middle of events.
            sys::make_ready(pool.buffer(i), pool.buffer_size(), sys::Ready::Mapped);
            self.used.set(0);
            self.room.set(pool.buffer_size());
        } else {
            let missed = pool.header().missed.fetch_add(1, Ordering::Relaxed);
            let owner = pool.header().owner.load(Ordering::Relaxed);
            // A killed session never empties its buffers, so its hooks are switched off.
            if missed % 1024 == 0 && owner != 0 && !sys::is_alive(owner, owner) {
                control::set_on(channel, false);
            }
        }
        sys::set_errno(kept);
        taken.is_some()
    }

    /// Releases the writer's buffer, so that its events are read.
    fn give_buffer(&self) {
        let head = self.head.replace(std::ptr::null());
        self.room.set(0);
        // SAFETY: a buffer header is null, or points into the mapping that the writer uses.
        let Some(head) = (unsafe { head.as_ref() }) else { return };
        // If the exchange fails, the buffer was taken away because its owner seemed dead.
        let _ = head.state.compare_exchange(state::OWNED, state::FULL, Ordering::Release, Ordering::Relaxed);
        // Waking the session for every buffer would cost the thread more than its events.
        if let Some(pool) = self.pool.get()
            && pool.header().order.load(Ordering::Relaxed) % 8 == 0
        {
            wake_session(&pool.header().wake_up);
        }
    }

    /// Releases the writer's buffer and its use of the session's memory.
    fn leave(&self) {
        if self.session.get() == 0 {
            return;
        }
        self.give_buffer();
        self.session.set(0);
        self.pool.set(None);
        // If the table cannot be locked, the memory stays mapped until the process ends.
        TABLE.with(|table| {
            release(&table[self.mapped.get()]);
            Some(())
        });
    }
}

/// Wakes the session's process.
pub(crate) fn wake_session(wake_up: &AtomicU32) {
    wake_up.fetch_add(1, Ordering::Release);
    sys::wake(wake_up);
}

/// Finds or maps a session's memory for one more writer.
fn use_session(table: &[MappedSession; MAX_MAPPED], channel: usize, session: u64) -> Option<usize> {
    let is_it = |mapped: &MappedSession| {
        mapped.pool.get().is_some() && mapped.channel.get() == channel && mapped.session.get() == session
    };
    if let Some(i) = table.iter().position(is_it) {
        table[i].writers.set(table[i].writers.get() + 1);
        return Some(i);
    }
    let i = table.iter().position(|mapped| mapped.pool.get().is_none())?;
    // The path is built on the stack, because a hook may run inside of the allocator.
    let mut path = [0; 512];
    let (file, len) = sys::Opened::own(control::session_path(channel, session, &mut path)?)?;
    let pool = BufferPool::open(file.fd(), len)?;
    let mut path = [0; 240];
    let len = sys::read_link(c"/proc/self/exe", &mut path);
    let mapped = &table[i];
    mapped.process.set(pool.enter_process(sys::pid(), sys::parent(), &path[..len]));
    mapped.channel.set(channel);
    mapped.session.set(session);
    mapped.writers.set(1);
    mapped.pool.set(Some(pool));
    Some(i)
}

fn release(mapped: &MappedSession) {
    let writers = mapped.writers.get().saturating_sub(1);
    mapped.writers.set(writers);
    if writers == 0
        && let Some(pool) = mapped.pool.take()
    {
        // SAFETY: no writer uses this mapping any more, and only writers keep copies of it.
        unsafe { pool.unmap() };
    }
}

/// Takes a free buffer, or with `oldest` the oldest full one.
fn take(pool: &BufferPool, oldest: bool) -> Option<usize> {
    let heads = pool.heads();
    let change = |head: &BufferHeader, from| {
        head.state.compare_exchange(from, state::CHANGING, Ordering::Acquire, Ordering::Relaxed).is_ok()
    };
    // Buffers are freed roughly in the order in which they were taken.
    let start = pool.header().order.load(Ordering::Relaxed) as usize % heads.len().max(1);
    let free = (start..heads.len()).chain(0..start).find(|i| change(&heads[*i], state::FREE));
    if free.is_some() || !oldest {
        return free;
    }
    loop {
        let full = heads.iter().enumerate().filter(|(_, head)| head.state.load(Ordering::Relaxed) == state::FULL);
        let (i, head) = full.min_by_key(|(_, head)| head.order.load(Ordering::Relaxed))?;
        if change(head, state::FULL) {
            drop_oldest(pool, i);
            head.committed.store(0, Ordering::Relaxed);
            return Some(i);
        }
    }
}

/// Counts the events of a buffer that is overwritten, and notes the time of the last one.
fn drop_oldest(pool: &BufferPool, i: usize) {
    let end = (pool.heads()[i].committed.load(Ordering::Relaxed) as usize).min(pool.buffer_size());
    let (mut at, mut n, mut last) = (0, 0, 0);
    while at + EVENT_HEAD <= end {
        // SAFETY: the header of an event at a multiple of 8 lies within the buffer.
        let (ticks, kind) = unsafe {
            let event = pool.buffer(i).add(at).cast::<u64>();
            (event.read(), EventWord(event.add(1).read()))
        };
        last = ticks.max(last);
        n += 1;
        at += kind.event_len();
    }
    pool.header().missed.fetch_add(n, Ordering::Relaxed);
    pool.header().dropped_until.fetch_max(last, Ordering::Relaxed);
}

static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// Makes the process traceable; before this call its hooks are off. With the feature `at-start` it runs when the
/// program or library is loaded.
pub fn prepare() {
    static DONE: AtomicBool = AtomicBool::new(false);
    let kept = sys::errno();
    if !DONE.swap(true, Ordering::AcqRel) {
        watch_threads();
    }
    // A process that cannot map the page runs untraced; the commands report the reason.
    let _ = control::map();
    sys::set_errno(kept);
}

#[cfg(feature = "at-start")]
extern "C" fn prepare_at_start() {
    prepare();
}

#[cfg(feature = "at-start")]
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = prepare_at_start;

/// Prepares the process: threads leave their sessions when they end, and children of `fork` start without writers.
fn watch_threads() {
    let mut key = 0;
    // SAFETY: `key` is valid for writes, and the destructor exists as long as the program.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(at_exit)) } == 0 {
        KEY.store(key, Ordering::Release);
    }
    sys::at_fork_in_child(in_child);
}

/// Registers the thread, so that it leaves its sessions when it ends.
fn leave_at_exit() {
    let key = KEY.load(Ordering::Acquire);
    if key != u32::MAX {
        // SAFETY: the key was created, and the value is never used as a pointer. The C library stores the first 32 keys
        // without allocation.
        unsafe { libc::pthread_setspecific(key, std::ptr::dangling::<u8>().cast()) };
    }
}

extern "C" fn at_exit(_: *mut libc::c_void) {
    let _ = THREAD.try_with(|thread| {
        // A signal handler that enters a session meanwhile causes another call of this function.
        thread.tid.set(0);
        thread.depth.set(1);
        thread.writers.iter().flatten().for_each(ThreadWriter::leave);
        thread.depth.set(0);
    });
}

/// Resets the writers in the child of a fork: it has its parent's memory, but the buffers still belong to the parent.
extern "C" fn in_child() {
    let was_recording = THREAD
        .try_with(|thread| {
            for writer in thread.writers.iter().flatten() {
                writer.session.set(0);
                writer.head.set(std::ptr::null());
                writer.room.set(0);
                writer.pool.set(None);
            }
            // The child's thread has another id than the parent's.
            thread.tid.set(0);
            thread.depth.replace(0) != 0
        })
        .unwrap_or(true);
    TABLE.busy.store(false, Ordering::Release);
    TABLE.with(|table| {
        for mapped in table {
            mapped.writers.set(0);
            // A signal handler that interrupted a hook and forked returns to that hook, which still needs its memory.
            if let Some(pool) = mapped.pool.take()
                && !was_recording
            {
                // SAFETY: the writers that used it were just cleared, or belong to threads that do not exist in this
                // process.
                unsafe { pool.unmap() };
            }
        }
        Some(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Output, TraceOptions};
    use crate::session::{self, Task};
    use std::process::Command;

    static N_SIGNALS: AtomicU32 = AtomicU32::new(0);

    extern "C" fn on_signal(_: libc::c_int) {
        N_SIGNALS.fetch_add(1, Ordering::Relaxed);
    }

    #[test]
    fn signals_wait_for_a_thread_at_the_table() {
        let n = || N_SIGNALS.load(Ordering::Relaxed);
        // SAFETY: the handler only counts, and no other test sends the signal.
        let raise = || unsafe {
            libc::signal(libc::SIGUSR2, on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t);
            libc::raise(libc::SIGUSR2)
        };
        let seen = TABLE.with(|_| {
            assert_eq!(raise(), 0);
            Some(n())
        });
        assert_eq!((seen, n()), (Some(0), 1));
        raise();
        assert_eq!(n(), 2, "afterwards they come at once");
    }

    /// Runs a test in a separate process with its own shared memory; `None` in the process that started it.
    fn in_own_process(test: &str) -> Option<std::ffi::OsString> {
        if let Some(folder) = std::env::var_os("TFBC_TEST_APART") {
            crate::hooks::prepare();
            return Some(folder);
        }
        let folder = std::env::temp_dir().join(format!("tfbc-{test}.{}", sys::pid()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &format!("thread_writer::tests::{test}")]).env("TFBC_TEST_APART", &folder);
        let output = command.env("TFBC_TRACE_DIR", folder.join("memory")).output().unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        None
    }

    #[test]
    fn too_deeply_nested_hooks_are_counted_as_missed() {
        let Some(folder) = in_own_process("too_deeply_nested_hooks_are_counted_as_missed") else { return };
        fn nested(levels: usize, last_id: u16) {
            // Simulates a signal handler that interrupts the hook while it writes its event.
            let id = if levels == 1 { last_id } else { 0x0100 };
            put(0, id, 8, EventWord::new(EventWord::STAMPED, u32::from(id) << 16, 8), |at| {
                // SAFETY: the event has room for a word.
                unsafe { at.write(levels as u64) };
                if levels > 1 {
                    nested(levels - 1, last_id);
                }
            });
        }
        let log = std::path::Path::new(&folder).join("log");
        let hooks = crate::options::Hooks::Only(vec![0x0100]);
        session::start(&Task::Aix(TraceOptions {
            output: Output::File(log),
            background: true,
            hooks,
            ..TraceOptions::default()
        }))
        .unwrap();
        let missed = || session::sessions().unwrap()[0].missed;
        // Hook 020 is not recorded.
        for (levels, last_id, expected) in [(DEPTH, 0x0100, 0), (DEPTH + 1, 0x0200, 0), (DEPTH + 1, 0x0100, 1)] {
            nested(levels, last_id);
            assert_eq!(missed(), expected, "{levels} levels, the last of hook {last_id:x}");
        }
        session::stop(0, false).unwrap();
    }
}
