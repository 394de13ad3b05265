//! Fields of an event and their descriptions, as the library presents them.

/// Named value of an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Unique name: a second field called `x` is `x_2`.
    pub name: String,
    /// Value as it was recorded.
    pub value: FieldValue,
    /// Value as text. For QNX, as in the event's text; for AIX, as in JSON lines, without quotation marks.
    pub text: String,
}

/// Value of a [`Field`].
#[derive(Debug, Clone, PartialEq)]
pub enum FieldValue {
    /// No value: the event is too short to contain the field, or the case that prints it did not run.
    Missing,
    /// A single bit.
    Bool(bool),
    /// Signed or unsigned number of up to 64 bits.
    Integer(i128),
    /// Float of 4 or 8 bytes.
    Float(f64),
    /// Text; bytes that are not UTF-8 are replaced.
    Text(String),
    /// Bytes, for example from `LOOP n { X0 }`.
    Bytes(Vec<u8>),
    /// Time in seconds since 1970, UTC.
    Timestamp(u32),
    /// Items of an AIX loop or of a QNX array, or words of `BITFLAGS` or of enums. An item without value is
    /// [`FieldValue::Missing`].
    List(Vec<FieldValue>),
    /// Item of a loop with several fields.
    Struct(Vec<Field>),
}

/// Name and type of a field, as `tfbc fields` lists them.
///
/// ```
/// use tfbc::Formats;
///
/// let formats = Formats::builtin();
/// let dispatch = formats.events().find(|event| event.id == "106").unwrap();
/// let timer = dispatch.fields.iter().find(|field| field.name == "timer").unwrap();
/// assert_eq!((&*timer.kind, timer.hint), ("int64", "ns"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldFormat {
    /// Name, as in [`Field`](crate::Field).
    pub name: String,
    /// Type: `bool`, `int64`, `uint64`, `float32`, `float64`, `utf8`, `binary`, `fixed_size_binary`, `timestamp`,
    /// `dictionary` for words, or `list of` such a type or of `struct`.
    pub kind: String,
    /// Hint for displaying a number, or the numbers of a list: `hex`, `oct`, `bin`, `errno`, `pid` or `ns`; empty if
    /// there is none.
    pub hint: &'static str,
    /// Words of a dictionary that the template contains.
    pub texts: Vec<String>,
    /// Fields of the structs of a list.
    pub members: Vec<FieldFormat>,
    /// Format file that prints the value, as the user named it; `None` for a built-in stanza.
    pub file: Option<String>,
    /// Line in which the code that prints the value starts, from 1.
    pub line: u32,
    /// Column in which the code that prints the value starts, from 1.
    pub column: u32,
}
