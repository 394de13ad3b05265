//! Translates stanzas to event definitions. Each number or text at a known offset becomes a field, labelled by the text
//! before it. A switch becomes enums, and fields inside of a case become a datakey with a condition.

use super::ids::event_of;
use super::losses::Losses;
use crate::names::{Meaning, NameTable, Unit};
use crate::number::{self, Base};
use crate::predefined::Predefined;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use tfbc_grammar::trcfmt::ast::*;
use tfbc_grammar::{SourceId, Span};

/// Choices that the target language needs but the source language does not contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConvertOptions {
    /// Word size of the hooks in bytes, 4 or 8.
    pub word: u8,
    /// Class of the events for hooks whose id corresponds to no event.
    pub class: u8,
    /// Number of the first event in `class` that is assigned to such a hook; later hooks get the next numbers.
    pub first_event: u16,
}

impl Default for ConvertOptions {
    fn default() -> Self {
        Self { word: 8, class: 6, first_event: 0 }
    }
}

/// Limit on nested function calls.
const MAX_CALLS: u32 = 10;

/// Event definitions for a set of files.
pub(super) fn convert(
    units: &[Unit<'_>],
    names: &NameTable<'_>,
    options: ConvertOptions,
    losses: &mut Losses,
) -> Vec<u8> {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<eventdefinitions>\n");
    let mut taken: HashSet<(u8, u16)> = HashSet::new();
    let all = || units.iter().enumerate().flat_map(|(at, unit)| (0..unit.file.stanzas.len()).map(move |n| (at, n)));
    let wins = |&(at, n): &(usize, usize)| names.stanzas.get(&units[at].file.stanzas[n].id.node.0) == Some(&(at, n));
    // Ids of four digits correspond to one event. The others get any event that is left, so they come second.
    taken.extend(all().filter_map(|(at, n)| own_event(&units[at].file.stanzas[n])));
    let mut next = options.first_event;
    for (at, n) in all().filter(wins) {
        let (unit, stanza) = (&units[at], &units[at].file.stanzas[n]);
        let event = own_event(stanza).or_else(|| {
            while taken.contains(&(options.class, next)) {
                next += 1;
            }
            let event = (options.class, next);
            next += 1;
            (event.1 < 1024).then_some(event)
        });
        let Some(event) = event else {
            losses.left_out(unit.id, stanza.span, "all 1024 events of the class are taken");
            continue;
        };
        let mut made = Translation::new(unit, names, options, losses);
        made.items(stanza.body);
        made.write(&mut out, &hook_name(stanza), stanza.label, event.0, event.1);
    }
    out.push_str("</eventdefinitions>\n");
    out.into_bytes()
}

/// Event that a four-digit hook id corresponds to.
fn own_event(stanza: &Stanza<'_>) -> Option<(u8, u16)> {
    event_of(stanza.id.node.0).filter(|_| stanza.id.span.end - stanza.id.span.start == 4)
}

/// Hook id as written.
fn hook_name(stanza: &Stanza<'_>) -> String {
    let id = stanza.id.node.0;
    if stanza.id.span.end - stanza.id.span.start == 4 { format!("{id:04X}") } else { format!("{:03X}", id >> 4) }
}

/// Type and output format of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FieldType {
    bytes: u32,
    /// `s` or `u`.
    sign: char,
    /// `d`, `x`, `o` or `c`.
    show: char,
}

impl FieldType {
    /// Formats a number as the field prints it.
    fn of(self, value: u64) -> String {
        match self.show {
            'x' => format!("{value:#x}"),
            'o' => format!("0{value:o}"),
            _ if self.sign == 's' => {
                let unused = 64 - 8 * self.bytes.clamp(1, 8);
                ((value << unused).cast_signed() >> unused).to_string()
            }
            _ => value.to_string(),
        }
    }
}

/// Number in the payload that a macro refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PayloadNumber {
    /// Bytes from the start of the payload.
    offset: u64,
    shown: FieldType,
    /// Bitmask with the meaning of XML: the masked bits are shifted down.
    mask: Option<u64>,
}

/// `<enum …>`: attributes except name and string, and the string.
type EnumXml = (String, String);

/// Field under construction.
#[derive(Debug, Clone)]
struct FieldXml {
    label: String,
    place: PayloadNumber,
    enums: Vec<EnumXml>,
}

/// Datakey under construction.
#[derive(Debug, Clone)]
struct DatakeyXml {
    fields: Vec<FieldXml>,
    /// Attributes of `<condition …>`.
    conditions: Vec<String>,
    /// True if an enum's text replaces the number.
    text_alone: bool,
}

/// Translation of one stanza.
struct Translation<'u, 'l> {
    unit: &'u Unit<'u>,
    names: &'u NameTable<'u>,
    options: ConvertOptions,
    losses: &'l mut Losses,
    /// Offset from data word 1 in bytes; `None` if it depends on the event.
    pointer: Option<i64>,
    /// Printed text that may become the label of the next field.
    pending: String,
    pending_span: Option<Span>,
    macros: HashMap<Vec<u8>, PayloadNumber>,
    conditions: Vec<String>,
    labels: HashSet<String>,
    keys: Vec<DatakeyXml>,
    depth: u32,
}

impl<'u, 'l> Translation<'u, 'l> {
    fn new(unit: &'u Unit<'u>, names: &'u NameTable<'u>, options: ConvertOptions, losses: &'l mut Losses) -> Self {
        Self {
            unit,
            names,
            options,
            losses,
            // The two bytes of the subhook are not part of a payload.
            pointer: Some(-2),
            pending: String::new(),
            pending_span: None,
            macros: HashMap::new(),
            conditions: Vec::new(),
            labels: HashSet::new(),
            keys: Vec::new(),
            depth: 0,
        }
    }

    fn source(&self) -> SourceId {
        self.unit.id
    }

    fn left_out(&mut self, span: Span, text: impl Into<String>) {
        let source = self.source();
        self.losses.left_out(source, span, text);
    }

    fn shown_differently(&mut self, span: Span, text: impl Into<String>) {
        let source = self.source();
        self.losses.shown_differently(source, span, text);
    }

    fn items(&mut self, items: &[DescriptorItem<'_>]) {
        for item in items {
            self.item(item);
        }
        self.drop_text();
    }

    fn item(&mut self, item: &DescriptorItem<'_>) {
        match item {
            DescriptorItem::Text(text) => self.text(text.bytes, text.span),
            DescriptorItem::Backquoted(text) => text.parts.iter().for_each(|part| self.part(part)),
            DescriptorItem::Newline(_)
            | DescriptorItem::Tab(_)
            | DescriptorItem::Declare(_)
            | DescriptorItem::Function(_) => self.drop_text(),
            DescriptorItem::Move(node) => self.go(node.node),
            DescriptorItem::Code(node) => self.code(node.node, node.span),
            DescriptorItem::Macro(node) => self.shown_macro(node),
            DescriptorItem::Assign(node) => self.assign(node),
            DescriptorItem::Call(node) => self.call(node),
            DescriptorItem::Switch(node) => self.switch(node),
            DescriptorItem::Bitflags(node) => self.bitflags(node),
            DescriptorItem::Loop(node) => {
                self.left_out(node.span, "loops are left out");
                self.pointer = None;
            }
            DescriptorItem::Timer(node) => self.left_out(node.span, "event definitions have no timers"),
        }
    }

    fn part(&mut self, part: &BackquotedPart<'_>) {
        match part {
            BackquotedPart::Text(text) => self.text(text.node, text.span),
            BackquotedPart::Code(node) => self.code(node.node, node.span),
            BackquotedPart::Move(node) => self.go(node.node),
            BackquotedPart::Macro(node) => self.shown_macro(node),
        }
    }

    fn text(&mut self, bytes: &[u8], span: Span) {
        if !self.pending.is_empty() {
            self.pending.push(' ');
        }
        self.pending.push_str(&String::from_utf8_lossy(bytes));
        // A function may print text that precedes its call in the source.
        let joined = |before: Span| if before.start <= span.start { before.to(span) } else { span };
        self.pending_span = Some(self.pending_span.map_or(span, joined));
    }

    /// Reports pending text that does not become the label of a field.
    fn drop_text(&mut self) {
        let text = std::mem::take(&mut self.pending);
        if let (Some(span), true) = (self.pending_span.take(), text.chars().any(char::is_alphanumeric)) {
            self.left_out(span, "text is not the label of a field");
        }
    }

    /// Drops the label of a field that could not be translated.
    fn forget_text(&mut self) {
        self.pending.clear();
        self.pending_span = None;
    }

    /// Label of the next field, made from the text before it.
    fn label(&mut self, name: Option<&[u8]>, shown: FieldType) -> String {
        let text = std::mem::take(&mut self.pending);
        self.pending_span = None;
        let text = text.replace('%', " ");
        let text = text.rsplit([',', ';', '(', '[', '{']).next().unwrap_or_default();
        let text = text.trim_matches(|char: char| char.is_whitespace() || "=:-.)]}".contains(char));
        // `"flags=0x" X4`: the prefix is removed, because event definitions print their own.
        let prefix = if shown.show == 'o' { "0" } else { "0x" };
        let text = text.strip_suffix(prefix).filter(|text| text.ends_with(['=', ':'])).unwrap_or(text);
        let text = text.trim_end_matches(['=', ':']);
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut label: String = words.join(" ").chars().map(in_xml).collect();
        if let (true, Some(name)) = (label.is_empty(), name) {
            label = String::from_utf8_lossy(name).into_owned();
        }
        if label.is_empty() {
            label = String::from("value");
        }
        self.unique(label)
    }

    fn unique(&mut self, label: String) -> String {
        let mut n = 2;
        let mut found = label.clone();
        while !self.labels.insert(found.clone()) {
            found = format!("{label} {n}");
            n += 1;
        }
        found
    }

    fn bytes(&self, size: Size) -> u32 {
        match size {
            Size::Bytes(bytes) => bytes.into(),
            Size::Word => self.options.word.into(),
        }
    }

    fn go(&mut self, to: Move) {
        // Offset 0 of the event is the hook word, which is before the payload. In 64-bit hooks it has two halves.
        let start = i64::from(self.options.word);
        let now = self.pointer;
        self.pointer = match to {
            Move::Goto { bytes, bits } if bits % 8 == 0 => Some(i64::from(bytes) + i64::from(bits / 8) - start),
            Move::Omit { bytes, bits } if bits % 8 == 0 => now.map(|at| at + i64::from(bytes) + i64::from(bits / 8)),
            Move::Reverse { bytes } => now.map(|at| (at - i64::from(bytes)).max(-start)),
            Move::Word { words } => Some((i64::from(words) - 1) * start),
            Move::Goto { .. } | Move::Omit { .. } => None,
        };
    }

    /// Takes bytes at the pointer. Returns `None`, after reporting it, if their offset is unknown.
    fn take(&mut self, shown: FieldType, span: Span) -> Option<PayloadNumber> {
        let at = self.pointer;
        self.pointer = at.map(|at| at + i64::from(shown.bytes));
        match at {
            Some(at) if at >= 0 => Some(PayloadNumber { offset: at as u64, shown, mask: None }),
            Some(_) => {
                self.left_out(span, "this is read from the hook word, which is not part of a payload");
                None
            }
            None => {
                self.left_out(span, "the position of this read depends on the event");
                None
            }
        }
    }

    /// Type of a field for a number's code. Returns `None`, after reporting it, if no field can print it.
    fn number(&mut self, code: Code, span: Span) -> Option<FieldType> {
        let of = |sign, show, bytes| FieldType { bytes, sign, show };
        let shown = match code {
            Code::Hex(size) => of('u', 'x', self.bytes(size)),
            Code::HexByte => of('u', 'x', 1),
            Code::Signed(size) => of('s', 'd', self.bytes(size)),
            Code::Unsigned(size) => of('u', 'd', self.bytes(size)),
            Code::Octal(size) => of('u', 'o', self.bytes(size)),
            Code::Binary { bits } if bits % 8 == 0 => {
                self.shown_differently(span, "binary digits are shown in hex");
                of('u', 'x', u32::from(bits / 8))
            }
            // Event definitions have only numbers and texts. A number with a note is better than nothing.
            Code::Time(size) => {
                self.shown_differently(span, "a time is shown as seconds since 1970");
                of('u', 'd', self.bytes(size))
            }
            Code::Errno(size) => {
                self.shown_differently(span, "an error is shown by its number");
                of('s', 'd', self.bytes(size))
            }
            Code::Path(size) => {
                self.shown_differently(span, "a process is shown by its id");
                of('u', 'd', self.bytes(size))
            }
            Code::Binary { .. } | Code::Counted(_) => {
                self.left_out(span, "a field of this size cannot be read");
                self.pointer = None;
                return None;
            }
            Code::Float(bytes) => {
                self.left_out(span, "event definitions have no floating point numbers");
                self.pointer = self.pointer.map(|at| at + i64::from(bytes));
                return None;
            }
            Code::HookBytes | Code::HookType => {
                self.left_out(span, "QNX records have no hook word");
                return None;
            }
            Code::Ascii { len, width } => {
                if width > len {
                    self.shown_differently(span, "text is not padded");
                }
                of('u', 'c', len)
            }
        };
        // The pointer still moves, so that the fields after it keep their offsets.
        if shown.show != 'c' && ![1, 2, 4, 8].contains(&shown.bytes) {
            self.left_out(span, format!("numbers of {} bytes: fields have 1, 2, 4 or 8", shown.bytes));
            self.pointer = self.pointer.map(|at| at + i64::from(shown.bytes));
            return None;
        }
        Some(shown)
    }

    fn code(&mut self, code: Code, span: Span) {
        if matches!(code, Code::Ascii { len: 0, .. }) {
            return;
        }
        let shown = self.number(code, span);
        match shown.and_then(|shown| self.take(shown, span)) {
            Some(place) => {
                let label = self.label(None, place.shown);
                self.field(FieldXml { label, place, enums: Vec::new() }, false);
            }
            None => self.forget_text(),
        }
    }

    /// Appends a field to the last datakey, or to a new one.
    fn field(&mut self, field: FieldXml, text_alone: bool) {
        let follows = |key: &DatakeyXml| {
            // A datakey has no gaps between its fields; after a gap, a new one begins with an offset.
            let last = &key.fields[key.fields.len() - 1];
            key.conditions == self.conditions
                && key.text_alone == text_alone
                && !text_alone
                && last.place.offset + u64::from(last.place.shown.bytes) == field.place.offset
        };
        match self.keys.last_mut().filter(|key| follows(key)) {
            Some(key) => key.fields.push(field),
            None => {
                let conditions = self.conditions.clone();
                self.keys.push(DatakeyXml { fields: vec![field], conditions, text_alone });
            }
        }
    }

    /// Number that a macro refers to, with the format of its cast.
    fn place(&mut self, node: &MacroRef<'_>) -> Option<PayloadNumber> {
        let place = match self.names.meaning(node.name) {
            Meaning::User => self.macros.get(node.name).copied(),
            Meaning::Predefined(Predefined::Number(..)) => match node.name {
                [b'D' | b'L', digit @ b'1'..=b'5'] => {
                    let bytes = u32::from(self.options.word);
                    let offset = u64::from(digit - b'1') * u64::from(bytes);
                    Some(PayloadNumber { offset, shown: FieldType { bytes, sign: 'u', show: 'x' }, mask: None })
                }
                _ => None,
            },
            _ => None,
        };
        let Some(mut place) = place else {
            self.left_out(node.span, "value is not read from the payload");
            return None;
        };
        match node.cast.map(|cast| cast.node) {
            None | Some(Cast::Unknown(_)) => {
                place.shown.sign = 'u';
                place.shown.show = 'x';
            }
            // Bits of bits would need two masks, and XML shifts after each.
            Some(Cast::Bits { low, high }) => {
                let bits = number::low_mask(u32::from(high - low) + 1);
                let width = number::low_mask(place.shown.bytes * 8);
                let mask = match place.mask {
                    None => Some(bits.checked_shl(low.into()).unwrap_or(0) & width).filter(|mask| *mask != 0),
                    Some(_) => None,
                };
                let Some(mask) = mask else {
                    self.left_out(node.span, "bits outside of the number, or bits of a range of bits");
                    return None;
                };
                place.mask = Some(mask);
                (place.shown.sign, place.shown.show) = ('u', 'x');
            }
            Some(Cast::Code(code)) => {
                let shown = self.number(code, node.span)?;
                if shown.show == 'c' && shown.bytes != 1 {
                    self.left_out(node.span, "a number cannot be shown as text");
                    return None;
                }
                place = self.narrowed(place, shown, node.span)?;
            }
        }
        Some(place)
    }

    /// Narrows a number to its lowest bytes.
    fn narrowed(&mut self, mut place: PayloadNumber, shown: FieldType, span: Span) -> Option<PayloadNumber> {
        if place.mask.is_none() && shown.bytes <= place.shown.bytes {
            // Big-endian: the lowest bytes of a number are its last ones.
            place.offset += u64::from(place.shown.bytes - shown.bytes);
            place.shown = shown;
            return Some(place);
        }
        if place.mask.is_some_and(|mask| mask >> mask.trailing_zeros() > number::low_mask(shown.bytes * 8)) {
            self.left_out(span, "cast takes the lowest bytes of a range of bits");
            return None;
        }
        (place.shown.sign, place.shown.show) = (shown.sign, shown.show);
        Some(place)
    }

    fn shown_macro(&mut self, node: &MacroRef<'_>) {
        match self.names.meaning(node.name) {
            Meaning::Subroutine(_) | Meaning::Predefined(Predefined::Default) => {
                self.left_out(node.span, "event definitions have no subroutines");
                self.pointer = None;
                return;
            }
            Meaning::Predefined(
                Predefined::Stop | Predefined::Break | Predefined::Skip | Predefined::Error | Predefined::Text(_),
            ) => {
                self.left_out(node.span, "event definitions have no equivalent");
                return;
            }
            _ => {}
        }
        match self.place(node) {
            Some(place) => {
                let label = self.label(Some(node.name), place.shown);
                self.field(FieldXml { label, place, enums: Vec::new() }, false);
            }
            None => self.forget_text(),
        }
    }

    fn assign(&mut self, node: &Assign<'_>) {
        self.drop_text();
        if node.name.node == b"DATAPOINTER" {
            self.pointer = match node.value {
                Expr::Const(to) => i64::try_from(to.node).ok().map(|to| to - i64::from(self.options.word)),
                _ => None,
            };
            return;
        }
        self.macros.remove(node.name.node);
        if let Some(place) = self.value(node.value) {
            self.macros.insert(node.name.node.to_vec(), place);
        }
    }

    /// Number of the payload that an expression refers to.
    fn value(&mut self, value: &Expr<'_>) -> Option<PayloadNumber> {
        match value {
            Expr::Code(code) => {
                let shown = self.number(code.node, code.span)?;
                self.take(shown, code.span)
            }
            Expr::Macro(node) => self.place(node),
            Expr::Binary { op, left, right } => {
                // Two forms of arithmetic are bitmasks: `x & 7`, and `(x & 0x70) / 16`.
                let place = self.value(left)?;
                match (op.node, right, place.mask) {
                    (BinaryOp::And, Expr::Const(mask), None) if mask.node & 1 == 1 => {
                        Some(PayloadNumber { mask: Some(mask.node), ..place })
                    }
                    (BinaryOp::And, Expr::Const(mask), None) if mask.node != 0 => {
                        // Without the division by the lowest bit, XML would shift the value but trcfmt would not.
                        Some(PayloadNumber {
                            mask: Some(mask.node),
                            shown: FieldType { show: '/', ..place.shown },
                            ..place
                        })
                    }
                    (BinaryOp::Div, Expr::Const(by), Some(mask))
                        if place.shown.show == '/' && by.node == 1 << mask.trailing_zeros() && mask >> 63 == 0 =>
                    {
                        Some(PayloadNumber { shown: FieldType { show: 'd', sign: 'u', ..place.shown }, ..place })
                    }
                    _ => {
                        self.left_out(value.span(), "event definitions have no arithmetic");
                        None
                    }
                }
            }
            Expr::Const(_) => {
                self.left_out(value.span(), "value is not read from the payload");
                None
            }
        }
        .filter(|place| place.shown.show != '/' || matches!(value, Expr::Binary { .. }))
    }

    fn call(&mut self, call: &Call<'_>) {
        let body = self.names.functions.get(call.name.node).map(|at| self.names.definitions[*at].function);
        let Some(function) = body.filter(|_| self.depth < MAX_CALLS) else {
            return self.left_out(call.span, "call is nested too deep");
        };
        let places: Vec<Option<PayloadNumber>> = call.arguments.iter().map(|argument| self.value(argument)).collect();
        // A function sees only its parameters. Afterwards the macros of its caller are visible again.
        let outer = std::mem::take(&mut self.macros);
        for (param, place) in function.params.iter().zip(places) {
            self.macros.extend(place.map(|place| (param.node.to_vec(), place)));
        }
        self.depth += 1;
        function.body.iter().for_each(|item| self.item(item));
        self.depth -= 1;
        self.macros = outer;
    }

    /// Number that a switch or BITFLAGS tests.
    fn selector(&mut self, selector: &Selector<'_>) -> Option<(PayloadNumber, Base)> {
        match selector {
            Selector::Code(code) => {
                if let Code::Ascii { len, .. } = code.node {
                    self.pointer = self.pointer.map(|at| at + i64::from(len));
                    self.left_out(code.span, "event definitions have no switch on a text");
                    return None;
                }
                let shown = self.number(code.node, code.span)?;
                self.take(shown, code.span).map(|place| (place, base(Some(code.node))))
            }
            Selector::Macro(node) => {
                let code = match node.cast.map(|cast| cast.node) {
                    Some(Cast::Code(code)) => Some(code),
                    _ => None,
                };
                self.place(node).map(|place| (place, base(code)))
            }
        }
    }

    fn switch(&mut self, switch: &Switch<'_>) {
        let name = match &switch.selector {
            Selector::Macro(node) => Some(node.name),
            Selector::Code(_) => None,
        };
        let found = self.selector(&switch.selector);
        let Some((mut place, base)) = found else {
            // Without a selector, its cases would be printed for all values.
            self.forget_text();
            self.pointer = self.pointer.filter(|_| !switch.cases.iter().any(|case| moves(&case.body)));
            return;
        };
        // XML compares after the shift of the mask, trcfmt before it.
        let mut shift = 0;
        if let Some(mask) = switch.mask {
            let bits = number::parse(mask.node, base).and_then(|mask| mask.pattern(place.shown.bytes * 8));
            let Some(bits) = bits.filter(|bits| *bits != 0 && place.mask.is_none()) else {
                self.forget_text();
                return self.left_out(mask.span, "second mask on a value, or mask without bits");
            };
            place.mask = Some(bits);
            (place.shown.sign, place.shown.show) = ('u', 'x');
            shift = bits.trailing_zeros();
        }
        let just_shown = self.just_shown(place);
        let label = just_shown.clone().unwrap_or_else(|| self.label(name, place.shown));
        let mut field = FieldXml { label: label.clone(), place, enums: Vec::new() };
        let mut groups = Vec::new();
        let mut taken = Vec::new();
        for case in switch.cases {
            let Some(value) = self.match_value(&case.value, base, place, shift) else { continue };
            match plain_text(&case.body) {
                Some(text) if !text.is_empty() => field.enums.push((enum_of(value), text)),
                Some(_) => {}
                None => groups.push((value, taken.clone(), &case.body)),
            }
            taken.extend(value);
        }
        // The default must not apply to values whose case prints no text.
        if field.enums.iter().any(|(test, _)| test.starts_with("default")) {
            let silent =
                taken.iter().filter(|value| !field.enums.iter().any(|(test, _)| *test == enum_of(Some(**value))));
            let numbers = silent.map(|value| (enum_of(Some(*value)), place.shown.of(*value))).collect::<Vec<_>>();
            field.enums.splice(0..0, numbers);
        }
        match self.keys.last_mut().and_then(|key| key.fields.last_mut()).filter(|_| just_shown.is_some()) {
            Some(last) => last.enums = field.enums,
            None => {
                if !field.enums.iter().any(|(test, _)| test.starts_with("default")) {
                    self.shown_differently(switch.span, "a value without a case is shown as a number");
                }
                self.field(field, true);
            }
        }
        // Every case begins where the selector ended. If they end at different places, the offset is unknown after
        // them.
        let start = self.pointer;
        let mut ends = vec![start];
        for (value, taken, body) in groups {
            self.pointer = start;
            self.case(&label, value, &taken, body);
            ends.push(self.pointer);
        }
        self.pointer = start.filter(|_| ends.iter().all(|end| *end == start));
    }

    /// Label of the last field, if it is this number and nothing was printed after it.
    fn just_shown(&self, place: PayloadNumber) -> Option<String> {
        let key = self.keys.last().filter(|key| !key.text_alone && key.conditions == self.conditions)?;
        let field = key.fields.last().filter(|field| field.enums.is_empty() && self.pending.is_empty())?;
        let same = |one: PayloadNumber, other: PayloadNumber| {
            one.offset == other.offset && one.mask == other.mask && one.shown.bytes == other.shown.bytes
        };
        same(field.place, place).then(|| field.label.clone())
    }

    /// Translates the fields inside of a case, with the case's value as a condition.
    fn case(&mut self, label: &str, value: Option<u64>, taken: &[u64], body: &Body<'_>) {
        let n_before = self.conditions.len();
        let name = escaped(label);
        match value {
            Some(value) => self.conditions.push(format!("name=\"{name}\" value=\"{value:#x}\"")),
            None => {
                let nots = taken.iter().map(|value| format!("name=\"{name}\" value=\"!{value:#x}\""));
                self.conditions.extend(nots);
            }
        }
        let macros = self.macros.clone();
        match body {
            Body::Group(group) => self.items(group.items),
            Body::Backquoted(text) => {
                text.parts.iter().for_each(|part| self.part(part));
                self.drop_text();
            }
            Body::Text(_) => {}
        }
        self.macros = macros;
        self.conditions.truncate(n_before);
    }

    /// Match value after the shift of the bitmask. `Some(None)` for `\*`, `None` if it never matches.
    fn match_value(
        &mut self,
        value: &MatchValue<'_>,
        base: Base,
        place: PayloadNumber,
        shift: u32,
    ) -> Option<Option<u64>> {
        match value {
            MatchValue::Any(_) => Some(None),
            MatchValue::Word(word) => {
                let bits = number::parse(word.node, base).and_then(|value| value.pattern(place.shown.bytes * 8));
                match bits {
                    Some(bits) if bits == bits >> shift << shift => Some(Some(bits >> shift)),
                    _ => {
                        self.left_out(word.span, "match value does not fit the field");
                        None
                    }
                }
            }
            MatchValue::Quoted(text) => {
                self.left_out(text.span, "match value does not fit the field");
                None
            }
        }
    }

    fn bitflags(&mut self, flags: &Bitflags<'_>) {
        let name = match &flags.selector {
            Selector::Macro(node) => Some(node.name),
            Selector::Code(_) => None,
        };
        let Some((place, base)) = self.selector(&flags.selector) else { return self.forget_text() };
        // Without a cast, numbers are hexadecimal.
        let base =
            if matches!(&flags.selector, Selector::Macro(node) if node.cast.is_some()) { base } else { Base::Hex };
        let label = self.label(name, place.shown);
        let mut field = FieldXml { label: label.clone(), place, enums: Vec::new() };
        let mut fields: Vec<FieldXml> = Vec::new();
        let width = place.shown.bytes * 8;
        let parse =
            |value: &RawValue<'_>| number::parse_flag(value.node, base).and_then(|(number, _)| number.pattern(width));
        for entry in flags.entries {
            match entry {
                FlagEntry::Flag { flag, yes, no } => {
                    let Some(bits) = parse(flag).filter(|bits| *bits != 0) else {
                        self.left_out(flag.span, "flag does not fit the field");
                        continue;
                    };
                    let text = |text: &Text<'_>| String::from_utf8_lossy(text.bytes).trim().to_owned();
                    // Two enums, one for the set bit and one for the clear one.
                    for (not, text) in [("", Some(text(yes))), ("!", no.as_ref().map(text))] {
                        if let Some(text) = text.filter(|text| !text.is_empty()) {
                            field.enums.push((format!("mask=\"{not}{bits:#x}\""), text));
                        }
                    }
                }
                FlagEntry::Field { mask, field: value, text } => {
                    let (Some(bits), Some(wanted)) = (parse(mask), parse(value)) else { continue };
                    if bits == 0 || place.mask.is_some() || wanted & !bits != 0 {
                        self.left_out(mask.span, "second mask on a value, or mask without bits");
                        continue;
                    }
                    // Entries with the same mask become one field with several values.
                    if !fields.iter().any(|known| known.place.mask == Some(bits)) {
                        let label = self.unique(format!("{label} {bits:#x}"));
                        let place = PayloadNumber { mask: Some(bits), ..place };
                        fields.push(FieldXml { label, place, enums: Vec::new() });
                    }
                    let found = fields.iter_mut().find(|known| known.place.mask == Some(bits));
                    let text = String::from_utf8_lossy(text.bytes).trim().to_owned();
                    if let (Some(field), false) = (found, text.is_empty()) {
                        let test = format!("value=\"{:#x}\"", wanted >> bits.trailing_zeros());
                        field.enums.push((test, text));
                    }
                }
            }
        }
        self.shown_differently(
            flags.span,
            "texts of flags are separated by blanks; the number is shown if there are none",
        );
        self.field(field, true);
        fields.into_iter().for_each(|field| self.field(field, true));
    }

    /// Writes the datakeys of one event.
    fn write(self, out: &mut String, hook: &str, label: Option<Label<'_>>, class: u8, event: u16) {
        let label = label.map_or(String::new(), |label| String::from_utf8_lossy(label.text.bytes).into_owned());
        let legal = |char: char| if matches!(char, '\0'..' ' | '\u{fffe}' | '\u{ffff}') { ' ' } else { char };
        let remark = format!("hook {hook} {label}").replace("--", "- -").replace("--", "- -");
        let remark: String = remark.chars().map(legal).collect();
        let _ = writeln!(out, "  <!-- {} -->", remark.trim_end_matches(['-', ' ']));
        for key in &self.keys {
            key.write(out, class, event);
        }
    }
}

impl DatakeyXml {
    fn write(&self, out: &mut String, class: u8, event: u16) {
        let is_array = |field: &FieldXml| field.place.shown.show == 'c' && field.place.shown.bytes > 1;
        let attribute = if self.fields.iter().any(is_array) { "sformat" } else { "format" };
        let formats: Vec<String> = self.fields.iter().map(FieldXml::format).collect();
        let _ = write!(out, "  <datakey {attribute}=\"{}\"", formats.join(" "));
        let offset = self.fields[0].place.offset;
        if offset > 0 {
            let _ = write!(out, " offset=\"{offset}\" wide_offset=\"{offset}\"");
        }
        if self.text_alone && self.fields.iter().any(|field| !field.enums.is_empty()) {
            out.push_str(" show_masked_value=\"false\"");
        }
        out.push_str(">\n");
        let _ = writeln!(out, "    <event class=\"{class}\" id=\"{event}\"/>");
        for field in &self.fields {
            let name = escaped(&field.label);
            if let Some(mask) = field.place.mask {
                let _ = writeln!(out, "    <bitmask name=\"{name}\" value=\"{mask:#x}\"/>");
            }
            for (test, text) in &field.enums {
                let (test, text) = match test.strip_prefix("default") {
                    Some(_) => (String::new(), format!("default=\"{}\"", escaped(text))),
                    None => (format!("{test} "), format!("string=\"{}\"", escaped(text))),
                };
                let _ = writeln!(out, "    <enum name=\"{name}\" {test}{text}/>");
            }
        }
        for condition in &self.conditions {
            let _ = writeln!(out, "    <condition {condition}/>");
        }
        out.push_str("  </datakey>\n");
    }
}

impl FieldXml {
    /// `%spec label`
    fn format(&self) -> String {
        let FieldType { bytes, sign, show } = self.place.shown;
        let label = escaped(&self.label);
        match show {
            'c' if bytes > 1 => format!("%1u{bytes}c {label}"),
            _ => format!("%{bytes}{sign}1{show} {label}"),
        }
    }
}

/// Base of a selector's match values.
fn base(code: Option<Code>) -> Base {
    match code {
        Some(Code::Signed(_) | Code::Unsigned(_) | Code::Errno(_) | Code::Time(_) | Code::Path(_)) => Base::Decimal,
        Some(Code::Octal(_)) => Base::Octal,
        Some(Code::Binary { .. }) => Base::Binary,
        _ => Base::Hex,
    }
}

fn enum_of(value: Option<u64>) -> String {
    value.map_or(String::from("default"), |value| format!("value=\"{value:#x}\""))
}

/// Text of a case that only prints text.
fn plain_text(body: &Body<'_>) -> Option<String> {
    let text = |text: &Text<'_>| String::from_utf8_lossy(text.bytes).trim().to_owned();
    match body {
        Body::Text(found) => Some(text(found)),
        Body::Backquoted(found) => match found.parts {
            [] => Some(String::new()),
            [BackquotedPart::Text(part)] => Some(String::from_utf8_lossy(part.node).trim().to_owned()),
            _ => None,
        },
        Body::Group(group) => match group.items {
            [] => Some(String::new()),
            [DescriptorItem::Text(found)] => Some(text(found)),
            _ => None,
        },
    }
}

/// True if the body may move the data pointer.
fn moves(body: &Body<'_>) -> bool {
    plain_text(body).is_none()
}

/// Replaces a character that XML forbids by `?`.
fn in_xml(char: char) -> char {
    if matches!(char, '\0'..' ' | '\u{fffe}' | '\u{ffff}') { '?' } else { char }
}

/// Escapes a text for an attribute.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => drop(write!(out, "&#{};", u32::from(char))),
            char => out.push(in_xml(char)),
        }
    }
    out
}
