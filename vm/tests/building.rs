//! The builder merges only equal content, and programs contain everything that was added.

use crate::common::printed;
use tfbc_vm::table::TableKind;
use tfbc_vm::{
    BlobBuilder, Context, Event, EventInput, HookRow, Instr, Layout, LineStart, Machine, Op, Program, RoutineRow,
    SourcePos, Space, TextBuf, Timers, write_checksum,
};

const RET: Instr = Instr::new(Op::Ret);
const CALLED: RoutineRow =
    RoutineRow { called: 1, shape: 0, start: 0, len: 0, body: 0, need: 0, zeroed: 0, name: [0; 2] };

fn lines<const N: usize>(lines: [u32; N]) -> [SourcePos; N] {
    lines.map(|line| SourcePos { line, ..SourcePos::default() })
}

#[test]
fn equal_strings_words_and_tables_are_stored_once() {
    let mut blob = BlobBuilder::new();
    assert_eq!([b"one", b"two", b"one"].map(|text| blob.string(text)), [[0, 3], [3, 3], [0, 3]]);
    assert_eq!([[1, 2], [3, 4], [1, 2]].map(|words| blob.words(&words)), [0, 2, 0]);
    assert_eq!(blob.words(&[1]), 4, "the first of two words is not the run of one");
    let mut table = |kind, words: &[u64]| blob.table(kind, words);
    assert_eq!(table(TableKind::Dense, &[0, 0, 0]), 0);
    assert_eq!(table(TableKind::Dense, &[0, 0, 1]), 1);
    assert_eq!(table(TableKind::Flags, &[0, 0, 0]), 2, "the same words as another kind");
    assert_eq!(table(TableKind::Dense, &[0, 0, 0]), 0);
    assert_eq!(table(TableKind::Flags, &[0, 0, 0]), 2);
}

#[test]
fn equal_routines_are_stored_once_whatever_their_names() {
    let mut blob = BlobBuilder::new();
    let mut add =
        |name: &str, row, code: &[Instr], places: &[SourcePos]| blob.named_routine(row, &[name], code, places);
    assert_eq!(add("first", CALLED, &[RET], &lines([1])), 0);
    assert_eq!(add("second", CALLED, &[RET, RET], &lines([1, 2])), 1);
    assert_eq!(add("third", CALLED, &[RET, RET], &lines([1, 2])), 1);
    assert_eq!(add("", CALLED, &[RET], &lines([1])), 0);
    // Differs in place, instruction, need or body.
    assert_eq!(add("", CALLED, &[RET, RET], &lines([1, 3])), 2);
    assert_eq!(add("", CALLED, &[RET, Instr::new(Op::End)], &lines([1, 2])), 3);
    assert_eq!(add("", RoutineRow { need: 8, ..CALLED }, &[RET, RET], &lines([1, 2])), 4);
    assert_eq!(add("", RoutineRow { body: 1, ..CALLED }, &[RET, RET], &lines([1, 2])), 5);
}

#[test]
fn what_went_in_comes_out() {
    let mut blob = BlobBuilder::new();
    blob.dialect("soft-blanks=kept\n");
    blob.source("a.fmt", b"source");
    let label = blob.string(b"LABEL");
    let row = RoutineRow { need: 12, ..RoutineRow::default() };
    let code = [Instr::new(Op::Soft), Instr::new(Op::End)];
    let routine = blob.named_routine(row, &["010 ", "hook32"], &code, &lines([7, 8]));
    let hook = HookRow { id: 0x0100, flags: 5, version: 3, release: 4, label, line: 7, ..HookRow::default() };
    blob.hook(HookRow { routines: [routine; 4], ..hook });
    let bytes = blob.finish();
    let program = Program::open(&bytes).unwrap();
    assert_eq!(program.dialect(), b"soft-blanks=kept\n");
    assert_eq!(program.sources().collect::<Vec<_>>(), [b"a.fmt"]);
    let routine = program.routines().next().unwrap();
    assert_eq!((routine.name, routine.code, routine.places), (&b"010 hook32"[..], &code[..], &lines([7, 8])[..]));
    assert_eq!((routine.need, routine.called, program.n_instrs()), (12, false, 2));
    let hook = program.hook(0x0100).unwrap();
    assert_eq!((hook.label, hook.version, hook.line, hook.source), (&b"LABEL"[..], (3, 4), 7, &b"a.fmt"[..]));
    assert_eq!((hook.hidden, hook.builtin, hook.has_effects), (true, false, true));
    assert!(program.hook(0x0110).is_none());
}

/// Hook with one routine.
fn hook(blob: &mut BlobBuilder, id: u16, code: &[Instr]) {
    let routine = blob.routine(
        RoutineRow::default(),
        code,
        &vec![SourcePos { line: id.into(), ..SourcePos::default() }; code.len()],
    );
    blob.hook(HookRow { id, routines: [routine; 4], ..HookRow::default() });
}

/// Offset of a routine's shape in a blob: the third section contains rows of 28 bytes.
fn shape_at(blob: &[u8], routine: usize) -> usize {
    let at = 32 + 2 * 16 + 4;
    let section = u32::from_le_bytes(blob[at..at + 4].try_into().unwrap()) as usize;
    section + routine * 28 + 19
}

#[test]
fn routines_with_the_same_opcodes_have_one_shape() {
    let mut blob = BlobBuilder::new();
    hook(&mut blob, 0x0100, &[printed("a")]);
    hook(&mut blob, 0x0200, &[printed("b"), Instr::new(Op::End)]);
    hook(&mut blob, 0x0300, &[printed("c")]);
    hook(&mut blob, 0x0400, &[printed("d"), printed("e")]);
    let blob = blob.finish();
    assert_eq!([0, 1, 2, 3].map(|routine| blob[shape_at(&blob, routine)]), [0, 1, 0, 2]);
}

#[test]
fn a_shape_changes_no_text() {
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    hook(&mut blob, 0x0100, &[printed("text"), Instr::new(Op::End)]);
    let mut blob = blob.finish();
    let at = shape_at(&blob, 0);
    for shape in 0..=255 {
        blob[at] = shape;
        write_checksum(&mut blob);
        let program = Program::open(&blob).unwrap();
        let event = Event { bytes: &[], wide: false, record: None, time_ns: 0, offset: 0 };
        let (mut machine, mut timers, mut text) = (Machine::default(), Timers::new(), TextBuf::new());
        let begin = program.prepare(program.hook(0x0100).unwrap().index, event.env_index()).unwrap();
        let mut run = machine.start(&program, &mut timers);
        run.run_prepared(
            &begin,
            &EventInput { event: &event, context: &Context::EMPTY },
            LineStart { layout: Layout::default(), line: 0 },
            |_| 0,
            &mut text,
        );
        assert_eq!(text.as_bytes(), b"text\n", "shape {shape}");
    }
}

#[test]
fn each_space_has_its_own_entries_with_their_flags() {
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    let routine = blob.routine(RoutineRow::default(), &[Instr::new(Op::End)], &lines([1]));
    for (n, space) in Space::ALL.into_iter().enumerate() {
        // Flag 4 is only for AIX hooks.
        for flags in 0..if space == Space::Hook { 8 } else { 4 - n as u8 } {
            let row = HookRow { id: u16::from(flags) << 4, flags: flags | (space as u8) << 3, ..HookRow::default() };
            blob.hook(HookRow { routines: [routine; 4], ..row });
        }
    }
    let bytes = blob.finish();
    let program = Program::open(&bytes).unwrap();
    let mut n_before = 0;
    for (n, space) in Space::ALL.into_iter().enumerate() {
        let entries: Vec<_> = program.entries(space).collect();
        assert_eq!(entries.len(), if space == Space::Hook { 8 } else { 4 - n });
        for (flags, entry) in entries.iter().enumerate() {
            assert_eq!((entry.space, usize::from(entry.id), entry.index), (space, flags << 4, n_before));
            let told = [entry.hidden, entry.builtin, entry.has_effects];
            assert_eq!(told, [1, 2, 4].map(|bit| flags & bit != 0), "flags {flags}");
            assert_eq!(program.entry_at(n_before).map(|entry| (entry.space, entry.id)), Some((space, entry.id)));
            n_before += 1;
        }
    }
    assert!(program.entry_at(n_before).is_none());
    assert!(program.hooks().map(|hook| hook.index).eq(0..8));
}
