//! Layout of one stanza: line ends and blanks.
//!
//! Tokens are written unchanged. Two properties decide, and neither depends on the lines of the source: which tokens
//! must stay adjacent, such as `stat=$stat`, and the width of a part on one line.
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
//! A stanza that fits on one line is one line. Otherwise the head has a line of its own, and items fill lines; a text
//! stays with the value after it. Assignments are separated from items that print, a function has lines of its own, and
//! a line ends after `\n`. Parts that are too wide are split: one case, entry or item per line.

use std::ops::Range;

use super::ast::*;
use super::lexer::Lexer;
use super::token::Token;
use crate::{Source, Span};

/// Maximum width of a line.
const WIDTH: usize = 100;
/// Maximum width of a continued line: a blank and a `\` follow.
const CONTINUED: usize = WIDTH - 2;
/// Indentation per level.
const STEP: usize = 4;
/// Maximum indentation, for deeply nested braces.
const MAX_INDENT: usize = 48;
/// Values of a switch or BITFLAGS are padded to the widest, unless it is wider than this.
const MAX_PADDED: usize = 20;
/// Width of a string that contains a line end: it fits on no line.
const NEVER_FITS: usize = 1 << 16;

/// Canonical layout of the stanza at `line`, without the last line end.
pub(super) fn stanza(source: &Source, line: Span, stanza: &Stanza, line_end: &[u8]) -> Vec<u8> {
    let pieces = pieces(source.bytes(), line, stanza);
    let mut layout = StanzaLayout { source, line_end, pieces, out: Vec::new(), column: 0, next: 0 };
    layout.stanza(stanza);
    layout.out
}

/// A token with the space before it.
struct SpacedToken {
    span: Span,
    /// True if a blank precedes it: only there may a line end.
    blank: bool,
    /// Column, if the whole stanza were on one line.
    at: usize,
    width: usize,
}

/// Tokens of the stanza with their blanks.
fn pieces(bytes: &[u8], line: Span, stanza: &Stanza) -> Vec<SpacedToken> {
    let tokens =
        Lexer::new(bytes, line).map_while(Result::ok).map(|(start, token, end)| (token, Span::new(start, end)));
    let tokens: Vec<(Token, Span)> = tokens.collect();
    let joined = joined(&tokens, stanza);
    let mut pieces: Vec<SpacedToken> = Vec::with_capacity(tokens.len());
    let mut n_open = 0usize;
    for (index, (token, span)) in tokens.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| tokens[before].0);
        // Arguments have no blanks between them, as in `starttimer(0x101,$TID)`.
        let is_argument = n_open > 0 && before == Some(Token::Comma);
        let is_apart = before.is_some_and(|before| is_apart(before, *token)) && !is_argument;
        let blank = is_apart && joined.binary_search(&span.start).is_err();
        match token {
            Token::OpenParen => n_open += 1,
            Token::CloseParen => n_open = n_open.saturating_sub(1),
            _ => {}
        }
        // The column on one endless line gives the width of any run of tokens by a subtraction.
        let end = pieces.last().map_or(0, |last| last.at + last.width);
        let at = end + usize::from(blank);
        pieces.push(SpacedToken {
            span: *span,
            blank,
            at,
            width: width(&bytes[span.start as usize..span.end as usize]),
        });
    }
    pieces
}

/// True if a blank separates two tokens, judged by their kinds alone.
fn is_apart(before: Token, token: Token) -> bool {
    let is_begun = matches!(before, Token::OpenBrace | Token::OpenBraces);
    let is_empty = is_begun && matches!(token, Token::CloseBrace | Token::CloseBraces);
    let is_name = matches!(before, Token::FunctionName | Token::StartTimer | Token::EndTimer);
    let is_called = is_name && token == Token::OpenParen;
    let is_inside = before == Token::OpenParen || matches!(token, Token::Comma | Token::CloseParen);
    !(is_empty || is_called || is_inside)
}

/// Width of a token in columns. Each UTF-8 character counts as one, each other byte too.
fn width(bytes: &[u8]) -> usize {
    if bytes.contains(&b'\n') {
        return NEVER_FITS;
    }
    // Continuation bytes of UTF-8 take no column.
    bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

/// Start offsets of the tokens that must be adjacent to the one before, in ascending order: second braces of pairs, and
/// items after a bare word without a soft blank.
fn joined(tokens: &[(Token, Span)], stanza: &Stanza) -> Vec<u32> {
    let mut joined = AdjacentTokens { tokens, found: Vec::new() };
    joined.items(stanza.body);
    joined.found.sort_unstable();
    joined.found
}

struct AdjacentTokens<'t> {
    tokens: &'t [(Token, Span)],
    found: Vec<u32>,
}

impl AdjacentTokens<'_> {
    fn items(&mut self, items: Descriptor) {
        for item in items {
            self.item(item);
        }
    }

    fn item(&mut self, item: &DescriptorItem) {
        match item {
            DescriptorItem::Text(text) => self.text(text),
            DescriptorItem::Assign(node) => self.braces(node.span),
            DescriptorItem::Declare(name) => {
                let at = self.tokens.partition_point(|(_, span)| span.start < name.span.start);
                let second = |index: usize| self.tokens.get(index).map(|(_, span)| span.start);
                let found = [at.checked_sub(1).and_then(second), second(at + 2)];
                self.found.extend(found.into_iter().flatten());
            }
            DescriptorItem::Function(node) => {
                self.braces(node.span);
                self.items(node.body);
            }
            DescriptorItem::Switch(node) => node.cases.iter().for_each(|case| self.body(&case.body)),
            DescriptorItem::Loop(node) => self.items(node.body.items),
            DescriptorItem::Bitflags(node) => node.entries.iter().for_each(|entry| self.entry(entry)),
            DescriptorItem::Backquoted(_)
            | DescriptorItem::Newline(_)
            | DescriptorItem::Tab(_)
            | DescriptorItem::Move(_)
            | DescriptorItem::Code(_) => {}
            DescriptorItem::Macro(_) | DescriptorItem::Call(_) | DescriptorItem::Timer(_) => {}
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

    /// Adds the second brace of both pairs of `{{ … }}`.
    fn braces(&mut self, span: Span) {
        self.found.extend([span.start + 1, span.end - 1]);
    }
}

/// Items that stay on one line if possible: texts and the value after them.
struct Unit {
    items: Range<usize>,
    kind: UnitKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnitKind {
    /// Items that print.
    Printed,
    /// `\n`.
    Newline,
    /// An assignment or declaration.
    Assigned,
    /// A function's definition.
    Function,
}

/// Groups the items of a sequence into units.
fn units(items: Descriptor) -> Vec<Unit> {
    let mut units = Vec::new();
    let mut begun = 0;
    for (at, item) in items.iter().enumerate() {
        let kind = match item {
            DescriptorItem::Text(_)
            | DescriptorItem::Backquoted(_)
            | DescriptorItem::Tab(_)
            | DescriptorItem::Move(_) => continue,
            DescriptorItem::Newline(_) => UnitKind::Newline,
            DescriptorItem::Assign(_) | DescriptorItem::Declare(_) => UnitKind::Assigned,
            DescriptorItem::Function(_) => UnitKind::Function,
            _ => UnitKind::Printed,
        };
        // Position codes directly before an assignment belong to it: they set the position that it reads.
        let n_moves = items[begun..at].iter().rev().take_while(|item| matches!(item, DescriptorItem::Move(_))).count();
        let first = match kind {
            // Texts before a value stay with it: `"rc=" $D4` reads as one.
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

struct StanzaLayout<'s> {
    source: &'s Source,
    line_end: &'s [u8],
    pieces: Vec<SpacedToken>,
    out: Vec<u8>,
    column: usize,
    /// Index of the next piece to write.
    next: usize,
}

impl StanzaLayout<'_> {
    fn stanza(&mut self, stanza: &Stanza) {
        let n = self.pieces.len();
        // The first rule of the layout: what fits on one line is one line.
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

    /// Index of the piece at an offset.
    fn piece(&self, offset: u32) -> usize {
        self.pieces.partition_point(|piece| piece.span.start < offset)
    }

    /// Index of the first piece of an item.
    fn start(&self, item: &DescriptorItem) -> usize {
        let at = self.piece(item.span().start);
        // The span of a declaration begins at its name, after two braces.
        if matches!(item, DescriptorItem::Declare(_)) { at.saturating_sub(2) } else { at }
    }

    /// Width of the pieces on one line.
    fn width(&self, range: Range<usize>) -> usize {
        let Some(last) = self.pieces[..range.end].last().filter(|_| !range.is_empty()) else { return 0 };
        last.at + last.width - self.pieces[range.start].at
    }

    /// True if the pieces up to `end` fit on the current line.
    fn fits(&self, end: usize) -> bool {
        let Some(next) = self.pieces.get(self.next) else { return true };
        self.column + usize::from(next.blank && !self.at_line_start()) + self.width(self.next..end) <= CONTINUED
    }

    fn at_line_start(&self) -> bool {
        self.out.last().is_none_or(|last| *last == b' ' || *last == b'\n')
    }

    /// Ends the line, unless the next piece must stay on it.
    fn line(&mut self, indent: usize) {
        // Between adjacent tokens a line end would add a blank to the output.
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
        let SpacedToken { span, blank, width, .. } = self.pieces[self.next];
        if blank && !self.at_line_start() {
            self.out.push(b' ');
            self.column += 1;
        }
        let bytes = self.source.slice(span);
        self.out.extend_from_slice(bytes);
        // A string may continue on the next line; the column counts from there.
        match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(newline) => self.column = bytes.len() - newline - 1,
            None => self.column += width,
        }
        self.next += 1;
    }

    /// Writes the pieces before `end` on the current line.
    fn flat(&mut self, end: usize) {
        while self.next < end {
            self.write();
        }
    }

    /// Writes the pieces before `end`, filling lines.
    fn flow(&mut self, end: usize, indent: usize) {
        while self.next < end {
            // Tokens without a blank between them move to the next line together.
            let more = self.pieces[self.next + 1..end].iter().take_while(|piece| !piece.blank).count();
            if !self.fits(self.next + 1 + more) {
                self.line(indent);
            }
            self.flat(self.next + 1 + more);
        }
    }

    /// Writes the items of a sequence that ends before piece `end`.
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

    /// Writes a unit. Returns true if it takes lines of its own.
    fn unit(&mut self, items: Descriptor, end: usize, indent: usize) -> bool {
        if !self.fits(end) {
            self.line(indent);
        }
        if self.fits(end) {
            self.flat(end);
            return false;
        }
        // Too wide even for a line of its own, so each item may be split.
        for (at, item) in items.iter().enumerate() {
            let item_end = items.get(at + 1).map_or(end, |next| self.start(next));
            self.wide_item(item, item_end, indent);
        }
        true
    }

    /// Writes an item that may be too wide for a line.
    fn wide_item(&mut self, item: &DescriptorItem, end: usize, indent: usize) {
        if self.fits(end) {
            return self.flat(end);
        }
        match item {
            DescriptorItem::Switch(node) => self.switch(node, end, indent),
            DescriptorItem::Bitflags(node) => self.bitflags(node, end, indent),
            DescriptorItem::Loop(node) => self.group(&node.body, end, indent),
            DescriptorItem::Function(node) => self.function(node, end, indent),
            DescriptorItem::Assign(_) | DescriptorItem::Call(_) | DescriptorItem::Timer(_) => {
                self.flow(end, indent + STEP)
            }
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
            // The entry begins at the `&` before the mask.
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

    /// Width to which values are padded. Each value is given by its first and last piece.
    fn padded<'p>(&self, values: impl Iterator<Item = (&'p usize, &'p usize)>) -> usize {
        let widest = values.map(|(start, end)| self.width(*start..*end)).max().unwrap_or(0);
        // One long value would push all texts to the right.
        if widest > MAX_PADDED { 0 } else { widest }
    }

    /// Writes the value before piece `end` and pads it.
    fn value(&mut self, end: usize, padded: usize) {
        let start = self.column;
        self.flat(end);
        let missing = (start + padded).saturating_sub(self.column);
        if self.pieces.get(end).is_some_and(|next| next.blank) {
            self.out.resize(self.out.len() + missing, b' ');
            self.column += missing;
            // The next piece adds no blank of its own after this one.
            self.out.push(b' ');
            self.column += 1;
        }
    }

    /// Writes a group: the pieces before its brace, then its items on lines of their own.
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

    /// Writes items one level deeper, then starts the line of the closing brace.
    fn inside(&mut self, items: Descriptor, close: usize, indent: usize) {
        self.line(indent + STEP);
        self.items(items, close, indent + STEP);
        self.line(indent);
    }
}

/// True if a line ends between two units.
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
