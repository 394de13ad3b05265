//! The verifier refuses programs that break a rule, and altered blobs.

mod effects;
mod registers;
mod rows;
mod sections;
mod tables;

use tfbc_vm::{BlobBuilder, BlobError, HookRow, Instr, Op, Program, RoutineRow, Rule, Slot, SourcePos, form};

/// Blob whose hook 010 runs `code`, with one string and a routine 0 that may be called.
fn blob(code: &[Instr]) -> Vec<u8> {
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    blob.string(b"text");
    let called = RoutineRow { called: 1, ..RoutineRow::default() };
    blob.routine(called, &[Instr::new(Op::Ret)], &[SourcePos::default()]);
    let row = RoutineRow { need: 8, zeroed: 8, ..RoutineRow::default() };
    let routine = blob.routine(row, code, &vec![SourcePos::default(); code.len()]);
    blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
    blob.finish()
}

/// Opens a blob eagerly and lazily; the lazy one must refuse the routine that breaks the rule.
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

/// Program with `instr` as the first instruction, and instructions to jump over.
fn check(instr: Instr, rule: Option<u8>) {
    let code = [instr, Instr::new(Op::Soft), Instr::new(Op::End)];
    let blob = blob(&code);
    let found = open(&blob).err();
    let expected = rule.and_then(|rule| broken(rule, 1, 1));
    assert_eq!(found, expected, "{}", tfbc_vm::list_instr(&instr, None));
}

const CALLED: RoutineRow =
    RoutineRow { called: 1, shape: 0, start: 0, len: 0, body: 0, need: 0, zeroed: 0, name: [0; 2] };

const EVENT: RoutineRow = RoutineRow { called: 0, ..CALLED };

/// Opens a program of routines; the last one formats an event. Returns the error if the program is refused.
fn routines(rows: &[(RoutineRow, &[Instr])]) -> Option<BlobError> {
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    let mut last = 0;
    for (at, (row, code)) in rows.iter().enumerate() {
        // Different places keep equal routines from being merged.
        let place = SourcePos { line: at as u32, ..SourcePos::default() };
        last = blob.routine(*row, code, &vec![place; code.len()]);
    }
    blob.hook(HookRow { id: 0x0100, routines: [last; 4], ..HookRow::default() });
    open(&blob.finish()).err()
}

fn broken(rule: u8, routine: u32, at: u32) -> Option<BlobError> {
    let rule = Rule::from_number(rule).expect("a rule's number");
    Some(BlobError::Instr { rule, routine, at })
}

/// Blob in which one number of a section's row is altered, with a correct checksum.
fn altered(blob: &mut [u8], section: usize, at: usize, value: u32) -> Option<BlobError> {
    let start = u32::from_le_bytes(*blob[32 + (section - 1) * 16 + 4..].first_chunk().unwrap()) as usize;
    blob[start + at..start + at + 4].copy_from_slice(&value.to_le_bytes());
    tfbc_vm::write_checksum(blob);
    open(blob).err()
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
fn v3_jumps_to_a_callees_end_are_refused() {
    let code = [Instr::of(Op::Jump, &[2]), Instr::new(Op::Ret)];
    assert_eq!(routines(&[(CALLED, &code), (EVENT, &[Instr::new(Op::End)])]), broken(3, 0, 0));
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
fn v4_loops_jump_back_to_after_their_start() {
    let turn = |to| Instr::of(Op::LoopNext, &[0, to]);
    let start = Instr::of(Op::Loop, &[0, 0, 4]);
    let row = RoutineRow { zeroed: 1, ..EVENT };
    let looped = |to| routines(&[(row, &[start, Instr::new(Op::Soft), turn(to), Instr::new(Op::Soft)])]);
    assert_eq!(looped(1), None);
    assert_eq!(looped(2), broken(4, 0, 2));
    assert_eq!(looped(3), broken(4, 0, 2));
    // A loop start without an end, and one after its end.
    assert_eq!(routines(&[(row, &[start, turn(1), start, turn(3)])]), None);
    assert_eq!(routines(&[(row, &[turn(2), Instr::of(Op::Loop, &[0, 0, 3]), Instr::new(Op::Soft)])]), broken(4, 0, 0));
}

#[test]
fn v5_called_routines_return_and_only_they() {
    assert!(open(&blob(&[Instr::new(Op::Soft)])).is_ok());
    check(Instr::new(Op::Ret), Some(5));
    let mut blob = BlobBuilder::new();
    blob.routine(RoutineRow { called: 1, ..RoutineRow::default() }, &[Instr::new(Op::Soft)], &[SourcePos::default()]);
    assert_eq!(open(&blob.finish()).err(), Some(BlobError::Instr { rule: Rule::Ends, routine: 0, at: 0 }));
}

#[test]
fn v5_code_after_a_body_cannot_run_past_end() {
    let with_body = |body: u32, code: &[Instr]| {
        let mut blob = BlobBuilder::new();
        blob.source("test", b"");
        let routine = blob.routine(
            RoutineRow { body, zeroed: 8, ..RoutineRow::default() },
            code,
            &vec![SourcePos::default(); code.len()],
        );
        blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
        open(&blob.finish()).err()
    };
    let broken = |rule, at| broken(rule, 0, at);
    let jump = |to| Instr::of(Op::JumpZero, &[0, to]);
    assert_eq!(with_body(1, &[jump(1), Instr::new(Op::Cut), Instr::of(Op::Back, &[1])]), None);
    assert_eq!(with_body(1, &[jump(1), Instr::new(Op::Cut)]), broken(5, 1));
    // The end of the body is a valid target, the end of the code after it is not.
    assert_eq!(with_body(1, &[jump(2), Instr::new(Op::End)]), broken(3, 0));
    assert_eq!(with_body(3, &[jump(1), Instr::new(Op::End)]), Some(BlobError::Row { section: 3, row: 0 }));
}

#[test]
fn v5_a_called_routine_has_nothing_after_its_body() {
    let code = [Instr::new(Op::Ret), Instr::new(Op::Ret)];
    let row = RoutineRow { body: 1, ..CALLED };
    assert_eq!(routines(&[(row, &code), (EVENT, &[Instr::new(Op::End)])]), broken(5, 0, 1));
    for last in [Op::Ret, Op::End, Op::Skip] {
        assert_eq!(routines(&[(CALLED, &[Instr::new(last)]), (EVENT, &[Instr::new(Op::End)])]), None);
    }
    let back = [Instr::new(Op::Soft), Instr::of(Op::Back, &[0])];
    assert_eq!(routines(&[(CALLED, &back), (EVENT, &[Instr::new(Op::End)])]), broken(5, 0, 1));
}

#[test]
fn v6_fixed_reads_are_inside_the_needed_bytes() {
    check(Instr::of(Op::Load, &[0, 4, 4]), None);
    check(Instr::of(Op::Load, &[0, 5, 4]), Some(6));
    check(Instr::of(Op::HexBytes, &[u32::MAX, 16]), Some(6));
    check(Instr::of(Op::LoadBits, &[0, 60, 4]), None);
    check(Instr::of(Op::LoadBits, &[0, 60, 5]), Some(6));
    // A window always has eight bytes, even if only a part of it is used.
    let form = 1 << form::END;
    check(Instr::of(Op::DecAt, &[0, form]), None);
    check(Instr::of(Op::DecAt, &[1, form]), Some(6));
    check(Instr::of(Op::JumpEqualAt, &[1, 0, form, 2]), Some(6));
}

#[test]
fn v6_every_kind_of_fixed_read_is_checked() {
    for op in [Op::Load, Op::LoadLe, Op::HexBytes] {
        let read = |at| {
            let operands: &[u32] = if op == Op::HexBytes { &[at, 9] } else { &[0, at, 9] };
            routines(&[(RoutineRow { need: 16, ..EVENT }, &[Instr::of(op, operands)])])
        };
        assert_eq!(read(7), None);
        assert_eq!(read(8), broken(6, 0, 0));
        assert_eq!(read(u32::MAX), broken(6, 0, 0));
    }
    // Bits count up to the end of their byte.
    let bits = |need| routines(&[(RoutineRow { need, ..EVENT }, &[Instr::of(Op::LoadBits, &[0, 15, 2])])]);
    assert_eq!(bits(3), None);
    assert_eq!(bits(2), broken(6, 0, 0));
    // Data words check the event's length at run time.
    check(Instr::of(Op::Word, &[0, 100, 4]), None);
    check(Instr::of(Op::Text, &[100, 4, 4]), None);
}

#[test]
fn v7_strings_are_inside_the_pool() {
    check(Instr::of(Op::Lit, &[0]).with(Slot::C, 8), None);
    check(Instr::of(Op::Lit, &[1]).with(Slot::C, 8), Some(7));
    check(Instr::of(Op::Lit, &[u32::MAX]).with(Slot::C, u32::MAX), Some(7));
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
fn v10_forms_are_known_to_the_last_bit() {
    let at = |form: u32| Instr { lit_len: 16, ..Instr::of(Op::DecAt, &[0, form]) };
    let end = 8 << form::END;
    check(at(end), None);
    check(at(end | form::LEFT | 63 << form::RIGHT | form::LITTLE | form::WORD << form::MODE | 16 << form::BACK), None);
    for bit in 0..6 {
        check(at(end | 1 << bit), None);
        check(at(end | 1 << (form::RIGHT + bit)), None);
    }
    for unknown in [6, 7, 14, 15, 19] {
        check(at(end | 1 << unknown), Some(10));
    }
    for end in [0, 9, 15] {
        check(at(end << form::END), Some(10));
    }
    check(at(1 << form::END), None);
    check(at(end | 3 << form::MODE), Some(10));
    check(at(end | 17 << form::BACK), Some(10));
}

#[test]
fn v10_only_fields_have_a_missing_target() {
    let at = |mode: u32, short: u32| Instr::of(Op::DecAt, &[0, 8 << form::END | mode << form::MODE, short]);
    check(at(form::FIELD, 2), None);
    check(at(form::FIELD, 3), None);
    check(at(form::FIELD, 4), Some(3));
    check(at(form::FIELD, 0), Some(4));
    for mode in [form::LOAD, form::WORD] {
        check(at(mode, 0), None);
        check(at(mode, 2), Some(10));
    }
}

#[test]
fn v10_the_end_of_every_range_is_valid() {
    for (op, operands, beyond) in [
        (Op::Take, &[0, 16][..], &[0, 17][..]),
        (Op::Take, &[0, 1], &[0, 0]),
        (Op::HexBytes, &[0, 8], &[0, 7]),
        (Op::TakeHexBytes, &[16], &[17]),
        (Op::TakeHexBytes, &[9], &[8]),
        (Op::TakeBits, &[0, 64], &[0, 65]),
        (Op::TakeBits, &[0, 1], &[0, 0]),
        (Op::Bits, &[0, 0, 63, 1], &[0, 0, 64, 1]),
        (Op::Bits, &[0, 0, 0, 64], &[0, 0, 0, 65]),
        (Op::PutHex, &[0, 32], &[0, 33]),
        (Op::PutHex, &[0, 1], &[0, 0]),
        (Op::Dump, &[0, 1], &[0, 2]),
    ] {
        if op != Op::HexBytes {
            check(Instr::of(op, operands), None);
        }
        check(Instr::of(op, beyond), Some(10));
    }
    check(Instr::of(Op::PutName, &[255]), Some(10));
    let string = |back: u32| Instr { lit_len: 3, ..Instr::of(Op::StringAt, &[0, back, 2]) };
    check(string(0), None);
    check(string(3), None);
    check(string(4), Some(10));
}

#[test]
fn v11_calls_go_down() {
    check(Instr::of(Op::Call, &[0]), None);
    check(Instr::of(Op::Call, &[1]), Some(11));
    check(Instr::of(Op::Call, &[2]), Some(11));
}

#[test]
fn v11_callees_are_called_routines() {
    let call = |row: RoutineRow, callee: Instr, need: u32| {
        routines(&[(row, &[callee]), (RoutineRow { need, ..EVENT }, &[Instr::of(Op::Call, &[0])])])
    };
    let ret = Instr::new(Op::Ret);
    assert_eq!(call(RoutineRow { need: 8, ..CALLED }, ret, 8), None);
    assert_eq!(call(RoutineRow { need: 8, ..CALLED }, ret, 7), broken(11, 1, 1));
    assert_eq!(call(EVENT, Instr::new(Op::End), 0), broken(11, 1, 1));
    // The deepest of several calls counts, and the others are checked too.
    let calls = [Instr::of(Op::Call, &[0]), Instr::of(Op::Call, &[2]), Instr::of(Op::Call, &[1])];
    assert_eq!(routines(&[(CALLED, &[ret]), (CALLED, &[ret]), (EVENT, &calls)]), broken(11, 2, 3));
}

#[test]
fn v11_calls_nest_64_deep_at_most() {
    let chain = |depth: usize| {
        let ret = Instr::new(Op::Ret);
        let codes: Vec<_> = (0..depth as u32).map(|callee| [Instr::of(Op::Call, &[callee]), ret]).collect();
        let mut rows: Vec<(RoutineRow, &[Instr])> = vec![(CALLED, std::slice::from_ref(&ret))];
        rows.extend(codes.iter().map(|code| (CALLED, &code[..])));
        let (last, code) = rows.last_mut().unwrap();
        (*last, *code) = (EVENT, &code[..1]);
        routines(&rows)
    };
    assert_eq!(chain(64), None);
    assert_eq!(chain(65), broken(11, 65, 129));
}

#[test]
fn v10_all_digits_begin_with_a_byte() {
    let hex = |op, left: u32| Instr::of(op, &[2, 0, 1 << form::END | left]);
    for op in [Op::HexFullAt, Op::HexLowFullAt] {
        check(hex(op, 0), None);
        check(hex(op, 56), None);
        check(hex(op, 4), Some(10));
    }
    check(hex(Op::HexAt, 4), None);
}

#[test]
fn v10_all_digits_are_those_of_the_number() {
    let hex = |op, digits: u32, n_bytes: u32| {
        Instr::of(op, &[digits, 0, n_bytes << form::END | (64 - n_bytes * 8) << form::RIGHT])
    };
    for op in [Op::HexFullAt, Op::HexLowFullAt] {
        for n_bytes in 1..=8 {
            check(hex(op, 2 * n_bytes, n_bytes), None);
            check(hex(op, 2 * n_bytes + 1, n_bytes), Some(10));
        }
        for digits in [0, 17, 20, 32, 33] {
            check(hex(op, digits, 8), Some(10));
        }
    }
    check(hex(Op::HexAt, 32, 8), None);
    check(hex(Op::HexAt, 33, 8), Some(10));
}

#[test]
fn v13_instructions_that_run_together_are_equal() {
    let form = 1 << form::END;
    let run = |n_more: u32, others: &[Op], body: u32| {
        let hex = |op, more| Instr::of(op, &[2, 0, form | more << form::MORE]);
        let mut code = vec![hex(Op::HexFullAt, n_more)];
        code.extend(others.iter().map(|op| hex(*op, 0)));
        code.push(Instr::new(Op::End));
        let mut blob = BlobBuilder::new();
        blob.source("test", b"");
        let row = RoutineRow { need: 8, body, ..RoutineRow::default() };
        let routine = blob.routine(row, &code, &vec![SourcePos::default(); code.len()]);
        blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
        open(&blob.finish()).err()
    };
    let broken = Some(BlobError::Instr { rule: Rule::RunTogether, routine: 0, at: 0 });
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
fn v13_runs_may_begin_where_the_body_ends() {
    let hex = |more: u32| Instr::of(Op::HexFullAt, &[2, 0, 1 << form::END | more << form::MORE]);
    let run = |body: u32| {
        let code = [Instr::of(Op::Reach, &[8, 1]), hex(2), hex(0), hex(0), Instr::new(Op::End)];
        routines(&[(RoutineRow { need: 8, body, ..EVENT }, &code)])
    };
    assert_eq!(run(1), None);
    assert_eq!(run(2), broken(13, 0, 1));
    assert_eq!(run(3), broken(13, 0, 1));
    assert_eq!(run(4), None);
    // Exactly as many digits as there are, in every encoding of the count.
    let n_more =
        |more: u32| routines(&[(RoutineRow { need: 8, ..EVENT }, &[hex(more), hex(0), hex(0), hex(0), hex(0)])]);
    assert_eq!(n_more(3), None);
    assert_eq!(n_more(4), broken(13, 0, 0));
    assert_eq!(routines(&[(RoutineRow { need: 8, ..EVENT }, &[hex(1)])]), broken(13, 0, 0));
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
fn the_rules_in_the_book_are_up_to_date() {
    let page = include_str!("../../../docs/blob.md");
    let table = tfbc_vm::rules_table();
    assert!(page.contains(&table), "docs/blob.md lists other rules than vm/src/rule.rs:\n{table}");
}

#[test]
fn rules_are_numbered_in_order() {
    assert!(Rule::ALL.iter().map(|rule| rule.number()).eq(1..=16));
}

#[test]
fn instruction_table_page_is_up_to_date() {
    let page = include_str!("../../../docs/bytecode.md");
    assert!(page == tfbc_vm::ops_page(), "print it again: tfbc ops > docs/bytecode.md");
}
