//! Elements and fields of an event definition file, found from its tags, so that malformed files are covered too.

use tfbc_grammar::datakey::ast::{NumberStyle, Sign, Spec, TopLevelElement};
use tfbc_grammar::{Arena, Source, SourceId, Span, datakey};

/// Start tag with its attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    pub name: String,
    /// Span of the name.
    pub name_span: Span,
    /// Span from `<` to `>`.
    pub tag: Span,
    /// Span up to the end of the end tag, or to its last known byte.
    pub whole: Span,
    pub parent: Option<usize>,
    pub attributes: Vec<XmlAttribute>,
}

/// `name="value"`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XmlAttribute {
    pub name: String,
    pub name_span: Span,
    /// Value as written, without quotes.
    pub value: String,
    pub span: Span,
}

impl Element {
    pub fn get(&self, name: &str) -> Option<&XmlAttribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// Attribute that names a field.
    pub fn label(&self) -> Option<&XmlAttribute> {
        self.get("name").or_else(|| self.get("key"))
    }
}

/// Field of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XmlField {
    /// Index of the `datakey`, or of the `event` in an `eventclass`.
    pub owner: usize,
    pub label: String,
    /// Span of the label.
    pub span: Span,
    /// Span from `%` to the end of the label.
    pub whole: Span,
    pub spec: Spec,
    /// Bytes from the start of the payload; `None` after a string.
    pub offset: Option<u64>,
    /// Width in bytes; `None` for a string.
    pub width: Option<u64>,
}

/// Syntactic context of an offset.
#[derive(Debug)]
pub enum TagContext<'f> {
    /// Name of an element; `None` if the tag is unfinished.
    Name(Option<usize>),
    /// Inside a tag, between or on attribute names.
    Attribute(usize, Option<&'f XmlAttribute>),
    /// Inside an attribute's value.
    Value(usize, &'f XmlAttribute),
    /// Between tags.
    Outside,
}

/// Elements and fields of a file.
#[derive(Debug, Default)]
pub struct XmlFacts {
    /// Elements in document order.
    pub elements: Vec<Element>,
    pub comments: Vec<Span>,
    /// Fields of the formats without errors.
    pub fields: Vec<XmlField>,
}

impl XmlFacts {
    pub fn read(source: &Source) -> Self {
        let mut scanner = Scanner { bytes: source.bytes(), at: 0, facts: XmlFacts::default(), open: Vec::new() };
        scanner.document();
        let mut facts = scanner.facts;
        facts.fields = fields(source, &facts.elements);
        facts
    }

    /// Innermost element that contains an offset.
    pub fn element_at(&self, offset: u32) -> Option<usize> {
        let mut found = self.elements.partition_point(|element| element.tag.start <= offset).checked_sub(1);
        while let Some(index) = found.filter(|index| self.elements[*index].whole.end < offset) {
            found = self.elements[index].parent;
        }
        found
    }

    /// Syntactic context of an offset.
    pub fn place(&self, offset: u32) -> TagContext<'_> {
        let contains = |span: Span| span.start <= offset && offset <= span.end;
        let last = self.elements.partition_point(|element| element.tag.start < offset).checked_sub(1);
        let Some(index) = last.filter(|last| offset < self.elements[*last].tag.end) else { return TagContext::Outside };
        let element = &self.elements[index];
        if contains(element.name_span) {
            return TagContext::Name(Some(index));
        }
        match element.attributes.iter().find(|attribute| contains(attribute.span) || contains(attribute.name_span)) {
            Some(attribute) if contains(attribute.span) => TagContext::Value(index, attribute),
            attribute => TagContext::Attribute(index, attribute),
        }
    }

    /// Fields of a `datakey`, or of an event in an `eventclass`.
    pub fn fields_of(&self, owner: usize) -> impl Iterator<Item = &XmlField> {
        let first = self.fields.partition_point(|field| field.owner < owner);
        self.fields[first..].iter().take_while(move |field| field.owner == owner)
    }

    pub fn children(&self, parent: usize) -> impl Iterator<Item = (usize, &Element)> {
        let end = self.elements[parent].whole.end;
        let inside = self.elements.iter().enumerate().skip(parent + 1);
        inside
            .take_while(move |(_, element)| element.tag.start < end)
            .filter(move |(_, element)| element.parent == Some(parent))
    }

    /// The `datakey`, or event in an `eventclass`, that an element is or belongs to.
    pub fn owner(&self, index: usize) -> Option<usize> {
        let mut at = Some(index);
        while let Some(index) = at {
            let element = &self.elements[index];
            let parent = element.parent.map(|parent| self.elements[parent].name.as_str());
            if element.name == "datakey" || (element.name == "event" && parent == Some("eventclass")) {
                return at;
            }
            at = element.parent;
        }
        None
    }

    /// Class and id, as written, of every event that a `datakey` or event describes.
    pub fn events(&self, owner: usize) -> Vec<(String, String)> {
        let text = |element: &Element, name| element.get(name).map(|found| found.value.trim().to_owned());
        let element = &self.elements[owner];
        if element.name == "event" {
            let class = element.parent.and_then(|parent| text(&self.elements[parent], "id"));
            return class.zip(text(element, "id")).into_iter().collect();
        }
        let events = self.children(owner).filter(|(_, child)| child.name == "event");
        events.filter_map(|(_, event)| text(event, "class").zip(text(event, "id"))).collect()
    }
}

fn fields(source: &Source, elements: &[Element]) -> Vec<XmlField> {
    let arena = Arena::new();
    let (file, _) = datakey::parse(&arena, SourceId(0), source);
    let owner = |tag: Span| elements.binary_search_by_key(&tag.start, |element| element.tag.start).ok();
    let mut fields = Vec::new();
    let mut add = |tag: Span, format: Option<datakey::ast::Format>, offset: u64| {
        let (Some(owner), Some(format)) = (owner(tag), format) else { return };
        let mut offset = Some(offset);
        for field in format.fields {
            let width = width(&field.spec);
            fields.push(XmlField {
                owner,
                label: String::from_utf8_lossy(field.label.node).into_owned(),
                span: field.label.span,
                whole: field.span,
                spec: field.spec,
                offset,
                width,
            });
            offset = offset.zip(width).map(|(offset, width)| offset.saturating_add(width));
        }
    };
    for item in file.items {
        match item {
            TopLevelElement::Datakey(datakey) => {
                add(datakey.tag, datakey.format, datakey.offset.map_or(0, |offset| offset.node))
            }
            TopLevelElement::EventClass(class) => class.events.iter().for_each(|event| add(event.tag, event.format, 0)),
        }
    }
    fields
}

/// Width of a field in bytes; `None` for a string.
fn width(spec: &Spec) -> Option<u64> {
    let is_string =
        spec.count == Some(0) || matches!(spec, Spec { size: None, sign: Some(Sign::Signed), count: None, show: None });
    (!is_string).then(|| u64::from(spec.size.unwrap_or(4)).saturating_mul(spec.count.unwrap_or(1)))
}

/// Description of a field.
pub fn describe(field: &XmlField) -> String {
    let Some(width) = field.width else { return String::from("text up to its NUL") };
    let size = field.spec.size.unwrap_or(4);
    let show = match field.spec.show {
        Some(NumberStyle::Hex) => "shown in hexadecimal",
        Some(NumberStyle::Octal) => "shown in octal",
        Some(NumberStyle::Char) => "shown as a character",
        Some(NumberStyle::Decimal) | None => "shown in decimal",
    };
    let is_signed = match (field.spec.sign, field.spec.show) {
        (Some(sign), _) => sign == Sign::Signed,
        (None, show) => show == Some(NumberStyle::Decimal),
    };
    let sign = if is_signed { "signed" } else { "unsigned" };
    match field.spec.count.unwrap_or(1) {
        1 => format!("{sign} number of {width} bytes, {show}"),
        count => format!("array of {count} {sign} numbers of {size} bytes each, {show}"),
    }
}

struct Scanner<'s> {
    bytes: &'s [u8],
    at: usize,
    facts: XmlFacts,
    /// Elements without an end tag so far.
    open: Vec<usize>,
}

impl Scanner<'_> {
    fn document(&mut self) {
        while let Some(found) = self.find(self.at, b"<") {
            self.at = found;
            let rest = &self.bytes[found..];
            if rest.starts_with(b"<!--") {
                let end = self.offset_after(found + 4, b"-->");
                self.facts.comments.push(Span::new(found as u32, end as u32));
                self.at = end;
            } else if rest.starts_with(b"<![CDATA[") {
                self.at = self.offset_after(found, b"]]>");
            } else if rest.starts_with(b"<?") {
                self.at = self.offset_after(found, b"?>");
            } else if rest.starts_with(b"<!") {
                self.at = self.offset_after(found, b">");
            } else if rest.starts_with(b"</") {
                self.end_tag();
            } else {
                self.start_tag();
            }
        }
        let end = self.bytes.len() as u32;
        for index in self.open.drain(..) {
            self.facts.elements[index].whole.end = end;
        }
    }

    fn find(&self, from: usize, what: &[u8]) -> Option<usize> {
        let rest = self.bytes.get(from..)?;
        rest.windows(what.len()).position(|window| window == what).map(|at| from + at)
    }

    /// Offset after `what`, or the end of the text.
    fn offset_after(&self, from: usize, what: &[u8]) -> usize {
        self.find(from, what).map_or(self.bytes.len(), |at| at + what.len())
    }

    fn span(&self, from: usize) -> Span {
        Span::new(from as u32, self.at as u32)
    }

    fn text(&self, span: Span) -> String {
        String::from_utf8_lossy(&self.bytes[span.start as usize..span.end as usize]).into_owned()
    }

    /// Skips bytes while `is` returns true.
    fn skip(&mut self, is: impl Fn(u8) -> bool) -> Span {
        let from = self.at;
        self.at += self.bytes[from..].iter().take_while(|byte| is(**byte)).count();
        self.span(from)
    }

    fn end_tag(&mut self) {
        self.at += 2;
        let span = self.skip(is_name);
        let name = self.text(span);
        self.at = self.offset_after(self.at, b">");
        let Some(depth) = self.open.iter().rposition(|index| self.facts.elements[*index].name == name) else { return };
        for index in self.open.drain(depth..) {
            self.facts.elements[index].whole.end = self.at as u32;
        }
    }

    fn start_tag(&mut self) {
        let start = self.at;
        self.at += 1;
        let name_span = self.skip(is_name);
        let mut attributes = Vec::new();
        let is_empty = loop {
            self.skip(|byte| byte.is_ascii_whitespace());
            match self.bytes.get(self.at) {
                None | Some(b'<') => break false,
                Some(b'>') => {
                    self.at += 1;
                    break false;
                }
                Some(b'/') => {
                    self.at += 1;
                    if self.bytes.get(self.at) == Some(&b'>') {
                        self.at += 1;
                        break true;
                    }
                }
                Some(byte) if is_name(*byte) => attributes.push(self.attribute()),
                Some(_) => self.at += 1,
            }
        };
        let (tag, name) = (self.span(start), self.text(name_span));
        let parent = self.open.last().copied();
        if !is_empty {
            self.open.push(self.facts.elements.len());
        }
        self.facts.elements.push(Element { name, name_span, tag, whole: tag, parent, attributes });
    }

    fn attribute(&mut self) -> XmlAttribute {
        let name_span = self.skip(is_name);
        let mut span = Span::new(name_span.end, name_span.end);
        let before = self.at;
        self.skip(|byte| byte.is_ascii_whitespace());
        if self.bytes.get(self.at) == Some(&b'=') {
            self.at += 1;
            self.skip(|byte| byte.is_ascii_whitespace());
            if let Some(quote @ (b'"' | b'\'')) = self.bytes.get(self.at).copied() {
                self.at += 1;
                // An unterminated value ends at the next tag.
                span = self.skip(|byte| byte != quote && byte != b'<');
                self.at += usize::from(self.bytes.get(self.at) == Some(&quote));
            }
        } else {
            self.at = before;
        }
        XmlAttribute { name: self.text(name_span), name_span, value: self.text(span), span }
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':') || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_fields_have_their_places() {
        let text = "<eventdefinitions><!-- <a> -->\n<datakey format='%2u1x a %1s0 b' offset=\"4\"><event class=\"6\" id='1'/>\
                    </datakey></eventdefinitions>";
        let facts = XmlFacts::read(&Source::new("t", text));
        let names: Vec<_> = facts.elements.iter().map(|element| (element.name.as_str(), element.parent)).collect();
        assert_eq!(names, [("eventdefinitions", None), ("datakey", Some(0)), ("event", Some(1))]);
        let fields: Vec<_> =
            facts.fields.iter().map(|field| (field.label.as_str(), field.offset, field.width)).collect();
        assert_eq!(fields, [("a", Some(4), Some(2)), ("b", Some(6), None)]);
        assert_eq!(facts.events(1), [("6".to_owned(), "1".to_owned())]);
        assert_eq!(&text[facts.fields[1].span.start as usize..facts.fields[1].span.end as usize], "b");
    }

    #[test]
    fn unfinished_tag_ends_before_the_next() {
        let facts = XmlFacts::read(&Source::new("t", "<a><b x=\"1 <c y='2'/></a>"));
        let names: Vec<_> = facts.elements.iter().map(|element| element.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(facts.elements[1].attributes[0].value, "1 ");
    }
}
