//! Minimal XML reader for definition files: elements, attributes, and a check for well-formedness.

/// One element with its contents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Element {
    /// Name of the element.
    pub name: String,
    /// Attributes in order, decoded: references are resolved, and literal white space becomes blanks.
    pub attributes: Vec<(String, String)>,
    /// Child elements.
    pub children: Vec<Element>,
    /// Position of the first text other than white space.
    pub text: Option<LineColumn>,
    /// Position of its `<`.
    pub place: LineColumn,
    /// Byte range of its start tag.
    pub tag: std::ops::Range<usize>,
    /// Comments directly before it.
    pub comments: Vec<String>,
}

/// Line and column, both from 1; columns count bytes.
pub type LineColumn = (u32, u32);

impl Element {
    /// Value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(is, _)| is == name).map(|(_, value)| value.as_str())
    }
}

/// A well-formed document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// The root element.
    pub root: Element,
    /// Position of a `DOCTYPE`.
    pub doctype: Option<LineColumn>,
}

/// Reason why a file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// Position of the problem.
    pub place: LineColumn,
    /// The reason.
    pub reason: &'static str,
}

/// Maximum size of a file, in bytes.
pub const MAX_BYTES: usize = 16 << 20;
/// Maximum depth; the root has depth 1.
pub const MAX_DEPTH: usize = 64;
/// Maximum number of attributes per element.
pub const MAX_ATTRIBUTES: usize = 64;

/// Reads a file.
///
/// # Errors
/// The file is malformed, in an unknown encoding, beyond a limit, or declares entities.
pub fn read(bytes: &[u8]) -> Result<Document, Malformed> {
    let whole = |reason| Malformed { place: (1, 1), reason };
    if bytes.len() > MAX_BYTES {
        return Err(whole("more than 16 MiB"));
    }
    let text = &decoded(bytes).map_err(whole)?;
    let newlines = text.match_indices('\n').map(|(at, _)| at + 1);
    let mut reader = XmlScanner {
        text,
        at: 0,
        lines: [0].into_iter().chain(newlines).collect(),
        prefixes: Vec::new(),
        comments: Vec::new(),
    };
    reader.take("\u{feff}");
    reader.declaration()?;
    let mut document = Document::default();
    loop {
        reader.blanks();
        if reader.comment_or_instruction()? {
        } else if reader.rest().starts_with("<!DOCTYPE") {
            if document.doctype.is_some() {
                return reader.fail("a second DOCTYPE");
            }
            document.doctype = Some(reader.place(reader.at));
            reader.doctype()?;
        } else {
            break;
        }
    }
    document.root = reader.element(1)?;
    loop {
        reader.blanks();
        if !reader.comment_or_instruction()? {
            break;
        }
    }
    if reader.rest().is_empty() { Ok(document) } else { reader.fail("something after the root") }
}

/// Characters 0x80 to 0x9f of windows-1252; `\0` for undefined ones.
const WINDOWS_1252: [char; 32] = [
    '€', '\0', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\0', 'Ž', '\0', '\0', '‘', '’', '“', '”', '•',
    '–', '—', '˜', '™', 'š', '›', 'œ', '\0', 'ž', 'Ÿ',
];

/// Decodes a file.
fn decoded(bytes: &[u8]) -> Result<String, &'static str> {
    let utf16 = |unit: fn([u8; 2]) -> u16| {
        let (pairs, rest) = bytes[2..].as_chunks();
        let units: Vec<u16> = pairs.iter().copied().map(unit).collect();
        String::from_utf16(&units).ok().filter(|_| rest.is_empty()).ok_or("not UTF-16")
    };
    match bytes {
        [0xff, 0xfe, ..] => return utf16(u16::from_le_bytes),
        [0xfe, 0xff, ..] => return utf16(u16::from_be_bytes),
        [b'<', 0, ..] | [0, b'<', ..] => return Err("UTF-16 without a mark"),
        _ => {}
    }
    let utf8 = std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| "not UTF-8");
    if bytes.starts_with("\u{feff}".as_bytes()) {
        return utf8;
    }
    let narrow: String = bytes.iter().map(|byte| char::from(*byte)).collect();
    match declared_encoding(&narrow).unwrap_or("utf-8").to_ascii_lowercase().as_str() {
        "utf-8" | "utf8" => utf8,
        "us-ascii" | "ascii" => {
            if bytes.is_ascii() {
                utf8
            } else {
                Err("not ASCII")
            }
        }
        "iso-8859-1" | "latin1" => Ok(narrow),
        "windows-1252" | "cp1252" => {
            let wide = |c: char| match c as usize {
                code @ 0x80..=0x9f => Some(WINDOWS_1252[code - 0x80]).filter(|c| *c != '\0'),
                _ => Some(c),
            };
            narrow.chars().map(wide).collect::<Option<String>>().ok_or("not windows-1252")
        }
        _ => Err("another encoding"),
    }
}

/// Encoding named in the XML declaration.
fn declared_encoding(text: &str) -> Option<&str> {
    let (declaration, _) = text.strip_prefix("<?xml")?.split_once("?>")?;
    let (before, value) = declaration.split_once("encoding")?;
    let value = value.trim_start_matches(is_blank).strip_prefix('=')?.trim_start_matches(is_blank);
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    value[1..].split_once(quote).map(|(name, _)| name).filter(|_| before.ends_with(is_blank))
}

/// True for a character that XML allows.
fn is_character(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r') || (c >= ' ' && c != '\u{fffe}' && c != '\u{ffff}')
}

fn is_name_start(c: char) -> bool {
    matches!(c, ':' | 'A'..='Z' | '_' | 'a'..='z' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}'
        | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}' | '\u{200c}' | '\u{200d}' | '\u{2070}'..='\u{218f}'
        | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}'
        | '\u{10000}'..='\u{effff}')
}

fn is_name(c: char) -> bool {
    is_name_start(c) || matches!(c, '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}' | '\u{2040}')
}

fn is_version(version: &str) -> bool {
    version.strip_prefix("1.").is_some_and(|minor| minor.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

struct XmlScanner<'t> {
    text: &'t str,
    at: usize,
    /// Start offset per line.
    lines: Vec<usize>,
    /// Namespace prefixes bound by open elements.
    prefixes: Vec<String>,
    /// Comments since the last tag.
    comments: Vec<String>,
}

impl<'t> XmlScanner<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn place(&self, at: usize) -> LineColumn {
        let line = self.lines.partition_point(|start| *start <= at);
        (line as u32, (at - self.lines[line - 1] + 1) as u32)
    }

    fn fail<T>(&self, reason: &'static str) -> Result<T, Malformed> {
        Err(Malformed { place: self.place(self.at), reason })
    }

    fn take(&mut self, text: &str) -> bool {
        let there = self.rest().starts_with(text);
        self.at += if there { text.len() } else { 0 };
        there
    }

    fn need(&mut self, text: &'static str) -> Result<(), Malformed> {
        if self.take(text) { Ok(()) } else { self.fail("something else is expected here") }
    }

    fn blanks(&mut self) -> bool {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(is_blank).len();
        self.rest().len() < rest.len()
    }

    /// Text up to `end`, which is skipped.
    fn until(&mut self, end: &'static str) -> Result<&'t str, Malformed> {
        let rest = self.rest();
        let Some(length) = rest.find(end) else { return self.fail("no end") };
        self.at += length + end.len();
        let inner = &rest[..length];
        if inner.chars().all(is_character) { Ok(inner) } else { self.fail("a character that XML forbids") }
    }

    fn name(&mut self) -> Result<&'t str, Malformed> {
        let rest = self.rest();
        if !rest.starts_with(is_name_start) {
            return self.fail("no name");
        }
        let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        self.at += length;
        Ok(&rest[..length])
    }

    fn declaration(&mut self) -> Result<(), Malformed> {
        let rest = self.rest();
        if !rest.strip_prefix("<?xml").is_some_and(|rest| rest.starts_with(is_blank)) {
            return Ok(());
        }
        self.take("<?xml");
        let mut pairs = Vec::new();
        loop {
            let blank = self.blanks();
            if self.take("?>") {
                break;
            }
            if !blank {
                return self.fail("no blank in the declaration");
            }
            pairs.push(self.pair()?);
        }
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let rest = match pairs.as_slice() {
            [("version", version), rest @ ..] if is_version(version) => rest,
            _ => return self.fail("no version"),
        };
        let rest = match rest {
            [("encoding", _), rest @ ..] => rest,
            rest => rest,
        };
        match rest {
            [] | [("standalone", "yes" | "no")] => Ok(()),
            _ => self.fail("something else in the declaration"),
        }
    }

    /// Skips one comment or processing instruction.
    fn comment_or_instruction(&mut self) -> Result<bool, Malformed> {
        if self.take("<!--") {
            let inner = self.until("--")?.to_owned();
            self.comments.push(inner);
            self.need(">")?;
            return Ok(true);
        }
        if self.take("<?") {
            if self.name()?.eq_ignore_ascii_case("xml") {
                return self.fail("a declaration that is not first");
            }
            if !self.rest().starts_with(is_blank) && !self.rest().starts_with("?>") {
                return self.fail("no name of an instruction");
            }
            self.until("?>")?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Skips `<!DOCTYPE name …>`. An internal subset must not declare or use entities.
    fn doctype(&mut self) -> Result<(), Malformed> {
        self.need("<!DOCTYPE")?;
        if !self.blanks() {
            return self.fail("no blank after DOCTYPE");
        }
        self.name()?;
        let blank = self.blanks();
        if blank && self.take("SYSTEM") {
            self.literal()?;
        } else if blank && self.take("PUBLIC") {
            self.literal()?;
            self.literal()?;
        }
        self.blanks();
        if self.take("[") {
            self.blanks();
            while !self.take("]") {
                if !self.comment_or_instruction()? {
                    self.declaration_of_type()?;
                }
                self.blanks();
            }
            self.blanks();
        }
        self.need(">")
    }

    /// Skips blanks and a quoted text.
    fn literal(&mut self) -> Result<(), Malformed> {
        if !self.blanks() {
            return self.fail("no blank before a literal");
        }
        self.quoted()
    }

    /// Skips a quoted text.
    fn quoted(&mut self) -> Result<(), Malformed> {
        let end = if self.take("'") { "'" } else { "\"" };
        if end == "\"" {
            self.need("\"")?;
        }
        self.until(end).map(drop)
    }

    /// Skips `<!ELEMENT …>`, which has no literals, or `<!ATTLIST …>` and `<!NOTATION …>`, which can have some.
    fn declaration_of_type(&mut self) -> Result<(), Malformed> {
        let has_literals = self.take("<!ATTLIST") || self.take("<!NOTATION");
        if !has_literals {
            self.need("<!ELEMENT")?;
        }
        if !self.blanks() {
            return self.fail("no blank in a declaration");
        }
        while !self.take(">") {
            if self.rest().starts_with('<') {
                return self.fail("a declaration without an end");
            } else if self.rest().starts_with(['"', '\'']) {
                if !has_literals {
                    return self.fail("a literal in an element's declaration");
                }
                self.quoted()?;
            } else {
                match self.rest().chars().next() {
                    Some(c) if is_character(c) => self.at += c.len_utf8(),
                    _ => return self.fail("no end, or a character that XML forbids"),
                }
            }
        }
        Ok(())
    }

    fn element(&mut self, depth: usize) -> Result<Element, Malformed> {
        let start = self.at;
        if depth > MAX_DEPTH {
            return self.fail("too deep");
        }
        self.need("<")?;
        let mut element = Element { name: self.name()?.into(), place: self.place(start), ..Element::default() };
        element.comments = std::mem::take(&mut self.comments);
        let closed = loop {
            let blank = self.blanks();
            if self.take("/>") {
                break true;
            }
            if self.take(">") {
                break false;
            }
            if !blank {
                return self.fail("no blank before an attribute");
            }
            let (name, value) = self.pair()?;
            if element.attribute(&name).is_some() {
                return self.fail("an attribute twice");
            }
            element.attributes.push((name, value));
            if element.attributes.len() > MAX_ATTRIBUTES {
                return self.fail("too many attributes");
            }
        };
        element.tag = start..self.at;
        let written = element.name.clone();
        let n_prefixes = self.prefixes.len();
        self.resolve_prefixes(&mut element)?;
        if !closed {
            self.content(&mut element, &written, depth)?;
        }
        self.prefixes.truncate(n_prefixes);
        Ok(element)
    }

    /// Removes prefixes from an element's names, and drops namespace attributes.
    fn resolve_prefixes(&mut self, element: &mut Element) -> Result<(), Malformed> {
        let prefix = |name: &str| name.split_once(':').map(|(prefix, _)| prefix.to_owned());
        let mut attributes: Vec<(String, String)> = Vec::new();
        for (name, value) in std::mem::take(&mut element.attributes) {
            match (name.as_str(), prefix(&name).as_deref()) {
                (_, Some("xmlns")) => self.prefixes.push(name["xmlns:".len()..].into()),
                ("xmlns", None) | (_, Some("xml" | "xsi")) => {}
                _ => attributes.push((name, value)),
            }
        }
        for name in attributes.iter_mut().map(|(name, _)| name).chain([&mut element.name]) {
            if let Some(prefix) = prefix(name) {
                if prefix != "xml" && !self.prefixes.contains(&prefix) {
                    return self.fail("a prefix that is not bound");
                }
                name.drain(..=prefix.len());
            }
        }
        for (name, value) in attributes {
            if element.attribute(&name).is_some() {
                return self.fail("an attribute twice");
            }
            element.attributes.push((name, value));
        }
        Ok(())
    }

    /// Reads the contents of an element up to its end tag. `written` is the name as written.
    fn content(&mut self, element: &mut Element, written: &str, depth: usize) -> Result<(), Malformed> {
        loop {
            let rest = self.rest();
            if self.comment_or_instruction()? {
            } else if self.take("<![CDATA[") {
                let at = self.at;
                let text = self.until("]]>")?.into();
                self.note_text(element, at, text);
            } else if self.take("</") {
                if self.name()? != written {
                    return self.fail("an end tag of another name");
                }
                self.blanks();
                return self.need(">");
            } else if rest.starts_with('<') {
                element.children.push(self.element(depth + 1)?);
            } else if rest.is_empty() {
                return self.fail("an element without an end");
            } else {
                let length = rest.find('<').unwrap_or(rest.len());
                let text = &rest[..length];
                if text.contains("]]>") {
                    return self.fail("]]> in a text");
                }
                let decoded = self.decode(text)?;
                self.note_text(element, self.at, decoded);
                self.at += length;
            }
        }
    }

    /// Notes text between elements.
    fn note_text(&self, element: &mut Element, at: usize, text: String) {
        let blanks = text.len() - text.trim_start_matches(is_blank).len();
        if blanks < text.len() {
            element.text.get_or_insert(self.place(at + blanks));
        }
    }

    fn pair(&mut self) -> Result<(String, String), Malformed> {
        let name = self.name()?;
        self.blanks();
        self.need("=")?;
        self.blanks();
        let value = if self.take("\"") {
            self.until("\"")?
        } else if self.take("'") {
            self.until("'")?
        } else {
            return self.fail("a value without quotes");
        };
        if value.contains('<') {
            return self.fail("a < in a value");
        }
        // Literal white space becomes blanks, references to white space do not. CR LF is one line end.
        let value = value.replace("\r\n", " ").replace(['\t', '\n', '\r'], " ");
        Ok((name.into(), self.decode(&value)?))
    }

    /// Resolves references.
    fn decode(&self, text: &str) -> Result<String, Malformed> {
        let mut decoded = String::new();
        let mut parts = text.split('&');
        decoded.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let Some((name, after)) = part.split_once(';') else { return self.fail("a & alone") };
            let code = match (name.strip_prefix("#x"), name.strip_prefix('#')) {
                (Some(digits), _) => Self::code(digits, 16),
                (None, Some(digits)) => Self::code(digits, 10),
                (None, None) => match name {
                    "lt" => Some('<'),
                    "gt" => Some('>'),
                    "amp" => Some('&'),
                    "quot" => Some('"'),
                    "apos" => Some('\''),
                    _ => None,
                },
            };
            let Some(code) = code else { return self.fail("an unknown reference") };
            decoded.push(code);
            decoded.push_str(after);
        }
        if decoded.chars().all(is_character) { Ok(decoded) } else { self.fail("a character that XML forbids") }
    }

    fn code(digits: &str, radix: u32) -> Option<char> {
        let only_digits = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
        let code = u32::from_str_radix(digits, radix).ok().filter(|_| only_digits)?;
        char::from_u32(code).filter(|c| is_character(*c))
    }
}
