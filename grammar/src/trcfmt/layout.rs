//! The layout of one stanza: where its lines end, and where there are blanks.
//!
//! Tokens are written as they are. Two things decide, and none of them depends on the lines of the source: which tokens
//! stand directly behind each other for a reason, such as `stat=$stat`, and how wide a part is on one line.
//!
//! ```text
//! 10B 1.0 L=KERN "LVM" \
//!     "opcode=" $D1, \
//!         1  "OPEN", \
//!         2  "CLOSE", \
//!         \* { "OP(" $D1 ")" } \
//!     " rc=" $D4%E4 \n \
//!     BITFLAGS $D2, 0x1 "READ " "", 0x2 "WRITE " ""
//! ```
//!
//! A stanza that fits on one line is one line. In others, the head has a line of its own; items fill lines, texts with the
//! value behind them; assignments stand apart from what prints, functions alone; behind `\n` a line begins. What is too
//! wide for a line is opened: a case, an entry, or the items between braces a line.

use std::ops::Range;

use super::ast::*;
use super::lexer::Lexer;
use super::token::Token;
use crate::{Source, Span};

/// Columns of a line.
const WIDTH: usize = 100;
/// Columns of a line that is continued: a blank and a `\` follow.
const CONTINUED: usize = WIDTH - 2;
/// How much further in a part's lines stand.
const STEP: usize = 4;
/// Lines do not begin further in, however deep braces nest.
const MAX_INDENT: usize = 48;
/// Values are padded to the widest of their switch or BITFLAGS, unless it is wider than this.
const MAX_PADDED: usize = 20;
/// The width of a string that has a line end in it: it fits nowhere.
const NEVER_FITS: usize = 1 << 16;

/// The stanza at `line` in its canonical layout, without its last line end.
pub(super) fn stanza(source: &Source, line: Span, stanza: &Stanza, line_end: &[u8]) -> Vec<u8> {
    let pieces = pieces(source.bytes(), line, stanza);
    let mut layout = Layout { source, line_end, pieces, out: Vec::new(), column: 0, next: 0 };
    layout.stanza(stanza);
    layout.out
}

/// A token with what comes before it.
struct Piece {
    span: Span,
    /// Whether a blank stands before it, so that a line may end there.
    blank: bool,
    /// Where it begins when all stands on one line.
    at: usize,
    width: usize,
}

/// The stanza's tokens.
fn pieces(bytes: &[u8], line: Span, stanza: &Stanza) -> Vec<Piece> {
    let tokens =
        Lexer::new(bytes, line).map_while(Result::ok).map(|(start, token, end)| (token, Span::new(start, end)));
    let tokens: Vec<(Token, Span)> = tokens.collect();
    let joined = joined(&tokens, stanza);
    let mut pieces: Vec<Piece> = Vec::with_capacity(tokens.len());
    let mut n_open = 0usize;
    for (index, (token, span)) in tokens.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| tokens[before].0);
        // Arguments stand together, such as `starttimer(0x101,$TID)`.
        let is_argument = n_open > 0 && before == Some(Token::Comma);
        let is_apart = before.is_some_and(|before| is_apart(before, *token)) && !is_argument;
        let blank = is_apart && joined.binary_search(&span.start).is_err();
        match token {
            Token::OpenParen => n_open += 1,
            Token::CloseParen => n_open = n_open.saturating_sub(1),
            _ => {}
        }
        let behind = pieces.last().map_or(0, |last| last.at + last.width);
        let at = behind + usize::from(blank);
        pieces.push(Piece { span: *span, blank, at, width: width(&bytes[span.start as usize..span.end as usize]) });
    }
    pieces
}

/// Whether a blank stands between two tokens, as far as these alone can tell.
fn is_apart(before: Token, token: Token) -> bool {
    let is_begun = matches!(before, Token::OpenBrace | Token::OpenBraces);
    let is_empty = is_begun && matches!(token, Token::CloseBrace | Token::CloseBraces);
    let is_name = matches!(before, Token::FunctionName | Token::StartTimer | Token::EndTimer);
    let is_called = is_name && token == Token::OpenParen;
    let is_inside = before == Token::OpenParen || matches!(token, Token::Comma | Token::CloseParen);
    !(is_empty || is_called || is_inside)
}

/// Columns of a token: characters of UTF-8, other bytes one each.
fn width(bytes: &[u8]) -> usize {
    if bytes.contains(&b'\n') {
        return NEVER_FITS;
    }
    bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

/// Where the tokens begin that stand directly behind another for a reason, in ascending order: the second brace of a pair,
/// and what follows a bare word without soft blank.
fn joined(tokens: &[(Token, Span)], stanza: &Stanza) -> Vec<u32> {
    let mut joined = Joined { tokens, found: Vec::new() };
    joined.items(stanza.body);
    joined.found.sort_unstable();
    joined.found
}

struct Joined<'t> {
    tokens: &'t [(Token, Span)],
    found: Vec<u32>,
}

impl Joined<'_> {
    fn items(&mut self, items: Descriptor) {
        for item in items {
            self.item(item);
        }
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Text(text) => self.text(text),
            Item::Assign(node) => self.braces(node.span),
            Item::Declare(name) => {
                let at = self.tokens.partition_point(|(_, span)| span.start < name.span.start);
                let second = |index: usize| self.tokens.get(index).map(|(_, span)| span.start);
                let found = [at.checked_sub(1).and_then(second), second(at + 2)];
                self.found.extend(found.into_iter().flatten());
            }
            Item::Function(node) => {
                self.braces(node.span);
                self.items(node.body);
            }
            Item::Switch(node) => node.cases.iter().for_each(|case| self.body(&case.body)),
            Item::Loop(node) => self.items(node.body.items),
            Item::Bitflags(node) => node.entries.iter().for_each(|entry| self.entry(entry)),
            Item::Backquoted(_) | Item::Newline(_) | Item::Tab(_) | Item::Move(_) | Item::Code(_) => {}
            Item::Macro(_) | Item::Call(_) | Item::Timer(_) => {}
        }
    }

    fn body(&mut self, body: &Body) {
        match body {
            Body::Text(text) => self.text(text),
            Body::Backquoted(_) => {}
            Body::Group(group) => self.items(group.items),
        }
    }

    fn entry(&mut self, entry: &FlagEntry) {
        match entry {
            FlagEntry::Flag { yes, no, .. } => {
                self.text(yes);
                if let Some(no) = no {
                    self.text(no);
                }
            }
            FlagEntry::Field { text, .. } => self.text(text),
        }
    }

    fn text(&mut self, text: &Text) {
        if text.kind == (TextKind::Word { soft: false }) {
            self.found.push(text.span.end);
        }
    }

    /// Both pairs of `{{ … }}`.
    fn braces(&mut self, span: Span) {
        self.found.extend([span.start + 1, span.end - 1]);
    }
}

/// Items that stay on one line where they can: texts, and the value that they lead to.
struct Unit {
    items: Range<usize>,
    kind: UnitKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnitKind {
    /// What prints.
    Printed,
    /// `\n`.
    Newline,
    /// An assignment or declaration.
    Assigned,
    /// A function's definition.
    Function,
}

/// Groups the items of a sequence.
fn units(items: Descriptor) -> Vec<Unit> {
    let mut units = Vec::new();
    let mut begun = 0;
    for (at, item) in items.iter().enumerate() {
        let kind = match item {
            Item::Text(_) | Item::Backquoted(_) | Item::Tab(_) | Item::Move(_) => continue,
            Item::Newline(_) => UnitKind::Newline,
            Item::Assign(_) | Item::Declare(_) => UnitKind::Assigned,
            Item::Function(_) => UnitKind::Function,
            _ => UnitKind::Printed,
        };
        // Codes that go to where an assignment reads belong to it.
        let n_moves = items[begun..at].iter().rev().take_while(|item| matches!(item, Item::Move(_))).count();
        let first = match kind {
            UnitKind::Printed => begun,
            UnitKind::Assigned => at - n_moves,
            UnitKind::Newline | UnitKind::Function => at,
        };
        if begun < first {
            units.push(Unit { items: begun..first, kind: UnitKind::Printed });
        }
        units.push(Unit { items: first..at + 1, kind });
        begun = at + 1;
    }
    if begun < items.len() {
        units.push(Unit { items: begun..items.len(), kind: UnitKind::Printed });
    }
    units
}

struct Layout<'s> {
    source: &'s Source,
    line_end: &'s [u8],
    pieces: Vec<Piece>,
    out: Vec<u8>,
    column: usize,
    /// The piece that comes next.
    next: usize,
}

impl Layout<'_> {
    fn stanza(&mut self, stanza: &Stanza) {
        let n = self.pieces.len();
        if self.width(0..n) <= WIDTH {
            return self.flat(n);
        }
        let body = stanza.body.first().map_or(n, |item| self.start(item));
        self.flow(body, STEP);
        if body < n {
            self.line(STEP);
            self.items(stanza.body, n, STEP);
        }
    }

    /// The index of the piece at an offset.
    fn piece(&self, offset: u32) -> usize {
        self.pieces.partition_point(|piece| piece.span.start < offset)
    }

    /// The first piece of an item.
    fn start(&self, item: &Item) -> usize {
        let at = self.piece(item.span().start);
        // The node of a declaration is its name, behind two braces.
        if matches!(item, Item::Declare(_)) { at.saturating_sub(2) } else { at }
    }

    /// Columns of pieces on one line.
    fn width(&self, range: Range<usize>) -> usize {
        let Some(last) = self.pieces[..range.end].last().filter(|_| !range.is_empty()) else { return 0 };
        last.at + last.width - self.pieces[range.start].at
    }

    /// Whether the pieces up to `end` fit behind what stands on the line.
    fn fits(&self, end: usize) -> bool {
        let Some(next) = self.pieces.get(self.next) else { return true };
        self.column + usize::from(next.blank && !self.at_line_start()) + self.width(self.next..end) <= CONTINUED
    }

    fn at_line_start(&self) -> bool {
        self.out.last().is_none_or(|last| *last == b' ' || *last == b'\n')
    }

    /// Ends the line, if the next piece is one that may begin another.
    fn line(&mut self, indent: usize) {
        let may_end = self.pieces.get(self.next).is_some_and(|next| next.blank);
        if self.at_line_start() || !may_end {
            return;
        }
        self.out.extend_from_slice(b" \\");
        self.out.extend_from_slice(self.line_end);
        self.column = indent.min(MAX_INDENT);
        self.out.resize(self.out.len() + self.column, b' ');
    }

    fn write(&mut self) {
        let Piece { span, blank, width, .. } = self.pieces[self.next];
        if blank && !self.at_line_start() {
            self.out.push(b' ');
            self.column += 1;
        }
        let bytes = self.source.slice(span);
        self.out.extend_from_slice(bytes);
        match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(newline) => self.column = bytes.len() - newline - 1,
            None => self.column += width,
        }
        self.next += 1;
    }

    /// Writes the pieces before `end` on this line.
    fn flat(&mut self, end: usize) {
        while self.next < end {
            self.write();
        }
    }

    /// Writes the pieces before `end`, as many on a line as fit.
    fn flow(&mut self, end: usize, indent: usize) {
        while self.next < end {
            let more = self.pieces[self.next + 1..end].iter().take_while(|piece| !piece.blank).count();
            if !self.fits(self.next + 1 + more) {
                self.line(indent);
            }
            self.flat(self.next + 1 + more);
        }
    }

    /// Writes a sequence of items that reaches to the piece `end`.
    fn items(&mut self, items: Descriptor, end: usize, indent: usize) {
        let mut before: Option<UnitKind> = None;
        let mut is_tall = false;
        let units = units(items);
        for unit in &units {
            let unit_end = items.get(unit.items.end).map_or(end, |next| self.start(next));
            if is_tall || before.is_some_and(|before| ends_line(before, unit.kind)) {
                self.line(indent);
            }
            is_tall = self.unit(&items[unit.items.clone()], unit_end, indent);
            before = Some(unit.kind);
        }
    }

    /// Writes a unit, and tells whether it is more than a part of a line.
    fn unit(&mut self, items: Descriptor, end: usize, indent: usize) -> bool {
        if !self.fits(end) {
            self.line(indent);
        }
        if self.fits(end) {
            self.flat(end);
            return false;
        }
        for (at, item) in items.iter().enumerate() {
            let item_end = items.get(at + 1).map_or(end, |next| self.start(next));
            self.wide_item(item, item_end, indent);
        }
        true
    }

    /// Writes an item of a unit that is too wide for a line.
    fn wide_item(&mut self, item: &Item, end: usize, indent: usize) {
        if self.fits(end) {
            return self.flat(end);
        }
        match item {
            Item::Switch(node) => self.switch(node, end, indent),
            Item::Bitflags(node) => self.bitflags(node, end, indent),
            Item::Loop(node) => self.group(&node.body, end, indent),
            Item::Function(node) => self.function(node, end, indent),
            Item::Assign(_) | Item::Call(_) | Item::Timer(_) => self.flow(end, indent + STEP),
            _ => self.flow(end, indent),
        }
    }

    fn switch(&mut self, node: &Switch, end: usize, indent: usize) {
        let starts: Vec<usize> = node.cases.iter().map(|case| self.piece(case.value.span().start)).collect();
        let bodies: Vec<usize> = node.cases.iter().map(|case| self.piece(body_start(&case.body))).collect();
        let padded = self.padded(starts.iter().zip(&bodies));
        self.flow(starts[0], indent + STEP);
        let indent = indent + STEP;
        for (at, case) in node.cases.iter().enumerate() {
            let case_end = starts.get(at + 1).copied().unwrap_or(end);
            self.line(indent);
            self.value(bodies[at], padded);
            match &case.body {
                Body::Group(group) if !self.fits(case_end) => self.group(group, case_end, indent),
                _ => self.flat(case_end),
            }
        }
    }

    fn bitflags(&mut self, node: &Bitflags, end: usize, indent: usize) {
        let place = |entry: &FlagEntry| match entry {
            FlagEntry::Flag { flag, yes, .. } => (self.piece(flag.span.start), self.piece(yes.span.start)),
            // The `&` stands before the mask.
            FlagEntry::Field { mask, text, .. } => (self.piece(mask.span.start) - 1, self.piece(text.span.start)),
        };
        let places: Vec<(usize, usize)> = node.entries.iter().map(place).collect();
        let padded = self.padded(places.iter().map(|(start, text)| (start, text)));
        self.flow(places[0].0, indent + STEP);
        for (at, (_, text)) in places.iter().enumerate() {
            self.line(indent + STEP);
            self.value(*text, padded);
            self.flat(places.get(at + 1).map_or(end, |(start, _)| *start));
        }
    }

    /// The width that values, each between two pieces, are padded to.
    fn padded<'p>(&self, values: impl Iterator<Item = (&'p usize, &'p usize)>) -> usize {
        let widest = values.map(|(start, end)| self.width(*start..*end)).max().unwrap_or(0);
        if widest > MAX_PADDED { 0 } else { widest }
    }

    /// Writes a value that reaches to the piece `end`, and blanks behind it.
    fn value(&mut self, end: usize, padded: usize) {
        let start = self.column;
        self.flat(end);
        let missing = (start + padded).saturating_sub(self.column);
        if self.pieces.get(end).is_some_and(|next| next.blank) {
            self.out.resize(self.out.len() + missing, b' ');
            self.column += missing;
            // The blank itself is left to the next piece, which writes none behind a blank.
            self.out.push(b' ');
            self.column += 1;
        }
    }

    /// Writes what leads to a group, and its items on lines of their own.
    fn group(&mut self, group: &Group, end: usize, indent: usize) {
        let open = self.piece(group.span.start);
        let close = self.piece(group.span.end - 1);
        self.flow(open + 1, indent);
        self.inside(group.items, close, indent);
        self.flat(end);
    }

    fn function(&mut self, node: &Function, end: usize, indent: usize) {
        let close = self.piece(node.span.end - 2);
        let body = node.body.first().map_or(close, |item| self.start(item));
        self.flow(body, indent + STEP);
        self.inside(node.body, close, indent);
        self.flat(end);
    }

    /// Writes items one step further in, and begins the line of what closes them.
    fn inside(&mut self, items: Descriptor, close: usize, indent: usize) {
        self.line(indent + STEP);
        self.items(items, close, indent + STEP);
        self.line(indent);
    }
}

/// Whether a line ends between units.
fn ends_line(before: UnitKind, next: UnitKind) -> bool {
    match (before, next) {
        (UnitKind::Newline, next) => next != UnitKind::Newline,
        (_, UnitKind::Newline) => false,
        (UnitKind::Function, _) | (_, UnitKind::Function) => true,
        (before, next) => before != next,
    }
}

fn body_start(body: &Body) -> u32 {
    match body {
        Body::Text(text) => text.span.start,
        Body::Backquoted(text) => text.span.start,
        Body::Group(group) => group.span.start,
    }
}
