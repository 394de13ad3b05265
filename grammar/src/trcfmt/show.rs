//! Listing of a syntax tree: a line per node, indented, with its position.

use std::fmt::{self, Display, Write};

use super::ast::*;
use crate::{Source, Span};

/// Lists the tree of a file. Each line has the node's line and column, its kind, and its attributes.
///
/// ```
/// use tfbc_grammar::{Arena, Source, SourceId, trcfmt};
///
/// let arena = Arena::new();
/// let source = Source::new("a.trcfmt", "010 1.0 \"EVENT\" count X4, 1 \"one\"\n");
/// let (file, _) = trcfmt::parse(&arena, SourceId(0), &source);
/// assert_eq!(trcfmt::show(&file, &source), "\
/// 1:1 stanza 0100 1.0
///   1:9 label \"EVENT\"
///   1:17 word \"count\" soft
///   1:23 switch X4
///     1:27 case 1
///       1:29 string \"one\"
/// ");
/// ```
pub fn show(file: &File, source: &Source) -> String {
    let mut printer = TreePrinter { out: String::new(), source, depth: 0 };
    for setting in file.settings {
        let (name, value) = (Quote(setting.name.node), Quote(setting.value.node));
        printer.node(setting.name.span, format_args!("setting {name} {value}"));
    }
    for stanza in file.stanzas {
        printer.stanza(stanza);
    }
    printer.out
}

struct TreePrinter<'s> {
    out: String,
    source: &'s Source,
    depth: usize,
}

impl TreePrinter<'_> {
    fn node(&mut self, span: Span, text: impl Display) {
        let (line, column) = self.source.line_column(span.start);
        let _ = writeln!(self.out, "{:indent$}{line}:{column} {text}", "", indent = self.depth * 2);
    }

    /// Prints children one level deeper.
    fn inside(&mut self, children: impl FnOnce(&mut Self)) {
        self.depth += 1;
        children(self);
        self.depth -= 1;
    }

    fn stanza(&mut self, stanza: &Stanza) {
        let (version, release) = stanza.version.node;
        let level = stanza.level.map_or("", |level| level_name(level.node));
        self.node(stanza.id.span, format_args!("stanza {:04X} {version}.{release}{level}", stanza.id.node.0));
        self.inside(|p| {
            if let Some(label) = stanza.label {
                let hidden = if label.hidden { " hidden" } else { "" };
                p.node(label.text.span, format_args!("label {}{hidden}", Quote(label.text.bytes)));
            }
            p.items(stanza.body);
        });
    }

    fn items(&mut self, items: Descriptor) {
        items.iter().for_each(|item| self.item(item));
    }

    fn item(&mut self, item: &DescriptorItem) {
        let span = item.span();
        match item {
            DescriptorItem::Text(text) => self.text("", text),
            DescriptorItem::Backquoted(text) => self.backquoted(text),
            DescriptorItem::Newline(_) => self.node(span, "newline"),
            DescriptorItem::Tab(_) => self.node(span, "tab"),
            DescriptorItem::Move(code) => self.node(span, code.node),
            DescriptorItem::Code(code) => self.node(span, code.node),
            DescriptorItem::Macro(node) => self.node(span, node),
            DescriptorItem::Assign(node) => {
                self.node(span, format_args!("assign ${}", Escaped(node.name.node)));
                self.inside(|p| p.expr(node.value));
            }
            DescriptorItem::Declare(name) => self.node(span, format_args!("declare ${}", Escaped(name.node))),
            DescriptorItem::Function(node) => {
                self.node(span, format_args!("function {}({})", Escaped(node.name.node), NameList(node.params)));
                self.inside(|p| p.items(node.body));
            }
            DescriptorItem::Call(node) => {
                self.node(span, format_args!("call {}", Escaped(node.name.node)));
                self.inside(|p| node.arguments.iter().for_each(|argument| p.expr(argument)));
            }
            DescriptorItem::Switch(node) => self.switch(node),
            DescriptorItem::Loop(node) => {
                self.node(span, format_args!("loop {}", node.count));
                self.inside(|p| p.items(node.body.items));
            }
            DescriptorItem::Bitflags(node) => {
                self.node(span, format_args!("bitflags {}", node.selector));
                self.inside(|p| node.entries.iter().for_each(|entry| p.flag_entry(entry)));
            }
            DescriptorItem::Timer(node) => {
                let action = if node.action == TimerAction::Start { "starttimer" } else { "endtimer" };
                self.node(span, action);
                self.inside(|p| [node.first, node.second].into_iter().for_each(|key| p.expr(key)));
            }
        }
    }

    /// Prints a text node with a prefix.
    fn text(&mut self, remark: &str, text: &Text) {
        let bytes = Quote(text.bytes);
        match text.kind {
            TextKind::Quoted => self.node(text.span, format_args!("{remark}string {bytes}")),
            TextKind::Word { soft: true } => self.node(text.span, format_args!("{remark}word {bytes} soft")),
            TextKind::Word { soft: false } => self.node(text.span, format_args!("{remark}word {bytes}")),
        }
    }

    fn backquoted(&mut self, text: &Backquoted) {
        self.node(text.span, "backquoted");
        self.inside(|p| {
            for part in text.parts {
                match part {
                    BackquotedPart::Text(text) => p.node(text.span, format_args!("text {}", Quote(text.node))),
                    BackquotedPart::Code(code) => p.node(code.span, code.node),
                    BackquotedPart::Move(code) => p.node(code.span, code.node),
                    BackquotedPart::Macro(node) => p.node(node.span, node),
                }
            }
        });
    }

    fn switch(&mut self, switch: &Switch) {
        match switch.mask {
            None => self.node(switch.span, format_args!("switch {}", switch.selector)),
            Some(mask) => self.node(switch.span, format_args!("switch {} & {}", switch.selector, Escaped(mask.node))),
        }
        self.inside(|p| {
            for case in switch.cases {
                p.case(case);
            }
        });
    }

    fn case(&mut self, case: &SwitchCase) {
        let span = case.value.span();
        match case.value {
            MatchValue::Any(_) => self.node(span, "case \\*"),
            MatchValue::Word(value) => self.node(span, format_args!("case {}", Escaped(value.node))),
            MatchValue::Quoted(text) => self.node(span, format_args!("case {}", Quote(text.bytes))),
        }
        self.inside(|p| match &case.body {
            Body::Text(text) => p.text("", text),
            Body::Backquoted(text) => p.backquoted(text),
            Body::Group(group) => p.items(group.items),
        });
    }

    fn flag_entry(&mut self, entry: &FlagEntry) {
        match entry {
            FlagEntry::Flag { flag, yes, no } => {
                self.node(flag.span, format_args!("flag {}", Escaped(flag.node)));
                self.inside(|p| {
                    p.text("", yes);
                    no.iter().for_each(|no| p.text("else ", no));
                });
            }
            FlagEntry::Field { mask, field, text } => {
                self.node(mask.span, format_args!("field & {} {}", Escaped(mask.node), Escaped(field.node)));
                self.inside(|p| p.text("", text));
            }
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Code(code) => self.node(code.span, code.node),
            Expr::Macro(node) => self.node(node.span, node),
            Expr::Const(value) => self.node(value.span, value.node),
            Expr::Binary { op, left, right } => {
                self.node(op.span, op.node);
                self.inside(|p| {
                    p.expr(left);
                    p.expr(right);
                });
            }
        }
    }
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::Appl => " L=APPL",
        Level::Svc => " L=SVC",
        Level::Kern => " L=KERN",
        Level::Int => " L=INT",
        Level::Zero => " L=0",
    }
}

/// Displays bytes in double quotes, escaping unprintable ones.
struct Quote<'a>(&'a [u8]);

impl Display for Quote<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", Escaped(self.0))
    }
}

/// Displays bytes, escaping unprintable ones.
struct Escaped<'a>(&'a [u8]);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| match byte {
            b'\'' => f.write_str("'"),
            byte => byte.escape_ascii().fmt(f),
        })
    }
}

struct NameList<'a>(&'a [Name<'a>]);

impl Display for NameList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, name) in self.0.iter().enumerate() {
            write!(f, "{}{}", if n > 0 { ", " } else { "" }, Escaped(name.node))?;
        }
        Ok(())
    }
}

impl Display for Selector<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Selector::Code(code) => code.node.fmt(f),
            Selector::Macro(node) => node.fmt(f),
        }
    }
}

impl Display for MacroRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", Escaped(self.name))?;
        match self.cast.map(|cast| cast.node) {
            None => Ok(()),
            Some(Cast::Code(code)) => write!(f, "%{code}"),
            Some(Cast::Bits { low, high }) => write!(f, "%W{low}.{high}"),
            Some(Cast::Unknown(text)) => write!(f, "%{}", Escaped(text)),
        }
    }
}

/// Writes the code as in a template; `B` in bits.
impl Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Code::Ascii { len, width: 0 } => write!(f, "A{len}"),
            Code::Ascii { len, width } => write!(f, "A{len}.{width}"),
            Code::Counted(size) => write!(f, "S{size}"),
            Code::Binary { bits } => write!(f, "B0.{bits}"),
            Code::HexByte => f.write_str("X0"),
            Code::Hex(size) => write!(f, "X{size}"),
            Code::Signed(size) => write!(f, "D{size}"),
            Code::Unsigned(size) => write!(f, "U{size}"),
            Code::Octal(size) => write!(f, "o{size}"),
            Code::Float(bytes) => write!(f, "F{bytes}"),
            Code::HookBytes => f.write_str("HB"),
            Code::HookType => f.write_str("HT"),
            Code::Time(size) => write!(f, "T{size}"),
            Code::Errno(size) => write!(f, "E{size}"),
            Code::Path(size) => write!(f, "P{size}"),
        }
    }
}

/// Writes the size as in a code: a number of bytes, or `W`.
impl Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Bytes(bytes) => bytes.fmt(f),
            Size::Word => f.write_str("W"),
        }
    }
}

/// Writes the code as in a template.
impl Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Move::Goto { bytes, bits: 0 } => write!(f, "G{bytes}"),
            Move::Goto { bytes, bits } => write!(f, "G{bytes}.{bits}"),
            Move::Omit { bytes, bits: 0 } => write!(f, "O{bytes}"),
            Move::Omit { bytes, bits } => write!(f, "O{bytes}.{bits}"),
            Move::Reverse { bytes } => write!(f, "R{bytes}"),
            Move::Word { words } => write!(f, "W{words}"),
        }
    }
}

/// Writes the operator.
impl Display for BinaryOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::And => "&",
        })
    }
}
