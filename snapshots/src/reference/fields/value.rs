//! Values of fields.

/// Value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldValue {
    /// Nothing that the event contains.
    Null,
    /// `bool`
    Bool(bool),
    /// `int64`
    Int(i64),
    /// `uint64`
    Uint(u64),
    /// `float32`
    Float32(f32),
    /// `float64`
    Float64(f64),
    /// `utf8`, or a text of a dictionary.
    Text(Vec<u8>),
    /// `binary` and `fixed_size_binary`
    Bytes(Vec<u8>),
    /// `timestamp`, in seconds.
    Time(u32),
    /// `list`
    List(Vec<FieldValue>),
    /// `struct`
    Struct(Vec<(String, FieldValue)>),
}
