//! Translates event definitions to stanzas: one per event, with its datakeys in order.
//!
//! A field becomes `"label:" CODE`. Values that are tested (masks, enums, conditions) are first read into a macro. Each
//! text except the first begins with a blank, which replaces the soft blank before it.

use super::ids::hook_of;
use super::losses::Losses;
use crate::datakey::{
    AppliedDefinition, Definition, EnumLabel, EnumSearch, EventPlan, FormatField, Model, NumberStyle, PayloadType,
    ResolvedCondition, Test,
};
use crate::predefined::predefined;
use std::collections::HashSet;
use std::fmt::Write;
use tfbc_grammar::SourceId;

/// Limit on nested braces.
const MAX_DEPTH: usize = 40;
/// Arrays up to this count are unrolled; longer ones become a `LOOP`.
const MAX_UNROLLED: u64 = 8;

/// Stanzas of a model.
pub(super) fn convert(model: &Model, losses: &mut Losses) -> Vec<u8> {
    let mut out = b"# Made from QNX event definitions. The hook's data contains the payload from word 1 on.\n\
        # tfbc: hex=lower\n"
        .to_vec();
    for plan in &model.events {
        let stanza = StanzaWriter { model, plan, losses, names: MacroNames::default(), lines: Vec::new() }.text();
        out.extend_from_slice(&stanza);
    }
    out
}

/// Macro names in use.
#[derive(Default)]
struct MacroNames(HashSet<String>);

impl MacroNames {
    /// Makes a unique macro name from a label.
    fn of(&mut self, label: &[u8]) -> String {
        let plain = |byte: &u8| if byte.is_ascii_alphanumeric() { char::from(*byte) } else { '_' };
        let mut name: String = label.iter().take(40).map(plain).collect();
        // `$face` would be a template subroutine.
        let is_hex = name.len() <= 4 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hex || predefined(name.as_bytes()).is_some() {
            name.push('_');
        }
        let mut n = 2;
        let mut found = name.clone();
        while !self.0.insert(found.clone()) {
            found = format!("{name}_{n}");
            n += 1;
        }
        found
    }
}

/// Translation of one event.
struct StanzaWriter<'m> {
    model: &'m Model,
    plan: &'m EventPlan,
    losses: &'m mut Losses,
    names: MacroNames,
    /// Lines of the stanza, without the `\` at their ends.
    lines: Vec<Vec<u8>>,
}

/// Parameters for printing the enum texts of a field.
#[derive(Clone, Copy)]
struct EnumTexts<'s> {
    /// Expression that is tested, such as `$state%X2`.
    tested: &'s str,
    /// Expression that prints the value, such as `$state%U2`.
    shown: &'s str,
    /// True if the value is printed before the texts.
    with_value: bool,
    /// Macro that is 1 after a text was printed, if that must be known.
    any: Option<&'s str>,
}

impl<'m> StanzaWriter<'m> {
    fn text(mut self) -> Vec<u8> {
        let n_always = self.plan.keys.iter().position(|key| key.conditions.is_empty());
        // A datakey begins with a blank only if another was printed before it. If the first one is conditional, a macro
        // must remember that.
        let shown = (n_always != Some(0)).then(|| self.names.of(b"shown"));
        if let Some(shown) = &shown {
            self.line(format!("{{{{ ${shown} = 0 }}}}"));
        }
        let tests = self.condition_fields();
        for (at, key) in self.plan.keys.iter().enumerate() {
            let mut line = Vec::new();
            let close = self.open_conditions(&mut line, key, &tests);
            let known = n_always.is_some_and(|always| always < at);
            let before = match &shown {
                _ if known || (shown.is_none() && at > 0) => LeadingOutput::Blank,
                Some(shown) => LeadingOutput::Perhaps(shown),
                None => LeadingOutput::Nothing,
            };
            self.key(&mut line, key, before);
            line.extend_from_slice(close.as_bytes());
            self.lines.push(line);
        }
        let (class, event) = (self.plan.class, self.plan.id);
        let mut out = format!("\n# event {event} of class {class}\n").into_bytes();
        let _ = write!(ByteWriter(&mut out), "{:04X} 1.0 L=APPL \"@{class}:{event}\"", hook_of(class, event));
        for line in &self.lines {
            out.extend_from_slice(b" \\\n    ");
            out.extend_from_slice(line);
        }
        out.push(b'\n');
        out
    }

    fn line(&mut self, text: String) {
        self.lines.push(text.into_bytes());
    }

    fn definition(&self, key: &AppliedDefinition) -> &'m Definition {
        &self.model.definitions[key.definition]
    }

    /// Reads the fields that conditions test into macros. Returns the macros by key and field.
    fn condition_fields(&mut self) -> Vec<((usize, usize), String)> {
        let mut found: Vec<((usize, usize), String)> = Vec::new();
        for condition in self.plan.keys.iter().flat_map(|key| &key.conditions) {
            let Some(place) = condition.field else { continue };
            if found.iter().any(|(known, _)| *known == place) {
                continue;
            }
            let key = &self.plan.keys[place.0];
            let definition = self.definition(key);
            let field = &definition.fields[place.1];
            if !key.conditions.is_empty() {
                let text = "the condition ignores the conditions of the field that it tests";
                self.losses.shown_differently(definition.source, definition.span, text);
            }
            // The field is read a second time, in advance: a condition may test a datakey that comes later.
            let before = &definition.fields[..place.1];
            let skip: u64 = before.iter().map(|field| field.shape.len()).fold(0, u64::saturating_add);
            if before.iter().any(|field| field.shape == PayloadType::Text) {
                let text = "a field after a text of unknown length cannot be tested";
                self.losses.left_out(definition.source, field.span, text);
            }
            let name = self.names.of(&field.label);
            let offsets = key.offsets.map(|offset| offset.saturating_add(skip));
            let line = format!("{} {}", seek(offsets), read_into(&name, field));
            self.line(line);
            found.push((place, name));
        }
        found
    }

    /// Opens a case per condition. Returns the text that closes them.
    fn open_conditions(
        &mut self,
        line: &mut Vec<u8>,
        key: &AppliedDefinition,
        tests: &[((usize, usize), String)],
    ) -> String {
        let mut close = String::new();
        for ResolvedCondition { field, test, .. } in &key.conditions {
            let name = field.and_then(|place| tests.iter().find(|(known, _)| *known == place));
            let Some(((at, index), name)) = name else {
                // A case that never matches: no hook has words of 0 bytes.
                line.extend_from_slice(b"$WORDSIZE, 0 { ");
                close.push_str(" }");
                continue;
            };
            let of = &self.model.definitions[self.plan.keys[*at].definition].fields[*index];
            let (head, tail) = case(&format!("${name}%X{}", width(of)), *test);
            line.extend_from_slice(head.as_bytes());
            line.extend_from_slice(b"{ ");
            close.insert_str(0, &format!(" }}{tail}"));
        }
        close
    }

    /// Writes the fields of a datakey, from its own offset.
    fn key(&mut self, line: &mut Vec<u8>, key: &AppliedDefinition, before: LeadingOutput<'_>) {
        let definition = &self.model.definitions[key.definition];
        line.extend_from_slice(seek(key.offsets).as_bytes());
        let mut before = before;
        if let LeadingOutput::Perhaps(shown) = before {
            let _ = write!(ByteWriter(line), " ${shown}, 1 \" \" {{{{ ${shown} = 1 }}}}");
            before = LeadingOutput::Nothing;
        }
        for (at, field) in definition.fields.iter().enumerate() {
            if at > 0 {
                line.extend_from_slice(b" \\\n    ");
            } else {
                line.push(b' ');
            }
            self.field(line, definition, field, before);
            before = LeadingOutput::Blank;
            let rest = &definition.fields[at + 1..];
            // `A` reads a number of bytes; trcfmt cannot continue after a NUL.
            if field.shape == PayloadType::Text && !rest.is_empty() {
                let span = rest[0].span.to(rest[rest.len() - 1].span);
                let text = "a stanza cannot locate fields after a text of unknown length";
                self.losses.left_out(definition.source, span, text);
                break;
            }
        }
    }

    fn field(&mut self, line: &mut Vec<u8>, definition: &Definition, field: &FormatField, before: LeadingOutput<'_>) {
        let blank: &[u8] = if matches!(before, LeadingOutput::Blank) { b" " } else { b"" };
        let source = definition.source;
        let PayloadType::Number { .. } = field.shape else {
            return self.text_or_array(line, source, field, blank);
        };
        self.look(source, field);
        let prefix: &[u8] = match field.show {
            NumberStyle::Hex => b"0x",
            NumberStyle::Octal => b"0",
            NumberStyle::Decimal | NumberStyle::Char => b"",
        };
        let has_enums = !field.enums.is_empty() || field.default.is_some();
        if !has_enums && field.mask.is_none() {
            line.extend(quoted(&[blank, &field.label, b":", prefix].concat()));
            line.push(b' ');
            line.extend_from_slice(code(field).as_bytes());
            return;
        }
        let name = self.names.of(&field.label);
        line.extend_from_slice(read_into(&name, field).as_bytes());
        line.push(b' ');
        let (tested, cast) = (format!("${name}%X{}", width(field)), format!("${name}%{}", shown_as(field)));
        let with_value = definition.show_masked_value || !has_enums;
        let head = [blank, &field.label, b":"].concat();
        let (head, shown) = if with_value {
            ([&head, prefix].concat(), cast)
        } else {
            let prefix = if prefix.is_empty() { Vec::new() } else { [quoted(prefix), b" ".to_vec()].concat() };
            (head, String::from_utf8_lossy(&prefix).into_owned() + &cast)
        };
        line.extend(quoted(&head));
        if with_value {
            let _ = write!(ByteWriter(line), " {shown}");
        }
        if has_enums {
            self.enums(line, source, field, &tested, &shown, with_value);
        }
    }

    /// Reports numbers that look different in a stanza.
    fn look(&mut self, source: SourceId, field: &FormatField) {
        let text = match field.show {
            NumberStyle::Hex => "hex digits are padded with zeros to the field's width",
            NumberStyle::Octal => "zero is shown as `00`",
            NumberStyle::Char => "a character that is not printable is shown as `.`, and NUL not at all",
            NumberStyle::Decimal => return,
        };
        self.losses.shown_differently(source, field.span, text);
    }

    fn text_or_array(&mut self, line: &mut Vec<u8>, source: SourceId, field: &FormatField, blank: &[u8]) {
        match field.shape {
            PayloadType::Array { count, .. } => {
                self.look(source, field);
                let prefix: &[u8] = match field.show {
                    NumberStyle::Hex => b"0x",
                    NumberStyle::Octal => b"0",
                    NumberStyle::Decimal | NumberStyle::Char => b"",
                };
                line.extend(quoted(&[blank, &field.label, b":[", prefix].concat()));
                let code = code(field);
                let between = String::from_utf8_lossy(&quoted(&[b", ", prefix].concat())).into_owned();
                if count <= MAX_UNROLLED {
                    let _ = write!(ByteWriter(line), " `{code}`");
                    line.extend_from_slice(format!(" {between} `{code}`").repeat(count as usize - 1).as_bytes());
                } else {
                    let n = self.names.of(b"count");
                    let rest = count - 1;
                    let _ = write!(
                        ByteWriter(line),
                        " {{{{ ${n} = {rest} }}}} LOOP ${n} {{ `{code}` {between} }} `{code}`"
                    );
                }
                line.extend_from_slice(b" \"]\"");
            }
            PayloadType::Chars { count } => {
                line.extend(quoted(&[blank, &field.label, b":"].concat()));
                let _ = write!(ByteWriter(line), " A{count}");
                self.losses.shown_differently(source, field.span, UNPRINTABLE);
            }
            PayloadType::Text | PayloadType::Number { .. } => {
                line.extend(quoted(&[blank, &field.label, b":"].concat()));
                line.extend_from_slice(b" A65535");
                self.losses.shown_differently(source, field.span, UNPRINTABLE);
            }
        }
    }

    /// Writes the enum texts of a field.
    fn enums(
        &mut self,
        line: &mut Vec<u8>,
        source: SourceId,
        field: &FormatField,
        tested: &str,
        shown: &str,
        with_value: bool,
    ) {
        let masks = field.enums.iter().any(|found| matches!(found.test, Test::Mask { .. } | Test::Both { .. }));
        let needs_any = match field.search {
            EnumSearch::All => true,
            EnumSearch::Value => masks && (field.default.is_some() || !with_value),
        };
        let any = needs_any.then(|| self.names.of(b"any"));
        if let Some(any) = &any {
            let _ = write!(ByteWriter(line), " {{{{ ${any} = 0 }}}}");
        }
        let texts = EnumTexts { tested, shown, with_value, any: any.as_deref() };
        if !self.rest(line, field, &field.enums, texts, 0) {
            self.losses.left_out(source, field.span, "too many consecutive enums with `!`");
        }
    }

    /// Writes the enums from the first of `enums` on. Returns false if they are nested too deeply.
    fn rest(
        &mut self,
        line: &mut Vec<u8>,
        field: &FormatField,
        enums: &[EnumLabel],
        texts: EnumTexts<'_>,
        depth: usize,
    ) -> bool {
        if depth > MAX_DEPTH {
            return false;
        }
        let Some((first, others)) = enums.split_first() else {
            self.write_unmatched(line, field, texts);
            return true;
        };
        let ends = field.search == EnumSearch::Value;
        match first.test {
            Test::Value { bits: Some(_), not: false } if ends => {
                // Consecutive values become one switch.
                let n = enums.iter().take_while(|next| matches!(next.test, Test::Value { not: false, .. })).count();
                let (values, rest) = enums.split_at(n);
                let mut seen = HashSet::new();
                let _ = write!(ByteWriter(line), " {}", texts.tested);
                for value in values {
                    let Test::Value { bits: Some(bits), .. } = value.test else { continue };
                    if seen.insert(bits) {
                        let _ = write!(ByteWriter(line), ", {bits:#x} ");
                        line.extend(self.shown_text(&value.text, texts, false));
                    }
                }
                let mut remainder = Vec::new();
                let whole = self.rest(&mut remainder, field, rest, texts, depth + 1);
                if !remainder.is_empty() {
                    line.extend_from_slice(b", \\* ");
                    line.extend(body(&remainder[1..]));
                }
                whole
            }
            Test::Value { bits: Some(bits), not: true } if ends => {
                let _ = write!(ByteWriter(line), " {}, {bits:#x} {{", texts.tested);
                let whole = self.rest(line, field, others, texts, depth + 1);
                line.extend_from_slice(b" }, \\* ");
                line.extend(self.shown_text(&first.text, texts, false));
                whole
            }
            Test::Value { bits: None, not: true } if ends => {
                line.push(b' ');
                line.extend(self.items(&first.text, texts, false));
                true
            }
            test => {
                self.one_test(line, test, &first.text, texts);
                self.rest(line, field, others, texts, depth)
            }
        }
    }

    /// Writes a test that does not end the search.
    fn one_test(&mut self, line: &mut Vec<u8>, test: Test, text: &[u8], texts: EnumTexts<'_>) {
        match test {
            Test::Value { bits: None, not } | Test::Mask { bits: None, not } if !not => {}
            Test::Value { bits: None, .. } | Test::Mask { bits: None, .. } => {
                line.push(b' ');
                line.extend(self.items(text, texts, true));
            }
            test => {
                let (head, tail) = case(texts.tested, test);
                line.push(b' ');
                line.extend_from_slice(head.as_bytes());
                line.extend(self.shown_text(text, texts, true));
                line.extend_from_slice(tail.as_bytes());
            }
        }
    }

    /// Writes the output for values that no `value` enum matched.
    fn write_unmatched(&mut self, line: &mut Vec<u8>, field: &FormatField, texts: EnumTexts<'_>) {
        let mut items = match (&field.default, texts.with_value) {
            (Some(text), _) => self.items(text, EnumTexts { any: None, ..texts }, false),
            (None, true) => return,
            (None, false) => texts.shown.as_bytes().to_vec(),
        };
        if let Some(any) = texts.any {
            items = [format!("${any}, 0 {{ ").as_bytes(), &items, b" }"].concat();
        }
        line.push(b' ');
        line.extend(items);
    }

    /// Body of a case that prints an enum's text.
    fn shown_text(&self, text: &[u8], texts: EnumTexts<'_>, goes_on: bool) -> Vec<u8> {
        body(&self.items(text, texts, goes_on))
    }

    /// Items that print an enum's text after earlier output.
    fn items(&self, text: &[u8], texts: EnumTexts<'_>, goes_on: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let blank: &[u8] = if texts.with_value { b" " } else { b"" };
        if let (Some(any), false) = (texts.any, texts.with_value) {
            let _ = write!(ByteWriter(&mut out), "${any}, 1 \" \" ");
        }
        out.extend(quoted(&[blank, text].concat()));
        if let Some(any) = texts.any.filter(|_| goes_on) {
            let _ = write!(ByteWriter(&mut out), " {{{{ ${any} = 1 }}}}");
        }
        out
    }
}

const UNPRINTABLE: &str = "bytes that are not printable are shown as `.`";

/// Items printed before the first text of a datakey.
#[derive(Clone, Copy)]
enum LeadingOutput<'s> {
    Nothing,
    Blank,
    /// A blank if this macro is 1.
    Perhaps(&'s str),
}

/// Writes formatted text to a byte buffer.
struct ByteWriter<'b>(&'b mut Vec<u8>);

impl Write for ByteWriter<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// String literals for a text. A `"` is put in backquotes.
fn quoted(text: &[u8]) -> Vec<u8> {
    let clean: Vec<u8> = text.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect();
    let parts: Vec<Vec<u8>> = clean.split(|byte| *byte == b'"').map(|part| [b"\"", part, b"\""].concat()).collect();
    parts.join(&b" `\"` "[..])
}

/// Items as the body of a case: in braces unless they are a single string.
fn body(items: &[u8]) -> Vec<u8> {
    let is_one_string = items.len() > 1 && items[0] == b'"' && !items[1..items.len() - 1].contains(&b'"');
    if is_one_string { items.to_vec() } else { [b"{ ", items, b" }"].concat() }
}

/// Moves the data pointer to an offset of the payload, which may differ in wide records.
fn seek([simple, wide]: [u64; 2]) -> String {
    let skip = |offset: u64| if offset == 0 { String::new() } else { format!(" O{}", offset.min(u32::MAX.into())) };
    if simple == wide {
        return format!("W1{}", skip(simple));
    }
    format!("W1 $GENERIC, 1 {{{} }}, \\* {{{} }}", skip(wide), skip(simple))
}

/// Width of a number in bytes.
fn width(field: &FormatField) -> u8 {
    match field.shape {
        PayloadType::Number { bytes, .. } | PayloadType::Array { bytes, .. } => bytes,
        PayloadType::Chars { .. } | PayloadType::Text => 1,
    }
}

/// Code that prints a number.
fn code(field: &FormatField) -> String {
    let (PayloadType::Number { bytes, signed } | PayloadType::Array { bytes, signed, .. }) = field.shape else {
        return String::from("A1");
    };
    let letter = match field.show {
        NumberStyle::Decimal if signed => 'D',
        NumberStyle::Decimal => 'U',
        NumberStyle::Hex => 'X',
        NumberStyle::Octal => 'o',
        NumberStyle::Char => 'A',
    };
    format!("{letter}{bytes}")
}

/// Cast that prints a number from a macro; unsigned if the field has a mask.
fn shown_as(field: &FormatField) -> String {
    let code = code(field);
    if field.mask.is_some() { code.replace('D', "U") } else { code }
}

/// `{{ $name = … }}` with the field's mask.
fn read_into(name: &str, field: &FormatField) -> String {
    let read = format!("U{}", width(field));
    match field.mask {
        None => format!("{{{{ ${name} = {read} }}}}"),
        Some(mask) if mask == 0 || mask & 1 == 1 => format!("{{{{ ${name} = {read} & {mask:#x} }}}}"),
        // The shift must be a bit range, because division is signed.
        Some(mask) if mask >> 63 == 1 => {
            let (low, mask) = (mask.trailing_zeros(), mask >> mask.trailing_zeros());
            format!("{{{{ ${name} = {read} }}}} {{{{ ${name} = ${name}%W{low}.63 & {mask:#x} }}}}")
        }
        // trcfmt has no shift, so the lowest bit of the mask divides.
        Some(mask) => format!("{{{{ ${name} = ({read} & {mask:#x}) / {} }}}}", 1u64 << mask.trailing_zeros()),
    }
}

/// Text before and after the body of the case for a test.
fn case(tested: &str, test: Test) -> (String, &'static str) {
    let (selector, bits, not) = match test {
        Test::Value { bits, not } => (tested.to_owned(), bits, not),
        Test::Mask { bits, not } => (format!("{tested} & {:#x}", bits.unwrap_or(0)), bits, not),
        Test::Both { mask, bits, not } => {
            let bits = mask.and(bits);
            (format!("{tested} & {:#x}", mask.unwrap_or(0)), bits, not)
        }
    };
    match (bits, not) {
        (Some(bits), false) => (format!("{selector}, {bits:#x} "), ""),
        (Some(bits), true) => (format!("{selector}, {bits:#x} \"\", \\* "), ""),
        // No value equals the literal, so the test is constant.
        (None, false) => ("$WORDSIZE, 0 ".to_owned(), ""),
        (None, true) => ("$WORDSIZE, \\* ".to_owned(), ""),
    }
}
