//! Sections of `tfbc summary` and groups of `tfbc latency` as Arrow tables.

use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder, UInt64Builder};
use arrow_array::types::Int64Type;
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int64Array, ListArray, RecordBatch, StringArray,
};
use arrow_schema::{Field, Schema};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use tfbc_analysis::{ColumnKind, Section, Value};
use tfbc_data::{BatchSink, IpcStream};

/// Stream with a section. Its columns are those of `--to csv`.
pub fn stream(section: &Section) -> io::Result<Vec<u8>> {
    let columns: Vec<(Field, ArrayRef)> = section
        .columns()
        .iter()
        .enumerate()
        .map(|(at, column)| {
            let values: Vec<&Value> = section.rows().map(|row| &row[at]).collect();
            let array = array(&values, column.kind != ColumnKind::Id);
            (Field::new(&column.name, array.data_type().clone(), true), array)
        })
        .collect();
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let metadata = HashMap::from([(String::from("section"), section.name.to_owned())]);
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
    let mut stream = IpcStream::new(Vec::new());
    stream.begin(&schema)?;
    stream.batch(RecordBatch::try_new(schema, arrays).map_err(io::Error::other)?)?;
    stream.finish(&format!("{{\"rows\":{}}}", section.rows().len()))
}

/// Values of a column, of the type that all of them have; otherwise their texts. `is_number` is for columns without
/// values.
fn array(values: &[&Value], is_number: bool) -> ArrayRef {
    let known = || values.iter().filter(|value| ***value != Value::Null);
    let all = |test: fn(&Value) -> bool| known().all(|value| test(value)) && known().next().is_some();
    let number = |value: &&Value| if let Value::Number(number) = value { Some(*number) } else { None };
    if all(|value| matches!(value, Value::Number(_))) || (is_number && known().next().is_none()) {
        let numbers: Vec<Option<i128>> = values.iter().map(number).collect();
        let small = numbers.iter().map(|number| number.map(i64::try_from).transpose()).collect::<Result<Vec<_>, _>>();
        return match small {
            Ok(small) => Arc::new(Int64Array::from(small)),
            // Times of many CPUs can be longer than 64 bits can say.
            Err(_) => Arc::new(Decimal128Array::from(numbers).with_data_type(WIDE)),
        };
    }
    if all(|value| matches!(value, Value::Flag(_))) {
        let flag = |value: &&Value| if let Value::Flag(flag) = value { Some(*flag) } else { None };
        return Arc::new(values.iter().map(flag).collect::<BooleanArray>());
    }
    if all(|value| matches!(value, Value::Ratio(_))) {
        let ratio = |value: &&Value| if let Value::Ratio(n) = value { Some(*n as f64 / 1000.0) } else { None };
        return Arc::new(values.iter().map(ratio).collect::<Float64Array>());
    }
    if all(|value| matches!(value, Value::List(_))) {
        return lists(values);
    }
    if all(|value| matches!(value, Value::Counts(_))) {
        return counts(values);
    }
    let text = |value: &&Value| (**value != Value::Null).then(|| value.to_string());
    Arc::new(values.iter().map(text).collect::<StringArray>())
}

/// Type of numbers that are too large for 64 bits.
const WIDE: arrow_schema::DataType = arrow_schema::DataType::Decimal128(38, 0);

fn lists(values: &[&Value]) -> ArrayRef {
    let items = |value: &Value| if let Value::List(items) = value { Some(items.clone()) } else { None };
    let small = |value: &Value| match value {
        Value::Number(number) => i64::try_from(*number).ok(),
        _ => None,
    };
    let all: Vec<Value> = values.iter().filter_map(|value| items(value)).flatten().collect();
    if !all.is_empty() && all.iter().all(|item| small(item).is_some()) {
        let numbers = values.iter().map(|value| items(value).map(|items| items.iter().map(small).collect::<Vec<_>>()));
        return Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(numbers));
    }
    let mut builder = ListBuilder::new(StringBuilder::new());
    for value in values {
        builder.append_option(items(value).map(|items| items.into_iter().map(|item| Some(item.to_string()))));
    }
    Arc::new(builder.finish())
}

/// Counts by number, as a map.
fn counts(values: &[&Value]) -> ArrayRef {
    let mut builder = MapBuilder::new(None, UInt64Builder::new(), UInt64Builder::new());
    for value in values {
        if let Value::Counts(counts) = value {
            for (number, n) in counts {
                builder.keys().append_value(*number);
                builder.values().append_value(*n);
            }
        }
        // Keys and values have equal lengths, so this does not fail.
        let _ = builder.append(matches!(value, Value::Counts(_)));
    }
    Arc::new(builder.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;
    use arrow_schema::DataType;

    #[test]
    fn columns_have_the_type_of_their_values() {
        let number = |number: i128| Value::Number(number);
        let of = |values: &[Value]| array(&values.iter().collect::<Vec<_>>(), false).data_type().clone();
        assert_eq!(of(&[number(1), Value::Null]), DataType::Int64);
        assert_eq!(of(&[number(1 << 70)]), DataType::Decimal128(38, 0));
        assert_eq!(of(&[number(1), Value::from("all")]), DataType::Utf8);
        assert_eq!(of(&[Value::Flag(true)]), DataType::Boolean);
        assert_eq!(of(&[Value::Ratio(1500)]), DataType::Float64);
        assert!(
            matches!(of(&[Value::List(vec![number(1)])]), DataType::List(item) if *item.data_type() == DataType::Int64)
        );
        assert!(matches!(of(&[Value::List(vec![])]), DataType::List(item) if *item.data_type() == DataType::Utf8));
        assert!(matches!(of(&[Value::Counts([(2, 1)].into()), Value::Null]), DataType::Map(..)));
        let none = array(&[&Value::Null], true);
        assert_eq!((none.data_type(), none.null_count()), (&DataType::Int64, 1));
        assert_eq!(of(&[Value::Null]), DataType::Utf8);
    }
}
