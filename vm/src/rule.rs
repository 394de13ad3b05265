//! Table of the verifier's rules. Errors, unchecked calls and `docs/blob.md` refer to them.

use std::fmt;

macro_rules! rules {
    ($($(#[doc = $doc:literal])* $name:ident = $number:literal;)*) => {
        /// A rule that the verifier proves of a program.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Rule { $($(#[doc = $doc])* $name = $number,)* }

        impl Rule {
            /// Every rule, by number.
            pub const ALL: &[Rule] = &[$(Rule::$name),*];

            /// The rule as a sentence.
            pub const fn text(self) -> &'static str {
                match self { $(Rule::$name => concat!($($doc),*),)* }
            }
        }
    };
}

rules! {
    /// Every opcode is known, and literals have at most 16 bytes.
    Opcodes = 1;
    /// Every register is below 1024.
    Registers = 2;
    /// Every jump stays in its routine; the end of the body is a target too, unless the routine is called.
    Targets = 3;
    /// Only `loop.next` and `back` jump backwards; `loop.next` jumps to the instruction after a `loop`.
    Loops = 4;
    /// A called routine ends with `ret`, `end` or `skip`; code after a body ends with `back`, `end` or `skip`; only called routines contain `ret`.
    Ends = 5;
    /// Every fixed read is within the event bytes that the routine declares as needed.
    FixedReads = 6;
    /// Every string is inside the string pool.
    Strings = 7;
    /// Every table is well formed and of the kind that its instruction needs.
    Tables = 8;
    /// The targets of a table satisfy V3 and V4.
    TableTargets = 9;
    /// Every width, bit count and digit count is in its range, every name known; a number that is printed with all its digits begins at a byte boundary, and no more digits are printed than it has.
    Operands = 10;
    /// A call goes to a called routine with a lower number that needs no more event bytes; calls are at most 64 deep.
    Calls = 11;
    /// The rows of routines, hooks, tables and sources point inside their sections; routines and tables follow one another; no body is empty; no instruction calls a hook's routine.
    Rows = 12;
    /// Instructions that run together have the same opcode and are all in the body, or all after it.
    RunTogether = 13;
    /// A register is read only after the same event has written it, on every path; or its routine says that it is zeroed.
    Initialized = 14;
    /// `switch.text` and `lower` read only marks, and no other instruction reads a mark.
    Marks = 15;
    /// Timers and `stop` are in routines of AIX hooks whose row says that they have effects (flag 4), and in routines that those call; rows of QNX never say so.
    Effects = 16;
}

impl Rule {
    /// Number of the rule.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Rule with a given number.
    pub fn from_number(number: u8) -> Option<Rule> {
        Rule::ALL.iter().copied().find(|rule| rule.number() == number)
    }
}

/// Writes `V` and the number.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "V{}", self.number())
    }
}

/// Rules as a Markdown table, part of `docs/blob.md`.
pub fn rules_table() -> String {
    let rows = Rule::ALL.iter().map(|rule| format!("| {rule} | {} |\n", rule.text().trim()));
    format!("| rule | |\n| --- | --- |\n{}", rows.collect::<String>())
}
