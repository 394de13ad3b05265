//! XML pieces with their spans, on top of quick-xml.
//!
//! quick-xml splits the document but does not check all of well-formedness. This module checks the rest: names,
//! characters, references, blanks between attributes, a single root. It also enforces the limits, so that callers see
//! at most [`SourceLimits::nesting`] open elements with at most [`MAX_ATTRIBUTES`] attributes each.

use std::borrow::Cow;
use std::path::Path;

use quick_xml::Reader;
use quick_xml::errors::{Error, IllFormedError, SyntaxError};
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::Event;
use quick_xml::events::attributes::{AttrError, Attributes};
use smallvec::SmallVec;

use super::codes;
use super::encoding::{Encoding, EncodingError, decode, first_character};
use super::number::is_blank;
use crate::excerpt::excerpt;
use crate::limits;
use crate::reports::Reports;
use crate::{CodeInfo, Diagnostic, Source, SourceLimits, Span};

/// Limit on the attributes of an element.
pub(crate) const MAX_ATTRIBUTES: usize = 64;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Error that ends the document.
pub(crate) type FatalError = Box<Diagnostic>;

/// A piece of the document. Instructions and white space between tags are skipped.
#[derive(Debug)]
pub(crate) enum XmlToken<'s> {
    /// A start tag. An empty element yields [`XmlToken::End`] right after it.
    Start(Tag<'s>),
    /// End of the innermost open element.
    End,
    /// Text without surrounding white space; never empty.
    Text(Span),
    /// A comment: the text between `<!--` and `-->`, and the span of the whole comment.
    Comment(&'s str, Span),
    /// A document type declaration that declares no entities.
    Doctype(Span),
}

/// A start tag.
#[derive(Debug)]
pub(crate) struct Tag<'s> {
    /// Name without its namespace prefix.
    pub name: &'s str,
    /// Span of `<` and the name as written.
    pub span: Span,
    pub attributes: Vec<Attribute<'s>>,
}

impl<'s> Tag<'s> {
    /// Finds an attribute by name.
    pub fn get(&self, name: &str) -> Option<&Attribute<'s>> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }
}

/// `name="value"`
#[derive(Debug)]
pub(crate) struct Attribute<'s> {
    /// Name without its namespace prefix.
    pub name: &'s str,
    /// Span of the name as written.
    pub name_span: Span,
    /// Span of the whole attribute.
    pub span: Span,
    pub value: AttributeValue<'s>,
}

/// Decoded value of an attribute: references are replaced; tabs and line ends are blanks.
#[derive(Debug)]
pub(crate) struct AttributeValue<'s> {
    pub text: Cow<'s, str>,
    /// Span between the quotes.
    pub span: Span,
    /// Points after which decoded and source offsets differ: (offset in `text`, offset in the source).
    shifts: SmallVec<[(u32, u32); 1]>,
}

impl AttributeValue<'_> {
    /// Maps a range of the decoded text to its span in the source.
    pub fn place(&self, start: usize, end: usize) -> Span {
        Span::new(self.offset(start as u32), self.offset(end as u32))
    }

    fn offset(&self, at: u32) -> u32 {
        let n_before = self.shifts.partition_point(|(decoded, _)| *decoded <= at);
        let (decoded, source) = n_before.checked_sub(1).map_or((0, self.span.start), |last| self.shifts[last]);
        source + (at - decoded)
    }

    /// The text without surrounding blanks, and its span.
    pub fn trimmed(&self) -> (&str, Span) {
        let text = self.text.trim_start_matches(is_blank);
        let start = self.text.len() - text.len();
        let text = text.trim_end_matches(is_blank);
        (text, self.place(start, start + text.len()))
    }
}

/// Reader over one document.
pub(crate) struct XmlReader<'s> {
    reports: &'s Reports<'s>,
    max_nesting: usize,
    /// The document without its byte order mark.
    text: &'s str,
    /// Offset of `text` in the source.
    base: u32,
    reader: Reader<&'s [u8]>,
    /// Start tags of the open elements.
    open: SmallVec<[Span; 8]>,
    /// Namespace prefixes in scope: (depth of the element that declares it, prefix).
    prefixes: SmallVec<[(usize, &'s str); 2]>,
    has_root: bool,
    has_doctype: bool,
}

impl<'s> XmlReader<'s> {
    /// Starts a document.
    ///
    /// # Errors
    /// The document is too large, not UTF-8, declares another encoding, or contains a character that XML forbids.
    pub fn new(reports: &'s Reports<'s>, limits: &SourceLimits) -> Result<Self, FatalError> {
        let bytes = reports.source.bytes();
        if bytes.len() > limits.xml.min(SourceLimits::MAX_BYTES) {
            let message = format!("event definitions are larger than {}", limits::bytes(limits.xml));
            let error = reports.error(&codes::TOO_LARGE, Span::default(), message);
            return Err(Box::new(error.with_help("split the file, or raise the limit with `--max-xml`")));
        }
        let rest = bytes.strip_prefix(BOM).unwrap_or(bytes);
        // Bytes after an encoding error are not read. The error itself is reported below, after those before it.
        let text = valid_prefix(rest);
        let base = (bytes.len() - rest.len()) as u32;
        let mut reader = Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        reader.config_mut().check_comments = true;
        let max_nesting = limits.nesting;
        let xml = Self {
            reports,
            max_nesting,
            text,
            base,
            reader,
            open: SmallVec::new(),
            prefixes: SmallVec::new(),
            has_root: false,
            has_doctype: false,
        };
        // The declaration first: it names the encoding that the next check uses.
        xml.check_declaration()?;
        if reports.source.encoding().is_none()
            // A source that had another encoding was converted when it was loaded, and is UTF-8 here.
            && let Err(EncodingError { place, message }) = decode(bytes)
        {
            let error = reports.error(&codes::ENCODING, Span::new(place.start as u32, place.end as u32), message);
            return Err(Box::new(error.with_help("save the file as UTF-8 and declare UTF-8 or no encoding")));
        }
        xml.check_characters()?;
        Ok(xml)
    }

    /// Reads the next piece; `None` at the end.
    ///
    /// # Errors
    /// The document is not well-formed, exceeds a limit, or declares entities.
    pub fn next(&mut self) -> Result<Option<XmlToken<'s>>, FatalError> {
        loop {
            let start = self.reader.buffer_position();
            let event = self.reader.read_event();
            let span = self.span(start as usize, self.reader.buffer_position() as usize);
            let piece = match event {
                Err(error) => return Err(self.explain(&error, span)),
                Ok(Event::Eof) => return self.end().map(|()| None),
                // The reader's own copy of the tag is not used: attributes are read again from the text, with their
                // positions.
                Ok(Event::Start(_)) => Some(self.start(span)?),
                Ok(Event::End(_)) => {
                    self.open.pop();
                    let n_open = self.open.len();
                    // Prefixes end with the element that declared them.
                    self.prefixes.retain(|(depth, _)| *depth < n_open);
                    Some(XmlToken::End)
                }
                Ok(Event::Text(_)) => self.text(span)?,
                Ok(Event::CData(_)) => Some(XmlToken::Text(self.inside(span)?)),
                // Only checked: text between elements is ignored, but an unknown reference makes the file ill-formed.
                Ok(Event::GeneralRef(_)) => Some(XmlToken::Text(self.reference(span)?)),
                Ok(Event::Comment(_)) => {
                    let text = self.slice(span);
                    Some(XmlToken::Comment(&text["<!--".len()..text.len() - "-->".len()], span))
                }
                Ok(Event::DocType(_)) => Some(self.doctype(span)?),
                Ok(Event::Decl(_) | Event::PI(_) | Event::Empty(_)) => {
                    self.instruction(span)?;
                    None
                }
            };
            if piece.is_some() {
                return Ok(piece);
            }
        }
    }

    /// Source offset after the last piece read.
    pub fn offset(&self) -> u32 {
        self.base + self.reader.buffer_position() as u32
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.base + start as u32, self.base + end as u32)
    }

    /// Text of the document at a span.
    fn slice(&self, span: Span) -> &'s str {
        &self.text[(span.start - self.base) as usize..(span.end - self.base) as usize]
    }

    fn error(&self, code: &'static CodeInfo, span: Span, message: impl Into<String>) -> Diagnostic {
        self.reports.error(code, span, message)
    }

    fn ill_formed(&self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.error(&codes::NOT_WELL_FORMED, span, message)
    }

    fn secondary(&self, diagnostic: Diagnostic, span: Span, text: &str) -> Diagnostic {
        diagnostic.with_secondary(self.reports.id(), span, text)
    }

    fn start(&mut self, span: Span) -> Result<XmlToken<'s>, FatalError> {
        if self.open.is_empty() && self.has_root {
            let error = self.ill_formed(Span::new(span.start, span.start + 1), "document has a second root element");
            return Err(Box::new(error.with_help("move it into the first")));
        }
        let mut tag = self.tag(span)?;
        self.drop_prefixes(&mut tag)?;
        // Hostile files nest deeper than any stack. The tree has three levels, but unknown elements are skipped at any
        // depth.
        if self.open.len() >= self.max_nesting.min(SourceLimits::MAX_NESTING) {
            let message = format!("elements are nested deeper than {}", self.max_nesting);
            let error = self.error(&codes::LIMIT, tag.span, message);
            return Err(Box::new(error.with_help("raise the limit with `--max-nesting`")));
        }
        self.has_root = true;
        // An empty element is pushed too: the reader reports an end tag for it.
        self.open.push(tag.span);
        Ok(XmlToken::Start(tag))
    }

    /// Removes namespace prefixes from names, and drops the attributes that only concern namespaces and schemas.
    fn drop_prefixes(&mut self, tag: &mut Tag<'s>) -> Result<(), FatalError> {
        let is_about =
            |name: &str| name == "xmlns" || ["xmlns:", "xml:", "xsi:"].iter().any(|start| name.starts_with(start));
        // Nearly all files have no prefixes; this test is all that they cost.
        let is_plain = |name: &str| !name.contains(':') && name != "xmlns";
        if is_plain(tag.name) && tag.attributes.iter().all(|attribute| is_plain(attribute.name)) {
            return Ok(());
        }
        let bound = tag.attributes.iter().filter_map(|attribute| attribute.name.strip_prefix("xmlns:"));
        self.prefixes.extend(bound.map(|prefix| (self.open.len(), prefix)));
        tag.name = self.local(tag.name, tag.span)?;
        tag.attributes.retain(|attribute| !is_about(attribute.name));
        for at in 0..tag.attributes.len() {
            let Attribute { name, name_span, .. } = tag.attributes[at];
            let name = self.local(name, name_span)?;
            // `a:id` and `b:id` differ as written, but mean the same attribute here.
            if let Some(first) = tag.attributes[..at].iter().find(|other| other.name == name) {
                let error = self.ill_formed(name_span, "attribute appears twice in one tag");
                return Err(Box::new(self.secondary(error, first.name_span, "first here")));
            }
            tag.attributes[at].name = name;
        }
        Ok(())
    }

    /// The name without its prefix, which must be declared.
    fn local(&self, name: &'s str, place: Span) -> Result<&'s str, FatalError> {
        let Some((prefix, local)) = name.split_once(':') else { return Ok(name) };
        if prefix == "xml" || self.prefixes.iter().any(|(_, bound)| *bound == prefix) {
            return Ok(local);
        }
        let prefix = excerpt(prefix.as_bytes());
        let error = self.ill_formed(place, format!("namespace prefix `{prefix}` is not declared"));
        Err(Box::new(error.with_help(format!("delete `{prefix}:`, or declare it with `xmlns:{prefix}=\"…\"`"))))
    }

    /// Parses `<name …>` or `<name …/>`.
    fn tag(&self, span: Span) -> Result<Tag<'s>, FatalError> {
        let content = &self.slice(span)[1..];
        let content = content.strip_suffix('>').unwrap_or(content);
        let content = content.strip_suffix('/').unwrap_or(content);
        let name = content.split(is_blank).next().unwrap_or("");
        let at = span.start + 1;
        let name_span = Span::new(span.start, at + name.len() as u32);
        // A missing `>` makes the next tag part of this one. The reader would report it at the end of the file.
        if let Some(lt) = content.find('<') {
            let error = self.ill_formed(Span::new(at + lt as u32, at + lt as u32 + 1), "`<` inside a tag");
            let help = "add the missing `>` or closing quote before it; in a value, write `&lt;`";
            return Err(Box::new(self.secondary(error.with_help(help), name_span, "the tag")));
        }
        if !is_name(name) {
            let message = format!("`{}` is not a valid element name", excerpt(name.as_bytes()));
            let error = self.ill_formed(name_span, message);
            return Err(Box::new(error.with_help("write `&lt;` for `<` in text")));
        }
        Ok(Tag { name, span: name_span, attributes: self.attributes(content, name.len(), at)? })
    }

    /// Parses the attributes of a tag. `content` starts at source offset `at` and begins with the tag's name.
    fn attributes(&self, content: &'s str, name_len: usize, at: u32) -> Result<Vec<Attribute<'s>>, FatalError> {
        let mut list: Vec<Attribute> = Vec::new();
        for attribute in Attributes::new(content, name_len) {
            let attribute = attribute.map_err(|error| self.bad_attribute(&error, at))?;
            // quick-xml borrows every value that it does not have to change, so its offset in the text is its offset in
            // the source.
            let (name, Cow::Borrowed(raw)) = (attribute.key.into_inner(), attribute.value) else { continue };
            let start = offset_in(content, name);
            let value_at = at + offset_in(content, raw) as u32;
            let span = Span::new(at + start as u32, value_at + raw.len() as u32 + 1);
            let name_span = Span::new(span.start, span.start + name.len() as u32);
            if !content[..start].ends_with(is_blank) {
                return Err(Box::new(self.ill_formed(name_span, "attribute is not preceded by a blank")));
            }
            if !is_name(name) {
                let message = format!("`{}` is not a valid attribute name", excerpt(name.as_bytes()));
                return Err(Box::new(self.ill_formed(name_span, message)));
            }
            if list.len() == MAX_ATTRIBUTES {
                let message = format!("element has more than {MAX_ATTRIBUTES} attributes");
                return Err(Box::new(self.error(&codes::LIMIT, name_span, message)));
            }
            list.push(Attribute { name, name_span, span, value: self.value(raw, value_at)? });
        }
        Ok(list)
    }

    /// Decodes an attribute's value that starts at source offset `at`.
    fn value(&self, raw: &'s str, at: u32) -> Result<AttributeValue<'s>, FatalError> {
        let span = Span::new(at, at + raw.len() as u32);
        let mut value = AttributeValue { text: Cow::Borrowed(raw), span, shifts: SmallVec::new() };
        // XML replaces tabs and line ends of a value by blanks.
        let is_special = |c| matches!(c, '&' | '\t' | '\n' | '\r');
        if !raw.contains(is_special) {
            return Ok(value);
        }
        let (mut text, mut rest) = (String::with_capacity(raw.len()), raw);
        while let Some(special) = rest.find(is_special) {
            text.push_str(&rest[..special]);
            rest = &rest[special..];
            let here = at + (raw.len() - rest.len()) as u32;
            let (c, len) = if rest.starts_with('&') {
                self.decode(rest, here)?
            } else {
                (' ', if rest.starts_with("\r\n") { 2 } else { 1 })
            };
            text.push(c);
            rest = &rest[len..];
            // From here on, offsets in the value and in the source differ; messages point into the source.
            if c.len_utf8() != len {
                value.shifts.push((text.len() as u32, here + len as u32));
            }
        }
        text.push_str(rest);
        value.text = Cow::Owned(text);
        Ok(value)
    }

    /// Decodes the reference at the start of `text`, which starts at source offset `at`. Returns the character and the
    /// reference's length.
    fn decode(&self, text: &str, at: u32) -> Result<(char, usize), FatalError> {
        // The nearest `;` may belong to a later reference; then this one was never closed.
        let Some(len) = text.find(';').filter(|len| !text[1..*len].contains(|c| is_blank(c) || c == '&')) else {
            let error = self.ill_formed(Span::new(at, at + 1), "`&` without `;`");
            return Err(Box::new(error.with_help("write `&amp;` for `&` itself")));
        };
        let (name, span) = (&text[1..len], Span::new(at, at + len as u32 + 1));
        let found = match name.strip_prefix('#') {
            Some(number) => character(number),
            None => resolve_xml_entity(name).and_then(|text| text.chars().next()),
        };
        let Some(found) = found else {
            let message = format!("`&{};` is not a known reference", excerpt(name.as_bytes()));
            let help = "use `&amp;`, `&lt;`, `&gt;`, `&quot;`, `&apos;` or a number such as `&#9;`";
            return Err(Box::new(self.ill_formed(span, message).with_help(help)));
        };
        Ok((found, len + 1))
    }

    fn bad_attribute(&self, error: &AttrError, at: u32) -> FatalError {
        let place = |position: &usize| {
            let start = (at + *position as u32).min(self.base + self.text.len() as u32);
            Span::new(start, start)
        };
        Box::new(match error {
            AttrError::ExpectedEq(position) => {
                self.ill_formed(place(position), "attribute without value").with_help("write `name=\"value\"`")
            }
            AttrError::ExpectedValue(position) => self.ill_formed(place(position), "no value after `=`"),
            AttrError::UnquotedValue(position) => {
                self.ill_formed(place(position), "value without quotes").with_help("write `name=\"value\"`")
            }
            AttrError::ExpectedQuote(position, _) => self.ill_formed(place(position), "value without closing quote"),
            AttrError::Duplicated(second, first) => {
                let error = self.ill_formed(place(second), "attribute appears twice in one tag");
                self.secondary(error, place(first), "first here")
            }
        })
    }

    fn text(&self, span: Span) -> Result<Option<XmlToken<'s>>, FatalError> {
        let text = self.slice(span);
        let trimmed = text.trim_start_matches(is_blank);
        let start = span.start + (text.len() - trimmed.len()) as u32;
        let trimmed = trimmed.trim_end_matches(is_blank);
        if trimmed.is_empty() {
            return Ok(None);
        }
        let span = self.inside(Span::new(start, start + trimmed.len() as u32))?;
        if let Some(at) = trimmed.find("]]>") {
            let at = start + at as u32;
            let error = self.ill_formed(Span::new(at, at + 3), "`]]>` in text");
            return Err(Box::new(error.with_help("write `]]&gt;`")));
        }
        Ok(Some(XmlToken::Text(span)))
    }

    fn reference(&self, span: Span) -> Result<Span, FatalError> {
        self.decode(self.slice(span), span.start)?;
        self.inside(span)
    }

    /// Returns an error if text is outside of the root element.
    fn inside(&self, span: Span) -> Result<Span, FatalError> {
        if self.open.is_empty() {
            let place = if self.has_root { "after" } else { "before" };
            return Err(Box::new(self.ill_formed(span, format!("text {place} the root element"))));
        }
        Ok(span)
    }

    fn doctype(&mut self, span: Span) -> Result<XmlToken<'s>, FatalError> {
        let text = self.slice(span);
        let name = Span::new(span.start, span.start + "<!DOCTYPE".len() as u32);
        let is_well_placed = !self.has_root && !self.has_doctype;
        if !is_well_placed || !text.starts_with("<!DOCTYPE") || !text["<!DOCTYPE".len()..].starts_with(is_blank) {
            return Err(Box::new(self.ill_formed(name, "DOCTYPE is misplaced or malformed")));
        }
        self.has_doctype = true;
        if let Err(stray) = well_formed_doctype(text) {
            let at = span.start + (text.len() - stray.len()) as u32;
            if stray.starts_with("<!ENTITY") {
                let place = Span::new(at, at + "<!ENTITY".len() as u32);
                let error = self.error(&codes::ENTITIES, name, "DOCTYPE declares entities");
                let error =
                    self.secondary(error, place, "declared here").with_help("replace each reference by its text");
                return Err(Box::new(error));
            }
            let place = Span::new(at, at + stray.chars().next().map_or(0, char::len_utf8) as u32);
            return Err(Box::new(self.ill_formed(place, "DOCTYPE is malformed")));
        }
        Ok(XmlToken::Doctype(name))
    }

    /// Checks `<?name …?>`. The declaration at the start of the document was checked in [`XmlReader::new`].
    fn instruction(&self, span: Span) -> Result<(), FatalError> {
        let text = self.slice(span);
        let inside = text.strip_prefix("<?").and_then(|rest| rest.strip_suffix("?>")).unwrap_or(text);
        let name = instruction_name(inside);
        if name.eq_ignore_ascii_case("xml") && span.start > self.base {
            let error = self.ill_formed(span, "XML declaration is not at the document's start");
            return Err(Box::new(error.with_help("remove everything before it, including blanks")));
        }
        if !is_name(name) || (name != "xml" && name.eq_ignore_ascii_case("xml")) {
            let message = format!("`{}` is not a valid instruction name", excerpt(name.as_bytes()));
            return Err(Box::new(self.ill_formed(span, message)));
        }
        Ok(())
    }

    /// Checks that all elements are closed at the end.
    fn end(&self) -> Result<(), FatalError> {
        let end = self.span(self.text.len(), self.text.len());
        if let Some(tag) = self.open.last() {
            let name = &self.slice(*tag)[1..];
            let error = self.ill_formed(*tag, format!("element `{}` has no end tag", excerpt(name.as_bytes())));
            return Err(Box::new(self.secondary(error, end, "the document ends here")));
        }
        Ok(())
    }

    /// Checks the `<?xml …?>` declaration.
    fn check_declaration(&self) -> Result<(), FatalError> {
        let Some(rest) = self.text.strip_prefix("<?xml").filter(|rest| rest.starts_with(is_blank)) else {
            return Ok(());
        };
        // An unclosed declaration is reported by the reader.
        let Some(len) = rest.find("?>") else { return Ok(()) };
        let content = &self.text[2.."<?xml".len() + len];
        let attributes = self.attributes(content, "xml".len(), self.base + 2)?;
        // Errors underline the whole declaration, because its parts only have a meaning together.
        let whole = self.span(0, "<?xml".len() + len + 2);
        let version = attributes.first().filter(|first| first.name == "version");
        let minor = version.and_then(|version| version.value.text.strip_prefix("1."));
        if !minor.is_some_and(|minor| minor.bytes().all(|byte| byte.is_ascii_digit())) {
            let error = self.ill_formed(whole, "XML declaration does not begin with `version=\"1.0\"`");
            return Err(Box::new(error));
        }
        let further: Vec<&str> = attributes[1..].iter().map(|attribute| attribute.name).collect();
        if !matches!(further[..], [] | ["encoding"] | ["standalone"] | ["encoding", "standalone"]) {
            let error = self.ill_formed(whole, "XML declaration has more than version, encoding and `standalone`");
            return Err(Box::new(error));
        }
        let declared = attributes.iter().find(|attribute| attribute.name == "encoding");
        // The mark is right: the bytes that follow it could be decoded by it. Editors often leave the declaration as it
        // was.
        if let (Some(declared), Some(marked)) = (declared, self.marked_encoding())
            && !marked.is_named(&declared.value.text)
        {
            let name = excerpt(declared.value.text.as_bytes());
            let message = format!(
                "declared encoding is `{name}`, but the byte order mark says {0}, which is used",
                marked.name()
            );
            let warning = self.reports.warning(&codes::OTHER_MARK, declared.span, message);
            let help = format!("declare `encoding=\"{}\"` or no encoding", marked.name());
            self.reports.add(warning.with_help(help));
        }
        Ok(())
    }

    /// The encoding named by the byte order mark.
    fn marked_encoding(&self) -> Option<Encoding> {
        let utf16 = self.reports.source.encoding();
        let utf16 = utf16.filter(|encoding| matches!(encoding, Encoding::Utf16Le | Encoding::Utf16Be));
        utf16.or_else(|| (self.base > 0).then_some(Encoding::Utf8))
    }

    /// Checks for characters that XML forbids.
    fn check_characters(&self) -> Result<(), FatalError> {
        // Searches of the whole text instead of a test per character, because nearly every file passes them.
        let control = self.text.bytes().position(|byte| byte < b' ' && !is_blank(char::from(byte)));
        let others = ["\u{fffe}", "\u{ffff}"].map(|bad| self.text.find(bad));
        let second_bom = self.text.starts_with('\u{feff}').then_some(0);
        let first = others.into_iter().chain([control, second_bom]).flatten().min();
        let Some((at, c)) = first.and_then(|at| Some((at, self.text[at..].chars().next()?))) else { return Ok(()) };
        let message = format!("character U+{:04X} is not allowed in XML", u32::from(c));
        Err(Box::new(self.ill_formed(self.span(at, at + c.len_utf8()), message)))
    }

    /// Turns an error of quick-xml into a diagnostic; `span` is the piece that failed.
    fn explain(&self, error: &Error, span: Span) -> FatalError {
        let at = self.span(0, (self.reader.error_position() as usize).min(self.text.len())).end;
        let place = Span::new(at, at);
        let diagnostic = match error {
            Error::IllFormed(IllFormedError::MismatchedEndTag { expected, found }) => {
                let (expected, found) = (excerpt(expected.as_bytes()), excerpt(found.as_bytes()));
                let error = self.ill_formed(span, format!("expected `</{expected}>`, found `</{found}>`"));
                match self.open.last() {
                    Some(tag) => self.secondary(error, *tag, "the element begins here"),
                    None => error,
                }
            }
            Error::IllFormed(IllFormedError::UnmatchedEndTag(found)) => {
                self.ill_formed(span, format!("end tag `</{}>` without start tag", excerpt(found.as_bytes())))
            }
            Error::IllFormed(IllFormedError::UnclosedReference) => {
                self.ill_formed(place, "`&` without `;`").with_help("write `&amp;` for `&` itself")
            }
            Error::IllFormed(IllFormedError::DoubleHyphenInComment) => {
                let start = Span::new(span.start, span.start + "<!--".len() as u32);
                self.ill_formed(start, "comment contains `--`").with_help("write `- -`")
            }
            Error::IllFormed(IllFormedError::MissingDoctypeName) => {
                self.ill_formed(place, "DOCTYPE without the name of the root element")
            }
            Error::Syntax(error) => self.ill_formed(place, unclosed(*error)),
            other => self.ill_formed(place, format!("not well-formed: {other}")),
        };
        Box::new(diagnostic)
    }
}

fn unclosed(error: SyntaxError) -> &'static str {
    match error {
        SyntaxError::InvalidBangMarkup => "`<!` begins neither comment, CDATA nor DOCTYPE",
        SyntaxError::UnclosedPI | SyntaxError::UnclosedXmlDecl => "`<?` without `?>`",
        SyntaxError::UnclosedComment => "comment without `-->`",
        SyntaxError::UnclosedDoctype => "DOCTYPE without `>`",
        SyntaxError::UnclosedCData => "CDATA without `]]>`",
        SyntaxError::UnclosedTag => "tag without `>`",
        SyntaxError::UnclosedSingleQuotedAttributeValue => "tag has a value without closing `'`",
        SyntaxError::UnclosedDoubleQuotedAttributeValue => "tag has a value without closing `\"`",
    }
}

/// True if a source is event definitions: it looks like XML, or it is blank and its name ends in `.xml`.
///
/// ```
/// use tfbc_grammar::{Source, datakey::is_xml};
/// assert!(is_xml(&Source::new("a.xml", "\n")));
/// assert!(!is_xml(&Source::new("a.trcfmt", "\n")) && !is_xml(&Source::new("a.xml", "010 1.0")));
/// ```
pub fn is_xml(source: &Source) -> bool {
    let extension = Path::new(source.name()).extension();
    let has_name = || extension.is_some_and(|extension| extension.eq_ignore_ascii_case("xml"));
    match first_character(source.bytes()) {
        Some(first) => first == b'<',
        None => has_name(),
    }
}

/// The longest prefix that is valid UTF-8.
fn valid_prefix(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or(""),
    }
}

/// True if XML allows the character.
fn is_character(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}

/// Character of the numeric reference `&#number;`.
fn character(number: &str) -> Option<char> {
    let (digits, base) = number.strip_prefix('x').map_or((number, 10), |digits| (digits, 16));
    let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base));
    let code = is_number.then(|| u32::from_str_radix(digits, base).ok()).flatten()?;
    char::from_u32(code).filter(|c| is_character(*c))
}

/// True if the text is a valid XML name. Every character beyond ASCII counts as a letter, which is laxer than XML.
fn is_name(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | ':') || !c.is_ascii();
    text.starts_with(is_letter) && text.chars().all(|c| is_letter(c) || matches!(c, '0'..='9' | '-' | '.'))
}

/// Offset of `part`, a slice of `whole`, in it.
fn offset_in(whole: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize)
}

/// Checks that the text is one DOCTYPE without entities. The error is the rest of the text from the first invalid byte.
fn well_formed_doctype(text: &str) -> Result<(), &str> {
    let rest = text.trim_start_matches("<!DOCTYPE").trim_start_matches(is_blank);
    let (name, rest) = rest.split_at(rest.find(|c| is_blank(c) || matches!(c, '[' | '>')).unwrap_or(rest.len()));
    if !is_name(name) {
        return Err(&text[offset_in(text, name)..]);
    }
    let rest = rest.trim_start_matches(is_blank);
    let rest = match (rest.strip_prefix("SYSTEM"), rest.strip_prefix("PUBLIC")) {
        (Some(rest), _) => after_literal(rest)?,
        (_, Some(rest)) => after_literal(after_literal(rest)?)?,
        _ => rest,
    };
    let rest = rest.trim_start_matches(is_blank);
    let rest = match rest.strip_prefix('[') {
        Some(subset) => after_subset(subset)?.trim_start_matches(is_blank),
        None => rest,
    };
    if rest == ">" { Ok(()) } else { Err(rest) }
}

/// Skips blanks and a quoted literal.
fn after_literal(text: &str) -> Result<&str, &str> {
    let literal = text.trim_start_matches(is_blank);
    let quote = literal.chars().next().filter(|c| matches!(c, '"' | '\'') && literal.len() < text.len());
    let inner = quote.and_then(|quote| literal[1..].split_once(quote));
    inner.map(|(_, after)| after).ok_or(literal)
}

/// Name of an instruction, given the text between `<?` and `?>`.
fn instruction_name(text: &str) -> &str {
    text.split(is_blank).next().unwrap_or("")
}

/// Skips an internal subset up to and including its `]`. Declarations are skipped too; one of an entity is an error.
fn after_subset(mut rest: &str) -> Result<&str, &str> {
    loop {
        rest = rest.trim_start_matches(is_blank);
        rest = if let Some(after) = rest.strip_prefix(']') {
            return Ok(after);
        } else if let Some(comment) = rest.strip_prefix("<!--") {
            let (_, after) = comment.split_once("--").ok_or(rest)?;
            after.strip_prefix('>').ok_or(after)?
        } else if let Some(instruction) = rest.strip_prefix("<?") {
            let (inner, after) = instruction.split_once("?>").ok_or(rest)?;
            let name = instruction_name(inner);
            if is_name(name) && !name.eq_ignore_ascii_case("xml") { after } else { return Err(instruction) }
        } else if let Some(element) = rest.strip_prefix("<!ELEMENT") {
            after_declaration(element, &['<', '"', '\''])?
        } else if let Some(other) = rest.strip_prefix("<!ATTLIST").or_else(|| rest.strip_prefix("<!NOTATION")) {
            after_declaration(other, &['<'])?
        } else {
            return Err(rest);
        };
    }
}

/// Skips a declaration up to and including its `>`. Literals may contain any character; outside of them, `forbidden`
/// ones are errors.
fn after_declaration<'t>(text: &'t str, forbidden: &[char]) -> Result<&'t str, &'t str> {
    let mut rest = text;
    if !text.starts_with(is_blank) {
        return Err(text);
    }
    loop {
        rest = &rest[rest.find(['<', '>', '"', '\'']).ok_or("")?..];
        match rest.split_at(1) {
            (">", after) => return Ok(after),
            (other, _) if other.contains(forbidden) => return Err(rest),
            // A literal may contain `>`, so the declaration ends only after the literal.
            (quote, literal) => rest = literal.split_once(quote).ok_or(rest)?.1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doctypes() {
        for text in [
            "<!DOCTYPE a>",
            "<!DOCTYPE\ta\n>",
            "<!DOCTYPE a SYSTEM \"<!ENTITY ]>'\">",
            "<!DOCTYPE a PUBLIC 'b' \"c\" [ ] >",
            "<!DOCTYPE a[<!-- <!ENTITY x 'y'> ' ]> --> <?p <!ENTITY ]>?>]>",
            "<!DOCTYPE a [<!ELEMENT a ANY><!ATTLIST a b CDATA ']>'><!NOTATION c SYSTEM \"d'\">]>",
        ] {
            assert_eq!(well_formed_doctype(text), Ok(()), "{text}");
        }
        for (text, stray) in [
            ("<!DOCTYPE a [ <!ENTITY x 'y'>]>", "<!ENTITY x 'y'>]>"),
            ("<!DOCTYPE a]]b>", "a]]b>"),
            ("<!DOCTYPE 1a>", "1a>"),
            ("<!DOCTYPE >", ">"),
            ("<!DOCTYPE a b>", "b>"),
            ("<!DOCTYPE a SYSTEM>", ">"),
            ("<!DOCTYPE a SYSTEM'b'>", "'b'>"),
            ("<!DOCTYPE a PUBLIC 'b'>", ">"),
            ("<!DOCTYPE a SYSTEM 'b>", "'b>"),
            ("<!DOCTYPE a [[]>", "[]>"),
            ("<!DOCTYPE a []]>", "]>"),
            ("<!DOCTYPE a [b]>", "b]>"),
            ("<!DOCTYPE a ['b']>", "'b']>"),
            ("<!DOCTYPE a [%b;]>", "%b;]>"),
            ("<!DOCTYPE a [<!-- -- -->]>", " -->]>"),
            ("<!DOCTYPE a [<?xml ?>]>", "xml ?>]>"),
            ("<!DOCTYPE a [<!OTHER a>]>", "<!OTHER a>]>"),
            ("<!DOCTYPE a [<!ELEMENTa>]>", "a>]>"),
            ("<!DOCTYPE a [<!ELEMENT 'a'>]>", "'a'>]>"),
            ("<!DOCTYPE a [<!ATTLIST a <b>]>", "<b>]>"),
            ("<!DOCTYPE a [<!ATTLIST a 'b>]>", "'b>]>"),
            ("<!DOCTYPE a [<!ATTLIST a", ""),
        ] {
            assert_eq!(well_formed_doctype(text), Err(stray), "{text}");
        }
    }

    #[test]
    fn characters() {
        assert_eq!(
            ["9", "x41", "65", "x10FFFF"].map(character),
            [Some('\t'), Some('A'), Some('A'), Some('\u{10ffff}')]
        );
        assert_eq!(["", "x", "0", "1", "X41", "+5", "xd800", "x110000", "xfffe"].map(character), [None; 9]);
    }
}
