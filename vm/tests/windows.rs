//! Numbers at fixed offsets in both byte orders, also if the event ends before them.

use crate::common::{after_text, printed};
use tfbc_vm::{
    BlobBuilder, Context, Event, EventInput, HookRow, Instr, Layout, Limits, LineStart, Machine, Op, Outcome, Program,
    RoutineRow, SourcePos, Step, TextBuf, Timers, Unobserved, form,
};

/// Output of hook 010 for some bytes: in the fast loop, in the checked loop, and observed.
fn print(code: &[Instr], bytes: &[u8]) -> (String, Outcome) {
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    let row = RoutineRow { zeroed: 8, need: 8, ..RoutineRow::default() };
    let routine = blob.routine(row, code, &vec![SourcePos::default(); code.len()]);
    blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
    let blob = blob.finish();
    let program = Program::open(&blob).unwrap_or_else(|error| panic!("{error}: {code:?}"));
    let event = Event { bytes, wide: false, record: None, time_ns: 0, offset: 0 };
    let texts = [(false, false), (true, false), (false, true)].map(|(checked, watched)| {
        let limits = Limits::default();
        let mut machine = if checked { Machine::checked(limits) } else { Machine::new(limits) };
        let (mut timers, mut out) = (Timers::new(), TextBuf::new());
        let mut run = machine.start(&program, &mut timers);
        let (event, layout) =
            (EventInput { event: &event, context: &Context::EMPTY }, LineStart { layout: Layout::default(), line: 0 });
        let outcome = match watched {
            false => run.observed(0, event, layout, &mut out, &mut Unobserved),
            true => run.observed(0, event, layout, &mut out, &mut |_: Step<'_>| {}),
        };
        (String::from_utf8_lossy(out.as_bytes()).into_owned(), outcome)
    });
    assert_eq!(texts[0], texts[1]);
    assert_eq!(texts[0], texts[2]);
    texts.into_iter().next().expect("three")
}

/// Number within a window.
#[derive(Clone, Copy, Debug)]
struct WindowedNumber {
    start: u32,
    width: u32,
    little: bool,
    mode: u32,
}

impl WindowedNumber {
    fn form(self) -> u32 {
        let WindowedNumber { start, width, little, mode } = self;
        let left = if little { 64 - 8 * (start + width) } else { 8 * start };
        let order = if little { form::LITTLE } else { 0 };
        left | (64 - 8 * width) << form::RIGHT | order | mode << form::MODE | (start + width) << form::END
    }

    /// Expected value, `None` for a checked field that is cut; and true if the event is marked as truncated.
    fn value(self, bytes: &[u8]) -> (Option<u64>, bool) {
        let (start, end) = (self.start as usize, (self.start + self.width) as usize);
        let mut field: Vec<u8> = (start..end).map(|at| bytes.get(at).copied().unwrap_or(0)).collect();
        let cut = bytes.len() < end;
        if self.little {
            field.reverse();
        }
        let value = field.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
        match self.mode {
            form::LOAD => (Some(value), cut),
            form::WORD => (Some(if cut { 0 } else { value }), false),
            _ => ((!cut).then_some(value), false),
        }
    }
}

/// All numbers in a window.
fn numbers() -> impl Iterator<Item = WindowedNumber> {
    let places = (0..8).flat_map(|start| (1..=8 - start).map(move |width| (start, width)));
    places.flat_map(|(start, width)| {
        let orders = [false, true].into_iter();
        orders.flat_map(move |little| {
            [form::LOAD, form::WORD, form::FIELD].map(|mode| WindowedNumber { start, width, little, mode })
        })
    })
}

const BYTES: [u8; 10] = [0x81, 0x92, 0xa3, 0x04, 0xb5, 0xc6, 0xd7, 0x88, 0x99, 0xaa];

/// Prints `=`, the number and `|`. A cut checked field removes the `=`.
fn check(number: WindowedNumber, op: Op, shown: impl Fn(u64) -> String, digits: Option<u32>) {
    let mut form = number.form();
    let checked = number.mode == form::FIELD;
    if checked {
        form |= 1 << form::BACK;
    }
    // The instruction and the next one, which is also the target for a missing field.
    let short = if checked { 2 } else { 0 };
    let operands = [0, form, short];
    let instr = match digits {
        Some(digits) => Instr::of(op, &[digits, 0, form, short]),
        None => Instr::of(op, &operands),
    };
    let code = [after_text("=", instr), printed("|"), printed(".")];
    for held in 0..=BYTES.len() {
        let (value, truncated) = number.value(&BYTES[..held]);
        let expected = value.map_or(".\n".to_owned(), |value| format!("={}|.\n", shown(value)));
        let outcome = Outcome { truncated, ..Outcome::default() };
        assert_eq!(print(&code, &BYTES[..held]), (expected, outcome), "{op:?} of {held} bytes, {number:?}");
    }
}

#[test]
fn numbers_are_taken_from_the_bytes_present() {
    for number in numbers() {
        let n_digits = number.width * 2;
        let sign = 64 - 8 * number.width;
        check(number, Op::HexMinAt, |value| format!("{value:x}"), None);
        check(number, Op::DecAt, |value| value.to_string(), None);
        check(number, Op::IntAt, |value| ((value << sign) as i64 >> sign).to_string(), None);
        check(number, Op::HexAt, |value| format!("{value:0w$X}", w = n_digits as usize), Some(n_digits));
        check(number, Op::HexFullAt, |value| format!("{value:0w$X}", w = n_digits as usize), Some(n_digits));
        check(number, Op::HexLowFullAt, |value| format!("{value:0w$x}", w = n_digits as usize), Some(n_digits));
    }
}

#[test]
fn a_routine_may_read_both_orders() {
    for numbers in numbers().collect::<Vec<_>>().windows(2) {
        let code = [numbers[0], numbers[1]].map(|number| WindowedNumber { mode: form::WORD, ..number });
        let hex = code.map(|number| Instr::of(Op::HexMinAt, &[1, number.form(), 0]));
        let full = code.map(|number| Instr::of(Op::HexLowFullAt, &[number.width * 2, 1, number.form(), 0]));
        for held in [0, 5, 8, 9, 10] {
            let bytes = &BYTES[..held];
            let rest = bytes.get(1..).unwrap_or(&[]);
            let values = code.map(|number| number.value(rest).0.expect("a word"));
            let wide = code.map(|number| number.width as usize * 2);
            let expected = format!("{:x}{:x}\n", values[0], values[1]);
            assert_eq!(print_far(&hex, bytes), expected);
            let expected = format!("{:0a$x}{:0b$x}\n", values[0], values[1], a = wide[0], b = wide[1]);
            assert_eq!(print_far(&full, bytes), expected);
        }
    }
}

/// Checks windows that do not begin with the event.
fn print_far(code: &[Instr], bytes: &[u8]) -> String {
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    let routine =
        blob.routine(RoutineRow { need: 9, ..RoutineRow::default() }, code, &vec![SourcePos::default(); code.len()]);
    blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
    let blob = blob.finish();
    let program = Program::open(&blob).unwrap_or_else(|error| panic!("{error}: {code:?}"));
    let (mut machine, mut timers, mut out) = (Machine::default(), Timers::new(), TextBuf::new());
    let event = Event { bytes, wide: false, record: None, time_ns: 0, offset: 0 };
    machine.start(&program, &mut timers).event(
        0,
        EventInput { event: &event, context: &Context::EMPTY },
        LineStart { layout: Layout::default(), line: 0 },
        &mut out,
    );
    String::from_utf8_lossy(out.as_bytes()).into_owned()
}

#[test]
fn fields_decide_where_the_routine_goes_on() {
    for number in numbers().filter(|number| number.width <= 4) {
        for held in 0..=BYTES.len() {
            let value = number.value(&BYTES[..held]).0;
            for wanted in [number.value(&BYTES).0.expect("all of it"), 0, 1] {
                for (op, jumps) in [(Op::JumpEqualAt, value == Some(wanted)), (Op::JumpDifferAt, value != Some(wanted))]
                {
                    let jump = Instr::of(op, &[0, wanted as u32, number.form(), 2]);
                    let expected = if jumps || value.is_none() { ".\n" } else { "|.\n" };
                    let (text, _) = print(&[jump, printed("|"), printed(".")], &BYTES[..held]);
                    assert_eq!(text, expected, "{op:?} {wanted} of {held} bytes, {number:?}");
                }
            }
        }
    }
}
