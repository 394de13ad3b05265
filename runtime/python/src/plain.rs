//! Conversion of batches to types that every query engine supports: texts instead of dictionaries, decimals instead of
//! `uint64`, and binary values of variable instead of fixed size.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Decimal128Array, DictionaryArray, ListArray, RecordBatch, StringArray, StructArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// Number of digits of the largest `uint64`.
const DIGITS: u8 = 20;

/// Set of types to replace.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Plain {
    /// Dictionaries.
    Words,
    /// Dictionaries, `uint64`, and fixed-size binary.
    All,
}

/// Type that replaces another.
fn plain_type(kind: &DataType, plain: Plain) -> DataType {
    let of_field = |field: &Arc<Field>| Arc::new(plain_field(field, plain));
    match kind {
        DataType::Dictionary(_, values) => (**values).clone(),
        DataType::List(item) => DataType::List(of_field(item)),
        DataType::Struct(members) => DataType::Struct(members.iter().map(of_field).collect()),
        DataType::UInt64 if plain == Plain::All => DataType::Decimal128(DIGITS, 0),
        DataType::FixedSizeBinary(_) if plain == Plain::All => DataType::Binary,
        other => other.clone(),
    }
}

/// Field with a plain type.
pub fn plain_field(field: &Field, plain: Plain) -> Field {
    field.clone().with_data_type(plain_type(field.data_type(), plain))
}

/// Schema in which the columns at some positions have plain types.
pub fn plain_schema(schema: &Schema, columns: &[Option<Plain>]) -> SchemaRef {
    let field = |(field, plain): (&Arc<Field>, &Option<Plain>)| match plain {
        Some(plain) => Arc::new(plain_field(field, *plain)),
        None => Arc::clone(field),
    };
    let fields: Vec<Arc<Field>> = schema.fields().iter().zip(columns).map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Batch in which the columns at some positions have plain types.
pub fn plain_batch(
    batch: &RecordBatch,
    columns: &[Option<Plain>],
    schema: &SchemaRef,
) -> Result<RecordBatch, ArrowError> {
    let column = |(array, plain): (&ArrayRef, &Option<Plain>)| match plain {
        Some(plain) => plain_array(array, *plain),
        None => Ok(Arc::clone(array)),
    };
    let columns = batch.columns().iter().zip(columns).map(column).collect::<Result<Vec<_>, _>>()?;
    RecordBatch::try_new(Arc::clone(schema), columns)
}

fn plain_array(array: &ArrayRef, plain: Plain) -> Result<ArrayRef, ArrowError> {
    Ok(match array.data_type() {
        DataType::Dictionary(keys, _) => Arc::new(match **keys {
            DataType::Int8 => words(array.as_dictionary::<Int8Type>()),
            DataType::Int16 => words(array.as_dictionary::<Int16Type>()),
            _ => words(array.as_dictionary::<Int32Type>()),
        }),
        DataType::List(item) => {
            let list = array.as_list::<i32>();
            let values = plain_array(list.values(), plain)?;
            let item = Arc::new(plain_field(item, plain));
            Arc::new(ListArray::try_new(item, list.offsets().clone(), values, list.nulls().cloned())?)
        }
        DataType::Struct(members) => {
            let of = array.as_struct();
            let columns =
                of.columns().iter().map(|column| plain_array(column, plain)).collect::<Result<Vec<_>, _>>()?;
            let members = members.iter().map(|member| Arc::new(plain_field(member, plain))).collect();
            Arc::new(StructArray::try_new(members, columns, of.nulls().cloned())?)
        }
        DataType::UInt64 if plain == Plain::All => {
            let numbers = array.as_primitive::<UInt64Type>().iter().map(|number| number.map(i128::from));
            Arc::new(numbers.collect::<Decimal128Array>().with_precision_and_scale(DIGITS, 0)?)
        }
        DataType::FixedSizeBinary(_) if plain == Plain::All => {
            Arc::new(array.as_fixed_size_binary().iter().collect::<BinaryArray>())
        }
        _ => Arc::clone(array),
    })
}

fn words<K: arrow_array::types::ArrowDictionaryKeyType>(array: &DictionaryArray<K>) -> StringArray {
    let values = array.values().as_string::<i32>();
    let key = |row: usize| array.key(row).map(|key| values.value(key));
    (0..array.len()).map(key).collect()
}
