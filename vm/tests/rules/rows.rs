//! Rule V12: rows of a blob may point to the last item of their sections, but not beyond.

use super::{altered, open};
use tfbc_vm::table::number_table;
use tfbc_vm::{BlobBuilder, BlobError, HookRow, Instr, Op, Program, RoutineRow, SourcePos};

/// Row size in bytes, per section with rows of its own.
const ROUTINE: usize = 28;
const HOOK: usize = 44;
const TABLE: usize = 12;

/// Blob with two called routines, then two of events; two hooks; a table; one source.
fn blob() -> Vec<u8> {
    let mut blob = BlobBuilder::new();
    blob.source("source", b"");
    let (kind, words) = number_table(&[(1, 0)], 0);
    blob.table(kind, &words);
    let mut routine = |called, op, line| {
        let place = SourcePos { line, ..SourcePos::default() };
        blob.routine(RoutineRow { called, ..RoutineRow::default() }, &[Instr::new(op)], &[place])
    };
    let [_, _, first, second] = [(1, Op::Ret, 1), (1, Op::Ret, 2), (0, Op::End, 3), (0, Op::End, 4)]
        .map(|(called, op, line)| routine(called, op, line));
    for (id, routine) in [(0x0100, first), (0x0110, second)] {
        blob.hook(HookRow { id, routines: [routine; 4], ..HookRow::default() });
    }
    blob.finish()
}

/// Offset and length of a section.
fn section(blob: &[u8], section: usize) -> (usize, usize) {
    let at = 32 + (section - 1) * 16;
    let field = |at: usize| u32::from_le_bytes(*blob[at..].first_chunk().unwrap()) as usize;
    (field(at + 4), field(at + 8))
}

/// The blob after overwriting some bytes of a section.
fn overwritten(in_section: usize, sets: &[(usize, &[u8])]) -> Vec<u8> {
    let mut blob = blob();
    let (start, len) = section(&blob, in_section);
    for (at, bytes) in sets {
        assert!(at + bytes.len() <= len);
        blob[start + at..][..bytes.len()].copy_from_slice(bytes);
    }
    tfbc_vm::write_checksum(&mut blob);
    blob
}

/// Opens the blob after overwriting some bytes of a section.
fn open_with_section_bytes(in_section: usize, sets: &[(usize, &[u8])]) -> Option<BlobError> {
    let blob = overwritten(in_section, sets);
    let whole = Program::open(&blob).err();
    let others = [Program::open_for_text(&blob), Program::open_lazily(&blob)].map(Result::err);
    assert_eq!(others, [whole, whole], "rows are checked when a blob is opened");
    whole
}

fn outside(section: u32, row: u32) -> Option<BlobError> {
    Some(BlobError::Row { section, row })
}

#[test]
fn names_are_inside_the_strings() {
    let len = section(&blob(), 7).1 as u32;
    assert!(len > 1);
    for (section, at, row) in [(3, ROUTINE + 20, 1), (4, HOOK + 12, 1), (8, 0, 0)] {
        let named = |[offset, len]: [u32; 2]| {
            open_with_section_bytes(section, &[(at, &offset.to_le_bytes()), (at + 4, &len.to_le_bytes())])
        };
        for inside in [[0, len], [len, 0], [1, len - 1], [0, 0]] {
            assert_eq!(named(inside), None, "{inside:?}");
        }
        for beyond in [[0, len + 1], [len + 1, 0], [1, len], [len, 1], [u32::MAX, u32::MAX], [u32::MAX, 1]] {
            assert_eq!(named(beyond), outside(section as u32, row), "{beyond:?}");
        }
    }
}

#[test]
fn routines_are_inside_the_code() {
    let last = 3 * ROUTINE;
    let set = |at: usize, value: u32| open_with_section_bytes(3, &[(last + at, &value.to_le_bytes())]);
    assert_eq!(set(0, 4), outside(3, 3), "it begins behind the last instruction");
    assert_eq!(set(4, 2), outside(3, 3), "it ends there");
    assert_eq!(set(4, u32::MAX), outside(3, 3));
    assert_eq!(open_with_section_bytes(3, &[(last + 4, &[0; 8])]), outside(3, 3), "it has no instructions");
    assert_eq!(set(8, 0), outside(3, 3), "its body is empty");
    assert_eq!(set(8, 2), outside(3, 3), "its body is longer than it is");
}

#[test]
fn routines_need_only_state_the_machine_has() {
    let last = 3 * ROUTINE;
    let need = |value: u32| open_with_section_bytes(3, &[(last + 12, &value.to_le_bytes())]);
    assert_eq!(need(1 << 20), None);
    assert_eq!(need((1 << 20) + 1), outside(3, 3));
    let zeroed = |value: u16| open_with_section_bytes(3, &[(last + 16, &value.to_le_bytes())]);
    assert_eq!(zeroed(1), None);
    assert_eq!(zeroed(1024), None);
    assert_eq!(zeroed(1025), outside(3, 3));
    // Flags of an event's routine and a called one; others are invalid.
    let called = |value: u16| open_with_section_bytes(3, &[(ROUTINE + 18, &value.to_le_bytes())]);
    assert_eq!(called(1), None);
    assert_eq!(called(2), outside(3, 1));
}

#[test]
fn every_instruction_has_a_place() {
    let mut blob = blob();
    // Section 2, the places, has one row too few.
    let at = 32 + 16 + 8;
    blob[at..at + 4].copy_from_slice(&24u32.to_le_bytes());
    tfbc_vm::write_checksum(&mut blob);
    assert_eq!(Program::open(&blob).err(), outside(2, 3));
}

#[test]
fn tables_are_inside_the_words() {
    let words = section(&blob(), 6).1 as u32 / 8;
    let placed = |start: u32, len: u32| {
        open_with_section_bytes(5, &[(TABLE - 8, &start.to_le_bytes()), (TABLE - 4, &len.to_le_bytes())])
    };
    assert_eq!(placed(0, words), None);
    assert_eq!(placed(words, 0), None);
    assert_eq!(placed(0, words + 1), outside(5, 0));
    assert_eq!(placed(1, words), outside(5, 0));
    assert_eq!(placed(u32::MAX, u32::MAX), outside(5, 0));
}

#[test]
fn hooks_are_sorted_by_space_and_id() {
    // Space and id of the second hook; the first has id 0100 in space 0.
    let second =
        |space: u8, id: u16| open_with_section_bytes(4, &[(HOOK, &id.to_le_bytes()), (HOOK + 3, &[space << 3])]);
    assert_eq!(second(0, 0x0101), None);
    assert_eq!(second(0, 0x0100), outside(4, 1));
    assert_eq!(second(0, 0x00ff), outside(4, 1));
    assert_eq!(second(1, 0), None);
    assert_eq!(second(2, 0x0100), None);
    assert_eq!(second(3, 0x0200), None);
}

#[test]
fn rows_of_fields_have_a_schema() {
    // The label of the second hook: offset and length in the strings.
    let labelled =
        |len: u32| overwritten(4, &[(HOOK, &[0, 2]), (HOOK + 3, &[3 << 3]), (HOOK + 16, &len.to_le_bytes())]);
    assert_eq!(Program::open(&labelled(0)).err(), None, "no fields");
    let malformed = labelled(1);
    assert_eq!(Program::open(&malformed).err(), outside(4, 1));
    // If fields are verified on demand, such an entry has none.
    for opened in [Program::open_for_text(&malformed), Program::open_lazily(&malformed)] {
        assert_eq!(opened.expect("rows inside the sections").schema(0x0200), None);
    }
}

#[test]
fn hooks_name_existing_things() {
    let source = |index: u16| open_with_section_bytes(4, &[(HOOK + 24, &index.to_le_bytes())]);
    assert_eq!(source(0), None);
    assert_eq!(source(1), outside(4, 1));
    let level = |level: u8| open_with_section_bytes(4, &[(HOOK + 2, &[level])]);
    for known in 0..=4 {
        assert_eq!(level(known), None);
    }
    assert_eq!(level(5), outside(4, 1));
    assert_eq!(level(255), outside(4, 1));
    for env in 0..4 {
        let routine = |index: u32| open_with_section_bytes(4, &[(HOOK + 28 + 4 * env, &index.to_le_bytes())]);
        assert_eq!(routine(2), None);
        assert_eq!(routine(1), outside(4, 1), "a called routine");
        assert_eq!(routine(4), outside(4, 1), "no routine");
    }
}

#[test]
fn hooks_need_a_source() {
    let mut blob = BlobBuilder::new();
    blob.hook(HookRow { id: 0x0100, ..HookRow::default() });
    assert_eq!(open(&blob.finish()).err(), outside(4, 0));
}

#[test]
fn routines_and_tables_follow_one_another() {
    let whole = super::blob(&[Instr::new(Op::End)]);
    // First instruction of the second routine.
    assert_eq!(altered(&mut whole.clone(), 3, 28, 1), None);
    assert_eq!(altered(&mut whole.clone(), 3, 28, 0), outside(3, 1));
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    for key in 0..2 {
        let (kind, words) = number_table(&[(key, 0)], 0);
        blob.table(kind, &words);
    }
    let whole = blob.finish();
    // First word of the second table.
    assert_eq!(altered(&mut whole.clone(), 5, 16, 4), None);
    assert_eq!(altered(&mut whole.clone(), 5, 16, 3), outside(5, 1));
    assert_eq!(altered(&mut whole.clone(), 5, 16, 5), outside(5, 1));
}
