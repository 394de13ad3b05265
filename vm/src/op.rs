//! The instruction table: the one place that says which instructions exist.
//!
//! An instruction is 32 bytes: opcode, literal length, four operand slots, and up to 16 bytes of literal text. Every
//! instruction prints its literal first, then does its work; so a template's fixed text costs no instruction of its
//! own. Rows marked `plain` are what the compiler emits; `fused` rows are what the link pass makes of runs of plain
//! ones. From the rows come the opcodes, the encoder, the listing, the verifier's walk and `docs/bytecode.md`.

use bytemuck::{Pod, Zeroable};

/// One instruction as it is stored (little-endian) and run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C)]
pub struct Instr {
    /// An [`Op`] by number.
    pub op: u8,
    /// Bytes of `lit` that are printed first, 0 to 16.
    pub lit_len: u8,
    /// Operand slot a.
    pub a: u16,
    /// Operand slot b.
    pub b: u32,
    /// Operand slot c.
    pub c: u32,
    /// Operand slot d.
    pub d: u32,
    /// The literal; bytes behind `lit_len` are zero.
    pub lit: [u8; 16],
}

/// An operand slot of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slot {
    /// 16 bits.
    A,
    /// 32 bits.
    B,
    /// 32 bits.
    C,
    /// 32 bits.
    D,
}

/// What an operand means: how it is printed and what the verifier asks of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A register that is written.
    Dst,
    /// A register that is read.
    Src,
    /// A number without further meaning.
    Num,
    /// The low half of a 64-bit number; the high half is slot c.
    Wide,
    /// Bytes, 1 to 16; a number keeps the low 8.
    Width,
    /// Bytes, 9 to 16.
    WideWidth,
    /// How the bits of a window are taken ([`form`]).
    Form,
    /// A fixed byte offset in the event of eight bytes, a window.
    Window,
    /// An instruction of the same routine, where the form is that of a checked field; else 0.
    Short,
    /// Bits, 1 to 64.
    Bits,
    /// A bit's number, 0 to 63.
    Bit,
    /// A fixed byte offset in the event.
    Off,
    /// A fixed bit offset in the event.
    BitOff,
    /// Bytes of text, any number.
    Len,
    /// 1: a soft blank after every byte; 0: none.
    Soft,
    /// Hex digits, 1 to 32.
    Digits,
    /// Bytes of the literal that go again where the event is too short.
    Back,
    /// A run of the string pool: offset here, length in slot c.
    Str,
    /// An instruction of the same routine.
    Target,
    /// A switch table of numbers.
    Table,
    /// A switch table of texts.
    TextTable,
    /// A table of numbers whose targets are texts.
    CaseTexts,
    /// Short texts by index (word offset).
    Lits,
    /// BITFLAGS entries.
    Flags,
    /// Texts by nibbles (word offset).
    Nibbles,
    /// A routine.
    Routine,
    /// A number that the event or its surroundings tell ([`EnvValue`]).
    Value,
    /// A text that the surroundings tell ([`EnvText`]).
    Name,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct OpInfo {
    /// The instruction's name in listings.
    pub mnemonic: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// Whether only the link pass makes it.
    pub fused: bool,
    /// The operands, in the order in which they are listed.
    pub operands: &'static [(&'static str, Slot, Kind)],
}

/// How a number is taken from a window, the eight bytes of an event at a fixed place: they are read in the record's
/// byte order, moved left and then right, so that the bits that are wanted remain.
pub mod form {
    /// Bits of the move to the left.
    pub const LEFT: u32 = 0x3f;
    /// From this bit on: bits of the move to the right.
    pub const RIGHT: u32 = 8;
    /// The bytes are little-endian.
    pub const LITTLE: u32 = 1 << 16;
    /// From this bit on: what is done where the event does not hold the number whole: one of the three below.
    pub const MODE: u32 = 17;
    /// Missing bytes are zeros and mark the event truncated, as in `load`.
    pub const LOAD: u32 = 0;
    /// The number is 0, as in `word`.
    pub const WORD: u32 = 1;
    /// The routine goes on elsewhere, as in `reach`.
    pub const FIELD: u32 = 2;
    /// From this bit on: where in the window the number ends, 1 to 8.
    pub const END: u32 = 20;
    /// From this bit on: how many of the literal's last bytes go again where the routine goes on elsewhere.
    pub const BACK: u32 = 24;
    /// From this bit on: how many of the instructions that follow are run with this one; they have its opcode.
    pub const MORE: u32 = 29;
    /// The most that are.
    pub const MAX_MORE: u32 = 3;

    /// What is done where the event does not hold the number whole.
    pub const fn mode(form: u32) -> u32 {
        form >> MODE & 3
    }

    /// Bytes from the window's start to the number's end.
    pub const fn end(form: u32) -> u32 {
        form >> END & 15
    }

    /// Bytes of the literal that go again.
    pub const fn back(form: u32) -> u32 {
        form >> BACK & 31
    }

    /// Instructions that are run with this one.
    pub const fn more(form: u32) -> u32 {
        form >> MORE
    }

    /// Whether instructions of an opcode are run together.
    pub const fn together(op: super::Op) -> bool {
        matches!(op, super::Op::HexFullAt | super::Op::HexLowFullAt)
    }
}

macro_rules! for_each_op {
    ($emit:ident) => {
        $emit! {
            /// Prints its literal.
            Print = "print" fused {};
            /// Prints a run of the string pool.
            Lit = "lit" plain { text: B Str };
            /// Prints a soft blank: it goes again when a line end, a tab or text with a leading blank follows.
            Soft = "soft" plain {};
            /// Takes back a soft blank that stands last.
            SoftDrop = "soft.drop" plain {};
            /// Ends the line and prints the margin of the next one.
            Newline = "nl" plain {};
            /// Prints blanks up to the next tab stop.
            Tab = "tab" plain {};

            /// Sets `dst` to a 64-bit number.
            Const = "const" plain { dst: A Dst, value: B Wide };
            /// Copies `src` to `dst`.
            Move = "move" plain { dst: A Dst, src: B Src };
            /// Sets `dst` to a number that the event or its surroundings tell.
            Env = "env" plain { dst: A Dst, what: B Value };
            /// Reads `width` big-endian bytes at a fixed offset, zero-extended. Bytes past the event's end read as zero and mark it truncated.
            Load = "load" plain { dst: A Dst, at: B Off, width: C Width };
            /// Reads `count` bits at a fixed bit offset, the first bit most significant.
            LoadBits = "load.bits" plain { dst: A Dst, at: B BitOff, count: C Bits };
            /// Reads a data word at a fixed offset: 0 where the event does not hold it whole, without a mark.
            Word = "word" plain { dst: A Dst, at: B Off, width: C Width };
            /// Rounds the data pointer up to a byte, reads `width` bytes there and moves past them.
            Take = "take" plain { dst: A Dst, width: C Width };
            /// Reads `count` bits at the data pointer and moves past them.
            TakeBits = "take.bits" plain { dst: A Dst, count: C Bits };
            /// Reads `width` little-endian bytes at a fixed offset, as `load` does.
            LoadLe = "load.le" plain { dst: A Dst, at: B Off, width: C Width };
            /// Reads `width` little-endian bytes at the data pointer, as `take` does.
            TakeLe = "take.le" plain { dst: A Dst, width: C Width };
            /// Goes on at `short` where the event has fewer than `end` bytes.
            Reach = "reach" plain { end: B Num, short: D Target };
            /// Goes on at `short` where the event has fewer than `bytes` bytes from the data pointer on.
            TakeReach = "take.reach" plain { bytes: B Num, short: D Target };
            /// Extends the low `count` bits of `src` by their sign.
            Sext = "sext" plain { dst: A Dst, src: B Src, count: C Bits };
            /// Takes `count` bits of `src` from bit `low` up, bit 0 the least significant.
            Bits = "bits" plain { dst: A Dst, src: B Src, low: C Bit, count: D Bits };
            /// Adds, wrapping at 64 bits.
            Add = "add" plain { dst: A Dst, left: B Src, right: C Src };
            /// Subtracts, wrapping at 64 bits.
            Sub = "sub" plain { dst: A Dst, left: B Src, right: C Src };
            /// Multiplies, wrapping at 64 bits.
            Mul = "mul" plain { dst: A Dst, left: B Src, right: C Src };
            /// Divides signed numbers toward zero; by zero gives 0 and is counted.
            Div = "div" plain { dst: A Dst, left: B Src, right: C Src };
            /// Bitwise and.
            And = "and" plain { dst: A Dst, left: B Src, right: C Src };
            /// 1 where both are equal, else 0.
            Equal = "equal" plain { dst: A Dst, left: B Src, right: C Src };
            /// 1 where they differ, else 0.
            Differ = "differ" plain { dst: A Dst, left: B Src, right: C Src };

            /// Sets the data pointer to a byte and bit.
            PtrSet = "ptr.set" plain { bytes: B Num, bits: C Num };
            /// Moves the data pointer forward.
            PtrAdd = "ptr.add" plain { bytes: B Num, bits: C Num };
            /// Moves the data pointer back, not below the first bit.
            PtrBack = "ptr.back" plain { bytes: B Num };
            /// Rounds the data pointer down to a byte.
            PtrFloor = "ptr.floor" plain {};
            /// Rounds the data pointer up to a byte.
            PtrCeil = "ptr.ceil" plain {};
            /// Sets `dst` to the data pointer's byte.
            PtrGet = "ptr.get" plain { dst: A Dst };
            /// Sets the data pointer to byte `src`; a negative number is 0.
            PtrTo = "ptr.to" plain { src: B Src };
            /// Sets `dst` to the base pointer.
            BaseGet = "base.get" plain { dst: A Dst };
            /// Sets the base pointer.
            BaseTo = "base.to" plain { src: B Src };

            /// Prints the low digits of `src` in hex, zero-padded.
            PutHex = "put.hex" plain { src: B Src, digits: C Digits };
            /// Prints `src` in 4, 8 or 16 hex digits, as many as it needs.
            PutHexFit = "put.hexfit" plain { src: B Src };
            /// Prints `src` as unsigned decimal.
            PutDec = "put.dec" plain { src: B Src };
            /// Prints `src` as signed decimal.
            PutInt = "put.int" plain { src: B Src };
            /// Prints the low digits of `src` in lower-case hex, zero-padded.
            PutHexLow = "put.hexlow" plain { src: B Src, digits: C Digits };
            /// Prints `src` in lower-case hex, without leading zeros.
            PutHexMin = "put.hexmin" plain { src: B Src };
            /// Prints `0x` and `src` as `put.hexmin` does.
            PutHexC = "put.hexc" plain { src: B Src };
            /// Prints `src` in octal behind a `0`; zero as `0`.
            PutOctC = "put.octc" plain { src: B Src };
            /// Prints `src` as the ASCII character that it is; where it is none that prints, as `0x` and `put.hexmin` do.
            PutAscii = "put.ascii" plain { src: B Src };
            /// Prints `src` in octal.
            PutOct = "put.oct" plain { src: B Src };
            /// Prints the low bits of `src` as binary digits.
            PutBin = "put.bin" plain { src: B Src, count: C Bits };
            /// Prints `src` as the bits of a 4- or 8-byte float, in C's `%.4E`.
            PutFloat = "put.float" plain { src: B Src, width: C Width };
            /// Prints the AIX error name of the low `width` bytes of `src`; as signed decimal where there is none.
            PutErrno = "put.errno" plain { src: B Src, width: C Width };
            /// Prints the low 32 bits of `src`, seconds since 1970, as GMT date and time.
            PutTime = "put.time" plain { src: B Src };
            /// Prints the executable's path of process `src`.
            PutPath = "put.path" plain { src: B Src };
            /// Prints the low `len` bytes of `src` as text, padded to `pad`.
            PutChars = "put.chars" plain { src: B Src, len: C Width, pad: D Len };
            /// Prints up to `len` bytes of text at a fixed offset, ending at a NUL, padded to `pad`.
            Text = "text" plain { at: B Off, len: C Len, pad: D Len };
            /// Prints up to `len` bytes of text at the data pointer, padded to `pad`, and moves past `len` bytes.
            TakeText = "take.text" plain { len: C Len, pad: D Len };
            /// Reads a length of `width` bytes at the data pointer, then prints that many bytes of text and moves past them.
            TakeCounted = "take.counted" plain { width: C Width };
            /// Prints `src` bytes of text at the data pointer and moves past them.
            TextBy = "text.by" plain { src: B Src };
            /// Prints the text at the data pointer up to a NUL or the event's end, unprintable bytes as escapes, and moves behind the NUL.
            TakeString = "take.string" plain {};
            /// Moves behind the NUL of the text at the data pointer.
            PassString = "pass.string" plain {};
            /// Prints up to `len` bytes of text at the data pointer, ending at a NUL, unprintable bytes as escapes, and moves past `len` bytes.
            TakeEscaped = "take.escaped" plain { len: B Len };
            /// Prints up to `count` words of 4 bytes at the data pointer, as many as there are, as a quoted text and hex words, and moves past them.
            TakeWords = "take.words" plain { count: B Num };
            /// Prints the text at the data pointer up to a NUL or `spare` bytes before the event's end, nothing where a byte of it does not print, and moves to the end.
            TakeName = "take.name" plain { spare: B Num };
            /// Prints `len` bytes at a fixed offset as hex digits.
            HexBytes = "hex.bytes" plain { at: B Off, len: C WideWidth };
            /// Prints `len` bytes at the data pointer as hex digits and moves past them.
            TakeHexBytes = "take.hexbytes" plain { len: C WideWidth };
            /// Prints a text that the surroundings tell.
            PutName = "put.name" plain { what: B Name };

            /// Goes on at `to`.
            Jump = "jump" plain { to: D Target };
            /// Goes on at `to` where `src` is 0.
            JumpZero = "jump.zero" plain { src: B Src, to: D Target };
            /// Goes on at `to` where `src` is `value`.
            JumpEqual = "jump.equal" plain { src: A Src, value: B Num, to: D Target };
            /// Goes on at `to` where `src` is not `value`.
            JumpDiffer = "jump.differ" plain { src: A Src, value: B Num, to: D Target };
            /// Goes on at `to`, further back or ahead, for the price of a loop's turn.
            Back = "back" plain { to: D Target };
            /// Goes on where the table sends `src`.
            Switch = "switch" plain { src: B Src, table: C Table };
            /// Turns the hex digits printed since `mark` to lower case.
            Lower = "lower" plain { mark: B Src };
            /// Notes in `dst` where the text ends, for `switch.text` and `lower`.
            Mark = "mark" plain { dst: A Dst };
            /// Takes back the text printed since `mark` and goes on where the table sends it.
            SwitchText = "switch.text" plain { mark: B Src, table: C TextTable };
            /// Prints the text with index `src`, or the default behind the last.
            SwitchLit = "switch.lit" plain { src: B Src, table: C Lits };
            /// Prints the text with index `src`; where it is empty, `src` as `put.hexc` does.
            SwitchLitHex = "switch.lit.hex" plain { src: B Src, table: C Lits };
            /// Prints the text that the table has for `src`.
            PutCase = "put.case" plain { src: B Src, table: C CaseTexts };
            /// Prints the texts of the BITFLAGS entries that `src` meets.
            Flags = "flags" plain { src: B Src, table: C Flags };
            /// 1 where `src` meets an entry that prints text, else 0.
            FlagsAny = "flags.any" plain { dst: A Dst, src: B Src, table: C Flags };
            /// Prints the texts of the entries that `src` meets, each behind a blank but the very first.
            FlagsList = "flags.list" plain { src: B Src, table: C Flags };
            /// Prints the texts of the nibbles of `src`, low nibble first, or the table's own where there are none; `soft`: they end in soft blanks.
            Nibbles = "nibbles" plain { src: B Src, table: C Nibbles, soft: A Soft };
            /// Starts `src` turns with `turn` counting down, or goes on at `exit` when there are none or the event is truncated.
            Loop = "loop" plain { turn: A Dst, src: B Src, exit: D Target };
            /// Goes back to `top` while turns are left and the event is not truncated.
            LoopNext = "loop.next" plain { turn: A Dst, top: D Target };
            /// Prints `src` bytes at the data pointer as hex pairs: `LOOP src { X0 }`, or `X1` with soft blanks.
            Dump = "dump" plain { src: B Src, soft: A Soft };
            /// Calls a routine with a lower number.
            Call = "call" plain { to: B Routine };
            /// Returns from a call.
            Ret = "ret" plain {};
            /// Ends the event.
            End = "end" plain {};
            /// Ends the event and drops it.
            Skip = "skip" plain {};
            /// Lets no later event be read.
            Stop = "stop" plain {};
            /// Marks the event truncated.
            Cut = "cut" plain {};
            /// Prints the `$ERROR` message.
            Error = "error" plain {};
            /// Stores the event's time under a pair of numbers.
            TimerStart = "timer.start" plain { first: B Src, second: C Src };
            /// Prints the time since the pair was stored, in brackets, and forgets it.
            TimerEnd = "timer.end" plain { first: B Src, second: C Src };

            /// Takes a number from a window.
            Get = "get" fused { dst: A Dst, at: B Window, form: C Form, short: D Short };
            /// `get` and `put.hex`.
            HexAt = "hex.at" fused { digits: A Digits, at: B Window, form: C Form, short: D Short };
            /// `get` and `put.hexlow`.
            HexLowAt = "hexlow.at" fused { digits: A Digits, at: B Window, form: C Form, short: D Short };
            /// `hex.at` of a number that has as many digits, and begins with a byte.
            HexFullAt = "hex.full.at" fused { digits: A Digits, at: B Window, form: C Form, short: D Short };
            /// `hexlow.at` of a number that has as many digits, and begins with a byte.
            HexLowFullAt = "hexlow.full.at" fused { digits: A Digits, at: B Window, form: C Form, short: D Short };
            /// `get` and `put.hexc`.
            HexCAt = "hexc.at" fused { at: B Window, form: C Form, short: D Short };
            /// `get` and `put.hexmin`.
            HexMinAt = "hexmin.at" fused { at: B Window, form: C Form, short: D Short };
            /// `get` and `put.octc`.
            OctCAt = "octc.at" fused { at: B Window, form: C Form, short: D Short };
            /// `get` and `put.dec`.
            DecAt = "dec.at" fused { at: B Window, form: C Form, short: D Short };
            /// `get`, extended by its sign, and `put.int`.
            IntAt = "int.at" fused { at: B Window, form: C Form, short: D Short };
            /// `get` and `switch.lit`.
            LitAt = "lit.at" fused { at: A Window, table: B Lits, form: C Form, short: D Short };
            /// `get`, `put.hexc` and `switch.lit`.
            HexCLitAt = "hexc.lit.at" fused { at: A Window, table: B Lits, form: C Form, short: D Short };
            /// `get` and `switch.lit.hex`.
            LitHexAt = "lit.hex.at" fused { at: A Window, table: B Lits, form: C Form, short: D Short };
            /// `get` and `put.case`.
            CaseAt = "case.at" fused { at: A Window, table: B CaseTexts, form: C Form, short: D Short };
            /// `get`, `put.hexc` and `put.case`.
            HexCCaseAt = "hexc.case.at" fused { at: A Window, table: B CaseTexts, form: C Form, short: D Short };
            /// `get` and `nibbles` without soft blanks.
            NibblesAt = "nibbles.at" fused { at: A Window, table: B Nibbles, form: C Form, short: D Short };
            /// `get`, `put.hexc` and `nibbles` without soft blanks.
            HexCNibblesAt = "hexc.nibbles.at" fused { at: A Window, table: B Nibbles, form: C Form, short: D Short };
            /// `get` and `jump.equal`; goes on at `to` where the event is too short, too.
            JumpEqualAt = "jump.equal.at" fused { at: A Window, value: B Num, form: C Form, to: D Target };
            /// `get` and `jump.differ`; goes on at `to` where the event is too short, too.
            JumpDifferAt = "jump.differ.at" fused { at: A Window, value: B Num, form: C Form, to: D Target };
            /// `reach`, `ptr.set` and `take.string`.
            StringAt = "string.at" fused { at: B Num, back: C Back, short: D Target };
            /// `mark`, `text` of a field of up to 16 bytes, and `switch.text`.
            SwitchTextAt = "switch.text.at" fused { at: B Off, table: C TextTable, len: D Width };
        }
    };
}

macro_rules! define_ops {
    ($($(#[doc = $doc:literal])* $name:ident = $mnemonic:literal $form:ident { $($operand:ident: $slot:ident $kind:ident),* };)*) => {
        /// The opcodes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Op { $($(#[doc = $doc])* $name,)* }

        /// The opcodes' numbers, for matching an instruction's without decoding it first.
        #[expect(non_upper_case_globals, dead_code, reason = "named as the opcodes are; the loop matches some of them")]
        pub(crate) mod number {
            use super::Op;
            $(pub const $name: u8 = Op::$name as u8;)*
        }

        impl Op {
            /// Every opcode, by number.
            pub const ALL: &[Op] = &[$(Op::$name),*];

            /// The opcode with a number.
            #[inline]
            pub const fn from_u8(number: u8) -> Option<Op> {
                $(if number == Op::$name as u8 { return Some(Op::$name); })*
                None
            }

            /// The opcode's row.
            pub const fn info(self) -> &'static OpInfo {
                match self { $(Op::$name => &OpInfo {
                    mnemonic: $mnemonic,
                    doc: concat!($($doc),*),
                    fused: is_fused!($form),
                    operands: &[$((stringify!($operand), Slot::$slot, Kind::$kind)),*],
                },)* }
            }
        }
    };
}

macro_rules! is_fused {
    (plain) => {
        false
    };
    (fused) => {
        true
    };
}

for_each_op!(define_ops);
pub(crate) use for_each_op;

impl Instr {
    /// An instruction without literal and with zero operands.
    pub const fn new(op: Op) -> Instr {
        Instr { op: op as u8, lit_len: 0, a: 0, b: 0, c: 0, d: 0, lit: [0; 16] }
    }

    /// An instruction with its operands in the table's order. Missing ones are 0; the halves of a [`Kind::Wide`]
    /// number, and what shares a slot pair, are set by [`Instr::with`].
    pub fn of(op: Op, operands: &[u32]) -> Instr {
        let mut instr = Instr::new(op);
        for ((_, slot, _), value) in op.info().operands.iter().zip(operands) {
            instr = instr.with(*slot, *value);
        }
        instr
    }

    /// The instruction with one slot set; slot a keeps the low 16 bits.
    #[must_use]
    pub const fn with(mut self, slot: Slot, value: u32) -> Instr {
        match slot {
            Slot::A => self.a = value as u16,
            Slot::B => self.b = value,
            Slot::C => self.c = value,
            Slot::D => self.d = value,
        }
        self
    }

    /// One slot's value.
    pub const fn slot(&self, slot: Slot) -> u32 {
        match slot {
            Slot::A => self.a as u32,
            Slot::B => self.b,
            Slot::C => self.c,
            Slot::D => self.d,
        }
    }

    /// The literal that is printed first.
    pub fn literal(&self) -> &[u8] {
        &self.lit[..(self.lit_len as usize).min(16)]
    }

    /// The 64-bit number in slots b and c.
    pub const fn wide(&self) -> u64 {
        self.b as u64 | (self.c as u64) << 32
    }
}

macro_rules! named {
    ($(#[doc = $about:literal])* $type:ident { $($(#[doc = $doc:literal])* $name:ident = $text:literal,)* }) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $type { $($(#[doc = $doc])* $name,)* }

        impl $type {
            /// Every value, by number.
            pub const ALL: &[$type] = &[$($type::$name),*];

            /// The name in listings: a macro's, without `$`.
            pub const fn name(self) -> &'static str {
                match self { $($type::$name => $text,)* }
            }

            /// The value with a number.
            #[inline]
            pub const fn from_u32(number: u32) -> Option<$type> {
                $(if number == $type::$name as u32 { return Some($type::$name); })*
                None
            }
        }
    };
}

named! {
    /// Numbers that the event or its surroundings tell.
    EnvValue {
        /// `$TRACEENV`
        TraceEnv = "TRACEENV",
        /// `$HD`
        HookData = "HD",
        /// `$HL`, `HB`
        HookLen = "HL",
        /// `HT`
        HookType = "HT",
        /// `$RELLINENO`
        RelLine = "RELLINENO",
        /// `$TOTALCPUS`
        TotalCpus = "TOTALCPUS",
        /// `$TRACEDCPUS`
        TracedCpus = "TRACEDCPUS",
        /// `$REPORTEDCPUS`
        ReportedCpus = "REPORTEDCPUS",
        /// `$LARGEDATATYPES`
        LargeDataTypes = "LARGEDATATYPES",
        /// `$BUFF`
        Buffering = "BUFF",
        /// `$IPADDR`
        IpAddress = "IPADDR",
        /// `$PID`
        Pid = "PID",
        /// `$TID`
        Tid = "TID",
        /// `$CPUID`
        Cpu = "CPUID",
        /// `$PRI`
        Priority = "PRI",
        /// `$LOGIDX`: the event's offset plus the data pointer.
        LogIndex = "LOGIDX",
        /// `$LOGIDX0`: the event's offset.
        LogIndex0 = "LOGIDX0",
        /// Bytes of a record's payload.
        PayloadLen = "PAYLOAD",
        /// A record's event number.
        EventNumber = "EVENT",
    }
}

impl EnvValue {
    /// Whether the event itself tells it.
    pub(crate) const fn is_of_event(self) -> bool {
        use EnvValue::{EventNumber, HookData, HookLen, HookType, LogIndex, LogIndex0, PayloadLen, RelLine};
        matches!(self, HookData | HookLen | HookType | RelLine | LogIndex | LogIndex0 | PayloadLen | EventNumber)
    }
}

named! {
    /// Texts that the surroundings tell.
    EnvText {
        /// `$SVC`
        Svc = "SVC",
        /// `$EXECPATH`
        ExecPath = "EXECPATH",
        /// `$LOGFILE`
        LogFile = "LOGFILE",
        /// `$TRACEID`
        TraceId = "TRACEID",
    }
}
