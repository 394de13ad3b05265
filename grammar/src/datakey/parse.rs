//! Parses a whole file: from XML elements to the tree.
//!
//! An error is reported at the tag of its element. It refuses the enclosing datakey, or the enclosing event of an
//! eventclass; the rest of the file is still parsed.

mod comments;
mod fixes;

use std::borrow::Cow;

use super::ast::*;
use super::codes;
use super::format::{FormatParser, canonical};
use super::number::{NumberError, is_blank, number};
use super::xml::{Attribute, FatalError, Tag, XmlReader, XmlToken};
use crate::allow;
use crate::excerpt::excerpt;
use crate::reports::Reports;
use crate::{Arena, CodeInfo, Diagnostic, Edit, Fix, Source, SourceId, SourceLimits, Span, Spanned, closest};
use fixes::{may_hold_array, write, zeros};

pub(super) const ROOTS: [&str; 3] = ["eventdefinitions", "eventdefinition", "eventformatting"];

/// Known attributes, per element.
const DATAKEY: &[&str] = &["format", "offset", "wide_offset", "show_masked_value", "sformat"];
const EVENT: &[&str] = &["class", "id"];
const BITMASK: &[&str] = &["name", "value", "key"];
const ENUM: &[&str] = &["name", "value", "mask", "string", "default", "key"];
const CONDITION: &[&str] = &["name", "value", "mask", "key"];
const EVENT_CLASS: &[&str] = &["id", "name"];
const CLASS_EVENT: &[&str] = &["id", "sformat", "format"];

/// Parses a file of event definitions. The tree lives in `arena`; diagnostics refer to the source by `id`.
///
/// Elements with errors are marked as refused or left out, without effect on the rest. A file that is not XML or has
/// another root is refused as a whole. Diagnostics are in source order.
///
/// ```
/// use tfbc_grammar::{Arena, Source, SourceId, datakey};
///
/// let arena = Arena::new();
/// let source = Source::new("a.xml", "<eventdefinitions>
///   <datakey format=\"%2u1x state\">
///     <event class=\"6\" id=\"65\"/>
///     <enum value=\"1\" string=\"\"/>
///   </datakey>
/// </eventdefinitions>");
/// let (file, diagnostics) = datakey::parse(&arena, SourceId(0), &source);
/// assert!(matches!(file.items, [datakey::ast::TopLevelElement::Datakey(datakey)] if datakey.refused));
/// assert_eq!(diagnostics[0].code.code, "X17");
/// assert_eq!(source.line_column(diagnostics[0].primary.span.start), (4, 5));
/// ```
pub fn parse<'ast>(arena: &'ast Arena, id: SourceId, source: &Source) -> (File<'ast>, Vec<Diagnostic>) {
    parse_within(arena, id, source, &SourceLimits::default())
}

/// Parses with the given limits. The compiler checks the number of definitions.
pub fn parse_within<'ast>(
    arena: &'ast Arena,
    id: SourceId,
    source: &Source,
    limits: &SourceLimits,
) -> (File<'ast>, Vec<Diagnostic>) {
    let reports = Reports::reading_on(id, source);
    let file = FileParser::new(arena, &reports, limits).and_then(FileParser::file).unwrap_or_else(|fault| {
        reports.add(*fault);
        File { refused: true, ..File::default() }
    });
    let mut found = reports.finish();
    found.iter_mut().for_each(|diagnostic| file.name_refused(diagnostic));
    (file, found)
}

struct FileParser<'ast, 's> {
    arena: &'ast Arena,
    reports: &'s Reports<'s>,
    xml: XmlReader<'s>,
    formats: FormatParser<'ast, 's>,
    settings: Vec<Setting<'ast>>,
    allows: Vec<Allow<'ast>>,
    /// `allow=` comments before the next element; used only after the root's first child.
    before: Vec<Allow<'ast>>,
    /// Entries of the `fields=` comments before the next element.
    fields: Vec<Spanned<&'ast [u8]>>,
    /// Open elements: (offset of the start tag, number of `allows` before it).
    open: Vec<(u32, usize)>,
    /// True if the root has had a child.
    has_child: bool,
}

impl<'ast, 's> FileParser<'ast, 's> {
    fn new(arena: &'ast Arena, reports: &'s Reports<'s>, limits: &SourceLimits) -> Result<Self, FatalError> {
        let (xml, formats) = (XmlReader::new(reports, limits)?, FormatParser::new(arena, reports));
        Ok(Self {
            arena,
            reports,
            xml,
            formats,
            settings: Vec::new(),
            allows: Vec::new(),
            before: Vec::new(),
            fields: Vec::new(),
            open: Vec::new(),
            has_child: false,
        })
    }

    fn file(mut self) -> Result<File<'ast>, FatalError> {
        let root = self.root()?;
        self.warn_unknown(&root, &[]);
        let items = self.items(root.name)?;
        // Only comments and instructions can follow the root; the reader has refused everything else.
        while let Some(piece) = self.next()? {
            if let XmlToken::Comment(text, place) = piece {
                self.comment(text, place);
            }
        }
        self.allow_nothing();
        let (settings, allows) = (self.arena.slice(&self.settings), self.arena.slice(&self.allows));
        Ok(File { settings, allows, items, refused: false })
    }

    fn root(&mut self) -> Result<Tag<'s>, FatalError> {
        loop {
            match self.next()? {
                Some(XmlToken::Start(tag)) if ROOTS.contains(&tag.name) => return Ok(tag),
                Some(XmlToken::Start(tag)) => {
                    let message = format!("unknown root element `{}`", excerpt(tag.name.as_bytes()));
                    return Err(self.unknown_root(tag.span, message));
                }
                // A DOCTYPE that declares entities was refused before; any other changes nothing.
                Some(XmlToken::Doctype(place)) => {
                    let warning = self.reports.warning(&codes::DOCTYPE, place, "DOCTYPE is ignored");
                    let whole = Span::new(place.start, self.xml.offset());
                    let whole = allow::whole_lines(self.reports.source, whole);
                    let fix = Fix::safe("delete the DOCTYPE", [Edit::delete(whole)]);
                    self.reports.add(warning.with_help("delete it").with_fix(fix));
                }
                Some(XmlToken::Comment(text, place)) => self.comment(text, place),
                Some(XmlToken::Text(_) | XmlToken::End) => {}
                None => return Err(self.unknown_root(Span::default(), "document without root element".into())),
            }
        }
    }

    fn unknown_root(&self, place: Span, message: String) -> FatalError {
        const SKELETON: &str = "write event definitions like this: <eventdefinitions><datakey format=\"%4u1x label\">\
                                <event class=\"6\" id=\"65\"/></datakey></eventdefinitions>";
        Box::new(self.reports.error(&codes::UNKNOWN_ROOT, place, message).with_help(SKELETON))
    }

    fn items(&mut self, root: &str) -> Result<&'ast [TopLevelElement<'ast>], FatalError> {
        let mut items = self.arena.list();
        while let Some(tag) = self.child()? {
            match tag.name {
                "datakey" => items.push(TopLevelElement::Datakey(self.datakey(&tag)?)),
                "eventclass" => items.push(TopLevelElement::EventClass(self.event_class(&tag)?)),
                _ => self.unknown_element(&tag, root, &["datakey", "eventclass"])?,
            }
        }
        Ok(items.into_bump_slice())
    }

    /// Reads up to the next child and returns its start tag; `None` at the end of the element.
    fn child(&mut self) -> Result<Option<Tag<'s>>, FatalError> {
        let mut has_warned = false;
        loop {
            match self.next()? {
                Some(XmlToken::Start(tag)) => {
                    self.has_child = true;
                    return Ok(Some(tag));
                }
                Some(XmlToken::End) | None => return Ok(None),
                // One warning per element is enough; each piece of the text would give another.
                Some(XmlToken::Text(place)) if !has_warned => {
                    has_warned = true;
                    let text = excerpt(self.reports.source.slice(place));
                    let message = format!("text `{text}` between elements is ignored");
                    let warning = self.reports.warning(&codes::TEXT, place, message);
                    self.reports.add(warning.with_help("put comments in `<!-- … -->`"));
                }
                Some(XmlToken::Text(_) | XmlToken::Doctype(_)) => {}
                Some(XmlToken::Comment(text, place)) => self.comment(text, place),
            }
        }
    }

    /// Reads to the end of an element that has no children, and warns about any it contains.
    fn expect_no_children(&mut self, parent: &str) -> Result<(), FatalError> {
        while let Some(tag) = self.child()? {
            self.unknown_element(&tag, parent, &[])?;
        }
        Ok(())
    }

    /// Warns about an unknown element and skips it.
    fn unknown_element(&mut self, tag: &Tag, parent: &str, known: &[&str]) -> Result<(), FatalError> {
        let name = excerpt(tag.name.as_bytes());
        let message = format!("`{parent}` has no element `{name}`: it is ignored");
        let warning = self.reports.warning(&codes::UNKNOWN_ELEMENT, tag.span, message);
        let near = closest(tag.name, known);
        let help = near.map(|known| format!("did you mean `{known}`?")).or_else(|| right_parent(tag.name));
        // The fix renames the end tag too, whose position is only known after the element was skipped.
        let skipped = self.skip();
        let fix = near.filter(|_| skipped.is_ok()).map(|known| self.rename(tag, known));
        self.reports.add(Diagnostic { help, fix, ..warning });
        skipped
    }

    /// Skips to the end of the innermost open element.
    fn skip(&mut self) -> Result<(), FatalError> {
        // A count instead of recursion; the reader has limited the depth.
        let mut depth = 1_usize;
        while depth > 0 {
            match self.next()? {
                Some(XmlToken::Start(_)) => depth += 1,
                Some(XmlToken::End) => depth -= 1,
                Some(_) => {}
                None => break,
            }
        }
        Ok(())
    }

    fn warn_unknown(&self, tag: &Tag, known: &[&str]) {
        for attribute in tag.attributes.iter().filter(|attribute| !known.contains(&attribute.name)) {
            let name = excerpt(attribute.name.as_bytes());
            let message = format!("`{}` has no attribute `{name}`: it is ignored", tag.name);
            let mut warning = self.warning(&codes::UNKNOWN_ATTRIBUTE, tag, attribute.span, message, "unknown");
            if let Some(known) = closest(attribute.name, known) {
                warning.help = Some(format!("did you mean `{known}`?"));
                // A rename must not create a second attribute of that name: that is not well-formed.
                warning.fix = tag.get(known).is_none().then(|| write(attribute.name_span, known));
            }
            self.reports.add(warning);
        }
    }

    fn error(&self, code: &'static CodeInfo, tag: &Tag, message: impl Into<String>) -> Diagnostic {
        self.reports.error(code, tag.span, message)
    }

    /// An error at a tag, with a label at `place` inside it.
    fn error_at(
        &self,
        code: &'static CodeInfo,
        tag: &Tag,
        place: Span,
        message: impl Into<String>,
        label: &str,
    ) -> Diagnostic {
        self.error(code, tag, message).with_secondary(self.reports.id(), place, label)
    }

    fn warning(
        &self,
        code: &'static CodeInfo,
        tag: &Tag,
        place: Span,
        message: impl Into<String>,
        label: &str,
    ) -> Diagnostic {
        self.reports.warning(code, tag.span, message).with_secondary(self.reports.id(), place, label)
    }

    // Elements.

    fn datakey(&mut self, tag: &Tag<'s>) -> Result<Datakey<'ast>, FatalError> {
        // A datakey is refused if any part of it has an error. The rest is still read, so that all errors are reported
        // at once.
        let n_errors = self.reports.n_errors();
        let fields = std::mem::take(&mut self.fields);
        self.warn_unknown(tag, DATAKEY);
        let format = self.format(tag, "format", "sformat");
        let offset = self.offset(tag, "offset");
        let wide_offset = self.offset(tag, "wide_offset");
        let show_masked_value = self.boolean(tag, "show_masked_value").unwrap_or(true);
        let (mut events, mut bitmasks, mut enums, mut conditions) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut has_event = false;
        while let Some(child) = self.child()? {
            match child.name {
                "event" => {
                    has_event = true;
                    events.extend(self.event(&child)?);
                }
                "bitmask" => bitmasks.extend(self.bitmask(&child)?),
                "enum" => enums.extend(self.enumeration(&child)?),
                // A condition without `name` means the only label of its own datakey, so it needs the format.
                "condition" => conditions.extend(self.condition(&child, format.as_ref())?),
                _ => self.unknown_element(&child, tag.name, &["event", "bitmask", "enum", "condition"])?,
            }
        }
        if !has_event {
            let error = self.error(&codes::NO_EVENT, tag, "`datakey` names no event");
            self.reports.add(error.with_help("add an event, for example `<event class=\"6\" id=\"65\"/>`"));
        }
        Ok(Datakey {
            tag: tag.span,
            refused: self.reports.n_errors() != n_errors,
            format,
            offset,
            wide_offset,
            show_masked_value,
            events: self.arena.slice(&events),
            bitmasks: self.arena.slice(&bitmasks),
            enums: self.arena.slice(&enums),
            conditions: self.arena.slice(&conditions),
            fields: self.arena.slice(&fields),
        })
    }

    /// Range of an element whose end has been read, with the blanks before it on its line.
    fn element_span(&self, tag: &Tag) -> Span {
        allow::with_blanks(self.reports.source, Span::new(tag.span.start, self.xml.offset()))
    }

    fn event(&mut self, tag: &Tag<'s>) -> Result<Option<EventElement<'ast>>, FatalError> {
        self.warn_unknown(tag, EVENT);
        let class = self.key(tag, "class", "`class=\"6\"` is the class of user events");
        let id = self.key(tag, "id", "`id=\"65\"` is the event of `trace_logf(65, …)`");
        // Read to the end before the element is judged: its span is needed for fixes that delete it.
        self.expect_no_children(tag.name)?;
        let whole = self.element_span(tag);
        Ok(class.zip(id).map(|(class, id)| EventElement { tag: tag.span, whole, class, id }))
    }

    fn event_class(&mut self, tag: &Tag<'s>) -> Result<EventClass<'ast>, FatalError> {
        self.warn_unknown(tag, EVENT_CLASS);
        let id = self.key(tag, "id", "`id=\"6\"` is the class of user events; older samples by QNX omit it");
        let mut events = self.arena.list();
        while let Some(child) = self.child()? {
            match child.name {
                "event" => events.push(self.class_event(&child)?),
                _ => self.unknown_element(&child, tag.name, &["event"])?,
            }
        }
        if events.is_empty() {
            let warning = self.reports.warning(&codes::EMPTY_CLASS, tag.span, "`eventclass` contains no event");
            self.reports
                .add(warning.with_help("add an event, for example `<event id=\"65\" sformat=\"%4u1x label\"/>`"));
        }
        Ok(EventClass { tag: tag.span, id, events: events.into_bump_slice() })
    }

    fn class_event(&mut self, tag: &Tag<'s>) -> Result<ClassEvent<'ast>, FatalError> {
        let n_errors = self.reports.n_errors();
        self.warn_unknown(tag, CLASS_EVENT);
        let id = self.key(tag, "id", "for example `id=\"65\"`; older samples by QNX omit it");
        let format = self.format(tag, "sformat", "format");
        let refused = self.reports.n_errors() != n_errors;
        self.expect_no_children(tag.name)?;
        Ok(ClassEvent { tag: tag.span, refused, id, format })
    }

    fn bitmask(&mut self, tag: &Tag<'s>) -> Result<Option<Bitmask<'ast>>, FatalError> {
        self.warn_unknown(tag, BITMASK);
        let name = self.name(tag);
        if tag.get("value").is_none() {
            self.missing(tag, "value", "for example `value=\"0xff00\"`");
        }
        let value = self.number(tag, "value", false);
        self.expect_no_children(tag.name)?;
        Ok(value.map(|value| Bitmask { tag: tag.span, name, value }))
    }

    /// Parses a condition. `format` is the format of its datakey, or `None` if that has an error.
    fn condition(
        &mut self,
        tag: &Tag<'s>,
        format: Option<&Format<'ast>>,
    ) -> Result<Option<Condition<'ast>>, FatalError> {
        self.warn_unknown(tag, CONDITION);
        let mut name = self.name(tag);
        match format.map(|format| format.fields) {
            Some([only]) => name = name.or(Some(Spanned::new(only.label.node, tag.span))),
            Some(_) if name.is_none() => self.missing(tag, "name", "it is the label of a field of another datakey"),
            _ => {}
        }
        let n_errors = self.reports.n_errors();
        let (value, mask) = (self.number(tag, "value", true), self.number(tag, "mask", true));
        // A number that is not valid was reported already; "neither `value` nor `mask`" would be a second report of one
        // mistake.
        let is_good = self.reports.n_errors() == n_errors;
        if is_good && value.is_none() && mask.is_none() {
            let error = self.error(&codes::CONDITION, tag, "`condition` has neither `value` nor `mask`");
            self.reports.add(error.with_help("write for example `value=\"1\"`, `mask=\"0x10\"` or both"));
        }
        if let (Some(Literal { not: true, .. }), Some(Literal { not: true, span, .. })) = (value, mask) {
            let message = "`!` before both `value` and `mask` of a condition: they cancel each other";
            let warning = self.warning(&codes::DOUBLE_NOT, tag, span, message, "second");
            let marks = [value, mask].into_iter().flatten().map(|literal| literal.span.start);
            let mut marks: Vec<u32> = marks.collect();
            marks.sort_unstable();
            let edits = marks.into_iter().map(|at| Edit::delete(Span::new(at, at + 1)));
            let fix = Fix::safe("delete both `!`", edits);
            // Not in plain form if written as a reference such as `&#33;`, which is longer than its character.
            let source = self.reports.source;
            let is_plain = fix.edits.iter().all(|edit| source.slice(edit.span) == b"!");
            let warning = warning.with_help("delete both");
            self.reports.add(if is_plain { warning.with_fix(fix) } else { warning });
        }
        self.expect_no_children(tag.name)?;
        let is_good = is_good && (value.is_some() || mask.is_some());
        Ok(name.filter(|_| is_good).map(|name| Condition { tag: tag.span, name, value, mask }))
    }

    fn enumeration(&mut self, tag: &Tag<'s>) -> Result<Option<Enum<'ast>>, FatalError> {
        self.warn_unknown(tag, ENUM);
        let name = self.name(tag);
        let body = self.enum_body(tag);
        self.expect_no_children(tag.name)?;
        let whole = self.element_span(tag);
        Ok(body.map(|(test, text)| Enum { tag: tag.span, whole, name, test, text }))
    }

    fn enum_body(&self, tag: &Tag<'s>) -> Option<(EnumTest, &'ast [u8])> {
        let (default, text) = (tag.get("default"), tag.get("string"));
        let (value, mask) = (tag.get("value"), tag.get("mask"));
        // `default` replaces the test, so there is nothing for `value` or `mask` to mean.
        if let Some(other) = default.and(value.or(mask).or(text)) {
            let message = format!("`enum` has both `default` and `{}`", other.name);
            let error = self.error_at(&codes::ENUM, tag, other.span, message, "the same enum has `default`");
            self.reports.add(error.with_help("give the default an `enum` of its own"));
            return None;
        }
        if let Some(default) = default {
            return self.text(tag, default).map(|text| (EnumTest::Default, text));
        }
        let test = match (value, mask) {
            (Some(_), None) => self.number(tag, "value", true).map(EnumTest::Value),
            (None, Some(_)) => self.number(tag, "mask", true).map(EnumTest::Mask),
            (Some(_), Some(mask)) => {
                let message = "`enum` has both `value` and `mask`";
                let error = self.error_at(&codes::ENUM, tag, mask.span, message, "the same enum has `value`");
                self.reports.add(error.with_help("use a `bitmask` for the mask, or delete one of them"));
                None
            }
            (None, None) => {
                let error = self.error(&codes::ENUM, tag, "`enum` has neither `value`, `mask` nor `default`");
                self.reports.add(error.with_help("write for example `value=\"1\"`"));
                None
            }
        };
        let Some(text) = text else {
            let error = self.error(&codes::ENUM, tag, "`enum` has no `string`");
            self.reports.add(error.with_help("write for example `string=\"READY\"`"));
            return None;
        };
        test.zip(self.text(tag, text))
    }

    // Attributes.

    fn missing(&self, tag: &Tag, attribute: &str, hint: &str) {
        let message = format!("`{}` has no `{attribute}`", tag.name);
        let error = self.error(&codes::MISSING_ATTRIBUTE, tag, message);
        self.reports.add(error.with_help(format!("add `{attribute}`: {hint}")));
    }

    fn format(&self, tag: &Tag<'s>, right: &str, other: &str) -> Option<Format<'ast>> {
        let (used, message) = match (tag.get(right), tag.get(other)) {
            (None, None) => {
                self.missing(tag, right, &format!("for example `{right}=\"%4u1x label\"`"));
                return None;
            }
            (Some(used), None) => return self.formats.read(tag, used),
            (Some(used), Some(_)) => {
                (used, format!("`{}` has both `{right}` and `{other}`: `{right}` is used", tag.name))
            }
            (None, Some(used)) => (used, format!("expected attribute `{right}` in `{}`, found `{other}`", tag.name)),
        };
        let place = tag.get(other).map_or(used.span, |other| other.span);
        let fix = match (tag.get(right), tag.get(other)) {
            (Some(_), Some(other)) => Some(self.delete(other)),
            // Renaming `sformat` to `format` would turn an array into an error.
            (None, Some(other)) if right == "sformat" || !may_hold_array(&other.value.text) => {
                Some(Fix { safe: true, ..write(other.name_span, right) })
            }
            _ => None,
        };
        let warning = self.warning(&codes::SPELLING, tag, place, message, "other spelling");
        self.reports.add(Diagnostic { fix, ..warning });
        self.formats.read(tag, used)
    }

    fn offset(&self, tag: &Tag<'s>, attribute: &str) -> Option<Spanned<u64>> {
        let literal = self.number(tag, attribute, false)?;
        let offset = u64::try_from(literal.value).ok();
        if offset.is_none() {
            let message = format!("`{attribute}` is {}, expected 0 or more bytes", literal.value);
            self.reports.add(self.error_at(&codes::NEGATIVE_OFFSET, tag, literal.span, message, "negative"));
        }
        offset.map(|offset| Spanned::new(offset, literal.span))
    }

    fn boolean(&self, tag: &Tag<'s>, attribute: &str) -> Option<bool> {
        let (text, place) = tag.get(attribute)?.value.trimmed();
        let value = match text {
            _ if text.eq_ignore_ascii_case("true") => Some(true),
            _ if text.eq_ignore_ascii_case("false") => Some(false),
            _ => None,
        };
        if value.is_none() {
            let found = excerpt(text.as_bytes());
            let message = format!("`{attribute}` must be `true` or `false`, found `{found}`");
            self.reports.add(self.error_at(&codes::BAD_BOOLEAN, tag, place, message, ""));
        }
        value
    }

    /// Number of an attribute; `None` if it is missing or invalid. Invalid ones are reported.
    fn number(&self, tag: &Tag<'s>, attribute: &str, may_invert: bool) -> Option<Literal> {
        let attribute = tag.get(attribute)?;
        let (text, span) = attribute.value.trimmed();
        let number = match number(text) {
            Ok(number) if !number.not || may_invert => number,
            Ok(_) => {
                let message = format!("`{}` of `{}` cannot have a `!`", attribute.name, tag.name);
                self.reports.add(self.error_at(&codes::BAD_NUMBER, tag, span, message, ""));
                return None;
            }
            Err(error) => {
                self.bad_number(tag, attribute, error);
                return None;
            }
        };
        if number.zeros {
            // C reads such a number as octal, so its author may have meant another value.
            let message = format!("`{text}` is the decimal number {}", number.value);
            let warning = self.warning(&codes::LEADING_ZEROS, tag, span, message, "leading zeros");
            let warning = warning.with_help("delete the zeros, or write `0x` before hexadecimal digits");
            let (start, len) = zeros(text);
            let place = Span::new(span.start + start as u32, span.start + (start + len) as u32);
            // The fix is only offered if no zero is a reference such as `&#48;`.
            let is_plain = self.reports.source.slice(place).iter().all(|byte| *byte == b'0');
            let is_plain = is_plain && span.len() as usize == text.len();
            let fix = Fix::safe("delete the zeros", [Edit::delete(place)]);
            self.reports.add(if is_plain { warning.with_fix(fix) } else { warning });
        }
        Some(Literal { not: number.not, value: number.value, span })
    }

    fn bad_number(&self, tag: &Tag, attribute: &Attribute, error: NumberError) {
        let (text, place) = attribute.value.trimmed();
        let (name, found) = (attribute.name, excerpt(text.as_bytes()));
        let message = match error {
            NumberError::Empty => format!("`{name}` is empty, expected a number"),
            NumberError::TooLarge => format!("`{name}` does not fit in 64 bits, found `{found}`"),
            _ => format!("`{name}` is not a number, found `{found}`"),
        };
        let help = match error {
            NumberError::Plus => Some("delete the `+`"),
            NumberError::UpperX => Some("write a lower-case `x`"),
            NumberError::TooLarge => None,
            _ => Some("write a decimal number, or `0x` and a hexadecimal one"),
        };
        let error = self.error_at(&codes::BAD_NUMBER, tag, place, message, "");
        self.reports.add(match help {
            Some(help) => error.with_help(help),
            None => error,
        });
    }

    /// Class or event id; reports it if it is missing. A text that begins with a letter or `_` is a name, any other a
    /// number.
    fn key(&self, tag: &Tag<'s>, attribute: &str, hint: &str) -> Option<Key<'ast>> {
        let Some(found) = tag.get(attribute) else {
            self.missing(tag, attribute, hint);
            return None;
        };
        let (text, span) = found.value.trimmed();
        if text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()) {
            return Some(Key { span, kind: KeyKind::Name(self.arena.slice(text.as_bytes())) });
        }
        let number = self.number(tag, attribute, false)?;
        Some(Key { span, kind: KeyKind::Number(number.value) })
    }

    /// Label in `name` or its older spelling `key`.
    fn name(&self, tag: &Tag<'s>) -> Option<Name<'ast>> {
        let (name, key) = (tag.get("name"), tag.get("key"));
        if let (Some(_), Some(key)) = (name, key) {
            let message = format!("`{}` has both `name` and `key`: `name` is used", tag.name);
            let warning = self.warning(&codes::NAME_AND_KEY, tag, key.span, message, "ignored");
            self.reports.add(warning.with_help("delete `key`").with_fix(self.delete(key)));
        }
        let (_, span) = name.or(key)?.value.trimmed();
        let label = canonical(&name.or(key)?.value.text);
        Some(Spanned::new(self.arena.slice(label.as_bytes()), span))
    }

    /// Text of an enum; reports it if it is empty.
    fn text(&self, tag: &Tag, attribute: &Attribute) -> Option<&'ast [u8]> {
        let text: &Cow<str> = &attribute.value.text;
        if text.is_empty() {
            let message = format!("`{}` of `enum` is empty", attribute.name);
            self.reports.add(self.error_at(&codes::EMPTY_TEXT, tag, attribute.span, message, ""));
            return None;
        }
        Some(self.arena.slice(text.as_bytes()))
    }

    /// Renames an element, in both tags. Its end must have been read.
    fn rename(&self, tag: &Tag, name: &str) -> Fix {
        let start = Span::new(tag.span.start + 1, tag.span.end);
        let end = self.xml.offset();
        let text = self.reports.source.slice(Span::new(start.end, end));
        let len = start.len();
        let in_end_tag = text.iter().rposition(|byte| *byte == b'<').filter(|at| text[at + 1..].starts_with(b"/"));
        let mut fix = write(start, name);
        fix.edits.extend(in_end_tag.map(|at| {
            let at = start.end + at as u32 + 2;
            Edit::replace(Span::new(at, at + len), name)
        }));
        fix
    }

    /// Deletes an attribute and the blanks before it.
    fn delete(&self, attribute: &Attribute) -> Fix {
        let before = &self.reports.source.bytes()[..attribute.span.start as usize];
        let n_blanks = before.iter().rev().take_while(|byte| is_blank(char::from(**byte))).count() as u32;
        let place = Span::new(attribute.span.start - n_blanks, attribute.span.end);
        Fix::safe(format!("delete `{}`", attribute.name), [Edit::delete(place)])
    }
}

/// Help for a known element in the wrong parent.
fn right_parent(name: &str) -> Option<String> {
    let home = match name {
        "datakey" | "eventclass" => "`eventdefinitions`",
        "event" => "`datakey` or `eventclass`",
        "bitmask" | "enum" | "condition" => "`datakey`",
        _ => return None,
    };
    Some(format!("move `{name}` directly into {home}"))
}
