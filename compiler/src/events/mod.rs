//! Built-in events of QNX's kernel: classes, events and kernel calls of 6.4, 7.1 and 8.0, with their arguments.
//!
//! `rows.rs` is the table `qnx-events.toml` as static rows. [`compile`] makes blobs of the rows of 6.4,
//! which print whole events like `traceprinter` 1.02. [`lists`] exports the table for the default layout.
//!
//! ```
//! use tfbc_compiler::events::{EventLayout, compile};
//! let blob = compile(EventLayout::CompatOneLine);
//! let program = tfbc_vm::Program::open(&blob)?;
//! assert_eq!(program.record(2, 11).unwrap().label, b"KER_CALL:MSG_SENDV/11");
//! # Ok::<(), tfbc_vm::BlobError>(())
//! ```

mod layout;
mod listing;
mod lists;
mod lower;
#[cfg(test)]
mod rows_from_toml;
mod spelling;
mod table;

pub use layout::EventLayout;
pub use listing::listing;
pub use lists::lists;
pub use spelling::{ClassPart, EventSpelling, canonical, class_spellings, event_spellings};
pub(crate) use spelling::{class_number, event_labels, event_numbers};
pub use table::Release;

use crate::Dialect;
use crate::build::{CodeForm, build};
use crate::graph::Graph;
use crate::ir::{Block, IrEntry, IrProgram};
use lower::EventRoutine;
use tfbc_grammar::{Source, SourceId, Span};
use tfbc_vm::{Level, Space};

/// Names of classes by their number in records, in ascending order.
pub fn class_names() -> impl Iterator<Item = (u8, &'static str)> {
    table::CLASSES.iter().map(|class| (class.number, class.name))
}

/// Blob that prints the events in logs of 6.4. Its entries are in [`Space::Record`].
///
/// # Panics
/// Never: a test compiles every layout.
pub fn compile(layout: EventLayout) -> Vec<u8> {
    let stanzas = entries(layout).map(|(class, event, routine)| stanza(class, event, routine));
    let program = IrProgram { stanzas: stanzas.collect(), ..IrProgram::default() };
    let (graph, _) = Graph::new(&program);
    let source = Source::new("built-in events", "");
    build(&program, &graph, &[], &[&source], &Dialect::default(), CodeForm::Linked).blob.finish()
}

/// Class, event and routine of every entry.
fn entries(layout: EventLayout) -> impl Iterator<Item = (u8, u16, EventRoutine)> {
    let events = (0..32).flat_map(|class| (0..1024).map(move |event| (class, event)));
    events.filter_map(move |(class, event)| {
        let routine = match class {
            table::KER_CALL => lower::ker_call(layout, event),
            _ => table::event(Release::Qnx6_4, class, event).and_then(|row| lower::event(layout, row, event)),
        };
        Some((class, event, routine?))
    })
}

fn stanza(class: u8, event: u16, routine: EventRoutine) -> IrEntry {
    IrEntry {
        space: Space::Record,
        id: Space::record_id(class, event),
        source: SourceId(0),
        span: Span::default(),
        version: Release::Qnx6_4.version(),
        level: Level::Appl,
        label: routine.label.into_bytes(),
        hidden: false,
        builtin: false,
        tab_origin: 0,
        n_slots: 0,
        n_locals: routine.n_locals,
        heading: Block::new(),
        called_heading: Block::new(),
        body: routine.body,
        lower_hex: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfbc_vm::{Context, Event, Job, Machine, RecordHeader, TextBuf, Timers};

    /// Line of a record, without the line end; `None` if the blob has no entry for it.
    fn print(blob: &[u8], class: u8, event: u16, words: &[u32], big_endian: bool) -> Option<String> {
        let program = tfbc_vm::Program::open(blob).unwrap();
        let bytes = |word: &u32| if big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
        let payload: Vec<u8> = words.iter().flat_map(bytes).collect();
        let record = Some(RecordHeader { event, big_endian });
        let event_ = Event { bytes: &payload, wide: words.len() > 2, record, time_ns: 0, offset: 0 };
        let (mut timers, mut out) = (Timers::new(), TextBuf::new());
        let (event, timers_, out_) = (&event_, &mut timers, &mut out);
        let layout = tfbc_vm::Layout::default();
        let hook = program.record(class, record?.event)?;
        out_.push(hook.label);
        let job = Job { event, context: &Context::EMPTY, timers: timers_, layout, line: out_.len(), out: out_ };
        Machine::default().run(&program, hook.index, job);
        let text = String::from_utf8(out.as_bytes().to_vec()).unwrap();
        Some(text.strip_suffix('\n').unwrap().to_owned())
    }

    #[test]
    fn every_layout_compiles() {
        for layout in [EventLayout::Compat, EventLayout::CompatOneLine, EventLayout::CompatHeading] {
            let blob = compile(layout);
            let program = tfbc_vm::Program::open(&blob).unwrap();
            assert!(program.entries(Space::Record).count() > 1024);
            // Readers copy labels into buffers of this size.
            assert!(program.entries(Space::Record).all(|entry| entry.label.len() <= 44));
        }
    }

    #[test]
    fn lines_of_6_4() {
        let blob = compile(EventLayout::CompatOneLine);
        for big_endian in [false, true] {
            let line = |class, event, words: &[u32]| print(&blob, class, event, words, big_endian);
            let has = |class, event, words: &[u32], expected: &str| {
                assert_eq!(line(class, event, words).as_deref(), Some(expected));
            };
            has(1, 2, &[33 | 5 << 13, 714], "CONTROL: BUFFER sequence = 33, num_events = 714");
            has(1, 1, &[0x37b0, 0x4f81e014], "CONTROL :TIME msb:0x000037b0 lsb(offset):0x4f81e014");
            has(4, 24, &[1, 2], "THREAD  :THCREATE      pid:1 tid:2");
            has(4, 2, &[1, 2], "THREAD  :THREADY       pid:1 tid:2 ");
            has(4, 2, &[1, 2, 10, 1], "THREAD  :THREADY       pid:1 tid:2 priority:10 policy:1");
            let partition =
                "THREAD  :THREADY       pid:1 tid:2 priority:10 policy:1 partition:3 sched_flags:0x0000000a";
            has(4, 2, &[1, 2, 10, 1, 3, 10], partition);
            has(4, 28, &[1, 2], "VTHREAD :THREADY       pid:1 tid:2");
            has(2, 0, &[1, 2], "KER_CALL:NOP/00 dummy:0x00000001 empty:0x00000002");
            has(2, 128 + 83, &[1, 2], "KER_EXIT:SYNC_CONDVAR_SIG/83 ret_val:1 empty:0x00000002");
            has(2, 128 + 14, &[u32::MAX, 4], "KER_EXIT:MSG_RECEIVEV/14 ret_val:-1, errno:4");
            has(2, 256 + 11, &[1, 2], "INT_CALL:KER_MSG_SENDV/11");
            has(3, 1, &[0x80000000, 5], "INT_ENTR:0x80000000 (-2147483648)       IP:0x00000005");
            has(
                3,
                3,
                &[8200, 77, 0, 6],
                "INT_HANDLER_ENTR:0x0000004d (77)       PID:8200 IP:0x00000000 AREA:0x00000006",
            );
            has(5, 9, &[7, 0], "SYSTEM  :ADDRESS addr:0x00000007");
            has(7, 2, &[0x10000, 5], "COMM    :REC_MESSAGE   rcvid:0x00010000 pid:5");
            has(6, 111, &[1, 2], "USREVENT:EVENT:111, d0:0x00000001 d1:0x00000002");
            assert_eq!(line(2, 101, &[1, 2]), None);
            assert_eq!(line(2, 512 + 11, &[1, 2]), None);
            assert_eq!(line(10, 0, &[1, 2]), None);
            assert_eq!(line(5, 14, &[1, 2]), None);
            assert_eq!(line(13, 10, &[1, 2]), None);
        }
    }

    #[test]
    fn headings_of_6_4() {
        let blob = compile(EventLayout::CompatHeading);
        let has = |class, event, words: &[u32], expected: &str| {
            assert_eq!(print(&blob, class, event, words, true).as_deref(), Some(expected));
        };
        has(1, 2, &[33, 714], "CONTROL: BUFFER");
        has(2, 128 + 14, &[u32::MAX, 4], "KER_EXIT:MSG_RECEIVEV/14");
        has(3, 3, &[8200, 77, 0, 6], "INT_HANDLER_ENTR:0x0000004d (77)");
        has(4, 2, &[1, 2, 10, 1], "THREAD  :THREADY      ");
        has(6, 111, &[1, 2, 3, 4], "USREVENT:EVENT:111");
        has(7, 2, &[0x10000, 5], "COMM    :REC_MESSAGE  ");
    }

    #[test]
    fn sigevents() {
        let blob = compile(EventLayout::CompatOneLine);
        let line = |notify: u32, signo: u32, value: u32, code: i16, priority: i16| {
            let both = u32::from(code as u16) | u32::from(priority as u16) << 16;
            let text = print(&blob, 3, 4, &[77, notify, signo, value, both, 0], false).unwrap();
            text.strip_prefix("INT_HANDLER_EXIT:0x0000004d (77) SIGEVENT:").unwrap().to_owned()
        };
        assert_eq!(line(0, 0, 0, 0, 0), "NONE");
        assert_eq!(line(0x101, 9, 0, 0, 0), "SIGNAL 9 CRITICAL");
        assert_eq!(line(2, 9, 0, -1, 0), "SIGNAL_CODE 9 0xffffffff:0");
        assert_eq!(line(3, 9, 0x10, 0, 0), "SIGNAL_THREAD 9 0:0x10");
        assert_eq!(line(4, 0x40000001, 3, 5, -2), "PULSE 0x40000001:-2 0x5:0x3");
        assert_eq!((line(5, 0, 0, 0, 0), line(6, 0, 0, 0, 0)), ("UNBLOCK".into(), "INTR".into()));
        assert_eq!(line(7, 0, 0xab, -2, 0), "THREAD fffffffe:ab");
        assert_eq!(line(0x1ff, 0, 0, 0, 0), "UNKNOWN(0xff) CRITICAL");
    }
}
