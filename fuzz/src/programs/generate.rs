//! Generates small programs from the instruction table. Most of them pass the verifier.

use super::{ProgramDraft, Routine, TableWords};
use tfbc_snapshots::generate::Rng;
use tfbc_vm::table::{LONG_TEXTS, TableKind, TextCase, number_table, pack_str, text_table};
use tfbc_vm::{EnvText, EnvValue, HookRow, Instr, Op, OperandKind, Space, form};

/// Texts of literals, selectors and tables. They begin and end with bytes that matter to soft blanks, lines and fields.
const TEXTS: [&[u8]; 16] = [
    b"",
    b" ",
    b"a",
    b"0",
    b"pid=",
    b" led",
    b"\t",
    b"\n",
    b"open",
    b"READ",
    b"00ff",
    b"x\x1fy",
    b"\x1e",
    b"\xe9t\x7f",
    b"[limit]",
    b"0123456789abcdef",
];
/// Length of a text that exceeds most text limits.
const LONG: usize = 1500;
/// Register that `mark` writes and `lower` and `switch.text` read. Other instructions rarely use it.
const MARK: u32 = 7;

/// A program of up to three hooks or records.
pub fn generate(rng: &mut Rng) -> ProgramDraft {
    let space = match rng.below(8) {
        0 => Space::Record,
        1 => Space::RecordFields,
        _ => Space::Hook,
    };
    let zeroed = *rng.pick(&[8, 8, 8, 8, 5, 1, 0]);
    let need = *rng.pick(&[8, 8, 12, 16, 16, 24, 40, 0, 4, 9, 31]);
    let mut draft = ProgramDraft { strings: TEXTS.concat(), ..ProgramDraft::default() };
    if rng.below(8) == 0 {
        draft.strings.resize(draft.strings.len() + LONG, b'=');
    }
    let n_called = *rng.pick(&[0, 0, 0, 1, 1, 2]);
    let n_own = 1 + rng.below(3);
    for index in 0..n_called + n_own {
        let mut maker = Maker {
            rng,
            draft: &mut draft,
            space,
            need,
            called: index < n_called,
            n_callees: n_called.min(index),
            readable: 0,
            marked: false,
        };
        let routine = maker.routine(zeroed);
        draft.routines.push(routine);
    }
    let has_effects = draft
        .routines
        .iter()
        .flat_map(|routine| &routine.code)
        .any(|instr| [Op::TimerStart, Op::TimerEnd, Op::Stop].map(|op| op as u8).contains(&instr.op));
    for at in 0..1 + rng.below(3) as u16 {
        let space = if !has_effects && rng.below(8) == 0 { *rng.pick(&Space::ALL[..3]) } else { space };
        let own = |rng: &mut Rng| (n_called + rng.below(n_own)) as u32;
        let routine = own(rng);
        let routines = if rng.below(4) == 0 { [0; 4].map(|_| own(rng)) } else { [routine; 4] };
        let effects = if has_effects != (rng.below(32) == 0) { 4 } else { 0 };
        draft.hooks.push(HookRow {
            id: if space == Space::Hook { 0x0100 + 16 * at } else { Space::record_id(6, 65 + at) },
            level: rng.below(5) as u8,
            flags: (space as u8) << 3 | effects,
            tab_origin: rng.below(9) as u16,
            routines,
            ..HookRow::default()
        });
    }
    draft.hooks.sort_by_key(|hook| (hook.flags >> 3, hook.id));
    draft.dialect = dialect(rng);
    draft
}

/// Dialect settings that act at print time.
pub(super) fn dialect(rng: &mut Rng) -> Vec<u8> {
    let settings: [&[u8]; 8] =
        [b"", b"", b"", b"", b"msec=0", b"msec=5\ntimer-key=thread", b"timer-key=thread", b"errno=number"];
    rng.pick(&settings).to_vec()
}

/// Number near a routine's need, or small, or extreme.
pub(super) fn offset(rng: &mut Rng, need: u32) -> u32 {
    match rng.below(16) {
        0 => need,
        1 => need.saturating_sub(1),
        2 => need + 1,
        3 => need.saturating_sub(8),
        4 => need.saturating_sub(7),
        5..=8 => 0,
        9 => *rng.pick(&[127, 255, 256, 1023, 1 << 20, u32::MAX - 7, u32::MAX, 1 << 29]),
        _ => rng.below(41) as u32,
    }
}

/// 64-bit number: offset in a text, extreme, or random.
fn number(rng: &mut Rng) -> u64 {
    match rng.below(8) {
        0..=2 => rng.below(9) as u64,
        3 => rng.below(200) as u64,
        4 => *rng.pick(&[0x7f, 0x8000, 0xffff_ffff, 1 << 32, i64::MAX as u64, i64::MIN as u64, u64::MAX]),
        5 => 1 << rng.below(64),
        _ => rng.bits(),
    }
}

/// State while a routine is generated: its position, and what its instructions may use.
struct Maker<'r> {
    rng: &'r mut Rng,
    draft: &'r mut ProgramDraft,
    space: Space,
    need: u32,
    called: bool,
    /// Called routines with lower numbers.
    n_callees: usize,
    /// Registers 0 to 7 that are written or zeroed, as bits.
    readable: u8,
    /// True after a `mark`.
    marked: bool,
}

/// Opcodes of a routine whose operands are not chosen yet.
struct Plan {
    ops: Vec<Op>,
    /// Instructions of the body.
    body: usize,
    /// First and last instruction per loop.
    loops: Vec<(usize, usize)>,
}

impl Maker<'_> {
    fn routine(&mut self, zeroed: u16) -> Routine {
        self.readable = ((1u16 << zeroed.min(8)) - 1) as u8;
        let plan = self.plan();
        let mut code: Vec<Instr> = Vec::with_capacity(plan.ops.len());
        for pc in 0..plan.ops.len() {
            let instr = self.instr(&plan, pc);
            code.push(instr);
        }
        let zeroed = if self.called { 0 } else { zeroed };
        let shape = self.rng.below(3) as u8;
        Routine { need: self.need, zeroed, called: self.called.into(), shape, body: plan.body as u32, code }
    }

    /// True if timers and `stop` may be used. They are rare if the verifier refuses them.
    fn has_effects(&mut self) -> bool {
        self.space == Space::Hook || self.rng.below(64) == 0
    }

    /// Chooses opcodes, with marks and loops in pairs.
    fn plan(&mut self) -> Plan {
        let (mut ops, mut loops) = (Vec::new(), Vec::new());
        if self.readable.count_ones() < 5 {
            ops.extend([Op::Const, Op::Const]);
        }
        let n = 1 + self.rng.below(10);
        while ops.len() < n {
            match self.rng.below(12) {
                0 => {
                    ops.push(Op::Mark);
                    self.few_ops(&mut ops);
                    ops.push(*self.rng.pick(&[Op::SwitchText, Op::SwitchText, Op::Lower]));
                }
                1 => {
                    let first = ops.len();
                    ops.push(Op::Loop);
                    self.few_ops(&mut ops);
                    loops.push((first, ops.len()));
                    ops.push(Op::LoopNext);
                }
                2 => {
                    let op = *self.rng.pick(&[Op::HexFullAt, Op::HexLowFullAt]);
                    let n = 1 + self.rng.below(4);
                    ops.resize(ops.len() + n, op);
                }
                3 if self.has_effects() && self.rng.below(2) == 0 => ops.extend([Op::TimerEnd, Op::TimerStart]),
                3 => ops.extend([Op::Soft, *self.rng.pick(&[Op::Lit, Op::Newline, Op::SoftDrop, Op::Flags, Op::Tab])]),
                _ => ops.push(self.op()),
            }
        }
        if self.called {
            ops.push(*self.rng.pick(&[Op::Ret, Op::Ret, Op::Ret, Op::End, Op::Skip]));
            return Plan { body: ops.len(), ops, loops };
        }
        let body = ops.len();
        if self.rng.below(5) == 0 {
            self.few_ops(&mut ops);
            ops.push(*self.rng.pick(&[Op::Back, Op::End, Op::Skip]));
        }
        Plan { ops, body, loops }
    }

    /// Up to three opcodes.
    fn few_ops(&mut self, ops: &mut Vec<Op>) {
        for _ in 0..self.rng.below(4) {
            ops.push(self.op());
        }
    }

    /// Opcode that needs no partner.
    fn op(&mut self) -> Op {
        let op = *self.rng.pick(Op::ALL);
        match op {
            Op::Loop | Op::LoopNext => Op::PutDec,
            Op::Ret if !self.called && self.rng.below(32) > 0 => Op::Newline,
            Op::Ret | Op::Skip if self.rng.below(8) > 0 => Op::Newline,
            Op::End | Op::Back if self.rng.below(3) > 0 => Op::Tab,
            Op::Call if self.n_callees == 0 => Op::PutHex,
            Op::TimerStart | Op::TimerEnd | Op::Stop if !self.has_effects() => Op::Move,
            op => op,
        }
    }

    fn instr(&mut self, plan: &Plan, pc: usize) -> Instr {
        let reads = |op: Op| op.info().operands.iter().any(|(_, _, kind)| *kind == OperandKind::Src);
        let op = match plan.ops[pc] {
            Op::Lower | Op::SwitchText if !self.marked && self.rng.below(64) > 0 => Op::Mark,
            op @ (Op::Lower | Op::SwitchText | Op::Loop) => op,
            op if reads(op) && self.readable & !(1 << MARK) == 0 => Op::Const,
            Op::Load | Op::LoadLe | Op::LoadBits if self.need == 0 => Op::Print,
            Op::HexBytes if self.need < 9 => Op::Print,
            op if self.need < 8 && op.info().operands.iter().any(|(_, _, kind)| *kind == OperandKind::Window) => {
                Op::Print
            }
            op => op,
        };
        let mut instr = Instr::new(op);
        self.literal(&mut instr);
        for (_, slot, kind) in op.info().operands {
            instr = instr.with(*slot, self.operand(plan, pc, op, *kind, &instr));
        }
        self.fit(op, &mut instr);
        match op {
            Op::Const => {
                let value = number(self.rng);
                (instr.b, instr.c) = (value as u32, (value >> 32) as u32);
            }
            Op::Lit => {
                instr.b = self.rng.below(self.draft.strings.len()) as u32;
                let left = self.draft.strings.len() - instr.b as usize;
                instr.c = if self.rng.below(3) == 0 { left as u32 } else { self.rng.below(left.min(20) + 1) as u32 };
            }
            Op::Loop | Op::LoopNext => self.pair(plan, pc, &mut instr),
            _ => {}
        }
        let written = op.info().operands.iter().filter(|(_, _, kind)| *kind == OperandKind::Dst);
        self.marked |= op == Op::Mark;
        written.for_each(|(_, slot, _)| self.readable |= 1u8.checked_shl(instr.slot(*slot)).unwrap_or(0));
        instr
    }

    fn literal(&mut self, instr: &mut Instr) {
        if self.rng.below(2) == 0 {
            return;
        }
        let text = *self.rng.pick(&TEXTS);
        instr.lit[..text.len()].copy_from_slice(text);
        instr.lit_len = text.len() as u8;
        match self.rng.below(16) {
            // Bytes after the literal's length must not be printed.
            0 => instr.lit[text.len()..].fill(b'#'),
            1 => instr.lit_len = 16,
            _ => {}
        }
    }

    /// Connects the two ends of a loop.
    fn pair(&mut self, plan: &Plan, pc: usize, instr: &mut Instr) {
        let Some((first, last)) = plan.loops.iter().find(|(first, last)| [*first, *last].contains(&pc)) else { return };
        instr.a = 6 - (first % 3) as u16;
        instr.d = if pc == *first {
            (*last as u32 + 1).min(plan.ops.len() as u32 - u32::from(self.called))
        } else {
            *first as u32 + 1
        };
    }

    /// Moves a fixed read into the bytes that the routine needs.
    fn fit(&mut self, op: Op, instr: &mut Instr) {
        if self.rng.below(64) == 0 {
            return;
        }
        let (width, room) = match op {
            Op::Load | Op::LoadLe | Op::HexBytes => (&mut instr.c, self.need),
            Op::LoadBits => (&mut instr.c, self.need * 8),
            _ => return,
        };
        *width = (*width).min(room);
        instr.b = match self.rng.below(3) {
            0 => 0,
            1 => room - *width,
            _ => self.rng.below((room - *width + 1) as usize) as u32,
        };
    }

    fn operand(&mut self, plan: &Plan, pc: usize, op: Op, kind: OperandKind, instr: &Instr) -> u32 {
        match kind {
            OperandKind::NewMark | OperandKind::Mark if self.rng.below(64) > 0 => MARK,
            OperandKind::Dst | OperandKind::NewMark => self.destination(),
            OperandKind::Src | OperandKind::Mark => self.source(),
            OperandKind::Num => offset(self.rng, self.need),
            OperandKind::Off | OperandKind::Window => self.place(),
            OperandKind::BitOff => self.place() * 8 + self.rng.below(8) as u32,
            OperandKind::Wide | OperandKind::Str => 0,
            OperandKind::Width => *self.rng.pick(&[1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 15, 16, 4, 1, 2]),
            OperandKind::WideWidth => 9 + self.rng.below(8) as u32,
            OperandKind::Bits => *self.rng.pick(&[1, 2, 3, 4, 7, 8, 9, 16, 31, 32, 33, 57, 63, 64]),
            OperandKind::Bit => self.rng.below(64) as u32,
            OperandKind::Len => self.length(),
            OperandKind::Soft | OperandKind::Flag => self.rng.below(2) as u32,
            OperandKind::Cell => self.rng.below(6) as u32,
            OperandKind::FirstDigits => 1 + self.rng.below(16) as u32,
            OperandKind::Digits => *self.rng.pick(&[2, 4, 6, 8, 8, 10, 12, 14, 16, 16, 16, 1, 3, 7, 17, 18, 31, 32]),
            OperandKind::Back => self.rng.below(usize::from(instr.lit_len) + 1) as u32,
            OperandKind::Form => self.form(plan, pc, op, instr),
            OperandKind::Short if form::mode(instr.c) != form::FIELD => 0,
            OperandKind::Short | OperandKind::Target => self.target(plan, pc, op),
            OperandKind::Table => self.switch(plan, pc),
            OperandKind::TextTable => self.text_switch(plan, pc),
            OperandKind::CaseTexts => self.case_texts(),
            OperandKind::Labels => self.labels(),
            OperandKind::Lits => self.lits(),
            OperandKind::Flags => self.flags(),
            OperandKind::Nibbles => self.nibbles(),
            OperandKind::Routine => self.rng.below(self.n_callees) as u32,
            OperandKind::Value => self.rng.below(EnvValue::ALL.len()) as u32,
            OperandKind::Name => self.rng.below(EnvText::ALL.len()) as u32,
        }
    }

    fn destination(&mut self) -> u32 {
        match self.rng.below(256) {
            0 => MARK,
            1..=3 => 1023,
            4 => 1024,
            n => n as u32 % MARK,
        }
    }

    /// Register that has been written, if there is one.
    fn source(&mut self) -> u32 {
        let choice = self.rng.below(256) as u32;
        let readable = self.readable & !(1 << MARK);
        match choice {
            255 => 1023,
            252..=254 => MARK,
            _ if readable >> (choice % MARK) & 1 == 1 => choice % MARK,
            _ => readable.trailing_zeros() % 8,
        }
    }

    /// Offset of eight bytes that the routine needs.
    fn place(&mut self) -> u32 {
        let last = self.need.saturating_sub(8);
        match self.rng.below(64) {
            0 if self.rng.below(4) == 0 => last + 1,
            0..=20 => last,
            21..=40 => 0,
            _ => self.rng.below(last as usize + 1) as u32,
        }
    }

    fn length(&mut self) -> u32 {
        match self.rng.below(32) {
            0 => *self.rng.pick(&[1 << 16, 1 << 20, u32::MAX]),
            1 => 300 + self.rng.below(5000) as u32,
            2..=10 => 0,
            11..=20 => 1 + self.rng.below(16) as u32,
            _ => self.rng.below(100) as u32,
        }
    }

    /// Bits of a window; mostly whole bytes of the number.
    fn form(&mut self, plan: &Plan, pc: usize, op: Op, instr: &Instr) -> u32 {
        let digits = u32::from(instr.a);
        let width = match op {
            // Mostly as many bytes as digits.
            Op::HexFullAt | Op::HexLowFullAt if self.rng.below(200) > 0 => digits.div_ceil(2).clamp(1, 8),
            _ => 1 + self.rng.below(8) as u32,
        };
        let skipped = self.rng.below(9 - width as usize) as u32;
        let (mut left, mut right) = (8 * skipped, 64 - 8 * width);
        if self.rng.below(if form::can_run_together(op) { 200 } else { 4 }) == 0 {
            right = self.rng.below(64) as u32;
        }
        if self.rng.below(8) == 0 {
            left = self.rng.below(64) as u32 & if form::can_run_together(op) { !7 } else { !0 };
        }
        let mode = *self.rng.pick(&[form::LOAD, form::LOAD, form::WORD, form::FIELD]);
        let mode = if self.has_target(plan, pc) { mode } else { form::LOAD };
        let back = if mode == form::FIELD { self.rng.below(usize::from(instr.lit_len) + 1) as u32 } else { 0 };
        let following = plan.ops[pc + 1..].iter().take_while(|next| **next == op).count().min(3);
        let in_body = if pc < plan.body { following.min(plan.body - pc - 1) } else { following };
        let more = if form::can_run_together(op) { self.rng.below(in_body + 1) as u32 } else { 0 };
        let little = if self.rng.below(3) == 0 { form::LITTLE } else { 0 };
        left | right << form::RIGHT
            | little
            | mode << form::MODE
            | (skipped + width) << form::END
            | back << form::BACK
            | more << form::MORE
    }

    /// True if the instruction has a possible jump target.
    fn has_target(&self, plan: &Plan, pc: usize) -> bool {
        pc + 1 < plan.ops.len() || !self.called && plan.body == plan.ops.len()
    }

    /// Random jump target: a later instruction, or for `back` any instruction.
    fn target(&mut self, plan: &Plan, pc: usize, op: Op) -> u32 {
        let n = plan.ops.len();
        if op == Op::Back {
            return self.rng.below(n) as u32;
        }
        let is_whole = !self.called && plan.body == n;
        let (first, end) = (pc + 1, if is_whole { n + 1 } else { n });
        match self.rng.below(4) {
            // Code after the body is reached only by jumps.
            0 if plan.body > pc && plan.body < end => plan.body as u32,
            1 if plan.body + 1 < end && plan.body > pc => plan.body as u32 + self.rng.below(end - plan.body) as u32,
            _ => (first + self.rng.below(end.saturating_sub(first).min(4))) as u32,
        }
    }

    /// Targets of a table's cases.
    fn targets(&mut self, plan: &Plan, pc: usize, n: usize) -> Vec<u32> {
        (0..n).map(|_| self.target(plan, pc, Op::Switch)).collect()
    }

    fn add(&mut self, kind: TableKind, words: Vec<u64>) -> u32 {
        self.draft.tables.push(TableWords { kind: kind as u32, words });
        self.draft.tables.len() as u32 - 1
    }

    fn switch(&mut self, plan: &Plan, pc: usize) -> u32 {
        let n = self.rng.below(4);
        let to = self.targets(plan, pc, n + 1);
        let stride = *self.rng.pick(&[1, 1, 2, 0x1_0000_0001]);
        let cases: Vec<_> = (0..n).map(|at| (at as u64 * stride, u64::from(to[at + 1]))).collect();
        let (kind, words) = number_table(&cases, to[0].into());
        self.add(kind, words)
    }

    fn text_switch(&mut self, plan: &Plan, pc: usize) -> u32 {
        let from = self.rng.below(TEXTS.len());
        let to = self.targets(plan, pc, 4);
        let case = |at: usize| {
            let which = (from + at) % TEXTS.len();
            TextCase { text: TEXTS[which], string: text(which), target: to[at] }
        };
        let cases: Vec<_> = (1..1 + self.rng.below(3)).map(case).collect();
        let (kind, words) = text_table(&cases, to[0]);
        self.add(kind, words)
    }

    /// Word for a text of the pool: one of [`TEXTS`], or a long one.
    fn string(&mut self) -> u64 {
        let n = self.draft.strings.len();
        match self.rng.below(16) {
            0 => pack_str(0, n as u32),
            which if which % 3 == 0 && n > LONG => pack_str(0, n as u32),
            1 => pack_str(n as u32, 0),
            2 => pack_str(0, self.rng.below(n.min(80)) as u32),
            which => text(which),
        }
    }

    /// Sometimes the number of an existing table of a kind.
    fn known(&mut self, kinds: &[TableKind]) -> Option<u32> {
        let at = self.draft.tables.iter().rposition(|table| kinds.iter().any(|kind| *kind as u32 == table.kind))?;
        (self.rng.below(3) == 0).then_some(at as u32)
    }

    fn case_texts(&mut self) -> u32 {
        let default = self.string();
        let stride = *self.rng.pick(&[1, 1, 0x1_0000_0001]);
        let cases: Vec<_> = (0..self.rng.below(4)).map(|at| (at as u64 * stride, self.string())).collect();
        let (kind, words) = number_table(&cases, default);
        self.add(kind, words)
    }

    fn labels(&mut self) -> u32 {
        let stride = *self.rng.pick(&[1, 1, 0x1_0000_0001]);
        let cases: Vec<_> = (0..4).map(|at| (at * stride, self.rng.below(4) as u64)).collect();
        let (kind, words) = number_table(&cases, self.rng.below(2) as u64);
        self.add(kind, words)
    }

    fn flags(&mut self) -> u32 {
        if let Some(known) = self.known(&[TableKind::Flags]) {
            return known;
        }
        if self.rng.below(16) == 0 {
            // Many texts, all of which are printed.
            let all = pack_str(0, self.draft.strings.len() as u32);
            return self.add(TableKind::Flags, [0, 0, all, all, 0].repeat(40));
        }
        let n = 1 + self.rng.below(4);
        let mut words = Vec::new();
        for at in 0..n {
            let mask = *self.rng.pick(&[1 << (at % 64), 0xff, 0]);
            let field = if self.rng.below(4) == 0 { 0 } else { mask };
            let (yes, no) = (self.string(), if self.rng.below(2) == 0 { 0 } else { self.string() });
            words.extend([mask, field, yes, no, self.rng.below(4) as u64]);
        }
        self.add(TableKind::Flags, words)
    }

    /// Adds a text to the words: its bytes, with the length in the last word.
    fn packed(&mut self, n_words: usize) {
        let mut bytes = [0; 32];
        let text = *self.rng.pick(&TEXTS);
        let room = n_words * 8 - 1;
        let n = text.len().min(room);
        bytes[..n].copy_from_slice(&text[..n]);
        bytes[room] = if self.rng.below(16) == 0 { self.rng.below(256) as u8 } else { n as u8 };
        let words = bytes.as_chunks::<8>().0.iter().take(n_words).map(|word| u64::from_le_bytes(*word));
        self.draft.words.extend(words);
    }

    fn lits(&mut self) -> u32 {
        let at = self.draft.words.len();
        let count = self.rng.below(4);
        let (long, n_words) = if self.rng.below(3) == 0 { (LONG_TEXTS, 4) } else { (0, 2) };
        self.draft.words.push(long | count as u64);
        (0..=count).for_each(|_| self.packed(n_words));
        at as u32
    }

    fn nibbles(&mut self) -> u32 {
        let at = self.draft.words.len();
        let count = *self.rng.pick(&[1, 1, 0, 1, 2, 1, 1, 7]);
        let shift = if self.rng.below(4) == 0 { self.rng.below(256) as u64 } else { 0 };
        self.draft.words.push(count | shift << 8);
        self.packed(4);
        (0..count * 16).for_each(|_| self.packed(4));
        at as u32
    }
}

/// Word for one of [`TEXTS`].
fn text(which: usize) -> u64 {
    let offset: usize = TEXTS[..which].iter().map(|text| text.len()).sum();
    pack_str(offset as u32, TEXTS[which].len() as u32)
}
