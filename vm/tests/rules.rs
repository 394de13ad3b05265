//! Each rule of the verifier refuses a program that breaks it, and the blob's header one that was altered.

use tfbc_vm::{BlobBuilder, BlobError, HookRow, Instr, Op, Place, Program, RoutineRow, Slot, form};

/// A blob whose hook 010 runs `code`, with one string and a routine 0 that may be called.
fn blob(code: &[Instr]) -> Vec<u8> {
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    blob.string(b"text");
    let called = RoutineRow { called: 1, ..RoutineRow::default() };
    blob.routine(called, &[Instr::new(Op::Ret)], &[Place::default()]);
    let row = RoutineRow { need: 8, ..RoutineRow::default() };
    let routine = blob.routine(row, code, &vec![Place::default(); code.len()]);
    blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
    blob.finish()
}

/// Opens a blob whole, and lazily: then the same is refused, at the routine.
fn open(blob: &[u8]) -> Result<Program<'_>, BlobError> {
    let (whole, lazy) = (Program::open(blob), Program::open_lazily(blob));
    match (&whole, lazy) {
        (Ok(_), lazy) => assert!(!lazy.unwrap().disassemble(None).contains("refused by the verifier")),
        (Err(BlobError::Instr { .. }), lazy) => {
            assert!(lazy.unwrap().disassemble(None).contains("refused by the verifier"));
        }
        (Err(error), lazy) => assert_eq!(lazy.err(), Some(*error)),
    }
    whole
}

/// `instr` as a routine's first instruction, with room to jump over.
fn check(instr: Instr, rule: Option<u8>) {
    let code = [instr, Instr::new(Op::Soft), Instr::new(Op::End)];
    let blob = blob(&code);
    let found = open(&blob).err();
    let expected = rule.map(|rule| BlobError::Instr { rule, routine: 1, at: 1 });
    assert_eq!(found, expected, "{}", tfbc_vm::list_instr(&instr, None));
}

#[test]
fn v1_opcodes_are_known_and_literals_short() {
    check(Instr { op: 255, ..Instr::new(Op::End) }, Some(1));
    check(Instr { lit_len: 16, ..Instr::new(Op::Soft) }, None);
    check(Instr { lit_len: 17, ..Instr::new(Op::Soft) }, Some(1));
}

#[test]
fn v2_registers_exist() {
    check(Instr::of(Op::Const, &[1023]), None);
    check(Instr::of(Op::Const, &[1024]), Some(2));
    check(Instr::of(Op::Add, &[0, 0, 1024]), Some(2));
}

#[test]
fn v3_jumps_stay_in_the_routine() {
    check(Instr::of(Op::Jump, &[3]), None);
    check(Instr::of(Op::Jump, &[4]), Some(3));
}

#[test]
fn v4_only_loops_jump_back() {
    check(Instr::of(Op::Jump, &[0]), Some(4));
    check(Instr::of(Op::LoopNext, &[0, 0]), Some(4));
    check(Instr::of(Op::Back, &[0]), None);
    check(Instr::of(Op::Back, &[4]), Some(3));
    let code = [Instr::of(Op::Loop, &[0, 0, 2]), Instr::of(Op::LoopNext, &[0, 1]), Instr::new(Op::End)];
    assert!(open(&blob(&code)).is_ok());
}

#[test]
fn v5_called_routines_return_and_only_they() {
    assert!(open(&blob(&[Instr::new(Op::Soft)])).is_ok());
    check(Instr::new(Op::Ret), Some(5));
    let mut blob = BlobBuilder::new();
    blob.routine(RoutineRow { called: 1, ..RoutineRow::default() }, &[Instr::new(Op::Soft)], &[Place::default()]);
    assert_eq!(open(&blob.finish()).err(), Some(BlobError::Instr { rule: 5, routine: 0, at: 0 }));
}

#[test]
fn v5_what_stands_behind_a_body_does_not_fall_off_its_end() {
    let with_body = |body: u32, code: &[Instr]| {
        let mut blob = BlobBuilder::new();
        blob.source("test", b"");
        let routine =
            blob.routine(RoutineRow { body, ..RoutineRow::default() }, code, &vec![Place::default(); code.len()]);
        blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
        open(&blob.finish()).err()
    };
    let broken = |rule, at| Some(BlobError::Instr { rule, routine: 0, at });
    let jump = |to| Instr::of(Op::JumpZero, &[0, to]);
    assert_eq!(with_body(1, &[jump(1), Instr::new(Op::Cut), Instr::of(Op::Back, &[1])]), None);
    assert_eq!(with_body(1, &[jump(1), Instr::new(Op::Cut)]), broken(5, 1));
    // The body's end is a place to go on at, the end of what stands behind it is none.
    assert_eq!(with_body(1, &[jump(2), Instr::new(Op::End)]), broken(3, 0));
    assert_eq!(with_body(3, &[jump(1), Instr::new(Op::End)]), Some(BlobError::Row { section: 3, row: 0 }));
}

#[test]
fn v6_fixed_reads_lie_within_what_the_routine_needs() {
    check(Instr::of(Op::Load, &[0, 4, 4]), None);
    check(Instr::of(Op::Load, &[0, 5, 4]), Some(6));
    check(Instr::of(Op::HexBytes, &[u32::MAX, 16]), Some(6));
    check(Instr::of(Op::LoadBits, &[0, 60, 4]), None);
    check(Instr::of(Op::LoadBits, &[0, 60, 5]), Some(6));
    // A window is eight bytes, whatever is taken from it.
    let form = 1 << form::END;
    check(Instr::of(Op::DecAt, &[0, form]), None);
    check(Instr::of(Op::DecAt, &[1, form]), Some(6));
    check(Instr::of(Op::JumpEqualAt, &[1, 0, form, 2]), Some(6));
}

#[test]
fn v7_strings_lie_in_the_pool() {
    check(Instr::of(Op::Lit, &[0]).with(Slot::C, 8), None);
    check(Instr::of(Op::Lit, &[1]).with(Slot::C, 8), Some(7));
    check(Instr::of(Op::Lit, &[u32::MAX]).with(Slot::C, u32::MAX), Some(7));
}

#[test]
fn v8_and_v9_tables_exist_and_their_targets_keep_the_rules() {
    check(Instr::of(Op::Switch, &[0, 0]), Some(8));
    check(Instr::of(Op::SwitchLit, &[0, 0]), Some(8));
    check(Instr::of(Op::Nibbles, &[0, 0, 0]), Some(8));
    check(Instr::of(Op::LitAt, &[0, 0, 1 << form::END]), Some(8));
    let with_words = |op: Op, words: Vec<u64>| {
        let mut blob = BlobBuilder::new();
        blob.source("test", b"");
        let table = blob.words(&words);
        let routine = blob.routine(RoutineRow::default(), &[Instr::of(op, &[0, table])], &[Place::default()]);
        blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
        open(&blob.finish()).err().map(|error| error.code())
    };
    // Behind its count a list has that many texts of two words and the default.
    assert_eq!(with_words(Op::SwitchLit, vec![1, 0, 0, 0, 0]), None);
    assert_eq!(with_words(Op::SwitchLit, vec![2, 0, 0, 0, 0]), Some("B08"));
    assert_eq!(with_words(Op::SwitchLit, vec![u64::MAX, 0, 0, 0, 0]), Some("B08"));
    // Behind its head a default of four words and 16 texts a nibble.
    assert_eq!(with_words(Op::Nibbles, [vec![1], vec![0; 68]].concat()), None);
    assert_eq!(with_words(Op::Nibbles, [vec![1], vec![0; 67]].concat()), Some("B08"));
    assert_eq!(with_words(Op::Nibbles, [vec![17], vec![0; 17 * 64 + 4]].concat()), Some("B08"));
    let with_table = |target: u32| {
        let mut blob = BlobBuilder::new();
        blob.source("test", b"");
        let (kind, words) = tfbc_vm::table::number_table(&[(1, target.into())], 1);
        let table = blob.table(kind, &words);
        let code = [Instr::of(Op::Switch, &[0, table]), Instr::new(Op::End)];
        let routine = blob.routine(RoutineRow::default(), &code, &[Place::default(); 2]);
        blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
        open(&blob.finish()).err()
    };
    assert_eq!(with_table(1), None);
    assert_eq!(with_table(0), Some(BlobError::Instr { rule: 9, routine: 0, at: 0 }));
    assert_eq!(with_table(3), Some(BlobError::Instr { rule: 9, routine: 0, at: 0 }));
}

#[test]
fn v10_sizes_are_in_range() {
    check(Instr::of(Op::Take, &[0, 0]), Some(10));
    check(Instr::of(Op::Take, &[0, 17]), Some(10));
    check(Instr::of(Op::PutHex, &[0, 33]), Some(10));
    check(Instr::of(Op::TakeBits, &[0, 65]), Some(10));
    check(Instr::of(Op::Env, &[0, 255]), Some(10));
    check(Instr::of(Op::DecAt, &[0, 0]), Some(10));
    check(Instr::of(Op::DecAt, &[0, 9 << form::END]), Some(10));
    check(Instr::of(Op::DecAt, &[0, 1 << form::END | 1 << form::BACK]), Some(10));
    check(Instr::of(Op::DecAt, &[0, 1 << form::END, 1]), Some(10));
    check(Instr::of(Op::HexAt, &[33, 0, 1 << form::END]), Some(10));
}

#[test]
fn v11_calls_go_down() {
    check(Instr::of(Op::Call, &[0]), None);
    check(Instr::of(Op::Call, &[1]), Some(11));
    check(Instr::of(Op::Call, &[2]), Some(11));
}

#[test]
fn v12_rows_point_inside() {
    let mut blob = BlobBuilder::new();
    blob.hook(HookRow { id: 0x0100, ..HookRow::default() });
    assert_eq!(open(&blob.finish()).err(), Some(BlobError::Row { section: 4, row: 0 }));
}

#[test]
fn v13_what_runs_together_is_alike() {
    let form = 1 << form::END;
    let run = |n_more: u32, others: &[Op], body: u32| {
        let hex = |op, more| Instr::of(op, &[2, 0, form | more << form::MORE]);
        let mut code = vec![hex(Op::HexFullAt, n_more)];
        code.extend(others.iter().map(|op| hex(*op, 0)));
        code.push(Instr::new(Op::End));
        let mut blob = BlobBuilder::new();
        blob.source("test", b"");
        let row = RoutineRow { need: 8, body, ..RoutineRow::default() };
        let routine = blob.routine(row, &code, &vec![Place::default(); code.len()]);
        blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
        open(&blob.finish()).err()
    };
    let broken = Some(BlobError::Instr { rule: 13, routine: 0, at: 0 });
    assert_eq!(run(2, &[Op::HexFullAt; 2], 4), None);
    assert_eq!(run(1, &[Op::HexFullAt, Op::HexAt], 4), None);
    assert_eq!(run(2, &[Op::HexFullAt, Op::HexAt], 4), broken);
    assert_eq!(run(3, &[Op::HexFullAt; 2], 4), broken);
    assert_eq!(run(4, &[Op::HexFullAt; 4], 6), broken);
    // The body ends between them.
    assert_eq!(run(2, &[Op::HexFullAt; 2], 2), broken);
    assert_eq!(run(2, &[Op::HexFullAt; 2], 3), None);
    check(Instr::of(Op::DecAt, &[0, form | 1 << form::MORE]), Some(13));
}

#[test]
fn an_altered_blob_is_refused() {
    let blob = blob(&[Instr::new(Op::End)]);
    for at in 0..blob.len() {
        for bit in 0..8 {
            let mut altered = blob.clone();
            altered[at] ^= 1 << bit;
            assert!(Program::open(&altered).is_err(), "byte {at}, bit {bit}");
        }
    }
    for len in 0..blob.len() {
        assert!(Program::open(&blob[..len]).is_err(), "{len} bytes");
    }
}

#[test]
fn a_misaligned_blob_is_copied() {
    let blob = blob(&[Instr::new(Op::End)]);
    let mut shifted = vec![0; blob.len() + 1];
    shifted[1..].copy_from_slice(&blob);
    assert!(Program::open(&shifted[1..]).is_ok());
}

#[test]
fn errors_are_small() {
    assert!(size_of::<BlobError>() <= 24);
}

#[test]
fn the_page_of_the_instruction_table_is_up_to_date() {
    let page = include_str!("../../docs/bytecode.md");
    assert!(page == tfbc_vm::ops_page(), "print it again: tfbc ops > docs/bytecode.md");
}
