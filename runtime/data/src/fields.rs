//! Columns for the typed fields of one event, as its schema describes them.

use crate::columns::words;
use crate::dictionary::Words;
use crate::numbers::Numbers;
use arrow_array::builder::{BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, StringBuilder};
use arrow_array::types::{Float32Type, Float64Type, Int16Type, Int64Type, TimestampMicrosecondType, UInt64Type};
use arrow_array::{ArrayRef, DictionaryArray, ListArray, StringArray, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, TimeUnit};
use std::collections::HashMap;
use std::sync::Arc;
use tfbc::internal::rows::{flags_of_word, label_of_word};
use tfbc_vm::{CellValue, Cells, FieldKind, Hint, Labels, Program, Row, SchemaField, Shape};

/// Limit on the texts of a dictionary with 16-bit keys.
const MAX_SHORT: usize = i16::MAX as usize;

/// Builders of the columns of a row's fields, or of a list item's.
pub(crate) struct FieldColumns {
    members: Vec<Member>,
}

/// Field with the column of its values and, if they have names, the column of names.
struct Member {
    field: FieldRef,
    cell: u16,
    values: Values,
    label: Option<(FieldRef, u16, LabelColumn)>,
}

enum Values {
    Bool(BooleanBuilder),
    Int64(Numbers<Int64Type>),
    UInt64(Numbers<UInt64Type>),
    Float32(Numbers<Float32Type>),
    Float64(Numbers<Float64Type>),
    Utf8(StringBuilder),
    Binary(BinaryBuilder),
    FixedBinary(FixedSizeBinaryBuilder, usize),
    Timestamp(Numbers<TimestampMicrosecondType>),
    List(Box<ListColumn>),
}

struct ListColumn {
    field: FieldRef,
    list: Offsets,
    items: Items,
}

enum Items {
    Values(Values),
    Structs(FieldColumns),
}

/// Positions of the lists within the column of all items.
struct Offsets {
    ends: Vec<i32>,
    n_items: i32,
    nulls: NullBufferBuilder,
}

enum LabelColumn {
    /// All words come from the template, so all batches share one dictionary.
    Fixed(FixedWords),
    /// Words of the template, and others that depend on the event's data.
    Open(Words, Vec<String>),
    /// Lists of words from the template, such as the names of flags.
    List(FieldRef, FixedWords, Offsets),
}

struct FixedWords {
    keys: Numbers<Int16Type>,
    dictionary: Arc<StringArray>,
    known: HashMap<String, i16>,
}

impl FieldColumns {
    /// Creates the columns of a schema. `program` contains the names of sources that the schema refers to.
    pub fn new(fields: &[SchemaField], program: Option<&Program<'_>>) -> Self {
        Self { members: fields.iter().map(|field| Member::new(field, program)).collect() }
    }

    /// Fields of the Arrow schema.
    pub fn fields(&self) -> Vec<FieldRef> {
        let mut all = Vec::new();
        for member in &self.members {
            all.push(Arc::clone(&member.field));
            all.extend(member.label.as_ref().map(|(field, ..)| Arc::clone(field)));
        }
        all
    }

    /// Appends an encoded row, by means of `cells`. Nothing is a row of nulls.
    pub fn push_row(&mut self, encoded: &[u8], cells: &mut Row) {
        let is_known = cells.decode(encoded);
        self.push(is_known.then(|| cells.cells()));
    }

    /// Appends a row; `None` is a row of nulls.
    fn push(&mut self, cells: Option<Cells<'_>>) {
        for Member { cell, values, label, .. } in &mut self.members {
            let value = cells.map_or(CellValue::Null, |cells| cells.get(*cell));
            values.push(value);
            if let Some((_, cell, column)) = label {
                let word = match (value, cells) {
                    (CellValue::Null, _) | (_, None) => CellValue::Null,
                    (_, Some(cells)) => cells.get(*cell),
                };
                column.push(word);
            }
        }
    }

    /// Appends rows by column, see [`tfbc::internal::rows::FlatRows`].
    pub fn push_flat<'b>(&mut self, mut columns: impl Iterator<Item = &'b [[u8; 8]]>) {
        let mut words = || columns.next().unwrap_or_default().iter().map(|word| u64::from_le_bytes(*word));
        for Member { values, label, .. } in &mut self.members {
            values.extend(words());
            if let Some((.., column)) = label {
                column.extend_flat(words());
            }
        }
    }

    /// Returns the columns, and starts the next batch.
    pub fn finish(&mut self) -> Result<Vec<ArrayRef>, ArrowError> {
        let mut all = Vec::new();
        for Member { values, label, .. } in &mut self.members {
            all.push(values.finish()?);
            if let Some((.., column)) = label {
                all.push(column.finish()?);
            }
        }
        Ok(all)
    }
}

impl Member {
    fn new(field: &SchemaField, program: Option<&Program<'_>>) -> Self {
        let values = Values::new(&field.shape, program);
        let mut metadata = HashMap::new();
        let mut put = |key: &str, value: String| drop(metadata.insert(format!("tfbc:{key}"), value));
        let hint = innermost(&field.shape).hint;
        if hint != Hint::None {
            put("hint", hint.name().to_owned());
        }
        if let (Some(source), Some(program)) = (field.source, program) {
            let name = String::from_utf8_lossy(program.source_name(source));
            let name = name.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
            put("place", format!("{name}:{}:{}", field.line, field.column));
        }
        if !field.shown.is_empty() {
            put("code", field.shown.clone());
        }
        let made = Field::new(&field.name, values.data_type(), true).with_metadata(metadata);
        let label = field.labels.as_ref().map(|labels| {
            let column = LabelColumn::new(labels, hint);
            (Arc::new(Field::new(&labels.name, column.data_type(), true)), labels.cell, column)
        });
        Self { field: Arc::new(made), cell: field.cell, values, label }
    }
}

/// Type of the items of a list. For a list of lists, of the innermost items.
fn innermost(shape: &Shape) -> &Shape {
    shape.items.as_deref().map_or(shape, innermost)
}

impl Values {
    /// Creates a column without memory for rows, because many tables may wait for their rows.
    fn new(shape: &Shape, program: Option<&Program<'_>>) -> Self {
        match shape.kind {
            FieldKind::Bool => Values::Bool(BooleanBuilder::with_capacity(0)),
            FieldKind::Int64 => Values::Int64(Numbers::new()),
            FieldKind::UInt64 => Values::UInt64(Numbers::new()),
            FieldKind::Float32 => Values::Float32(Numbers::new()),
            FieldKind::Float64 => Values::Float64(Numbers::new()),
            FieldKind::Utf8 => Values::Utf8(StringBuilder::with_capacity(0, 0)),
            FieldKind::FixedBinary => {
                Values::FixedBinary(FixedSizeBinaryBuilder::with_capacity(0, shape.size.into()), shape.size.into())
            }
            FieldKind::Timestamp => Values::Timestamp(Numbers::new()),
            FieldKind::List | FieldKind::Struct => match &shape.items {
                Some(items) => Values::List(Box::new(ListColumn::new(items, program))),
                None => Values::Binary(BinaryBuilder::with_capacity(0, 0)),
            },
            FieldKind::Binary => Values::Binary(BinaryBuilder::with_capacity(0, 0)),
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Values::Bool(_) => DataType::Boolean,
            Values::Int64(_) => DataType::Int64,
            Values::UInt64(_) => DataType::UInt64,
            Values::Float32(_) => DataType::Float32,
            Values::Float64(_) => DataType::Float64,
            Values::Utf8(_) => DataType::Utf8,
            Values::Binary(_) => DataType::Binary,
            Values::FixedBinary(_, size) => DataType::FixedSizeBinary(*size as i32),
            Values::Timestamp(_) => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Values::List(list) => DataType::List(Arc::clone(&list.field)),
        }
    }

    fn push(&mut self, value: CellValue<'_>) {
        let number = match value {
            CellValue::Number(number) => Some(number),
            _ => None,
        };
        let bytes = match value {
            CellValue::Bytes(bytes) => Some(bytes),
            _ => None,
        };
        match self {
            Values::Bool(builder) => builder.append_option(number.map(|number| number & 1 == 1)),
            Values::Int64(numbers) => numbers.push(number.map(|number| number as i64)),
            Values::UInt64(numbers) => numbers.push(number),
            Values::Float32(numbers) => numbers.push(number.map(float32)),
            Values::Float64(numbers) => numbers.push(number.map(f64::from_bits)),
            Values::Utf8(builder) => builder.append_option(bytes.map(String::from_utf8_lossy)),
            Values::Binary(builder) => builder.append_option(bytes),
            Values::FixedBinary(builder, size) => {
                let is_whole = bytes.is_some_and(|bytes| bytes.len() == *size && builder.append_value(bytes).is_ok());
                if !is_whole {
                    builder.append_null();
                }
            }
            Values::Timestamp(numbers) => numbers.push(number.map(timestamp)),
            Values::List(list) => list.push(value),
        }
    }

    /// Appends numbers, of rows that have no nulls.
    fn extend(&mut self, words: impl ExactSizeIterator<Item = u64>) {
        match self {
            Values::Bool(builder) => words.for_each(|number| builder.append_value(number & 1 == 1)),
            Values::Int64(numbers) => numbers.extend(words.map(|number| number as i64)),
            Values::UInt64(numbers) => numbers.extend(words),
            Values::Float32(numbers) => numbers.extend(words.map(float32)),
            Values::Float64(numbers) => numbers.extend(words.map(f64::from_bits)),
            Values::Timestamp(numbers) => numbers.extend(words.map(timestamp)),
            Values::Utf8(_) | Values::Binary(_) | Values::FixedBinary(..) | Values::List(_) => {
                words.for_each(|number| self.push(CellValue::Number(number)));
            }
        }
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Values::Bool(builder) => Arc::new(builder.finish()),
            Values::Int64(numbers) => Arc::new(numbers.finish()),
            Values::UInt64(numbers) => Arc::new(numbers.finish()),
            Values::Float32(numbers) => Arc::new(numbers.finish()),
            Values::Float64(numbers) => Arc::new(numbers.finish()),
            Values::Utf8(builder) => Arc::new(builder.finish()),
            Values::Binary(builder) => Arc::new(builder.finish()),
            Values::FixedBinary(builder, _) => Arc::new(builder.finish()),
            Values::Timestamp(numbers) => Arc::new(numbers.finish().with_timezone("UTC")),
            Values::List(list) => return list.finish(),
        })
    }
}

fn float32(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// Microseconds since 1970 from seconds.
fn timestamp(seconds: u64) -> i64 {
    i64::from(seconds as u32) * 1_000_000
}

impl ListColumn {
    fn new(items: &Shape, program: Option<&Program<'_>>) -> Self {
        let items = match items.kind {
            FieldKind::Struct => Items::Structs(FieldColumns::new(&items.members, program)),
            _ => Items::Values(Values::new(items, program)),
        };
        let data_type = match &items {
            Items::Values(values) => values.data_type(),
            Items::Structs(columns) => DataType::Struct(columns.fields().into()),
        };
        Self { field: Arc::new(Field::new("item", data_type, true)), list: Offsets::new(), items }
    }

    fn push(&mut self, value: CellValue<'_>) {
        let CellValue::List(items) = value else { return self.list.push_null() };
        let mut n_items = 0;
        for item in items {
            n_items += 1;
            match &mut self.items {
                Items::Values(values) => values.push(item.get(0)),
                Items::Structs(columns) => columns.push(Some(item)),
            }
        }
        self.list.push(n_items);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let n_items = self.list.n_items as usize;
        let values = match &mut self.items {
            Items::Values(values) => values.finish()?,
            Items::Structs(columns) => {
                let fields: Fields = columns.fields().into();
                Arc::new(StructArray::try_new_with_length(fields, columns.finish()?, None, n_items)?)
            }
        };
        self.list.finish(&self.field, values)
    }
}

impl Offsets {
    fn new() -> Self {
        Self { ends: vec![0], n_items: 0, nulls: NullBufferBuilder::new(0) }
    }

    fn push(&mut self, n_items: i32) {
        self.n_items += n_items;
        self.ends.push(self.n_items);
        self.nulls.append_non_null();
    }

    fn push_null(&mut self) {
        self.ends.push(self.n_items);
        self.nulls.append_null();
    }

    fn finish(&mut self, field: &FieldRef, values: ArrayRef) -> Result<ArrayRef, ArrowError> {
        self.n_items = 0;
        let ends = std::mem::replace(&mut self.ends, vec![0]);
        let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
        Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, values, self.nulls.finish())?))
    }
}

impl LabelColumn {
    fn new(labels: &Labels, hint: Hint) -> Self {
        let fixed = FixedWords::new(&labels.texts);
        if labels.is_list {
            let field = Arc::new(Field::new("item", fixed.data_type(), true));
            return LabelColumn::List(field, fixed, Offsets::new());
        }
        if matches!(hint, Hint::Errno | Hint::Pid) || labels.texts.is_empty() || labels.texts.len() > MAX_SHORT {
            return LabelColumn::Open(Words::new(), labels.texts.clone());
        }
        LabelColumn::Fixed(fixed)
    }

    fn data_type(&self) -> DataType {
        match self {
            LabelColumn::Fixed(fixed) => fixed.data_type(),
            LabelColumn::Open(..) => words(),
            LabelColumn::List(field, ..) => DataType::List(Arc::clone(field)),
        }
    }

    fn push(&mut self, value: CellValue<'_>) {
        match (self, value) {
            (LabelColumn::Fixed(fixed), value) => fixed.push(value),
            (LabelColumn::Open(words, texts), CellValue::Label(at)) => match texts.get(at as usize) {
                Some(text) => words.push(text.as_bytes()),
                None => words.push_nulls(1),
            },
            (LabelColumn::Open(words, _), CellValue::Bytes(text)) => words.push(text),
            (LabelColumn::Open(words, _), _) => words.push_nulls(1),
            (LabelColumn::List(_, fixed, list), CellValue::List(items)) => {
                let mut n_items = 0;
                for item in items {
                    n_items += 1;
                    fixed.push(item.get(0));
                }
                list.push(n_items);
            }
            (LabelColumn::List(_, _, list), _) => list.push_null(),
        }
    }

    /// Appends labels from words of flat cells.
    fn extend_flat(&mut self, words: impl Iterator<Item = u64>) {
        match self {
            LabelColumn::Fixed(fixed) => {
                let n_texts = fixed.known.len() as u64;
                words.for_each(|word| fixed.keys.push((word < n_texts).then_some(word as i16)));
            }
            LabelColumn::Open(..) => words.for_each(|word| self.push(label_of_word(word))),
            LabelColumn::List(_, fixed, list) => {
                for word in words {
                    flags_of_word(word).for_each(|label| fixed.push(CellValue::Label(label)));
                    list.push(word.count_ones() as i32);
                }
            }
        }
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        match self {
            LabelColumn::Fixed(fixed) => fixed.finish(),
            LabelColumn::Open(words, _) => words.finish(),
            LabelColumn::List(field, fixed, list) => {
                let values = fixed.finish()?;
                list.finish(field, values)
            }
        }
    }
}

impl FixedWords {
    fn new(texts: &[String]) -> Self {
        let texts = &texts[..texts.len().min(MAX_SHORT)];
        let known = texts.iter().enumerate().map(|(at, text)| (text.clone(), at as i16));
        Self {
            keys: Numbers::new(),
            dictionary: Arc::new(StringArray::from_iter_values(texts)),
            known: known.collect(),
        }
    }

    fn data_type(&self) -> DataType {
        DataType::Dictionary(Box::new(DataType::Int16), Box::new(DataType::Utf8))
    }

    fn push(&mut self, value: CellValue<'_>) {
        let key = match value {
            CellValue::Label(at) => i16::try_from(at).ok().filter(|at| (*at as usize) < self.known.len()),
            CellValue::Bytes(text) => std::str::from_utf8(text).ok().and_then(|text| self.known.get(text).copied()),
            _ => None,
        };
        self.keys.push(key);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let dictionary = Arc::clone(&self.dictionary) as ArrayRef;
        Ok(Arc::new(DictionaryArray::<Int16Type>::try_new(self.keys.finish(), dictionary)?))
    }
}
