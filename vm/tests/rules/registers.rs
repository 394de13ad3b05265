//! Rule V14: registers are written before they are read in the same event.

use super::{CALLED, EVENT, blob, broken, check, open, routines};
use tfbc_vm::table::number_table;
use tfbc_vm::{BlobBuilder, BlobError, HookRow, Instr, Op, RoutineRow, Rule, Slot, SourcePos, form};

#[test]
fn v14_registers_are_written_before_they_are_read() {
    // `blob` zeroes eight.
    check(Instr::of(Op::PutDec, &[7]), None);
    let broken = Some(BlobError::Instr { rule: Rule::Initialized, routine: 1, at: 1 });
    assert_eq!(open(&blob(&[Instr::of(Op::PutDec, &[8])])).err(), broken);
    assert_eq!(open(&blob(&[Instr::of(Op::Const, &[8]), Instr::of(Op::PutDec, &[8])])).err(), None);
    // Registers that a callee reads.
    let with_callee = |read: u32, callee: &[Instr], zeroed: u16| {
        let mut blob = BlobBuilder::new();
        blob.source("test", b"");
        let row = RoutineRow { called: 1, ..RoutineRow::default() };
        let called = blob.routine(row, callee, &vec![SourcePos::default(); callee.len()]);
        let code = [Instr::of(Op::Const, &[read]), Instr::of(Op::Call, &[called])];
        let row = RoutineRow { zeroed, ..RoutineRow::default() };
        let routine = blob.routine(row, &code, &[SourcePos::default(); 2]);
        blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
        open(&blob.finish()).err()
    };
    let callee = [Instr::of(Op::PutDec, &[300]), Instr::new(Op::Ret)];
    assert_eq!(with_callee(300, &callee, 0), None);
    assert_eq!(
        with_callee(301, &callee, 0),
        broken.map(|_| BlobError::Instr { rule: Rule::Initialized, routine: 1, at: 2 })
    );
    assert_eq!(with_callee(301, &callee, 301), None);
}

#[test]
fn v14_unreachable_code_reads_nothing() {
    let (end, put) = (Instr::new(Op::End), Instr::of(Op::PutDec, &[8]));
    for over in [end, Instr::new(Op::Skip), Instr::of(Op::Jump, &[2])] {
        assert_eq!(routines(&[(EVENT, &[over, put, end])]), None);
    }
    assert_eq!(routines(&[(RoutineRow { body: 1, ..EVENT }, &[Instr::new(Op::Soft), put, end])]), None);
    assert_eq!(routines(&[(EVENT, &[Instr::of(Op::JumpZero, &[0, 2]), put, end])]), broken(14, 0, 0));
}

#[test]
fn v14_callees_read_what_callers_have_written() {
    let callee = [Instr::of(Op::PutDec, &[3]), Instr::new(Op::Ret)];
    let (set, call) = (Instr::of(Op::Const, &[3]), Instr::of(Op::Call, &[0]));
    for zeroed in [0, 8] {
        // The zeroed registers in a called routine's row do not count.
        let row = RoutineRow { zeroed, ..CALLED };
        assert_eq!(routines(&[(row, &callee), (EVENT, &[set, call])]), None);
        assert_eq!(routines(&[(row, &callee), (EVENT, &[call])]), broken(14, 1, 2));
        assert_eq!(routines(&[(row, &callee), (RoutineRow { zeroed: 4, ..EVENT }, &[call])]), None);
        assert_eq!(routines(&[(row, &callee), (RoutineRow { zeroed: 3, ..EVENT }, &[call])]), broken(14, 1, 2));
    }
    // The call goes through another routine, with and without a write.
    let between =
        |code: &[Instr]| routines(&[(CALLED, &callee), (CALLED, code), (EVENT, &[Instr::of(Op::Call, &[1])])]);
    assert_eq!(between(&[set, call, Instr::new(Op::Ret)]), None);
    assert_eq!(between(&[call, Instr::new(Op::Ret)]), broken(14, 2, 4));
}

#[test]
fn v14_a_register_stays_written() {
    let (set, put) = (Instr::of(Op::Const, &[8]), Instr::of(Op::PutDec, &[8]));
    assert_eq!(routines(&[(EVENT, &[set, set, Instr::of(Op::Jump, &[3]), put])]), None);
    assert_eq!(routines(&[(EVENT, &[set, Instr::of(Op::JumpZero, &[8, 3]), set, put])]), None);
    // An instruction reads before it writes.
    assert_eq!(routines(&[(EVENT, &[Instr::of(Op::Move, &[8, 8]), Instr::of(Op::Jump, &[2])])]), broken(14, 0, 0));
    // A loop reads its counter to count it down.
    let count = |turn| {
        routines(&[(
            RoutineRow { zeroed: 1, ..EVENT },
            &[Instr::of(Op::Loop, &[turn, 0, 3]), Instr::new(Op::Soft), Instr::of(Op::LoopNext, &[9, 1])],
        )])
    };
    assert_eq!(count(9), None);
    assert_eq!(count(8), broken(14, 0, 0));
}

#[test]
fn v14_registers_stay_written_across_switches() {
    let (set, put) = (Instr::of(Op::Const, &[8]), Instr::of(Op::PutDec, &[8]));
    let run = |code: &[Instr], targets: &[&[(u64, u64)]]| {
        let mut blob = BlobBuilder::new();
        blob.source("test", b"");
        for cases in targets {
            let (kind, words) = number_table(cases, code.len() as u64);
            blob.table(kind, &words);
        }
        let row = RoutineRow { zeroed: 1, ..RoutineRow::default() };
        let routine = blob.routine(row, code, &vec![SourcePos::default(); code.len()]);
        blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
        open(&blob.finish()).err()
    };
    let switch = Instr::of(Op::Switch, &[0, 0]);
    // A switch as the first instruction, with more targets than instructions before it.
    let ends = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)];
    let soft = Instr::new(Op::Soft);
    assert_eq!(run(&[switch, soft, soft, soft, soft, put], &[&ends]), broken(14, 0, 0));
    assert_eq!(run(&[set, switch, soft, soft, soft, soft, put], &[&[(0, 2), (1, 5), (2, 6)]]), None);
    // Two switches over the same table: both states are joined.
    let jump = Instr::of(Op::JumpZero, &[0, 3]);
    assert_eq!(run(&[jump, set, switch, switch, put], &[&[(0, 4)]]), broken(14, 0, 0));
    assert_eq!(run(&[set, jump.with(Slot::D, 4).with(Slot::C, 4), set, switch, switch, put], &[&[(0, 5)]]), None);
}

#[test]
fn v14_many_switches_are_told() {
    let n = 600;
    let all = |n_tables: u64, code: &[Instr]| {
        let mut blob = BlobBuilder::new();
        blob.source("test", b"");
        for table in 0..n_tables {
            // Distinct tables with the same targets, after all switches.
            let cases: Vec<_> = (0..n).map(|case| (table + case, n + case)).collect();
            let (kind, words) = number_table(&cases, n);
            blob.table(kind, &words);
        }
        let row = RoutineRow { zeroed: 1, ..RoutineRow::default() };
        let routine = blob.routine(row, code, &vec![SourcePos::default(); code.len()]);
        blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
        open(&blob.finish()).err()
    };
    let n_instrs = 2 * n as usize;
    let mut code = vec![Instr::of(Op::Switch, &[0, 0]); n as usize];
    code.resize(n_instrs, Instr::of(Op::PutDec, &[1000]));
    // Each switch is skipped on a path of its own. All use one table, whose targets are visited once.
    for (at, instr) in code.iter_mut().enumerate().take(n as usize).skip(1).step_by(2) {
        *instr = Instr::of(Op::JumpZero, &[0, 0]).with(Op::JumpZero.info().operands[1].1, at as u32 + 2);
    }
    code[0] = Instr::of(Op::Const, &[1000]);
    assert_eq!(all(1, &code), None);
    // A few tables with many targets each.
    for (at, instr) in code.iter_mut().enumerate().take(n as usize) {
        if instr.op == Op::Switch as u8 {
            *instr = Instr::of(Op::Switch, &[0, at as u32 % 8]);
        }
    }
    assert_eq!(all(8, &code), None);
}

#[test]
fn v14_too_complex_flow_is_refused() {
    // Each of `n` paths returns to a long part with one written register less than the previous one.
    let tangled = |n: u32, len: u32| {
        let (long, stubs) = (2 * n + 1, 2 * n + len + 2);
        let mut code = vec![Instr::of(Op::Const, &[1000])];
        for way in 0..n {
            code.extend([Instr::of(Op::JumpZero, &[0, stubs + n - 1 - way]), Instr::of(Op::Const, &[way + 1])]);
        }
        code.resize((long + len) as usize, Instr::of(Op::PutDec, &[1000]));
        code.push(Instr::new(Op::End));
        code.extend((0..n).map(|_| Instr::of(Op::Back, &[long])));
        routines(&[(RoutineRow { zeroed: 1, ..EVENT }, &code)])
    };
    assert_eq!(tangled(20, 2000), None);
    assert_eq!(tangled(200, 2000), broken(14, 0, 0));
}

#[test]
fn v14_missing_fields_skip_the_writes_in_between() {
    let set = Instr::of(Op::Const, &[8]);
    let put = Instr::of(Op::PutDec, &[8]);
    let row = RoutineRow { need: 8, ..EVENT };
    let field = |mode: u32, short: u32| Instr::of(Op::DecAt, &[0, 8 << form::END | mode << form::MODE, short]);
    assert_eq!(routines(&[(row, &[field(form::FIELD, 2), set, put])]), broken(14, 0, 0));
    assert_eq!(routines(&[(row, &[set, field(form::FIELD, 2), put])]), None);
    assert_eq!(routines(&[(row, &[field(form::LOAD, 0), set, Instr::of(Op::Jump, &[3]), put])]), None);
    // A plain number with the bits of such a form is no jump.
    let number = Instr::of(Op::Const, &[4, 4]).with(Slot::C, form::FIELD << form::MODE);
    let jump = Instr::of(Op::JumpZero, &[4, 3]);
    assert_eq!(routines(&[(row, &[number, jump, set, set, put])]), None);
}
