//! The instruction table: the single definition of all instructions.
//!
//! An instruction is 32 bytes: opcode, literal length, four operand slots, and up to 16 bytes of literal text. Every
//! instruction prints its literal first, so fixed text of a template costs no extra instruction. The compiler emits
//! `plain` rows; the link pass replaces runs of them by `fused` rows.
//!
//! A row has the number, the mnemonic, the operands, the part of the event that the instruction `reads`, the machine
//! state that it `uses`, and its handler (`by`). `effects` at the end means that it acts on more than the event's text.
//! Opcodes, encoder, listing, dispatch table, the verifier's operand walk and `docs/bytecode.md` are generated from the
//! rows.

use bytemuck::{Pod, Zeroable};

/// Number of registers.
pub const N_REGS: usize = 1024;

/// Instruction, as stored (little-endian) and run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C)]
pub struct Instr {
    /// Number of an [`Op`].
    pub op: u8,
    /// Length of the literal, 0 to 16.
    pub lit_len: u8,
    /// Operand slot a.
    pub a: u16,
    /// Operand slot b.
    pub b: u32,
    /// Operand slot c.
    pub c: u32,
    /// Operand slot d.
    pub d: u32,
    /// Literal text; bytes after `lit_len` are zero.
    pub lit: [u8; 16],
}

/// Operand slot of an instruction.
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

/// Type of an operand: determines its listing and its checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OperandKind {
    /// Register that is written.
    Dst,
    /// Register that is read.
    Src,
    /// Register that a mark, a position in the event's own text, is written to.
    NewMark,
    /// Register that a mark is read from.
    Mark,
    /// Plain number.
    Num,
    /// Low half of a 64-bit number; the high half is in slot c.
    Wide,
    /// Number of bytes, 1 to 16; a number keeps the low 8.
    Width,
    /// Number of bytes, 9 to 16.
    WideWidth,
    /// Encoding of the bits to take from a window ([`form`]).
    Form,
    /// Fixed byte offset of a window, eight bytes of the event.
    Window,
    /// Instruction of the same routine, for the form of a checked field; otherwise 0.
    Short,
    /// Number of bits, 1 to 64.
    Bits,
    /// Bit number, 0 to 63.
    Bit,
    /// Fixed byte offset in the event.
    Off,
    /// Fixed bit offset in the event.
    BitOff,
    /// Number of text bytes, without limit.
    Len,
    /// Flag: a soft blank after every byte, or all iterations of a loop.
    Soft,
    /// Flag: 0 or 1.
    Flag,
    /// Cell of a field in the event's row or in the current list item.
    Cell,
    /// Number of hex digits, 1 to 32.
    Digits,
    /// Number of leading hex digits to print of the form's number, at least 1.
    FirstDigits,
    /// Number of literal bytes to remove if the event is too short.
    Back,
    /// Run of the string pool: offset here, length in slot c.
    Str,
    /// Instruction of the same routine.
    Target,
    /// Switch table by number.
    Table,
    /// Switch table by text.
    TextTable,
    /// Table by number whose targets are texts.
    CaseTexts,
    /// Table by number whose targets are labels: 0 for none, otherwise the label's number plus 1.
    Labels,
    /// Short texts by index (word offset).
    Lits,
    /// BITFLAGS entries.
    Flags,
    /// Texts by nibble (word offset).
    Nibbles,
    /// Index of a routine.
    Routine,
    /// Number from the event or its context ([`EnvValue`]).
    Value,
    /// Text from the context ([`EnvText`]).
    Name,
}

/// Row of the table.
#[derive(Debug, Clone, Copy)]
pub struct OpInfo {
    /// Name in listings.
    pub mnemonic: &'static str,
    /// Description of its effect.
    pub doc: &'static str,
    /// True if only the link pass creates it.
    pub fused: bool,
    /// Operands, in listing order.
    pub operands: &'static [(&'static str, Slot, OperandKind)],
    /// Part of the event that it reads.
    pub reads: Reads,
    /// Machine state that it needs.
    pub uses: StateUse,
    /// True if it acts on more than the event's text: it sets or ends a timer, or stops the report.
    pub has_effects: bool,
}

/// Part of an event that an instruction reads. `Next…` begins at the data pointer, the others at a fixed offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reads {
    /// Nothing of the event.
    Nothing,
    /// Bytes at the [`OperandKind::Off`] operand; the [`OperandKind::Width`] or [`OperandKind::WideWidth`] operand is
    /// their number.
    Bytes,
    /// Bits at the [`OperandKind::BitOff`] operand; the [`OperandKind::Bits`] operand is their number.
    Bits,
    /// A data word, or nothing if the event does not contain all of it.
    Word,
    /// The bits that the [`OperandKind::Form`] operand takes from the [`OperandKind::Window`] operand.
    Window,
    /// Text at the [`OperandKind::Off`] operand; the first [`OperandKind::Len`] or [`OperandKind::Width`] operand is its
    /// maximum length.
    Text,
    /// Text up to a NUL, at slot b.
    String,
    /// Bytes; the width operand is their number.
    NextBytes,
    /// Bits; the [`OperandKind::Bits`] operand is their number.
    NextBits,
    /// Text; the first [`OperandKind::Len`] operand is its maximum length.
    NextText,
    /// Text; the [`OperandKind::Src`] operand is its maximum length.
    NextTextBy,
    /// A length, followed by that many bytes of text.
    NextCounted,
    /// Text up to a NUL.
    NextString,
    /// Text up to a NUL, without the last bytes, whose number is in slot b.
    NextName,
    /// Words of 4 bytes; slot b is their number.
    NextWords,
    /// Bytes; the [`OperandKind::Src`] operand is their number.
    NextDump,
    /// Part of the header selected by the [`OperandKind::Value`] operand.
    Value,
    /// Part of the header selected by the [`OperandKind::Name`] operand.
    Name,
    /// The hook id.
    HookId,
}

/// Machine state that an instruction needs, besides the event's bytes at fixed offsets and registers written by its
/// routine. Each value includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StateUse {
    /// No other state.
    Nothing,
    /// The data pointer.
    Pointer,
    /// The event's header, its hook, the margin of further lines, zeroed registers.
    Event,
    /// The event's context, and calls.
    Context,
}

impl StateUse {
    /// Value of the two low bits.
    #[inline(always)]
    pub(crate) const fn from_bits(bits: u8) -> StateUse {
        match bits & 3 {
            0 => StateUse::Nothing,
            1 => StateUse::Pointer,
            2 => StateUse::Event,
            _ => StateUse::Context,
        }
    }
}

/// Encoding of the number to take from a window, that is eight bytes of an event at a fixed offset. The window is
/// read in the given byte order, shifted left and then right, so that the wanted bits remain.
pub mod form {
    /// Mask of the left shift.
    pub const LEFT: u32 = 0x3f;
    /// Lowest bit of the right shift.
    pub const RIGHT: u32 = 8;
    /// Flag: the bytes are little-endian.
    pub const LITTLE: u32 = 1 << 16;
    /// Lowest bit of the mode: what happens if the event does not contain the whole number.
    pub const MODE: u32 = 17;
    /// Mode: missing bytes are zeros and mark the event as truncated, as in `load`.
    pub const LOAD: u32 = 0;
    /// Mode: the number is 0, as in `word`.
    pub const WORD: u32 = 1;
    /// Mode: jumps to another instruction, as in `reach`.
    pub const FIELD: u32 = 2;
    /// Lowest bit of the number's end in the window, 1 to 8.
    pub const END: u32 = 20;
    /// Lowest bit of the number of literal bytes to remove if mode [`FIELD`] jumps.
    pub const BACK: u32 = 24;
    /// Lowest bit of the number of following instructions that run with this one; they have the same opcode.
    pub const MORE: u32 = 29;
    /// Maximum number of these.
    pub const MAX_MORE: u32 = 3;

    /// Mode: what happens if the event does not contain the whole number.
    pub const fn mode(form: u32) -> u32 {
        form >> MODE & 3
    }

    /// Number of bytes from the start of the window to the end of the number.
    pub const fn end(form: u32) -> u32 {
        form >> END & 15
    }

    /// Number of literal bytes to remove.
    pub const fn back(form: u32) -> u32 {
        form >> BACK & 31
    }

    /// Number of following instructions that run with this one.
    pub const fn n_more(form: u32) -> u32 {
        form >> MORE
    }

    /// Bits of the window that the form takes, counted from the highest bit of the first byte, or from its lowest bit
    /// in a little-endian window.
    pub const fn bits(form: u32) -> std::ops::Range<u32> {
        let (left, count) = (form & LEFT, 64 - (form >> RIGHT & 63));
        let first = if form & LITTLE != 0 { 64u32.saturating_sub(left + count) } else { left };
        first..first + count
    }

    /// Number of hex digits of the form's number, 0 to 16.
    pub const fn n_digits(form: u32) -> u32 {
        (64 - (form >> RIGHT & 63)) / 4
    }

    /// True if instructions with this opcode can run together.
    pub const fn can_run_together(op: super::Op) -> bool {
        matches!(op, super::Op::HexFullAt | super::Op::HexLowFullAt)
    }
}

macro_rules! for_each_op {
    ($emit:ident) => {
        $emit! {
            /// Prints its literal.
            0 Print = "print" fused {} reads Nothing, uses Nothing, by print;
            /// Prints a run of the string pool.
            1 Lit = "lit" plain { text: B Str } reads Nothing, uses Nothing, by slow_ops::lit;
            /// Prints a soft blank, which is removed if a line end, a tab or text with a leading blank follows.
            2 Soft = "soft" plain {} reads Nothing, uses Nothing, by put_soft_blank;
            /// Removes a soft blank at the end of the text.
            3 SoftDrop = "soft.drop" plain {} reads Nothing, uses Nothing, by drop_soft_blank;
            /// Ends the line and prints the margin of the next one.
            4 Newline = "nl" plain {} reads Nothing, uses Event, by slow_ops::newline;
            /// Prints blanks up to the next tab stop.
            5 Tab = "tab" plain {} reads Nothing, uses Event, by slow_ops::tab;

            /// Sets `dst` to a 64-bit number.
            6 Const = "const" plain { dst: A Dst, value: B Wide } reads Nothing, uses Nothing, by const_;
            /// Copies `src` to `dst`.
            7 Move = "move" plain { dst: A Dst, src: B Src } reads Nothing, uses Nothing, by move_;
            /// Sets `dst` to a number from the event or its context.
            8 Env = "env" plain { dst: A Dst, what: B Value } reads Value, uses Event, by env;
            /// Reads `width` big-endian bytes at a fixed offset, zero-extended. Bytes after the event's end are zero
            /// and mark it as truncated.
            9 Load = "load" plain { dst: A Dst, at: B Off, width: C Width } reads Bytes, uses Nothing, by load<MODE, ORDER>;
            /// Reads `count` bits at a fixed bit offset, the first bit most significant.
            10 LoadBits = "load.bits" plain { dst: A Dst, at: B BitOff, count: C Bits } reads Bits, uses Nothing, by load_bits;
            /// Reads a data word at a fixed offset: 0 if the event does not contain all of it, without marking it.
            11 Word = "word" plain { dst: A Dst, at: B Off, width: C Width } reads Word, uses Nothing, by word;
            /// Rounds the data pointer up to a byte, reads `width` bytes there and moves past them.
            12 Take = "take" plain { dst: A Dst, width: C Width } reads NextBytes, uses Pointer, by take;
            /// Reads `count` bits at the data pointer and moves past them.
            13 TakeBits = "take.bits" plain { dst: A Dst, count: C Bits } reads NextBits, uses Pointer, by take_bits;
            /// Reads `width` little-endian bytes at a fixed offset, as `load` does.
            14 LoadLe = "load.le" plain { dst: A Dst, at: B Off, width: C Width } reads Bytes, uses Nothing, by load_le<MODE, ORDER>;
            /// Reads `width` little-endian bytes at the data pointer, as `take` does.
            15 TakeLe = "take.le" plain { dst: A Dst, width: C Width } reads NextBytes, uses Pointer, by take_le;
            /// Continues at `short` if the event has fewer than `end` bytes.
            16 Reach = "reach" plain { end: B Num, short: D Target } reads Nothing, uses Nothing, by reach;
            /// Continues at `short` if the event has fewer than `bytes` bytes after the data pointer.
            17 TakeReach = "take.reach" plain { bytes: B Num, short: D Target } reads Nothing, uses Pointer, by take_reach;
            /// Sign-extends the low `count` bits of `src`.
            18 Sext = "sext" plain { dst: A Dst, src: B Src, count: C Bits } reads Nothing, uses Nothing, by sext_;
            /// Takes `count` bits of `src`, starting at bit `low`; bit 0 is the least significant.
            19 Bits = "bits" plain { dst: A Dst, src: B Src, low: C Bit, count: D Bits } reads Nothing, uses Nothing, by bits;
            /// Adds, wrapping at 64 bits.
            20 Add = "add" plain { dst: A Dst, left: B Src, right: C Src } reads Nothing, uses Nothing, by add;
            /// Subtracts, wrapping at 64 bits.
            21 Sub = "sub" plain { dst: A Dst, left: B Src, right: C Src } reads Nothing, uses Nothing, by sub;
            /// Multiplies, wrapping at 64 bits.
            22 Mul = "mul" plain { dst: A Dst, left: B Src, right: C Src } reads Nothing, uses Nothing, by mul;
            /// Divides signed numbers, rounding toward zero; division by zero gives 0 and is counted.
            23 Div = "div" plain { dst: A Dst, left: B Src, right: C Src } reads Nothing, uses Nothing, by slow_ops::div;
            /// Bitwise and.
            24 And = "and" plain { dst: A Dst, left: B Src, right: C Src } reads Nothing, uses Nothing, by and;
            /// 1 if both are equal, otherwise 0.
            25 Equal = "equal" plain { dst: A Dst, left: B Src, right: C Src } reads Nothing, uses Nothing, by equal;
            /// 1 if they differ, otherwise 0.
            26 Differ = "differ" plain { dst: A Dst, left: B Src, right: C Src } reads Nothing, uses Nothing, by differ;

            /// Sets the data pointer to a byte and bit.
            27 PtrSet = "ptr.set" plain { bytes: B Num, bits: C Num } reads Nothing, uses Pointer, by ptr_set;
            /// Moves the data pointer forward.
            28 PtrAdd = "ptr.add" plain { bytes: B Num, bits: C Num } reads Nothing, uses Pointer, by ptr_add;
            /// Moves the data pointer back, at most to the first bit.
            29 PtrBack = "ptr.back" plain { bytes: B Num } reads Nothing, uses Pointer, by ptr_back;
            /// Rounds the data pointer down to a byte.
            30 PtrFloor = "ptr.floor" plain {} reads Nothing, uses Pointer, by ptr_floor;
            /// Rounds the data pointer up to a byte.
            31 PtrCeil = "ptr.ceil" plain {} reads Nothing, uses Pointer, by ptr_ceil;
            /// Sets `dst` to the data pointer's byte.
            32 PtrGet = "ptr.get" plain { dst: A Dst } reads Nothing, uses Pointer, by ptr_get;
            /// Sets the data pointer to byte `src`; a negative number counts as 0.
            33 PtrTo = "ptr.to" plain { src: B Src } reads Nothing, uses Pointer, by ptr_to;
            /// Sets `dst` to the base pointer.
            34 BaseGet = "base.get" plain { dst: A Dst } reads Nothing, uses Pointer, by base_get;
            /// Sets the base pointer.
            35 BaseTo = "base.to" plain { src: B Src } reads Nothing, uses Pointer, by base_to;

            /// Prints the low digits of `src` in hex, zero-padded.
            36 PutHex = "put.hex" plain { src: B Src, digits: C Digits } reads Nothing, uses Nothing, by put_hex;
            /// Prints `src` in hex with 4, 8 or 16 digits, depending on its value.
            37 PutHexFit = "put.hexfit" plain { src: B Src } reads Nothing, uses Nothing, by put_hex_fit;
            /// Prints `src` as unsigned decimal.
            38 PutDec = "put.dec" plain { src: B Src } reads Nothing, uses Nothing, by put_dec;
            /// Prints `src` as signed decimal.
            39 PutInt = "put.int" plain { src: B Src } reads Nothing, uses Nothing, by put_int;
            /// Prints the low digits of `src` in lower-case hex, zero-padded.
            40 PutHexLow = "put.hexlow" plain { src: B Src, digits: C Digits } reads Nothing, uses Nothing, by put_hex_low;
            /// Prints `src` in lower-case hex, without leading zeros.
            41 PutHexMin = "put.hexmin" plain { src: B Src } reads Nothing, uses Nothing, by put_hex_min;
            /// Prints `0x` and `src` like `put.hexmin`.
            42 PutHexC = "put.hexc" plain { src: B Src } reads Nothing, uses Nothing, by put_hexc;
            /// Prints `0` and `src` in octal; zero as `0`.
            43 PutOctC = "put.octc" plain { src: B Src } reads Nothing, uses Nothing, by put_octc;
            /// Prints `src` as an ASCII character if that is printable, otherwise like `put.hexc`.
            44 PutAscii = "put.ascii" plain { src: B Src } reads Nothing, uses Nothing, by put_ascii_;
            /// Prints `src` in octal.
            45 PutOct = "put.oct" plain { src: B Src } reads Nothing, uses Nothing, by put_oct;
            /// Prints the low bits of `src` as binary digits.
            46 PutBin = "put.bin" plain { src: B Src, count: C Bits } reads Nothing, uses Nothing, by put_bin;
            /// Prints `src` as a 4- or 8-byte float like C's `%.4E`, or with `decimals` decimals if that is not 0.
            47 PutFloat = "put.float" plain { src: B Src, width: C Width, decimals: D Bit } reads Nothing, uses Nothing, by slow_ops::put_float;
            /// Prints the AIX error name for the low `width` bytes of `src`, or signed decimal if there is none.
            48 PutErrno = "put.errno" plain { src: B Src, width: C Width } reads Nothing, uses Nothing, by slow_ops::put_errno;
            /// Prints the low 32 bits of `src`, seconds since 1970, as GMT date and time.
            49 PutTime = "put.time" plain { src: B Src } reads Nothing, uses Nothing, by slow_ops::put_time;
            /// Prints the path of the executable of process `src`.
            50 PutPath = "put.path" plain { src: B Src } reads Nothing, uses Context, by slow_ops::put_path;
            /// Prints the low `len` bytes of `src` as text, padded to `pad`.
            51 PutChars = "put.chars" plain { src: B Src, len: C Width, pad: D Len } reads Nothing, uses Nothing, by slow_ops::put_chars;
            /// Prints up to `len` bytes of text at a fixed offset, ending at a NUL, padded to `pad`.
            52 Text = "text" plain { at: B Off, len: C Len, pad: D Len } reads Text, uses Nothing, by text;
            /// Prints up to `len` bytes of text at the data pointer, padded to `pad`, and moves past `len` bytes.
            53 TakeText = "take.text" plain { len: C Len, pad: D Len } reads NextText, uses Pointer, by slow_ops::take_text;
            /// Reads a length of `width` bytes at the data pointer, then prints that many bytes of text and moves past them.
            54 TakeCounted = "take.counted" plain { width: C Width } reads NextCounted, uses Pointer, by slow_ops::take_counted;
            /// Prints `src` bytes of text at the data pointer and moves past them.
            55 TextBy = "text.by" plain { src: B Src } reads NextTextBy, uses Pointer, by slow_ops::text_by;
            /// Prints the text at the data pointer up to a NUL or the event's end, with escapes for unprintable bytes,
            /// and moves past the NUL.
            56 TakeString = "take.string" plain {} reads NextString, uses Pointer, by slow_ops::take_string;
            /// Moves past the NUL of the text at the data pointer.
            57 PassString = "pass.string" plain {} reads NextString, uses Pointer, by slow_ops::pass_string;
            /// Prints up to `len` bytes of text at the data pointer, ending at a NUL, with escapes for unprintable
            /// bytes, and moves past `len` bytes.
            58 TakeEscaped = "take.escaped" plain { len: B Len } reads NextText, uses Pointer, by slow_ops::take_escaped;
            /// Prints up to `count` words of 4 bytes at the data pointer as a quoted text and hex words, and moves past
            /// them.
            59 TakeWords = "take.words" plain { count: B Num } reads NextWords, uses Pointer, by take_words;
            /// Prints the text at the data pointer up to a NUL or `spare` bytes before the event's end, or nothing if a
            /// byte is unprintable, and moves to the end.
            60 TakeName = "take.name" plain { spare: B Num } reads NextName, uses Pointer, by take_name;
            /// Prints `len` bytes at a fixed offset as hex digits.
            61 HexBytes = "hex.bytes" plain { at: B Off, len: C WideWidth } reads Bytes, uses Nothing, by slow_ops::hex_bytes;
            /// Prints `len` bytes at the data pointer as hex digits and moves past them.
            62 TakeHexBytes = "take.hexbytes" plain { len: C WideWidth } reads NextBytes, uses Pointer, by slow_ops::take_hex_bytes;
            /// Prints a text from the context.
            63 PutName = "put.name" plain { what: B Name } reads Name, uses Context, by slow_ops::put_name;

            /// Continues at `to`.
            64 Jump = "jump" plain { to: D Target } reads Nothing, uses Nothing, by jump;
            /// Continues at `to` if `src` is 0.
            65 JumpZero = "jump.zero" plain { src: B Src, to: D Target } reads Nothing, uses Nothing, by jump_zero;
            /// Continues at `to` if `src` equals `value`.
            66 JumpEqual = "jump.equal" plain { src: A Src, value: B Num, to: D Target } reads Nothing, uses Nothing, by jump_equal;
            /// Continues at `to` if `src` does not equal `value`.
            67 JumpDiffer = "jump.differ" plain { src: A Src, value: B Num, to: D Target } reads Nothing, uses Nothing, by jump_differ;
            /// Continues at `to`, in either direction, at the cost of a loop iteration.
            68 Back = "back" plain { to: D Target } reads Nothing, uses Nothing, by back;
            /// Continues at the target that the table has for `src`.
            69 Switch = "switch" plain { src: B Src, table: C Table } reads Nothing, uses Nothing, by switch;
            /// Converts hex digits printed since `mark` to lower case.
            70 Lower = "lower" plain { mark: B Mark } reads Nothing, uses Event, by slow_ops::lower;
            /// Stores the end of the event's text in `dst`, for `switch.text` and `lower`; no other instruction reads
            /// it.
            71 Mark = "mark" plain { dst: A NewMark } reads Nothing, uses Event, by slow_ops::mark;
            /// Removes the text printed since `mark` and continues at the target that the table has for it.
            72 SwitchText = "switch.text" plain { mark: B Mark, table: C TextTable } reads Nothing, uses Event, by switch_text;
            /// Prints the text with index `src`, or the default if there is none.
            73 SwitchLit = "switch.lit" plain { src: B Src, table: C Lits } reads Nothing, uses Nothing, by switch_lit;
            /// Prints the text with index `src`; if it is empty, `src` like `put.hexc`.
            74 SwitchLitHex = "switch.lit.hex" plain { src: B Src, table: C Lits } reads Nothing, uses Nothing, by switch_lit_hex;
            /// Prints the text that the table has for `src`.
            75 PutCase = "put.case" plain { src: B Src, table: C CaseTexts } reads Nothing, uses Nothing, by put_case;
            /// Prints the texts of the BITFLAGS entries that match `src`.
            76 Flags = "flags" plain { src: B Src, table: C Flags } reads Nothing, uses Nothing, by slow_ops::flags;
            /// 1 if `src` matches an entry that prints text, otherwise 0.
            77 FlagsAny = "flags.any" plain { dst: A Dst, src: B Src, table: C Flags } reads Nothing, uses Nothing, by flags_any;
            /// Prints the texts of the entries that match `src`, separated by blanks.
            78 FlagsList = "flags.list" plain { src: B Src, table: C Flags } reads Nothing, uses Nothing, by slow_ops::flags_list;
            /// Prints the texts of the nibbles of `src`, low nibble first, or the default text if there are none; with
            /// `soft` they end in soft blanks.
            79 Nibbles = "nibbles" plain { src: B Src, table: C Nibbles, soft: A Soft } reads Nothing, uses Nothing, by nibbles;
            /// Starts `src` iterations, counted down in `turn`. Continues at `exit` if there are none, or if the event
            /// is truncated and `all` is 0.
            80 Loop = "loop" plain { turn: A Dst, src: B Src, exit: D Target, all: C Soft } reads Nothing, uses Nothing, by loop_;
            /// Goes back to `top` if iterations are left and the event is not truncated or `all` is 1.
            81 LoopNext = "loop.next" plain { turn: A Dst, top: D Target, all: C Soft } reads Nothing, uses Nothing, by loop_next;
            /// Prints `src` bytes at the data pointer as hex pairs: `LOOP src { X0 }`, or `X1` with soft blanks.
            82 Dump = "dump" plain { src: B Src, soft: A Soft } reads NextDump, uses Pointer, by dump;
            /// Calls a routine with a lower number.
            83 Call = "call" plain { to: B Routine } reads Nothing, uses Context, by call;
            /// Returns from a call.
            84 Ret = "ret" plain {} reads Nothing, uses Context, by ret;
            /// Ends the event.
            85 End = "end" plain {} reads Nothing, uses Nothing, by end;
            /// Ends the event and drops its output.
            86 Skip = "skip" plain {} reads Nothing, uses Nothing, by skip;
            /// Stops the report after this event.
            87 Stop = "stop" plain {} reads Nothing, uses Nothing, by slow_ops::stop, effects;
            /// Marks the event as truncated.
            88 Cut = "cut" plain {} reads Nothing, uses Nothing, by slow_ops::cut;
            /// Prints the `$ERROR` message.
            89 Error = "error" plain {} reads HookId, uses Context, by slow_ops::error;
            /// Stores the event's time under a pair of numbers.
            90 TimerStart = "timer.start" plain { first: B Src, second: C Src } reads Nothing, uses Context, by slow_ops::timer_start, effects;
            /// Prints the time since the pair was stored, in brackets, and removes it.
            91 TimerEnd = "timer.end" plain { first: B Src, second: C Src } reads Nothing, uses Context, by slow_ops::timer_end, effects;

            /// Takes a number from a window.
            92 Get = "get" fused { dst: A Dst, at: B Window, form: C Form, short: D Short } reads Window, uses Nothing, by get<MODE, ORDER>;
            /// `get` and `put.hex`.
            93 HexAt = "hex.at" fused { digits: A Digits, at: B Window, form: C Form, short: D Short } reads Window, uses Nothing, by hex_at<MODE, ORDER>;
            /// `get` and `put.hexlow`.
            94 HexLowAt = "hexlow.at" fused { digits: A Digits, at: B Window, form: C Form, short: D Short } reads Window, uses Nothing, by hex_low_at<MODE, ORDER>;
            /// `hex.at` for a number that has all printed digits and begins at a byte boundary.
            95 HexFullAt = "hex.full.at" fused { digits: A FirstDigits, at: B Window, form: C Form, short: D Short } reads Window, uses Nothing, by hex_full_at<MODE, ORDER>;
            /// `hexlow.at` for a number that has all printed digits and begins at a byte boundary.
            96 HexLowFullAt = "hexlow.full.at" fused { digits: A FirstDigits, at: B Window, form: C Form, short: D Short } reads Window, uses Nothing, by hex_low_full_at<MODE, ORDER>;
            /// `get` and `put.hexc`.
            97 HexCAt = "hexc.at" fused { at: B Window, form: C Form, short: D Short } reads Window, uses Nothing, by hexc_at<MODE, ORDER>;
            /// `get` and `put.hexmin`.
            98 HexMinAt = "hexmin.at" fused { at: B Window, form: C Form, short: D Short } reads Window, uses Nothing, by hex_min_at<MODE, ORDER>;
            /// `get` and `put.octc`.
            99 OctCAt = "octc.at" fused { at: B Window, form: C Form, short: D Short } reads Window, uses Nothing, by octc_at<MODE, ORDER>;
            /// `get` and `put.dec`.
            100 DecAt = "dec.at" fused { at: B Window, form: C Form, short: D Short } reads Window, uses Nothing, by dec_at<MODE, ORDER>;
            /// `get` with sign extension and `put.int`.
            101 IntAt = "int.at" fused { at: B Window, form: C Form, short: D Short } reads Window, uses Nothing, by int_at<MODE, ORDER>;
            /// `get` and `switch.lit`.
            102 LitAt = "lit.at" fused { at: A Window, table: B Lits, form: C Form, short: D Short } reads Window, uses Nothing, by lit_at<MODE, ORDER>;
            /// `get`, `put.hexc` and `switch.lit`.
            103 HexCLitAt = "hexc.lit.at" fused { at: A Window, table: B Lits, form: C Form, short: D Short } reads Window, uses Nothing, by hexc_lit_at<MODE, ORDER>;
            /// `get` and `switch.lit.hex`.
            104 LitHexAt = "lit.hex.at" fused { at: A Window, table: B Lits, form: C Form, short: D Short } reads Window, uses Nothing, by lit_hex_at<MODE, ORDER>;
            /// `get` and `put.case`.
            105 CaseAt = "case.at" fused { at: A Window, table: B CaseTexts, form: C Form, short: D Short } reads Window, uses Nothing, by case_at<MODE, ORDER>;
            /// `get`, `put.hexc` and `put.case`.
            106 HexCCaseAt = "hexc.case.at" fused { at: A Window, table: B CaseTexts, form: C Form, short: D Short } reads Window, uses Nothing, by hexc_case_at<MODE, ORDER>;
            /// `get` and `nibbles` without soft blanks.
            107 NibblesAt = "nibbles.at" fused { at: A Window, table: B Nibbles, form: C Form, short: D Short } reads Window, uses Nothing, by nibbles_at<MODE, ORDER>;
            /// `get`, `put.hexc` and `nibbles` without soft blanks.
            108 HexCNibblesAt = "hexc.nibbles.at" fused { at: A Window, table: B Nibbles, form: C Form, short: D Short } reads Window, uses Nothing, by hexc_nibbles_at<MODE, ORDER>;
            /// `get` and `jump.equal`; also continues at `to` if the event is too short.
            109 JumpEqualAt = "jump.equal.at" fused { at: A Window, value: B Num, form: C Form, to: D Target } reads Window, uses Nothing, by jump_equal_at<MODE, ORDER>;
            /// `get` and `jump.differ`; also continues at `to` if the event is too short.
            110 JumpDifferAt = "jump.differ.at" fused { at: A Window, value: B Num, form: C Form, to: D Target } reads Window, uses Nothing, by jump_differ_at<MODE, ORDER>;
            /// `reach`, `ptr.set` and `take.string`.
            111 StringAt = "string.at" fused { at: B Num, back: C Back, short: D Target } reads String, uses Nothing, by string_at;
            /// `mark`, `text` for a field of up to 16 bytes, and `switch.text`.
            112 SwitchTextAt = "switch.text.at" fused { at: B Off, table: C TextTable, len: D Width } reads Text, uses Nothing, by switch_text_at;

            /// Clears the event's row and gives it `cells` null cells.
            113 FieldRow = "field.row" plain { cells: B Num } reads Nothing, uses Nothing, by fields::row;
            /// Leaves all lists: cells count from the row's first one again.
            114 FieldTop = "field.top" plain {} reads Nothing, uses Nothing, by fields::top;
            /// Sets `dst` to 0 without a value: fields computed from it are null.
            115 FieldMissing = "field.missing" plain { dst: A Dst } reads Nothing, uses Nothing, by fields::missing;
            /// Stores a number.
            116 FieldPut = "field.put" plain { cell: A Cell, src: B Src } reads Nothing, uses Nothing, by fields::put;
            /// Stores the text printed since `mark` and, without `keep`, removes it. With `some`, an empty text is null.
            117 FieldText = "field.text" plain { cell: A Cell, mark: B Mark, keep: C Flag, some: D Flag } reads Nothing, uses Event, by fields::text;
            /// Appends the text printed since `mark` to a text that `field.begin` began, and removes it.
            118 FieldAppend = "field.append" plain { cell: A Cell, mark: B Mark } reads Nothing, uses Event, by fields::append;
            /// Begins text or bytes that a loop of `src` iterations appends to; null if `src` is null, or if it is
            /// positive and the event is truncated.
            119 FieldBegin = "field.begin" plain { cell: A Cell, src: B Src } reads Nothing, uses Nothing, by fields::begin;
            /// Appends the low byte of `src` to bytes that `field.begin` began.
            120 FieldByte = "field.byte" plain { cell: A Cell, src: B Src } reads Nothing, uses Nothing, by fields::byte;
            /// Stores `width` bytes at the data pointer and moves past them.
            121 FieldBytes = "field.bytes" plain { cell: A Cell, width: C Width } reads NextBytes, uses Pointer, by fields::bytes;
            /// Stores `src` as `width` big-endian bytes.
            122 FieldWide = "field.wide" plain { cell: A Cell, src: B Src, width: C Width } reads Nothing, uses Nothing, by fields::wide;
            /// Stores the label with a number; with `weak`, only in a null cell.
            123 FieldLabel = "field.label" plain { cell: A Cell, label: B Num, weak: C Flag } reads Nothing, uses Nothing, by fields::label;
            /// Stores the AIX error name for the low `width` bytes of `src`, or nothing if there is none; with `weak`,
            /// only in a null cell.
            124 FieldErrno = "field.errno" plain { cell: A Cell, src: B Src, width: C Width, weak: D Flag } reads Nothing, uses Nothing, by fields::errno;
            /// Stores the path of the executable of process `src`, or nothing if it is unknown; with `weak`, only in a
            /// null cell.
            125 FieldPath = "field.path" plain { cell: A Cell, src: B Src, weak: C Flag } reads Nothing, uses Context, by fields::path;
            /// Stores a list of the texts of the BITFLAGS entries that match `src`.
            126 FieldFlags = "field.flags" plain { cell: A Cell, src: B Src, table: C Flags } reads Nothing, uses Nothing, by fields::flags;
            /// Begins the list of a loop of `src` iterations, whose items have `members` cells; it is null if `src` is
            /// null, or if it is positive and the event is truncated.
            127 FieldList = "field.list" plain { cell: A Cell, src: B Src, members: C Num } reads Nothing, uses Nothing, by fields::list;
            /// Begins an item of the innermost list: cells count from its first one.
            128 FieldItem = "field.item" plain {} reads Nothing, uses Nothing, by fields::item;
            /// Ends the innermost list.
            129 FieldEnd = "field.end" plain {} reads Nothing, uses Nothing, by fields::end_list;
            /// Stores the nanoseconds since the pair was stored, and removes it; null if it was not stored.
            130 FieldTimer = "field.timer" plain { cell: A Cell, first: B Src, second: C Src } reads Nothing, uses Context, by fields::timer, effects;
            /// Counts a call of a routine whose code is in this one.
            131 FieldCall = "field.call" plain {} reads Nothing, uses Nothing, by fields::call;
            /// Stores the label that a table has for `src`, or nothing if there is none; with `weak`, only in a null cell.
            132 FieldCase = "field.case" plain { cell: A Cell, src: B Src, labels: C Labels, weak: D Flag } reads Nothing, uses Nothing, by fields::case;
        }
    };
}

macro_rules! define_ops {
    ($($(#[doc = $doc:literal])* $number:literal $name:ident = $mnemonic:literal $form:ident
        { $($operand:ident: $slot:ident $kind:ident),* }
        reads $reads:ident, uses $uses:ident, by $($handler:ident)::+ $(<$mode:ident, $order:ident>)? $(, $effects:ident)?;)*) => {
        /// The opcodes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Op { $($(#[doc = $doc])* $name = $number,)* }

        impl Op {
            /// Every opcode, in the table's order.
            pub const ALL: &[Op] = &[$(Op::$name),*];

            /// The opcode with a number.
            #[inline]
            pub const fn from_u8(number: u8) -> Option<Op> {
                $(if number == $number { return Some(Op::$name); })*
                None
            }

            /// The opcode's row.
            pub const fn info(self) -> &'static OpInfo {
                match self { $(Op::$name => const { &OpInfo {
                    mnemonic: $mnemonic,
                    doc: concat!($($doc),*),
                    fused: is_fused!($form),
                    operands: &[$((stringify!($operand), Slot::$slot, OperandKind::$kind)),*],
                    reads: Reads::$reads,
                    uses: StateUse::$uses,
                    has_effects: false $(|| has_effects!($effects))?,
                } },)* }
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

macro_rules! has_effects {
    (effects) => {
        true
    };
}

for_each_op!(define_ops);

/// Numbers of instructions removed after a release. They are never reused, because an old blob would run the wrong
/// instruction.
pub const RETIRED: &[u8] = &[];

const _: () = {
    let mut at = 0;
    while at < RETIRED.len() {
        assert!(Op::from_u8(RETIRED[at]).is_none(), "an instruction has the number of a removed one");
        at += 1;
    }
};

pub(crate) use for_each_op;

impl Instr {
    /// Instruction without literal and with zero operands.
    pub const fn new(op: Op) -> Instr {
        Instr { op: op as u8, lit_len: 0, a: 0, b: 0, c: 0, d: 0, lit: [0; 16] }
    }

    /// Instruction with operands in the table's order; missing ones are 0. Use [`Instr::with`] for the high half of a
    /// [`OperandKind::Wide`] number and for other operands without a slot of their own.
    pub fn of(op: Op, operands: &[u32]) -> Instr {
        let mut instr = Instr::new(op);
        for ((_, slot, _), value) in op.info().operands.iter().zip(operands) {
            instr = instr.with(*slot, *value);
        }
        instr
    }

    /// Copy with one slot set; slot a keeps the low 16 bits.
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

    /// Value of one slot.
    pub const fn slot(&self, slot: Slot) -> u32 {
        match slot {
            Slot::A => self.a as u32,
            Slot::B => self.b,
            Slot::C => self.c,
            Slot::D => self.d,
        }
    }

    /// Literal that is printed first.
    pub fn literal(&self) -> &[u8] {
        &self.lit[..(self.lit_len as usize).min(16)]
    }

    /// 64-bit number in slots b and c.
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
            /// Every value, in numeric order.
            pub const ALL: &[$type] = &[$($type::$name),*];

            /// Name in listings and JSON. The name of a macro has no `$`.
            pub const fn name(self) -> &'static str {
                match self { $($type::$name => $text,)* }
            }

            /// Value with a given number.
            #[inline]
            pub const fn from_u32(number: u32) -> Option<$type> {
                $(if number == $type::$name as u32 { return Some($type::$name); })*
                None
            }
        }
    };
}
pub(crate) use named;

named! {
    /// Numbers from the event or its context.
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
    /// True if the event itself contains it, without context.
    pub(crate) const fn is_of_event(self) -> bool {
        use EnvValue::{EventNumber, HookData, HookLen, HookType, LogIndex, LogIndex0, PayloadLen, RelLine};
        matches!(self, HookData | HookLen | HookType | RelLine | LogIndex | LogIndex0 | PayloadLen | EventNumber)
    }
}

named! {
    /// Texts from the context.
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
