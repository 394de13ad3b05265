//! V16: timers and `stop` are only in routines of hooks whose row declares effects.

use super::{CALLED, EVENT, broken, open};
use tfbc_vm::{BlobBuilder, BlobError, HookRow, Instr, Op, RoutineRow, SourcePos, Space};

const EFFECTS: u8 = 4;

/// Verdict on an entry whose routine runs `code`, with a routine 0 that it may call.
fn entry(space: Space, flags: u8, called: &[Instr], code: &[Instr]) -> Option<BlobError> {
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    blob.routine(CALLED, called, &vec![SourcePos::default(); called.len()]);
    let row = RoutineRow { zeroed: 2, ..EVENT };
    let routine = blob.routine(row, code, &vec![SourcePos { line: 1, ..SourcePos::default() }; code.len()]);
    let flags = flags | (space as u8) << 3;
    blob.hook(HookRow { id: 0x0100, flags, routines: [routine; 4], ..HookRow::default() });
    open(&blob.finish()).err()
}

const EFFECTFUL: [Op; 3] = [Op::TimerStart, Op::TimerEnd, Op::Stop];

#[test]
fn v16_effects_are_declared_in_the_row() {
    let ret = [Instr::new(Op::Ret)];
    for op in EFFECTFUL {
        let code = [Instr::new(Op::Soft), Instr::new(op), Instr::new(Op::End)];
        assert_eq!(entry(Space::Hook, EFFECTS, &ret, &code), None, "{op:?}");
        for space in Space::ALL {
            assert_eq!(entry(space, 0, &ret, &code), broken(16, 1, 2), "{op:?} of {space:?}");
        }
    }
    assert_eq!(entry(Space::Hook, EFFECTS, &ret, &[Instr::new(Op::End)]), None, "a row may say too much");
}

#[test]
fn v16_effects_of_callees_count() {
    for op in EFFECTFUL {
        let called = [Instr::of(Op::Const, &[0]), Instr::new(op), Instr::new(Op::Ret)];
        let code = [Instr::of(Op::Call, &[0]), Instr::new(Op::End)];
        assert_eq!(entry(Space::Hook, EFFECTS, &called, &code), None, "{op:?}");
        for space in Space::ALL {
            assert_eq!(entry(space, 0, &called, &code), broken(16, 1, 3), "{op:?} of {space:?}");
        }
    }
}

#[test]
fn v12_entries_of_qnx_have_no_effects() {
    let (ret, end) = ([Instr::new(Op::Ret)], [Instr::new(Op::End)]);
    for space in [Space::Record, Space::RecordFields] {
        assert_eq!(entry(space, EFFECTS, &ret, &end), Some(BlobError::Row { section: 4, row: 0 }), "{space:?}");
    }
}
