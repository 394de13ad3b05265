//! Rules V8 and V9: tables are of the right kind, well formed, and have valid targets.

use super::{altered, broken, check, open};
use tfbc_vm::table::{LONG_TEXTS, TableKind, TextCase, number_table, pack_str, text_table};
use tfbc_vm::{BlobBuilder, BlobError, HookRow, Instr, Op, RoutineRow, Rule, Slot, SourcePos, form};

#[test]
fn v8_v9_tables_exist_and_their_targets_are_valid() {
    check(Instr::of(Op::Switch, &[0, 0]), Some(8));
    check(Instr::of(Op::SwitchLit, &[0, 0]), Some(8));
    check(Instr::of(Op::Nibbles, &[0, 0, 0]), Some(8));
    check(Instr::of(Op::LitAt, &[0, 0, 1 << form::END]), Some(8));
    let with_words = |op: Op, words: Vec<u64>| {
        let mut blob = BlobBuilder::new();
        blob.source("test", b"");
        let table = blob.words(&words);
        let routine = blob.routine(
            RoutineRow { zeroed: 1, ..RoutineRow::default() },
            &[Instr::of(op, &[0, table])],
            &[SourcePos::default()],
        );
        blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
        open(&blob.finish()).err().map(|error| error.code())
    };
    // A list has a count, that many texts of two words, and the default.
    assert_eq!(with_words(Op::SwitchLit, vec![1, 0, 0, 0, 0]), None);
    assert_eq!(with_words(Op::SwitchLit, vec![2, 0, 0, 0, 0]), Some("B08"));
    assert_eq!(with_words(Op::SwitchLit, vec![u64::MAX, 0, 0, 0, 0]), Some("B08"));
    // A nibble table has a head, a default of four words, and 16 texts per nibble.
    assert_eq!(with_words(Op::Nibbles, [vec![1], vec![0; 68]].concat()), None);
    assert_eq!(with_words(Op::Nibbles, [vec![1], vec![0; 67]].concat()), Some("B08"));
    assert_eq!(with_words(Op::Nibbles, [vec![17], vec![0; 17 * 64 + 4]].concat()), Some("B08"));
    let with_table = |target: u32| {
        let mut blob = BlobBuilder::new();
        blob.source("test", b"");
        let (kind, words) = number_table(&[(1, target.into())], 1);
        let table = blob.table(kind, &words);
        let code = [Instr::of(Op::Switch, &[0, table]), Instr::new(Op::End)];
        let routine =
            blob.routine(RoutineRow { zeroed: 1, ..RoutineRow::default() }, &code, &[SourcePos::default(); 2]);
        blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
        open(&blob.finish()).err()
    };
    assert_eq!(with_table(1), None);
    assert_eq!(with_table(0), Some(BlobError::Instr { rule: Rule::TableTargets, routine: 0, at: 0 }));
    assert_eq!(with_table(3), Some(BlobError::Instr { rule: Rule::TableTargets, routine: 0, at: 0 }));
}

/// Opens a program whose event has one instruction with one table of a kind; zeroes one register.
fn with_table(instr: Instr, slot: Slot, kind: TableKind, words: &[u64]) -> Option<BlobError> {
    let mut blob = BlobBuilder::new();
    let text = blob.string(b"text");
    assert_eq!(text, [0, 4]);
    // The string pool contains no names.
    blob.source("text", b"");
    let table = blob.table(kind, words);
    let row = RoutineRow { need: 8, zeroed: 1, ..RoutineRow::default() };
    let code = [instr.with(slot, table), Instr::new(Op::Soft), Instr::new(Op::End)];
    let routine = blob.routine(row, &code, &[SourcePos::default(); 3]);
    blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
    open(&blob.finish()).err()
}

#[test]
fn v8_texts_of_a_table_are_in_the_pool() {
    let case = |default: u64, text: u64| {
        let (kind, words) = number_table(&[(1, text)], default);
        with_table(Instr::of(Op::PutCase, &[0]), Slot::C, kind, &words)
    };
    assert_eq!(case(0, pack_str(0, 4)), None);
    assert_eq!(case(pack_str(1, 3), pack_str(4, 0)), None);
    assert_eq!(case(0, pack_str(0, 5)), broken(8, 0, 0));
    assert_eq!(case(0, pack_str(1, 4)), broken(8, 0, 0));
    assert_eq!(case(pack_str(5, 0), 0), broken(8, 0, 0));
    // A hash table is accepted, like a dense one.
    let (kind, words) = number_table(&[(1, 0), (1 << 40, pack_str(0, 4))], 0);
    assert_eq!(kind, TableKind::Hash);
    assert_eq!(with_table(Instr::of(Op::PutCase, &[0]), Slot::C, kind, &words), None);
    // Tables of other kinds are refused, regardless of their targets.
    let (kind, words) = text_table(&[TextCase { text: b"text", string: pack_str(0, 4), target: 1 }], 1);
    assert_eq!(with_table(Instr::of(Op::PutCase, &[0]), Slot::C, kind, &words), broken(8, 0, 0));
    assert_eq!(with_table(Instr::of(Op::PutCase, &[0]), Slot::C, TableKind::Flags, &[0; 5]), broken(8, 0, 0));
}

#[test]
fn v8_each_instruction_has_its_kind_of_table() {
    let dense = number_table(&[(1, 1)], 1);
    let hash = number_table(&[(1, 1), (1 << 40, 1)], 1);
    let text = text_table(&[TextCase { text: b"text", string: pack_str(0, 4), target: 1 }], 1);
    let flags = (TableKind::Flags, vec![1, 1, pack_str(0, 4), pack_str(4, 0), 0]);
    let given = |op: Op, slot, table: &(TableKind, Vec<u64>)| {
        with_table(Instr::new(op).with(Slot::D, 1), slot, table.0, &table.1)
    };
    for (op, own) in [
        (Op::Switch, &[&dense, &hash][..]),
        (Op::SwitchText, &[&text]),
        (Op::SwitchTextAt, &[&text]),
        (Op::Flags, &[&flags]),
        (Op::FlagsAny, &[&flags]),
        (Op::FlagsList, &[&flags]),
        (Op::FieldCase, &[&dense, &hash]),
    ] {
        for table in [&dense, &hash, &text, &flags] {
            let expected = match (own.contains(&table), op) {
                // The table is right, only a mark is missing.
                (true, Op::SwitchText) => broken(15, 0, 0),
                (true, _) => None,
                (false, _) => broken(8, 0, 0),
            };
            assert_eq!(given(op, Slot::C, table), expected, "{op:?} with {:?}", table.0);
        }
    }
    // Unknown kind.
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    let table = blob.table(TableKind::Dense, &dense.1);
    let code = [Instr::of(Op::Switch, &[0, table]), Instr::new(Op::End)];
    let row = RoutineRow { zeroed: 1, ..RoutineRow::default() };
    let routine = blob.routine(row, &code, &[SourcePos::default(); 2]);
    blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
    assert_eq!(altered(&mut blob.finish(), 5, 0, 4), broken(8, 0, 0));
}

#[test]
fn v8_malformed_tables_are_refused() {
    let check = |op: Op, kind, words: &[u64]| with_table(Instr::new(op).with(Slot::D, 1), Slot::C, kind, words);
    let good = |op: Op, kind, words: &[u64]| assert_eq!(check(op, kind, words), None, "{kind:?} {words:?}");
    let bad = |op: Op, kind, words: &[u64]| assert_eq!(check(op, kind, words), broken(8, 0, 0), "{kind:?} {words:?}");
    // Base, count, default, then `count` targets.
    good(Op::Switch, TableKind::Dense, &[0, 0, 1]);
    good(Op::Switch, TableKind::Dense, &[0, 1, 1, 2]);
    bad(Op::Switch, TableKind::Dense, &[0, 1]);
    bad(Op::Switch, TableKind::Dense, &[0, 2, 1, 2]);
    bad(Op::Switch, TableKind::Dense, &[0, 0, 1, 2]);
    // Multiplier, shifts, default; two buckets; two slots.
    good(Op::Switch, TableKind::Hash, &[1, 63, 63, 1, 1, 1, 0, 1, 0, 1]);
    bad(Op::Switch, TableKind::Hash, &[1, 63, 63]);
    bad(Op::Switch, TableKind::Hash, &[1, 63, 63, 1, 1]);
    bad(Op::Switch, TableKind::Hash, &[1, 63, 63, 1, 1, 1, 0, 1, 0]);
    bad(Op::Switch, TableKind::Hash, &[1, 63, 63, 1, 1, 1, 0, 1, 0, 1, 0]);
    bad(Op::Switch, TableKind::Hash, &[1, 62, 63, 1, 1, 1, 0, 1, 0, 1]);
    bad(Op::Switch, TableKind::Hash, &[1, 64, 63, 1, 1, 1, 0, 1, 0, 1]);
    bad(Op::Switch, TableKind::Hash, &[1, 63, 64, 1, 1, 1, 0, 1, 0, 1]);
    bad(Op::Switch, TableKind::Hash, &[1, 63, 31, 1, 1, 1, 0, 1, 0, 1]);
    // Slots of three words, the last one a text.
    let slots = |text: u64| [1, 63, 63, 1, 1, 1, 0, 1, text, 0, 1, 0];
    good(Op::SwitchTextAt, TableKind::Text, &slots(pack_str(0, 4)));
    bad(Op::SwitchTextAt, TableKind::Text, &slots(pack_str(0, 5)));
    bad(Op::SwitchTextAt, TableKind::Text, &slots(pack_str(4, 1)));
    bad(Op::SwitchTextAt, TableKind::Text, &slots(0)[..10]);
    // Entries of five words with two texts.
    let entry = |yes, no| [1, 1, yes, no, 0];
    good(Op::Flags, TableKind::Flags, &[]);
    good(Op::Flags, TableKind::Flags, &entry(pack_str(0, 4), pack_str(1, 3)));
    bad(Op::Flags, TableKind::Flags, &entry(pack_str(0, 5), 0));
    bad(Op::Flags, TableKind::Flags, &entry(0, pack_str(2, 3)));
    bad(Op::Flags, TableKind::Flags, &[0; 6]);
}

#[test]
fn v8_long_texts_of_a_list_have_four_words() {
    let listed = |words: &[u64]| {
        let mut blob = BlobBuilder::new();
        blob.source("test", b"");
        let list = blob.words(words);
        let row = RoutineRow { need: 8, zeroed: 1, ..RoutineRow::default() };
        let code = [Instr::of(Op::SwitchLit, &[0, list])];
        let routine = blob.routine(row, &code, &[SourcePos::default()]);
        blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
        open(&blob.finish()).err()
    };
    let long = |count: u64, n_words: usize| listed(&[vec![LONG_TEXTS | count], vec![0; n_words]].concat());
    assert_eq!(long(1, 8), None);
    assert_eq!(long(1, 7), broken(8, 0, 0));
    assert_eq!(long(0, 4), None);
    assert_eq!(long(u64::MAX, 64), broken(8, 0, 0));
}

#[test]
fn v9_all_targets_of_a_table_keep_the_rules() {
    let switch = |cases: &[(u64, u64)], default| {
        let (kind, words) = number_table(cases, default);
        with_table(Instr::of(Op::Switch, &[0]), Slot::C, kind, &words)
    };
    // The routine has three instructions, and its end is a target too.
    assert_eq!(switch(&[(1, 1), (2, 2)], 3), None);
    assert_eq!(switch(&[(1, 4), (2, 2)], 3), broken(9, 0, 0));
    assert_eq!(switch(&[(1, 1), (2, 2)], 4), broken(9, 0, 0));
    assert_eq!(switch(&[(1, 1), (2, 0)], 3), broken(9, 0, 0));
    assert_eq!(switch(&[(1, 9)], 9), broken(9, 0, 0));
    assert_eq!(switch(&[(1, u64::MAX)], 1), broken(9, 0, 0));
    // The other kinds, with targets beyond the end.
    let hash = [1, 63, 63, 1, 1, 1, 0, 1, 0, 9];
    assert_eq!(with_table(Instr::of(Op::Switch, &[0]), Slot::C, TableKind::Hash, &hash), broken(9, 0, 0));
    let text = [1, 63, 63, 1, 1, 1, 0, 1, 0, 0, 9, 0];
    for switch in [Instr::of(Op::SwitchText, &[0]), Instr::of(Op::SwitchTextAt, &[0]).with(Slot::D, 16)] {
        assert_eq!(with_table(switch, Slot::C, TableKind::Text, &text), broken(9, 0, 0));
    }
}
