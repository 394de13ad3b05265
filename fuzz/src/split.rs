//! Split files: the state of reader and report at the start of a part.

use std::sync::LazyLock;
use tfbc::testing::splits::{split_state, with_split_state};
use tfbc::{Formats, Notice, PartSize, ReportOptions, Split, Trace, report_with};

const SHELL: &[u8] = include_bytes!("../../runtime/samples/shell.trc");

/// Traces whose parts are read, the last one merged from two logs.
const TRACES: [&[&[u8]]; 3] = [
    &[SHELL],
    &[include_bytes!("../../runtime/samples/user.kev")],
    &[SHELL, include_bytes!("../../runtime/samples/copy.trc")],
];

static FORMATS: LazyLock<Formats> = LazyLock::new(Formats::builtin);

static SPLITS: LazyLock<[Split; 3]> = LazyLock::new(|| {
    TRACES.map(|logs| {
        let three = PartSize::Count(3.try_into().expect("not 0"));
        let logs = logs.iter().map(|bytes| Trace::from_bytes("sample", *bytes).expect("a trace"));
        let mut logs: Vec<Trace> = logs.collect();
        let trace = if logs.len() == 1 { logs.remove(0) } else { Trace::merge(logs).expect("logs in memory") };
        trace.parts(&FORMATS, three).expect("a trace in memory")
    })
});

/// Decodes a split file, and reads a part whose state has changed although its checksums are right. The first byte
/// chooses trace and part, from 1 for the merge. Then follow changes: an offset in the state of two bytes, and the new byte.
pub fn split(data: &[u8]) {
    if let Ok(split) = Split::decode(data) {
        assert!(split.encode() == data, "a split file that is read is written with the same bytes");
    }
    let Some((choice, changes)) = data.split_first() else { return };
    let which = usize::from(if choice & 4 == 0 { choice & 1 } else { 2 });
    // Part 1 of a merge has a state, too.
    let first = if choice & 12 == 12 { 1 } else { 2 };
    let (split, number) = (&SPLITS[which], first + u64::from(choice >> 1 & 1));
    let [mut position, mut report] = split_state(split, number);
    for [low, high, byte] in changes.as_chunks().0 {
        let at = usize::from(u16::from_le_bytes([*low, *high])) % (position.len() + report.len() + 1);
        let (state, at) = match at.checked_sub(position.len()) {
            None => (&mut position, at),
            Some(at) => (&mut report, at),
        };
        match state.get_mut(at) {
            Some(old) => *old = *byte,
            None => state.truncate((*byte).into()),
        }
    }
    let changed = with_split_state(split, number, [position, report]);
    if let Ok(mut trace) = changed.open_part_in_all(number, TRACES[which].to_vec()) {
        let mut text = Vec::new();
        let monitor = &mut |_: &Notice| {};
        report_with(&mut trace, &FORMATS, &ReportOptions::default(), &mut text, monitor).expect("bytes in memory");
    }
}
