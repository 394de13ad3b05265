//! The built-in format file prints every hook as `docs/hooks.md` says.

use tfbc_benches::{TraceHook, Width};
use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Source, Sources};
use tfbc_vm::{Context, Event, Job, Layout, Machine, ProcessNames, Program, TextBuf, Timers};

const FORMAT_FILE: &str = include_str!("../../runtime/formats/default.trcfmt");
const HOOKS: &str = include_str!("../../docs/hooks.md");

fn blob() -> Vec<u8> {
    let mut sources = Sources::new();
    sources.add(Source::new("default.trcfmt", FORMAT_FILE));
    let compiled = compile(&sources, &Options::default());
    assert!(compiled.diagnostics.is_empty(), "{:?}", compiled.diagnostics);
    compiled.blob.unwrap()
}

/// Lines of hooks that thread 8191 traces in intervals of 1500 ns.
fn lines(hooks: &[TraceHook]) -> String {
    let blob = blob();
    let program = Program::open(&blob).unwrap();
    let (mut machine, mut timers, mut out) = (Machine::default(), Timers::new(), TextBuf::new());
    let processes = ProcessNames::from([(4522, b"/usr/bin/ksh".to_vec())]);
    let context = Context { tid: 8191, processes: &processes, ..Context::EMPTY };
    for (hook, time_ns) in hooks.iter().zip((0..).step_by(1500)) {
        let bytes = hook.template_bytes(true);
        let event = Event { bytes: &bytes, wide: hook.width == Width::W64, record: None, time_ns, offset: 0 };
        let layout = Layout::default();
        let line = out.len();
        let job = Job { event: &event, context: &context, timers: &mut timers, layout, line, out: &mut out };
        machine.run(&program, program.hook(hook.id).unwrap().index, job);
    }
    String::from_utf8(out.as_bytes().to_vec()).unwrap()
}

/// Checks the lines that hooks of 64 bits print.
fn check(hooks: &[TraceHook], expected: &[&str]) {
    assert_eq!(lines(hooks).lines().collect::<Vec<_>>(), expected);
}

/// Checks the lines that the same hooks print when a 32-bit program traces them.
fn check32(hooks: &[TraceHook], expected: &[&str]) {
    let hooks: Vec<TraceHook> = hooks.iter().map(|hook| hook.clone().width(Width::W32)).collect();
    check(&hooks, expected);
}

#[test]
fn every_stanza_has_a_label_and_a_documented_row() {
    let blob = blob();
    let program = Program::open(&blob).unwrap();
    let stanzas: Vec<_> = program.hooks().filter(|hook| !hook.builtin).collect();
    assert!(stanzas.iter().all(|hook| hook.hidden));
    // The page has a row for each of them, in this order, and no other.
    let table = HOOKS.lines().skip_while(|line| !line.starts_with("| hook | event"));
    let rows = table.take_while(|line| line.starts_with('|')).filter_map(|line| line.split(' ').nth(1));
    let ids = rows.filter_map(|id| u16::from_str_radix(id, 16).ok());
    assert_eq!(stanzas.iter().map(|hook| hook.id >> 4).collect::<Vec<_>>(), ids.collect::<Vec<_>>());
}

#[test]
fn opens() {
    let hooks = [TraceHook::generic(0x15B0, 0, 0x301, b"/tmp/junk"), TraceHook::words(0x15B0, 0, &[4])];
    check(&hooks, &["open /tmp/junk flags=00000301", "open (no path) flags=00000004"]);
}

#[test]
fn interrupts() {
    let hooks = [
        TraceHook::words(0x1000, 1, &[8, 0x2C00]),
        TraceHook::words(0x1020, 1, &[0x52A80, 11]),
        TraceHook::words(0x1030, 1, &[]),
        TraceHook::words(0x2000, 1, &[0x2C00]),
        TraceHook::words(0x1000, 0, &[77, 0]),
    ];
    check(
        &hooks,
        &[
            "DECREMENTER INTERRUPT iar=0000000000002C00 cpuid=1",
            "slih cpuid=1 level=11 handler=0000000000052A80",
            "return from slih cpuid=1 [1 usec]",
            "resume iar=0000000000002C00 cpuid=1",
            "INTERRUPT kind=77 iar=0000000000000000 cpuid=0",
        ],
    );
    check32(
        &hooks[..3],
        &[
            "DECREMENTER INTERRUPT iar=00002C00 cpuid=1",
            "slih cpuid=1 level=11 handler=00052A80",
            "return from slih cpuid=1 [1 usec]",
        ],
    );
}

#[test]
fn handler_begun_before_the_trace_has_no_time() {
    check(&[TraceHook::words(0x1030, 1, &[])], &["return from slih cpuid=1"]);
}

#[test]
fn system_calls() {
    let hooks = [
        TraceHook::generic(0x1010, 0, 0xD011_0000, b"kopen"),
        TraceHook::generic(0x1040, 0, u64::MAX, b"\0\0\0\x02kopen"),
        TraceHook::generic(0x1010, 0, 0xD011_0004, b"kread"),
        TraceHook::generic(0x1040, 0, 4096, b"\0\0\0\0kread"),
    ];
    check(
        &hooks,
        &[
            "kopen LR = 00000000D0110000",
            "return from kopen rc=-1 [1 usec] errno=ENOENT",
            "kread LR = 00000000D0110004",
            "return from kread rc=4096 [1 usec]",
        ],
    );
    check32(&hooks[..2], &["kopen LR = D0110000", "return from kopen rc=-1 [1 usec] errno=ENOENT"]);
}

#[test]
fn system_calls_by_address() {
    check(
        &[TraceHook::words(0x1010, 0, &[0x1234, 0x5678]), TraceHook::words(0x1040, 0, &[u64::MAX, 13])],
        &["svc 0000000000001234 LR = 0000000000005678", "return from svc rc=-1 [1 usec] errno=EACCES"],
    );
}

#[test]
fn transfers() {
    check(
        &[
            TraceHook::words(0x1050, 1, &[0xA000, 0x000A_0007, 0x18A40, 4096]),
            TraceHook::words(0x1050, 2, &[0xB000, 0x000A_0007, 8, 512]),
            TraceHook::words(0x1050, 3, &[0xA000, 0]),
            TraceHook::words(0x1050, 3, &[0xB000, 5]),
            TraceHook::words(0x1050, 9, &[0xB000]),
        ],
        &[
            "LVM read bp=000000000000A000 device=000A0007 block=0000000000018A40 length=4096",
            "LVM write bp=000000000000B000 device=000A0007 block=0000000000000008 length=512",
            "LVM done bp=000000000000A000 [3 usec]",
            "LVM done bp=000000000000B000 [3 usec] error=EIO",
            "LVM event=9 bp=000000000000B000",
        ],
    );
}

#[test]
fn dispatches() {
    let words = [4522, 8191, 60, 517, 127];
    check(
        &[
            TraceHook::words(0x1060, 0, &words),
            TraceHook::words(0x1060, 1, &[99, 100, 60, 517, 127]),
            TraceHook::words(0x10C0, 0, &[516, 517, 127, 8191, 60]),
        ],
        &[
            "dispatch: cmd=/usr/bin/ksh pid=4522 tid=8191 priority=60 old_tid=517 old_priority=127 CPUID=0",
            "dispatch: cmd=-99- pid=99 tid=100 priority=60 old_tid=517 old_priority=127 CPUID=1",
            "dispatch: idle process pid=516 tid=517 priority=127 old_tid=8191 old_priority=60 CPUID=0 [3 usec]",
        ],
    );
    check32(
        &[TraceHook::words(0x1060, 0, &words)],
        &["dispatch: cmd=/usr/bin/ksh pid=4522 tid=8191 priority=60 old_tid=517 old_priority=127 CPUID=0"],
    );
}

#[test]
fn processes_and_threads() {
    check(
        &[
            TraceHook::words(0x1390, 0, &[6418, 10011]),
            TraceHook::generic(0x1340, 0, 6418, b"/usr/bin/ls"),
            TraceHook::words(0x1340, 0, &[4522]),
            TraceHook::words(0x1350, 0, &[6418, 0x0200]),
            TraceHook::words(0x1350, 0, &[6418, 9]),
            TraceHook::words(0x4650, 0, &[6420, 10017, 62, 2]),
            TraceHook::words(0x4650, 0, &[6420, 10017, 62, 5]),
        ],
        &[
            "fork: pid=6418 tid=10011",
            "exec: cmd=/usr/bin/ls pid=6418 tid=8191",
            "exec: cmd=/usr/bin/ksh pid=4522 tid=8191",
            "exit: pid=6418 tid=8191 code=2",
            "exit: pid=6418 tid=8191 signal=9",
            "thread_create: pid=6420 tid=10017 priority=62 policy=RR",
            "thread_create: pid=6420 tid=10017 priority=62 policy=5",
        ],
    );
}
