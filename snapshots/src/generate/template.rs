use super::Rng;
use super::event::interesting;

/// Random format file that compiles without errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Text of the file.
    pub source: String,
    /// Hooks that it formats.
    pub hooks: Vec<u16>,
}

const NAMES: &[&str] = &["dog", "cat", "x1", "return", "n", "omode", "_t", "Zed", "rv", "stat", "count"];
const NEVER_ASSIGNED: &[&str] = &["ghost", "deadbeef"];
const PARAMS: &[&str] = &["value", "v", "a", "b2"];
const FUNCTIONS: &[&str] = &["state", "f0_op", "show", "flags_of"];
const HOOKS: &[u16] = &[0x0100, 0x0FE0, 0x15B0, 0x2F00, 0x90F0, 0xABC0, 0x1A0F, 0x8001, 0xF5F1, 0x0080, 0x0070];
const TEXTS: &[&str] = &[
    "",
    " ",
    "val:",
    "opcode=",
    ", ",
    " rc=",
    "a",
    "  ",
    "\tt",
    "(",
    ")",
    "%d",
    "$x",
    "{",
    "}}",
    "X4",
    "# no comment",
    "trailing ",
    "h\u{e9}llo",
    "\\n",
];
/// Texts before values, from which fields get their names. Only a few different ones, so that names are often equal.
const LABELS: &[&str] = &[
    "a=",
    "x=",
    "x=",
    " x = ",
    "b: ",
    "x_2=",
    "x 2=",
    "x_text=",
    "state=",
    "state=",
    "pid=",
    "time = ",
    "f2=",
    "f3 ",
    "iar=0x",
    "addr 0x",
    "max0x",
    "path='",
    "path= (",
    "list=[",
    "set: {",
    "<",
    "(",
    ", ",
    " [",
    "x) y ",
    "q.r/s=",
    "q,r =",
    "a|b ",
    "2nd ",
    "7=",
    "The # of loop iterations =",
    "for the ",
    "to",
    "\tcount\t",
    "h\u{e9}llo w=",
    "==",
    "A B c ",
    "= ",
    "LVM read bp=",
    "one two three four five six seven eight nine ten ",
    "onetwothreefourfivesixseveneightnineteneleven=",
    "aaaaaaaaa bbbbbbbbb ccccccccc dddddddddee f ",
];
const WORDS: &[&str] = &[
    "word", "x:", "state=", "a=b", "100%", "B_FLAG0", "byte", "X4foo", "AW", "HX", "<ok>", "-", "v1.2", "=ok", "Loop",
];
const TEXT_MACROS: &[&str] = &["$SVC", "$EXECPATH", "$LOGFILE", "$TRACEID"];
/// Printed values of few types.
const ALIKE: &[&str] = &[
    "X4",
    "$D1%X4",
    "X2",
    "U4",
    "$D2%U2",
    "E4",
    "$D1",
    "$n",
    "A4",
    "S1",
    "LOOP B0.2 { U1 }",
    "LOOP B0.2 { D1 }",
    "LOOP B0.2 { A1 }",
    "LOOP B0.2 { \"x=\" U1 \"y=\" E1 }",
    "X4, 0 \"zero\", 1 \"one\"",
    "$D1%X4, 1 \"one\", 2 \"two\"",
    "BITFLAGS X4, 1 \"r\", 2 \"w\" \"-\" O0",
    "endtimer(1,1)",
];
/// Bodies of loops that are one field of bytes or text, or a list of a certain kind.
const LOOP_BODIES: &[&str] = &[
    "{X0}",
    "{X0}",
    "{ X1 }",
    "{A1}",
    "{A1}",
    "{ }",
    "{ U1 }",
    "{ \"a=\" U1 }",
    "{ $n }",
    "{ \"r=\" U2 \"rc=\" E2 }",
    "{ \"a=\" U1 \"a=\" U1 \"pid=\" X1 }",
    "{ E1 }",
    "{ LOOP B0.2 { U1 } }",
    "{ LOOP B0.2 { X0 } O0.6 }",
    "{ \"x=\" LOOP B0.2 { \"y=\" U1 X2 } }",
    "{ B0.1, 1 \"on\" }",
    "{ X1, 0 \"none\", 1 { \"a=\" U1 }, \\* { \"a=\" U1 } }",
    "{ X2 }",
    "{ \"text\" }",
];
const MATCHED_TEXTS: &[&str] = &["hello", "a", "/bin/ksh", "xyz", "kwritev", "ABC", "trace.raw", "8001"];
const IN_BACKQUOTES: &[&str] = &["text", "X2/X2", "X17", "two ", "(", ",", "=", "#", "O", "x=,"];

/// Type of a code's, cast's or macro's value in comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number { base: u32, bits: u32 },
    Errno { bits: u32 },
    Text,
    Float,
}

/// Kind of a macro with a number, without a cast.
fn uncast_kind(name: &str) -> Kind {
    let name = name.trim_start_matches('$');
    let predefined = name.bytes().all(|byte| byte.is_ascii_uppercase());
    if predefined && !matches!(name, "HD" | "IPADDR") || name == "LOGIDX0" { DECIMAL_64 } else { HEX_64 }
}

const HEX_64: Kind = Kind::Number { base: 16, bits: 64 };
const DECIMAL_64: Kind = Kind::Number { base: 10, bits: 64 };

/// Names that a body may use.
#[derive(Clone)]
struct Scope {
    /// Bodies call only bodies of a higher rank, so there are no cycles.
    rank: usize,
    params: Vec<&'static str>,
    in_function: bool,
    /// Selectors of the switches around the body, if they are macros with a number.
    selectors: Vec<(String, Kind)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Callable {
    Stanza(u16),
    /// Index and number of parameters.
    Function(usize, usize),
}

struct Generator<'r> {
    rng: &'r mut Rng,
    out: String,
    /// Number of items that the file may still get.
    budget: usize,
    callables: Vec<Callable>,
}

/// Creates a random template of about `size` items.
pub fn template(rng: &mut Rng, size: usize) -> Template {
    let mut hooks: Vec<u16> = HOOKS.to_vec();
    for at in (1..hooks.len()).rev() {
        hooks.swap(at, rng.below(at + 1));
    }
    hooks.truncate(1 + rng.below(5));
    let mut callables: Vec<Callable> = hooks.iter().map(|hook| Callable::Stanza(*hook)).collect();
    for function in 0..rng.below(FUNCTIONS.len()) {
        let at = rng.below(callables.len() + 1);
        let params = rng.below(3);
        callables.insert(at, Callable::Function(function, params));
    }
    let mut generator = Generator { rng, out: String::new(), budget: size, callables };
    generator.file(&hooks, size);
    Template { source: generator.out, hooks }
}

impl Generator<'_> {
    fn file(&mut self, hooks: &[u16], size: usize) {
        let mut functions: Vec<Callable> =
            self.callables.iter().copied().filter(|it| matches!(it, Callable::Function(..))).collect();
        for (at, hook) in hooks.iter().enumerate() {
            if self.rng.chance(10) {
                self.out.push_str(self.rng.pick::<&str>(&["# a comment\n", "\n", "  # \"another\n", " \t\n"]));
            }
            self.budget = 1 + size;
            let defined = if at + 1 == hooks.len() { std::mem::take(&mut functions) } else { Vec::new() };
            self.stanza(*hook, &defined);
            self.out.push('\n');
        }
    }

    fn stanza(&mut self, hook: u16, functions: &[Callable]) {
        let id = match hook % 16 {
            0 if self.rng.chance(70) => format!("{:03X}", hook >> 4),
            _ => format!("{hook:04x}"),
        };
        self.out.push_str(&format!("{id} {}.{}", self.rng.below(12), self.rng.below(30)));
        if self.rng.chance(60) {
            let level = *self.rng.pick(&["APPL", "SVC", "KERN", "INT", "0"]);
            self.token(&format!("L={level}"));
        }
        match self.rng.below(8) {
            0..=3 => self.token(&format!("\"LABEL {id}\"")),
            4 => self.token("BareLabel"),
            5 => self.token("\"@hidden\""),
            6 => self.token("\"\""),
            _ => {}
        }
        let rank = |callable: &Callable, all: &[Callable]| all.iter().position(|it| it == callable).unwrap_or(0);
        for function in functions {
            let Callable::Function(index, params) = *function else { continue };
            let params = PARAMS[..params].to_vec();
            let scope =
                Scope { rank: rank(function, &self.callables), params, in_function: true, selectors: Vec::new() };
            self.function(index, &scope);
        }
        let scope = Scope {
            rank: rank(&Callable::Stanza(hook), &self.callables),
            params: Vec::new(),
            in_function: false,
            selectors: Vec::new(),
        };
        while self.budget > 0 {
            self.item(&scope, 0);
        }
    }

    fn function(&mut self, index: usize, scope: &Scope) {
        let kept = std::mem::replace(&mut self.budget, 0);
        self.budget = 1 + self.rng.below(kept.min(12) + 1);
        self.token(&format!("{{{{ {}({})", FUNCTIONS[index], scope.params.join(", ")));
        while self.budget > 0 {
            self.item(scope, 1);
        }
        self.token("}}");
        self.budget = kept;
    }

    // Words and separators

    /// Appends a token after a separator; sometimes without one, if the tokens are delimited anyway.
    fn token(&mut self, token: &str) {
        let opens = token.starts_with(['"', '`', '$', '{', '}', ',', '\\']);
        let closed = self.out.ends_with(['"', '`', '{', '}', ',', ')']);
        let before = if (opens || closed) && self.rng.chance(25) {
            ""
        } else {
            match self.rng.below(30) {
                0 => " \\\n ",
                1 => "\t",
                2 => "  ",
                3 => " \\\n",
                _ => " ",
            }
        };
        self.out.push_str(before);
        self.out.push_str(token);
    }

    fn text(&mut self) -> String {
        format!("\"{}\"", self.rng.pick(TEXTS))
    }

    fn text_or_word(&mut self) -> String {
        if self.rng.chance(75) { self.text() } else { self.rng.pick(WORDS).to_string() }
    }

    // Items

    fn item(&mut self, scope: &Scope, depth: usize) {
        self.budget = self.budget.saturating_sub(1);
        let token = match self.rng.below(128) {
            0..=13 => self.text(),
            14..=20 => self.rng.pick(WORDS).to_string(),
            21..=25 => self.backquoted(scope),
            26..=29 => "\\n".into(),
            30..=33 => "\\t".into(),
            34..=40 => self.position(),
            41..=57 => self.code().0,
            58..=71 => self.printed_macro(scope),
            72..=78 => self.assignment(scope),
            79 => format!("{{{{ ${} }}}}", self.rng.pick(NAMES)),
            80..=85 => return self.call(scope),
            104..=121 => return self.labelled(scope, depth),
            122..=127 => return self.own_item(scope, depth),
            86..=92 if depth < 4 => return self.switch(scope, depth),
            93..=95 if depth < 4 => return self.repeat(scope, depth),
            96..=98 => return self.bitflags(scope),
            99..=101 => self.timer(scope),
            102 => self.rng.pick(&["$STOP", "$ERROR", "$DATAPOINTER", "$RELLINENO"]).to_string(),
            _ => self.text(),
        };
        self.token(&token);
    }

    /// Text that may name a field, and an item that may be one.
    fn labelled(&mut self, scope: &Scope, depth: usize) {
        let label = *self.rng.pick(LABELS);
        match self.rng.below(8) {
            0 => {
                let words = *self.rng.pick(&["block number", "stat=", "of the", "x =", "pid"]);
                self.token(words);
            }
            1 => self.token(&format!("`{}`", label.trim_matches(' '))),
            2 => {
                let part = *self.rng.pick(&["\\t", "\"\"", "word", "{{ $n = 1 }}", "O0"]);
                self.token(&format!("\"{label}\""));
                self.token(part);
            }
            _ => self.token(&format!("\"{label}\"")),
        }
        match self.rng.below(16) {
            0..=5 => {
                let code = self.code().0;
                self.token(&code);
            }
            6..=9 => {
                let shown = self.printed_macro(scope);
                self.token(&shown);
            }
            10 => self.call(scope),
            11 if depth < 4 => self.repeat(scope, depth),
            12 => self.bitflags(scope),
            13 => {
                let timer = self.timer(scope);
                self.token(&timer);
            }
            _ if depth < 4 => self.switch(scope, depth),
            _ => self.own_item(scope, depth),
        }
    }

    /// Prints the macro that the switch around it selects by, in some form.
    fn own_item(&mut self, scope: &Scope, depth: usize) {
        let Some(innermost) = scope.selectors.last() else { return };
        let (selector, kind) = if self.rng.chance(80) { innermost } else { self.rng.pick(&scope.selectors) };
        let name = selector.split('%').next().unwrap_or(selector);
        let (shown, kind) = match self.rng.below(10) {
            0..=2 => (name.to_owned(), uncast_kind(name)),
            3..=5 => (selector.clone(), *kind),
            6 => {
                let decimal = Kind::Number { base: 10, bits: 32 };
                let (cast, kind) = *self.rng.pick(&[
                    ("E4", Kind::Errno { bits: 32 }),
                    ("EW", Kind::Errno { bits: 32 }),
                    ("P4", Kind::Text),
                    ("PW", Kind::Text),
                    ("X4", Kind::Number { base: 16, bits: 32 }),
                    ("UW", decimal),
                    ("DW", decimal),
                    ("X8", HEX_64),
                    ("W0.7", HEX_64),
                    ("Q", HEX_64),
                ]);
                (format!("{name}%{cast}"), kind)
            }
            _ => {
                let (cast, kind) = self.sized_code();
                (format!("{name}%{cast}"), kind)
            }
        };
        if self.rng.chance(40) {
            let label = *self.rng.pick(LABELS);
            self.token(&format!("\"{label}\""));
        }
        if self.rng.chance(25) && depth < 4 && kind != Kind::Float {
            self.cases(scope, depth, &shown, kind);
        } else {
            self.token(&shown);
        }
    }

    /// Items of a case that prints text only.
    fn text_group(&mut self, scope: &Scope) {
        self.token("{");
        for _ in 0..1 + self.rng.below(4) {
            let token = match self.rng.below(10) {
                0..=3 => self.text(),
                4 | 5 => self.rng.pick(WORDS).to_string(),
                6 => self.rng.pick(&["\\n", "\\t"]).to_string(),
                7 => self.position(),
                8 => self.assignment(scope),
                _ if self.rng.chance(20) => self.rng.pick(&["$BREAK", "`a b`", "starttimer(1,1)"]).to_string(),
                _ => return self.text_group_end(scope),
            };
            self.token(&token);
        }
        self.token("}");
    }

    fn text_group_end(&mut self, scope: &Scope) {
        self.call(scope);
        self.token("}");
    }

    fn group(&mut self, scope: &Scope, depth: usize) {
        self.token("{");
        if self.rng.chance(4) {
            let action = *self.rng.pick(&["$BREAK", "$SKIP", "$ERROR", "$STOP", "$DEFAULT"]);
            let allowed = action != "$DEFAULT" || !self.callables.contains(&Callable::Stanza(0x0080));
            self.token(if allowed { action } else { "$BREAK" });
        }
        if self.rng.chance(35) {
            self.own_item(scope, depth + 1);
        }
        let mut items = self.rng.below(4);
        while items > 0 && self.budget > 0 {
            self.item(scope, depth + 1);
            items -= 1;
        }
        self.token("}");
    }

    fn backquoted(&mut self, scope: &Scope) -> String {
        let mut text = String::from("`");
        for _ in 0..self.rng.below(5) {
            if self.rng.chance(70) {
                text.push_str(self.rng.pick::<&str>(&[" ", "  ", ""]));
            }
            let part = match self.rng.below(6) {
                0 => format!(" {} ", self.code().0),
                1 => self.printed_macro(scope),
                2 => format!(" {} ", self.position()),
                _ => self.rng.pick(IN_BACKQUOTES).to_string(),
            };
            text.push_str(&part);
        }
        text + "`"
    }

    fn position(&mut self) -> String {
        let bytes = match self.rng.below(12) {
            0 => 0,
            1 => 3_000_000_000,
            2..=9 => self.rng.below(20),
            _ => self.rng.below(100),
        };
        match self.rng.below(8) {
            0 => format!("G{bytes}"),
            1 => format!("G{bytes}.{}", self.rng.below(12)),
            2 => format!("O{bytes}"),
            3 => format!("O{}.{}", bytes % 4, self.rng.below(12)),
            4 => format!("R{bytes}"),
            5 => "R0".into(),
            _ => format!("W{}", self.rng.below(7)),
        }
    }

    fn size(&mut self) -> (&'static str, u32) {
        *self.rng.pick(&[("1", 8), ("2", 16), ("4", 32), ("8", 64), ("W", 32), ("04", 32)])
    }

    fn large_size(&mut self) -> (&'static str, u32) {
        *self.rng.pick(&[("4", 32), ("8", 64), ("W", 32)])
    }

    /// Printing code, as text and kind.
    fn code(&mut self) -> (String, Kind) {
        match self.rng.below(20) {
            0 => ("HB".into(), DECIMAL_64),
            1 => ("HT".into(), HEX_64),
            _ => self.sized_code(),
        }
    }

    /// Code that may also be a cast.
    fn sized_code(&mut self) -> (String, Kind) {
        let number =
            |letter: &str, (size, bits): (&str, u32), base| (format!("{letter}{size}"), Kind::Number { base, bits });
        match self.rng.below(19) {
            0 => (format!("A{}", self.rng.below(20)), Kind::Text),
            1 => (format!("A{}.{}", self.rng.below(12), self.rng.below(20)), Kind::Text),
            2 => (format!("S{}", self.size().0), Kind::Text),
            3 | 4 => self.binary(),
            5 => ("X0".into(), Kind::Number { base: 16, bits: 8 }),
            6..=8 => {
                let bytes = 1 + self.rng.below(16) as u32;
                (format!("X{bytes}"), Kind::Number { base: 16, bits: bytes.min(8) * 8 })
            }
            9 => ("XW".into(), Kind::Number { base: 16, bits: 32 }),
            10..=12 => number("D", self.size(), 10),
            13 => number("U", self.size(), 10),
            14 => number("o", self.size(), 8),
            15 => (self.rng.pick(&["F4", "F8"]).to_string(), Kind::Float),
            16 => (format!("T{}", self.large_size().0), Kind::Text),
            17 => {
                let (size, bits) = self.size();
                (format!("E{size}"), Kind::Errno { bits })
            }
            _ => (format!("P{}", self.large_size().0), Kind::Text),
        }
    }

    fn binary(&mut self) -> (String, Kind) {
        let most = if self.rng.chance(60) { 8 } else { 64 };
        let bits = 1 + self.rng.below(most) as u32;
        let bytes = self.rng.below(bits as usize / 8 + 1) as u32;
        let rest = bits - 8 * bytes;
        let text = if rest == 0 && self.rng.chance(50) { format!("B{bytes}") } else { format!("B{bytes}.{rest}") };
        (text, Kind::Number { base: 2, bits })
    }

    /// Macro with a value, as text and kind; text macros only if `with_text`.
    fn macro_name(&mut self, scope: &Scope, with_text: bool) -> (String, Kind) {
        let (name, kind) = match self.rng.below(20) {
            0..=7 => (*self.rng.pick(NAMES), HEX_64),
            8..=10 if !scope.params.is_empty() => (*self.rng.pick(&scope.params), HEX_64),
            8 => (*self.rng.pick(NEVER_ASSIGNED), HEX_64),
            9..=12 => (*self.rng.pick(&["D1", "D2", "D3", "D5", "L1", "L2", "HD", "IPADDR"]), HEX_64),
            13 if with_text => (*self.rng.pick(&["SVC", "EXECPATH", "LOGFILE", "TRACEID"]), Kind::Text),
            14 => (*self.rng.pick(&["DATAPOINTER", "BASEPOINTER", "RELLINENO"]), DECIMAL_64),
            15 => (*self.rng.pick(&["PID", "TID", "CPUID", "PRI", "LOGIDX", "LOGIDX0"]), DECIMAL_64),
            16 => (*self.rng.pick(&["TOTALCPUS", "TRACEDCPUS", "REPORTEDCPUS", "LARGEDATATYPES", "BUFF"]), DECIMAL_64),
            _ => (*self.rng.pick(&["HOOKENV", "TRACEENV", "WORDSIZE", "HL", "GENERIC"]), DECIMAL_64),
        };
        (format!("${name}"), kind)
    }

    /// Macro with or without a cast.
    fn macro_value(&mut self, scope: &Scope, with_text: bool) -> (String, Kind) {
        let (name, kind) = self.macro_name(scope, with_text);
        if kind == Kind::Text || self.rng.chance(55) {
            return (name, kind);
        }
        let (cast, kind) = match self.rng.below(8) {
            0 => {
                let low = self.rng.below(64);
                (format!("W{low}.{}", low + self.rng.below(64 - low)), HEX_64)
            }
            1 => (self.rng.pick(&["W", "HB", "HT", "Q", "zz"]).to_string(), HEX_64),
            _ => self.sized_code(),
        };
        (format!("{name}%{cast}"), kind)
    }

    fn printed_macro(&mut self, scope: &Scope) -> String {
        self.macro_value(scope, true).0
    }

    /// Code or macro of the wanted kind.
    fn selector(&mut self, scope: &Scope, wanted: fn(Kind) -> bool) -> (String, Kind) {
        loop {
            let found = if self.rng.chance(50) { self.code() } else { self.macro_value(scope, true) };
            if wanted(found.1) {
                return found;
            }
        }
    }

    fn numeric(&mut self, scope: &Scope) -> String {
        self.selector(scope, |kind| matches!(kind, Kind::Number { .. } | Kind::Errno { .. })).0
    }

    // Expressions

    fn constant(&mut self) -> String {
        let value = interesting(self.rng);
        let value = if self.rng.chance(70) { value % 100 } else { value };
        match self.rng.below(4) {
            0 => format!("0x{value:x}"),
            1 => format!("o0{value:o}"),
            _ => value.to_string(),
        }
    }

    fn expr(&mut self, scope: &Scope, depth: usize) -> String {
        if depth == 0 || self.rng.chance(35) {
            return if self.rng.chance(45) { self.constant() } else { self.numeric(scope) };
        }
        let (left, right) = (self.expr(scope, depth - 1), self.expr(scope, depth - 1));
        let op = *self.rng.pick(&["+", "-", "*", "/", "&"]);
        let blank = if self.rng.chance(70) { " " } else { "" };
        match self.rng.chance(40) {
            true => format!("({left}{blank}{op}{blank}{right})"),
            false => format!("{left}{blank}{op}{blank}{right}"),
        }
    }

    fn assignment(&mut self, scope: &Scope) -> String {
        let name = match self.rng.below(14) {
            0 => "DATAPOINTER",
            1 => "BASEPOINTER",
            2 if !scope.params.is_empty() => *self.rng.pick(&scope.params),
            _ => *self.rng.pick(NAMES),
        };
        let small = matches!(name, "DATAPOINTER" | "BASEPOINTER") && self.rng.chance(80);
        let value = if small {
            self.rng.pick(&["0", "4", "8", "10", "$x1 & 0x1F", "$DATAPOINTER + 2", "0 - 3"]).to_string()
        } else {
            self.expr(scope, 2)
        };
        format!("{{{{ ${name} = {value} }}}}")
    }

    fn timer(&mut self, scope: &Scope) -> String {
        let half = |generator: &mut Self| match generator.rng.below(6) {
            0 => generator.expr(scope, 1),
            1 => "$TID".into(),
            _ => generator.rng.pick(&["1", "2", "0x101", "o010"]).to_string(),
        };
        let (first, second) = (half(self), half(self));
        format!("{}({first},{second})", self.rng.pick(&["starttimer", "endtimer"]))
    }

    /// Call of a function or subroutine of a higher rank, if there is one.
    fn call(&mut self, scope: &Scope) {
        let higher: Vec<Callable> = self.callables.get(scope.rank + 1..).unwrap_or(&[]).to_vec();
        let callable = if higher.is_empty() { return } else { *self.rng.pick(&higher) };
        let token = match callable {
            Callable::Stanza(hook) if hook.is_multiple_of(16) && self.rng.chance(70) => format!("${:03X}", hook >> 4),
            Callable::Stanza(hook) => format!("${hook:04x}"),
            Callable::Function(index, params) => {
                let arguments: Vec<String> = (0..params)
                    .map(|_| if self.rng.chance(40) { self.constant() } else { self.numeric(scope) })
                    .collect();
                format!("{}({})", FUNCTIONS[index], arguments.join(if self.rng.chance(50) { ", " } else { "," }))
            }
        };
        self.token(&token);
    }

    // Switches, loops, flags

    /// Number as a match value or flag in a base, with or without prefix.
    fn literal(&mut self, base: u32, bits: u32) -> String {
        let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        let mut value = interesting(self.rng);
        if self.rng.chance(95) {
            value &= mask;
        }
        if self.rng.chance(40) {
            value &= 15;
        }
        let zeros = if self.rng.chance(10) { "0" } else { "" };
        match self.rng.below(12) {
            0 => format!("0x{value:X}"),
            1 => format!("o{value:o}"),
            2 if base == 10 => format!("-{}", value & mask >> 1),
            _ => match base {
                2 if value > 31 => format!("{zeros}{:b}", value & 31),
                2 => format!("{zeros}{value:b}"),
                8 => format!("{zeros}{value:o}"),
                10 => format!("{zeros}{value}"),
                _ => format!("{zeros}{value:x}"),
            },
        }
    }

    fn match_value(&mut self, kind: Kind) -> String {
        match kind {
            Kind::Number { base, bits } => self.literal(base, bits),
            Kind::Errno { bits } => match self.rng.chance(60) {
                true => self.rng.pick(&["EPERM", "ENOENT", "EINTR", "EIO", "ENOSYS", "E2BIG"]).to_string(),
                false => self.literal(10, bits),
            },
            Kind::Text | Kind::Float => {
                let text = *self.rng.pick(MATCHED_TEXTS);
                match self.rng.below(6) {
                    0 => "\"\"".into(),
                    1 => "\"Thu Jan  1 00:00:00 1970\"".into(),
                    2 | 3 => text.into(),
                    _ => format!("\"{text}\""),
                }
            }
        }
    }

    fn switch(&mut self, scope: &Scope, depth: usize) {
        if self.rng.chance(12) {
            return self.flag(scope);
        }
        let (selector, kind) = self.selector(scope, |kind| kind != Kind::Float);
        self.cases(scope, depth, &selector, kind);
    }

    /// Switch on one bit with one case.
    fn flag(&mut self, scope: &Scope) {
        let selector = match self.rng.chance(70) {
            true => "B0.1".into(),
            false => format!("{}%B0.1", self.macro_name(scope, false).0),
        };
        self.token(&selector);
        if self.rng.chance(10) {
            self.token("& 1");
        }
        let value = *self.rng.pick(&["1", "1", "1", "0x1", "01", "0", "\\*"]);
        self.token(&format!(", {value}"));
        match self.rng.chance(80) {
            true => {
                let text = self.text_or_word();
                self.out.push(' ');
                self.token(&text);
            }
            false => self.text_group(scope),
        }
    }

    /// Selector and cases of a switch.
    fn cases(&mut self, scope: &Scope, depth: usize, selector: &str, kind: Kind) {
        let alike = self.rng.chance(30);
        self.token(selector);
        let mut inside = scope.clone();
        if selector.starts_with('$') && !TEXT_MACROS.contains(&selector) {
            inside.selectors.push((selector.to_owned(), kind));
        }
        let scope = &inside;
        if let Kind::Number { base, bits } = kind
            && self.rng.chance(25)
        {
            let mask = self.literal(base, bits);
            self.token(&format!("& {mask}"));
        }
        let most = if self.rng.chance(5) { 40 } else { 5 };
        let cases = 1 + self.rng.below(most);
        for case in 0..cases {
            self.token(",");
            let last = case + 1 == cases;
            let value = if last && self.rng.chance(50) { "\\*".into() } else { self.match_value(kind) };
            self.token(&value);
            match self.rng.below(10) {
                0..=3 => {
                    let text = self.text();
                    self.token(&text);
                }
                4 => {
                    let word = *self.rng.pick(WORDS);
                    self.out.push(' ');
                    self.out.push_str(word);
                }
                5 => {
                    let text = self.backquoted(scope);
                    self.token(&text);
                }
                6 => self.text_group(scope),
                _ if alike => self.alike_group(scope, depth),
                _ => self.group(scope, depth),
            }
        }
    }

    /// Items of a case whose fields may equal the fields of another case.
    fn alike_group(&mut self, scope: &Scope, depth: usize) {
        self.token("{");
        for _ in 0..1 + self.rng.below(3) {
            match self.rng.below(6) {
                0 => self.own_item(scope, depth + 1),
                1 => self.item(scope, depth + 1),
                _ => {
                    let label = *self.rng.pick(&["\"a=\"", "\"b=\"", "\"bp=\"", "\"f1=\"", "a", "\"(\""]);
                    let shown = *self.rng.pick(ALIKE);
                    self.token(label);
                    self.token(shown);
                }
            }
        }
        self.token("}");
    }

    fn repeat(&mut self, scope: &Scope, depth: usize) {
        let count = match self.rng.below(8) {
            0 => self.numeric(scope),
            1 => "$HL".into(),
            2 => "X1".into(),
            3 => format!("{}%B0.4", self.macro_name(scope, false).0),
            _ => "B0.3".into(),
        };
        self.token("LOOP");
        self.token(&count);
        if self.rng.chance(40) {
            let body = *self.rng.pick(LOOP_BODIES);
            self.token(body);
        } else {
            self.group(scope, depth);
        }
    }

    fn bitflags(&mut self, scope: &Scope) {
        let selector = self.numeric(scope);
        let base = match selector.split_once('%').map(|(_, cast)| cast.as_bytes()) {
            Some([b'o', ..]) => 8,
            Some([b'D' | b'U', ..]) => 10,
            Some([b'B', ..]) => 2,
            _ => 16,
        };
        self.token("BITFLAGS");
        self.token(&selector);
        for _ in 0..1 + self.rng.below(6) {
            self.token(",");
            let flag = |generator: &mut Self| loop {
                let literal = generator.literal(base, 16);
                if !literal.starts_with('-') {
                    return literal;
                }
            };
            let number = flag(self);
            if self.rng.chance(30) {
                let mask = flag(self);
                self.token(&format!("& {mask} {number}"));
                let text = self.text_or_word();
                self.out.push(' ');
                self.token(&text);
            } else {
                self.token(&number);
                for _ in 0..1 + self.rng.below(2) {
                    let text = self.text_or_word();
                    self.out.push(' ');
                    self.token(&text);
                }
            }
        }
        // A text here would become the last flag's false text, and a word that begins with a digit another flag.
        if scope.in_function || self.rng.chance(80) {
            let name = *self.rng.pick(NAMES);
            self.token(&format!("${name}"));
        } else {
            self.token("O0");
        }
    }
}
