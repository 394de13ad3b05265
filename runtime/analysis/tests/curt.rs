//! Tests of curt's layout, with times computed by hand.

use crate::examples::one_cpu;
use crate::traces::{RecordedHook, call, dispatch, generic, hook, stream, summary};
use std::sync::Arc;
use tfbc::aix::{AddressNames, ContextTable};
use tfbc_analysis::{AnalysisOptions, CurtOptions, write_curt};
use tfbc_vm::TextBuf;

fn curt(cpus: u32, hooks: &[RecordedHook], options: AnalysisOptions, curt: CurtOptions) -> String {
    let summary =
        summary(stream(cpus, hooks), &AnalysisOptions { per_cpu: true, addresses: true, per_thread: true, ..options });
    let mut out = TextBuf::new();
    write_curt(&summary, curt, &mut out);
    String::from_utf8(out.as_bytes().to_vec()).unwrap()
}

/// Lines from the one that is equal to `first` to the next empty one.
fn part<'t>(text: &'t str, first: &str) -> Vec<&'t str> {
    let mut lines = text.lines().skip_while(|line| line.trim() != first).peekable();
    assert!(lines.peek().is_some(), "{first}\n{text}");
    lines.take_while(|line| !line.is_empty()).collect()
}

/// The example in the layout of curt, up to the tables per CPU.
const CURT: &str = "
                                 System Summary
                                 --------------
 processing       percent       percent
 total time    total time     busy time
     (msec)  (incl. idle)  (excl. idle)  processing category
===========   ===========   ===========  ===================
       0.01         33.33         55.56  APPLICATION
       0.00         14.00         23.33  SYSCALL
       0.00          0.00          0.00  KPROC (excluding IDLE and NFS)
       0.00          4.00          6.67  FLIH
       0.00          6.67         11.11  SLIH
       0.00          2.00          3.33  DISPATCH (all procs. incl. IDLE)
       0.00          0.00          0.00  IDLE DISPATCH (only IDLE proc.)
-----------    ----------       -------
       0.01         60.00        100.00  CPU(s) busy time
       0.01         33.33                IDLE
       0.00          6.67                UNKNOWN (not told by the trace)
-----------    ----------
       0.02                              TOTAL

Avg. Thread Affinity =        1.00

                     Processor Summary  processor number 0
                     -------------------------------------
";

#[test]
fn the_example_is_printed() {
    let text = curt(1, &one_cpu(), AnalysisOptions::default(), CurtOptions { elapsed: true, ..CurtOptions::default() });
    assert!(text.starts_with(CURT), "{text}");
    for line in [
        "Total number of process dispatches = 2",
        "Total number of idle dispatches = 1",
        "   0.0071       0.0050   0.0021   47.3333      33.3333      14.0000  ?(100  11)",
        "   0.0071       0.0050   0.0021   47.3333      33.3333  14.0000  ?(100)(1)",
        "   0.0071       0.0050   0.0021   47.3333      33.3333  14.0000  ?(1)",
        "            1      0.0006      0.0006      0.0006      0.0006    4(I/O)",
        "            1      0.0010      0.0010      0.0010      0.0010 ?(52a80)",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let calls = [
        "Count  Total Time (msec)  % sys time  Avg Time  Min Time  Max Time  Tot ETime  Avg ETime  Min ETime  Max ETime  SVC (Address)",
        "=====  =================  ==========  ========  ========  ========  =========  =========  =========  =========  =============",
        "    1             0.0016       10.67    0.0016    0.0016    0.0016     0.0085     0.0085     0.0085     0.0085  kread",
    ];
    assert_eq!(part(&text, "System Calls Summary")[2..], calls);
    let pending = [
        "Accumulated Time (msec)  SVC (Address)  Procname (Pid Tid)",
        "=======================  =============  ==================",
        "                 0.0005  kwrite         ? (100 11)",
    ];
    assert_eq!(part(&text, "Pending System Calls Summary")[2..], pending);
    let kernel = [
        "Total Time (msec)  % total  name (Pid  Tid)",
        "=================  =======  ===============",
        "           0.0050  33.3333  ?(516  517) IDLE",
    ];
    assert_eq!(part(&text, "Kproc Summary (by Tid)")[2..], kernel);
    assert!(text.contains("33.3333  ?(516) IDLE\n") && !text.contains("System Application Summary"), "{text}");
}

#[test]
fn threads_and_processes_have_reports() {
    let options = CurtOptions { threads: true, processes: true, errors: true, ..CurtOptions::default() };
    let text = curt(1, &one_cpu(), AnalysisOptions::default(), options);
    let own = "
Report for Thread Id: 11 (hex b) Pid: 100 (hex 64)
Process Name: ?
---------------------
Total Application Time (ms):     0.005000
Total System Call Time (ms):     0.002100

Thread System Call Summary
--------------------------
Count  Total Time (msec)  % sys time  Avg Time  Min Time  Max Time  SVC (Address)
=====  =================  ==========  ========  ========  ========  =============
    1             0.0016       10.67    0.0016    0.0016    0.0016  kread

No Errors Returned by System Calls

Pending System Calls Summary
----------------------------
Accumulated Time (msec)  SVC (Address)
=======================  =============
                 0.0005  kwrite

processor affinity: 1.000000

Dispatch Histogram for thread (CPUid : times_dispatched).
    CPU 0 : 2

total number of dispatches: 2
avg. dispatch wait time (ms): 0.006600

Data on Interrupts that Occurred while Thread was Running
---------------------------------------------------------
Type of Interrupt  Count
=================  =====

Report for Thread Id: 517 (hex 205) Pid: 516 (hex 204)
";
    assert!(text.contains(own), "{text}");
    assert!(text.contains("FLIH 4(I/O)            1\nSLIH ?(52a80)          1\n"), "{text}");
    let process = part(&text, "Process Details for Pid: 100");
    assert_eq!(process[1..3], ["Process Name: ?", "1 Tids for this Pid: 11"]);
    assert!(text.contains("\nProcess System Call Summary\n"), "{text}");
}

#[test]
fn dispatches_and_calls_are_counted_per_thread() {
    let failed = |t, errno: u8| generic(t, 0x104, 21, 0, &[&[0, 0, 0, errno][..], b"kopen"].concat());
    let hooks = [
        dispatch(0, 0x106, 0, 20, 21),
        call(10, 0x101, 21, "kopen"),
        failed(30, 2),
        dispatch(50, 0x106, 0, 20, 22),
        dispatch(60, 0x106, 1, 20, 21),
        call(70, 0x101, 21, "kopen"),
        failed(80, 2),
        dispatch(90, 0x106, 1, 20, 23),
        dispatch(100, 0x106, 1, 20, 21),
        call(110, 0x101, 22, "kopen"),
        call(120, 0x104, 22, "kopen"),
    ];
    let options = CurtOptions { threads: true, processes: true, errors: true, ..CurtOptions::default() };
    let text = curt(2, &hooks, AnalysisOptions::default(), options);
    let own = text.split("\nReport for Thread Id: 21 ").nth(1).unwrap().split("\nReport for").next().unwrap();
    for line in [
        "    2             0.0000       12.50    0.0000    0.0000    0.0000  kopen",
        "Errors (errno : count) returned for System Call: kopen\n   (  2 : 2)\n",
        // Of two dispatches with a previous one, the last went to the same CPU.
        "processor affinity: 0.500000",
        "    CPU 0 : 1\n    CPU 1 : 2\n",
        "total number of dispatches: 3",
        // From 50 to 60, and from 90 to 100.
        "avg. dispatch wait time (ms): 0.000010",
    ] {
        assert!(own.contains(line), "{line}\n{own}");
    }
    // The calls of both threads. 40 ns of 240 are 16.67 percent.
    let process = text.split("\nProcess Details for Pid: 20").nth(1).unwrap();
    assert!(
        process.contains("3 Tids for this Pid: ") && process.contains("    3             0.0000       16.67"),
        "{text}"
    );
}

#[test]
fn classes_of_calls_have_sections() {
    let table = "492 if D1=1 enter class=HCALL address=D2\n492 if D1=2 return class=HCALL\n\
                 605 if D1=1 enter class=PTHREAD address=D2\n605 if D1=2 return class=PTHREAD\n\
                 48D if D1=1 enter class=NFS address=D2\n48D if D1=2 return class=NFS\n";
    let options = AnalysisOptions {
        context: Arc::new(ContextTable::default().overlay(table.parse().unwrap())),
        names: Arc::new(AddressNames::parse(b"h_enter ABC\n").unwrap()),
        ..AnalysisOptions::default()
    };
    let hooks = [
        dispatch(0, 0x106, 0, 100, 11),
        hook(100, 0x492, 0, 11, &[1, 0xABC]),
        hook(150, 0x492, 0, 11, &[2, 0]),
        hook(200, 0x605, 0, 11, &[1, 0x10]),
        hook(300, 0x605, 0, 11, &[2, 0]),
        hook(400, 0x48D, 0, 11, &[1, 3]),
        hook(450, 0x48D, 0, 11, &[2, 0]),
        hook(500, 0x605, 0, 11, &[1, 0x11]),
        dispatch(900, 0x106, 0, 100, 12),
        hook(1000, 0x15B, 0, 12, &[1]),
    ];
    let text = curt(1, &hooks, options, CurtOptions { pthreads: true, ..CurtOptions::default() });
    // Application: 0 to 100, 150 to 200, 300 to 400, 450 to 500. The mode of thread 12 is unknown: 100 ns.
    let found = part(&text, "System Application Summary");
    assert_eq!(
        found[6..8],
        ["       0.00         50.00         55.56  PTHREAD", "       0.00         40.00         44.44  APPLICATION"]
    );
    for (title, row) in [
        (
            "Hypervisor Calls Summary",
            "    1             0.0001        5.00    0.0001    0.0001    0.0001  h_enter(abc)",
        ),
        ("NFS Calls Summary", "    1             0.0001        5.00    0.0001    0.0001    0.0001  ?(3)"),
        ("Pthread Calls Summary", "    1             0.0001       10.00    0.0001    0.0001    0.0001  ?(10)"),
    ] {
        assert_eq!(part(&text, title)[4], row);
    }
    assert_eq!(part(&text, "Pending Pthread Calls Summary")[4], "                 0.0004  ?(11)          ? (100 11)");
    assert!(
        text.contains("\nPthread Report for Thread Id: 11\n") && !text.contains("Report for Thread Id: 12"),
        "{text}"
    );
}
