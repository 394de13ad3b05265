//! Schemas of fields: names and types of the values that an entry of [`Space::HookFields`](crate::Space) or
//! [`Space::RecordFields`](crate::Space) stores.
//!
//! A blob stores the schema of an entry in its string pool. Numbers are LEB128, texts have their length before them. Lines
//! and columns have four bytes, little-endian, so that moving a stanza moves nothing else in the blob.

use crate::op::named;

/// Fields of one entry, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schema {
    /// The fields.
    pub fields: Vec<SchemaField>,
    /// Fields that a comment omits. They are stored because `formats` show them.
    pub omitted: Vec<SchemaField>,
    /// Formats of a QNX event, which show its fields as text; none for an AIX hook.
    pub formats: Vec<FormatShown>,
}

/// Format of a datakey: how its fields are shown as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatShown {
    /// Cell that has the value 1 if the record ends before the end of a field.
    pub cut: u16,
    /// True if values are shown together with their words.
    pub shows_value: bool,
    /// The fields.
    pub fields: Vec<FieldShown>,
}

/// Field of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldShown {
    /// Label, unchanged.
    pub label: String,
    /// Cell of the value, before a comment's code.
    pub cell: u16,
    /// Cell of its words, which are in the field's [`Labels`].
    pub words: Option<u16>,
    /// Notation of a number.
    pub notation: Notation,
    /// Bytes of a number.
    pub size: u8,
    /// True if the number is declared as signed.
    pub is_signed: bool,
}

/// One field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaField {
    /// Name, unique among the fields and labels of its schema or struct.
    pub name: String,
    /// Type of its values.
    pub shape: Shape,
    /// Names of its values, in a column of their own.
    pub labels: Option<Labels>,
    /// Code, macro or item that prints it, such as `U4` or `$D1%UW`.
    pub shown: String,
    /// Index of the source; `None` for a built-in stanza.
    pub source: Option<u16>,
    /// Line of the first byte, from 1.
    pub line: u32,
    /// Column of the first byte, from 1.
    pub column: u32,
    /// Rule that named it.
    pub rule: NameRule,
    /// Cell of its value in the row or list item.
    pub cell: u16,
}

/// Type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Kind of the value.
    pub kind: FieldKind,
    /// Bytes of a [`FieldKind::FixedBinary`], otherwise 0.
    pub size: u8,
    /// Hint for displaying it.
    pub hint: Hint,
    /// Type of a list's items.
    pub items: Option<Box<Shape>>,
    /// Members of a struct.
    pub members: Vec<SchemaField>,
}

impl Shape {
    /// Type without parameters.
    pub fn new(kind: FieldKind, hint: Hint) -> Self {
        Shape { kind, size: 0, hint, items: None, members: Vec::new() }
    }
}

/// Column of words for a field's values: `NAME_text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    /// Its name.
    pub name: String,
    /// Cell of its value.
    pub cell: u16,
    /// True if the value is a list of words.
    pub is_list: bool,
    /// Words of the template, in its order.
    pub texts: Vec<String>,
}

named! {
    /// Kind of a value, named as in Arrow.
    FieldKind {
        /// True or false.
        Bool = "bool",
        /// Signed number.
        Int64 = "int64",
        /// Unsigned number.
        UInt64 = "uint64",
        /// Float of 4 bytes.
        Float32 = "float32",
        /// Float of 8 bytes.
        Float64 = "float64",
        /// Text.
        Utf8 = "utf8",
        /// Bytes.
        Binary = "binary",
        /// Fixed number of bytes.
        FixedBinary = "fixed_size_binary",
        /// Seconds since 1970.
        Timestamp = "timestamp",
        /// List.
        List = "list",
        /// Item of a list with several fields.
        Struct = "struct",
    }
}

named! {
    /// Hint for displaying a number.
    Hint {
        /// No hint.
        None = "",
        /// Hexadecimal.
        Hex = "hex",
        /// Octal.
        Oct = "oct",
        /// Binary.
        Bin = "bin",
        /// AIX error number.
        Errno = "errno",
        /// Process id.
        Pid = "pid",
        /// Nanoseconds.
        Ns = "ns",
    }
}

named! {
    /// Rule that named a field.
    NameRule {
        /// A `fields` comment.
        Comment = "comment",
        /// The text before the value.
        Text = "text",
        /// The macro's own name.
        Macro = "macro",
        /// The text of a flag's case.
        Case = "case",
        /// A timer.
        Timer = "timer",
        /// The position among the fields.
        Position = "position",
    }
}

named! {
    /// Notation of a QNX field's numbers.
    Notation {
        /// Decimal.
        Decimal = "d",
        /// Hexadecimal, the bit pattern.
        Hex = "x",
        /// Octal, the bit pattern.
        Octal = "o",
        /// The character, or hexadecimal if it is not printable.
        Char = "c",
    }
}

/// Limit on nested types in an encoded schema.
const MAX_NESTING: usize = 16;

impl Schema {
    /// Encoded schema.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        put_fields(&mut out, &self.fields);
        if !self.formats.is_empty() {
            put_fields(&mut out, &self.omitted);
            put(&mut out, self.formats.len() as u32);
            self.formats.iter().for_each(|format| put_format(&mut out, format));
        }
        out
    }

    /// Texts of the words in a cell.
    pub fn texts(&self, cell: u16) -> &[String] {
        let labels = self.fields.iter().chain(&self.omitted).filter_map(|field| field.labels.as_ref());
        labels.into_iter().find(|labels| labels.cell == cell).map_or(&[], |labels| &labels.texts)
    }

    /// Decodes a schema; `None` if the bytes are invalid. An empty slice is a schema without fields.
    ///
    /// ```
    /// use tfbc_vm::Schema;
    /// assert_eq!(Schema::decode(&Schema::default().encode()), Some(Schema::default()));
    /// assert_eq!(Schema::decode(b"\xff"), None);
    /// ```
    pub fn decode(bytes: &[u8]) -> Option<Schema> {
        if bytes.is_empty() {
            return Some(Schema::default());
        }
        let mut reader = SchemaReader { bytes };
        let mut schema = Schema { fields: reader.fields(0)?, ..Schema::default() };
        if !reader.bytes.is_empty() {
            (schema.omitted, schema.formats) = (reader.fields(0)?, reader.list(SchemaReader::format)?);
        }
        reader.bytes.is_empty().then_some(schema)
    }
}

fn put(out: &mut Vec<u8>, mut number: u32) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u32);
    out.extend_from_slice(text.as_bytes());
}

fn put_fields(out: &mut Vec<u8>, fields: &[SchemaField]) {
    put(out, fields.len() as u32);
    for field in fields {
        put_text(out, &field.name);
        put_shape(out, &field.shape);
        put(out, field.labels.as_ref().map_or(0, |labels| 1 + u32::from(labels.is_list)));
        if let Some(labels) = &field.labels {
            put_text(out, &labels.name);
            put(out, labels.cell.into());
            put(out, labels.texts.len() as u32);
            labels.texts.iter().for_each(|text| put_text(out, text));
        }
        put_text(out, &field.shown);
        put(out, field.source.map_or(0, |source| u32::from(source) + 1));
        out.extend_from_slice(&field.line.to_le_bytes());
        out.extend_from_slice(&field.column.to_le_bytes());
        put(out, field.rule as u32);
        put(out, field.cell.into());
    }
}

fn put_format(out: &mut Vec<u8>, format: &FormatShown) {
    put(out, format.cut.into());
    put(out, format.shows_value.into());
    put(out, format.fields.len() as u32);
    for field in &format.fields {
        put_text(out, &field.label);
        put(out, field.cell.into());
        put(out, field.words.map_or(0, |words| u32::from(words) + 1));
        put(out, field.notation as u32);
        put(out, field.size.into());
        put(out, field.is_signed.into());
    }
}

fn put_shape(out: &mut Vec<u8>, shape: &Shape) {
    put(out, shape.kind as u32);
    put(out, shape.size.into());
    put(out, shape.hint as u32);
    match (shape.kind, &shape.items) {
        (FieldKind::List, Some(items)) => put_shape(out, items),
        (FieldKind::Struct, _) => put_fields(out, &shape.members),
        _ => {}
    }
}

struct SchemaReader<'b> {
    bytes: &'b [u8],
}

impl<'b> SchemaReader<'b> {
    fn number(&mut self) -> Option<u32> {
        let mut number = 0u32;
        for shift in (0..32).step_by(7) {
            let (byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            number |= u32::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(u32::from_le_bytes(*word))
    }

    fn text(&mut self) -> Option<String> {
        let len = self.number()? as usize;
        let (text, rest) = self.bytes.split_at_checked(len)?;
        self.bytes = rest;
        std::str::from_utf8(text).ok().map(String::from)
    }

    fn small<T: TryFrom<u32>>(&mut self) -> Option<T> {
        self.number()?.try_into().ok()
    }

    /// Reads a list. Every item takes at least a byte, which bounds its length.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let len = self.number()? as usize;
        if len > self.bytes.len() {
            return None;
        }
        let mut items = Vec::new();
        for _ in 0..len {
            items.push(item(self)?);
        }
        Some(items)
    }

    fn fields(&mut self, depth: usize) -> Option<Vec<SchemaField>> {
        self.list(|reader| reader.field(depth))
    }

    fn field(&mut self, depth: usize) -> Option<SchemaField> {
        let (name, shape) = (self.text()?, self.shape(depth)?);
        let labels = match self.number()? {
            0 => None,
            kind @ 1..=2 => {
                let (name, cell) = (self.text()?, self.small()?);
                Some(Labels { name, cell, is_list: kind == 2, texts: self.list(Self::text)? })
            }
            _ => return None,
        };
        let shown = self.text()?;
        let source = match self.number()? {
            0 => None,
            number => Some(u16::try_from(number - 1).ok()?),
        };
        let (line, column) = (self.word()?, self.word()?);
        let rule = NameRule::from_u32(self.number()?)?;
        Some(SchemaField { name, shape, labels, shown, source, line, column, rule, cell: self.small()? })
    }

    fn format(&mut self) -> Option<FormatShown> {
        let (cut, shows_value) = (self.small()?, self.number()? != 0);
        let fields = self.list(|reader| {
            Some(FieldShown {
                label: reader.text()?,
                cell: reader.small()?,
                words: match reader.number()? {
                    0 => None,
                    number => Some(u16::try_from(number - 1).ok()?),
                },
                notation: Notation::from_u32(reader.number()?)?,
                size: reader.small().filter(|size| (1..=8).contains(size))?,
                is_signed: reader.number()? != 0,
            })
        })?;
        Some(FormatShown { cut, shows_value, fields })
    }

    fn shape(&mut self, depth: usize) -> Option<Shape> {
        if depth > MAX_NESTING {
            return None;
        }
        let (kind, size, hint) = (FieldKind::from_u32(self.number()?)?, self.small()?, Hint::from_u32(self.number()?)?);
        let mut shape = Shape { size, ..Shape::new(kind, hint) };
        match kind {
            FieldKind::List => shape.items = Some(Box::new(self.shape(depth + 1)?)),
            FieldKind::Struct => shape.members = self.fields(depth + 1)?,
            _ => {}
        }
        Some(shape)
    }
}
