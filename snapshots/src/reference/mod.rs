//! Reference interpreter: prints an event directly from the syntax tree of its template.

mod buffer;
mod datum;
pub(crate) mod fields;
mod literal;
mod number;
mod page;
mod run;

use std::collections::{HashMap, HashSet};

use tfbc_grammar::trcfmt::ast::*;
use tfbc_grammar::trcfmt::parse;
use tfbc_grammar::{Arena, Diagnostic, Severity, Source, SourceId, Sources, Span};
use tfbc_vm::{Context, Event, Layout, Limits};

use buffer::Buffer;

pub use fields::{CommentProblem, FieldRow, FieldSchema, FieldValue, label};

/// Maximum number of macros in a template, and slots in an event.
const MAX_MACROS: usize = 255;

/// Stanzas of the reserved hooks, used if no file defines them.
pub const BUILTIN: &str = r#"
001 1.0 L=KERN "TRACE ON" "channel " $HD%U2
002 1.0 L=KERN "TRACE OFF" "channel " $HD%U2
003 1.0 L=KERN "TRACE HEADER" "kind=" $D1%X2 "data=" W2 LOOP $HL { X0 }
004 1.0 L=KERN "TRACEID IS ZERO" "hookword=" W0 XW "file=" $LOGFILE " index=" $LOGIDX0
005 1.0 L=KERN "LOGFILE WRAPAROUND" $D1%UW
006 1.0 L=KERN "TRACEBUFFER WRAPAROUND" $D1%UW $D2%UW "missed entries"
007 1.0 L=KERN "UNDEFINED TRACE ID" "idx=" $LOGIDX0 "traceid=" $TRACEID " hookword=" W0 XW "data=" \
    {{ $n = $HL + $GENERIC * $WORDSIZE }} W1 LOOP $n { X0 }
008 1.0 L=KERN "@DEFAULT TEMPLATE" "hookword=" W0 XW "data=" {{ $n = $HL + $GENERIC * $WORDSIZE }} W1 LOOP $n { X0 }
00A 1.0 L=KERN "TRACE_UTIL" $GENERIC, 1 { "kind=" $D1%X2 "data=" W2 LOOP $HL { X0 } }, \
    \* { "subhook=" $HD "data=" W1 LOOP $HL { X0 } }
"#;

/// Running timers of a report.
#[derive(Debug, Clone, Default)]
pub struct Timers {
    started: HashMap<(u64, u64), u64>,
}

impl Timers {
    fn start(&mut self, first: u64, second: u64, time_ns: u64) {
        self.started.insert((first, second), time_ns);
    }

    fn end(&mut self, first: u64, second: u64) -> Option<u64> {
        self.started.remove(&(first, second))
    }
}

/// Columns, layout and limits of an event's text.
#[derive(Debug, Clone, Copy)]
pub struct Line<'c> {
    /// Columns before the text.
    pub columns: &'c [u8],
    /// Blanks before the text of every line.
    pub layout: Layout,
    /// Limits of the event.
    pub limits: Limits,
}

/// Printed text and outcome of one event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Printed {
    /// Columns and text with the final newline; empty for a skipped event.
    pub text: Vec<u8>,
    /// True after `$SKIP`.
    pub skipped: bool,
    /// True after `$STOP`.
    pub stop: bool,
    /// True if a read went past the event's end.
    pub truncated: bool,
    /// True if a limit was reached.
    pub limited: bool,
    /// True if a division by zero gave 0.
    pub divided_by_zero: bool,
}

/// Stanzas and functions of files that compile without errors.
pub struct Reference<'ast> {
    stanzas: HashMap<u16, Stanza<'ast>>,
    functions: HashMap<&'ast [u8], &'ast Function<'ast>>,
    /// Stanzas that no file defines.
    builtin: HashSet<u16>,
    /// Files in order.
    files: Vec<fields::SourceFile>,
    /// Files of stanzas and functions.
    file_of_stanza: HashMap<u16, usize>,
    file_of_function: HashMap<&'ast [u8], usize>,
    /// `fields` comments of stanzas.
    comments: HashMap<u16, Vec<fields::CommentEntry>>,
}

impl<'ast> Reference<'ast> {
    /// Collects the stanzas and functions of files; later ones win.
    pub fn new(files: &[File<'ast>]) -> Self {
        let mut reference = Reference {
            stanzas: HashMap::new(),
            functions: HashMap::new(),
            builtin: HashSet::new(),
            files: Vec::new(),
            file_of_stanza: HashMap::new(),
            file_of_function: HashMap::new(),
            comments: HashMap::new(),
        };
        for file in files {
            reference.add(file, None);
        }
        reference
    }

    /// Adds the stanzas and functions of a file, and their place in its source.
    fn add(&mut self, file: &File<'ast>, source: Option<&Source>) {
        let index = source.map(|source| {
            self.files.push(fields::SourceFile::new(source.name(), source.bytes()));
            self.files.len() - 1
        });
        for stanza in file.stanzas {
            let id = stanza.id.node.0;
            self.stanzas.insert(id, *stanza);
            self.builtin.remove(&id);
            self.file_of_stanza.remove(&id);
            self.file_of_stanza.extend(index.map(|index| (id, index)));
            let entries = source.map(|source| fields::entries(index, source.bytes(), stanza.span.start));
            self.comments.insert(id, entries.unwrap_or_default());
            visit(stanza.body, &mut |item| {
                if let DescriptorItem::Function(function) = item {
                    self.functions.insert(function.name.node, function);
                    self.file_of_function.remove(function.name.node);
                    self.file_of_function.extend(index.map(|index| (function.name.node, index)));
                }
            });
        }
    }

    /// File of a stanza; `None` for a built-in one.
    fn file_of(&self, stanza: u16) -> Option<usize> {
        self.file_of_stanza.get(&stanza).copied()
    }

    /// File that defines a function.
    fn file_of_function(&self, name: &[u8]) -> Option<usize> {
        self.file_of_function.get(name).copied()
    }

    /// Parses the built-in stanzas, followed by the sources.
    ///
    /// # Errors
    /// All diagnostics of the parser, if there is an error among them.
    pub fn parse(arena: &'ast Arena, sources: &Sources) -> Result<Self, Vec<Diagnostic>> {
        let builtin = Source::new("built-in", BUILTIN);
        let outside = SourceId(u16::MAX);
        let mut reference = Self::new(&[]);
        let mut diagnostics = Vec::new();
        for (id, source) in std::iter::once((outside, &builtin)).chain(sources.iter()) {
            let (file, found) = parse(arena, id, source);
            if id == outside {
                reference.add(&file, None);
                reference.builtin = file.stanzas.iter().map(|stanza| stanza.id.node.0).collect();
            } else {
                reference.add(&file, Some(source));
            }
            diagnostics.extend(found);
        }
        match diagnostics.iter().any(|found| found.severity == Severity::Error) {
            true => Err(diagnostics),
            false => Ok(reference),
        }
    }

    /// Stanza for a hook: its own, 004 for hook 000, otherwise 007.
    pub fn stanza(&self, hook: u16) -> Option<&Stanza<'ast>> {
        let id = if hook == 0 { 0x0040 } else { hook };
        self.stanzas.get(&id).or_else(|| self.stanzas.get(&0x0070))
    }

    /// Stanza that `$name` refers to: 3 hex digits, or 4 if such a stanza exists.
    fn subroutine(&self, name: &[u8]) -> Option<u16> {
        let digits = std::str::from_utf8(name).ok()?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let value = u16::from_str_radix(digits, 16);
        match (name.len(), value) {
            (3, Ok(value)) => Some(value << 4),
            (4, Ok(value)) => self.stanzas.contains_key(&value).then_some(value),
            _ => None,
        }
    }

    /// Prints one event with a stanza.
    pub fn format(
        &self,
        stanza: &Stanza<'ast>,
        event: &Event,
        context: &Context,
        timers: &mut Timers,
        line: Line,
    ) -> Printed {
        self.reach(stanza, event, context, timers, line).0
    }

    /// Prints one event with a stanza, and records every part that it executes, each time: stanzas, functions, cases,
    /// loop bodies, and flags with their printed text.
    pub fn reach(
        &self,
        stanza: &Stanza<'ast>,
        event: &Event,
        context: &Context,
        timers: &mut Timers,
        line: Line,
    ) -> (Printed, Vec<Span>) {
        let mut run = self.start(stanza, event, context, timers, line);
        run.event(stanza);
        let printed = Printed {
            skipped: run.skipped,
            stop: run.stop,
            truncated: run.truncated,
            limited: run.limited,
            divided_by_zero: run.divided_by_zero,
            text: if run.skipped { Vec::new() } else { run.page.finish(line.columns) },
        };
        (printed, run.reached)
    }

    /// State before the first item of an event.
    fn start<'r>(
        &'r self,
        stanza: &Stanza<'ast>,
        event: &'r Event<'r>,
        context: &'r Context<'r>,
        timers: &'r mut Timers,
        line: Line,
    ) -> run::Run<'r, 'ast> {
        let buffer = Buffer::new(event);
        let subhook = if buffer.wide() { 6 } else { 2 };
        let start = if buffer.generic() { buffer.word() } else { subhook };
        let level_0 = stanza.level.is_some_and(|level| level.node == Level::Zero);
        run::Run {
            reference: self,
            buffer,
            event,
            context,
            timers,
            limits: line.limits,
            page: page::Page::new(line.layout, level_0, line.limits.text as usize),
            pointer: start as i128 * 8,
            base: 0,
            slots: [run::MacroNumber::default(); MAX_MACROS],
            turns: 0,
            reached: Vec::new(),
            truncated: false,
            stop: false,
            skipped: false,
            limited: false,
            ended_by_error: false,
            divided_by_zero: false,
            null: false,
            calls: Vec::new(),
            frames: None,
        }
    }
}

/// Hook id as in reports: upper-case hex, `hhh` for `hhh0`.
pub fn shown_id(id: u16) -> String {
    if id.is_multiple_of(16) { format!("{:03X}", id >> 4) } else { format!("{id:04X}") }
}

/// Blanks before the text of a stanza's lines if no columns are printed.
pub fn layout_without_columns(level: Option<Level>) -> Layout {
    let margin = |column: u16| 3 + 8 * column;
    let blanks = match level {
        Some(Level::Zero) => 0,
        Some(Level::Appl) => margin(0),
        Some(Level::Svc) => margin(1),
        None | Some(Level::Kern) => margin(2),
        Some(Level::Int) => margin(3),
    };
    Layout { first: blanks, further: blanks }
}

/// Names that a stanza assigns or declares, in order of first appearance, without function bodies.
fn macros_in_order<'ast>(body: Descriptor<'ast>) -> Vec<&'ast [u8]> {
    let mut names: Vec<&[u8]> = Vec::new();
    visit(body, &mut |item| {
        let name = match item {
            DescriptorItem::Assign(node) => node.name.node,
            DescriptorItem::Declare(name) => name.node,
            _ => return,
        };
        if !names.contains(&name) && name != b"DATAPOINTER" && name != b"BASEPOINTER" {
            names.push(name);
        }
    });
    names
}

/// Visits every item of a descriptor in source order, including groups but not function bodies.
fn visit<'ast>(items: Descriptor<'ast>, see: &mut impl FnMut(&DescriptorItem<'ast>)) {
    for item in items {
        see(item);
        match item {
            DescriptorItem::Loop(node) => visit(node.body.items, see),
            DescriptorItem::Switch(node) => {
                for case in node.cases {
                    if let Body::Group(group) = case.body {
                        visit(group.items, see);
                    }
                }
            }
            _ => {}
        }
    }
}
