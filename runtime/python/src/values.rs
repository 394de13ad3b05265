//! Conversion of field values to Python objects.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDateTime, PyDict, PyList, PyTzInfo};
use tfbc::{Field, FieldValue};

/// Dictionary of fields by name. A field without a value is `None`.
pub fn dict<'py>(py: Python<'py>, fields: &[Field]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for field in fields {
        dict.set_item(&field.name, value(py, &field.value)?)?;
    }
    Ok(dict)
}

/// Converts a value to `bool`, `int`, `float`, `str`, `bytes`, `datetime`, `list` or `dict`.
pub fn value<'py>(py: Python<'py>, value: &FieldValue) -> PyResult<Bound<'py, PyAny>> {
    match value {
        FieldValue::Missing => py.None().into_bound_py_any(py),
        FieldValue::Bool(bit) => bit.into_bound_py_any(py),
        // Most numbers fit, and Python converts 64 bits several times as fast as 128.
        FieldValue::Integer(number) => match i64::try_from(*number) {
            Ok(number) => number.into_bound_py_any(py),
            Err(_) => number.into_bound_py_any(py),
        },
        FieldValue::Float(number) => number.into_bound_py_any(py),
        FieldValue::Text(text) => text.into_bound_py_any(py),
        FieldValue::Bytes(bytes) => Ok(PyBytes::new(py, bytes).into_any()),
        FieldValue::Timestamp(seconds) => Ok(utc(py, i64::from(*seconds) * 1_000_000)?.into_any()),
        FieldValue::List(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(self::value(py, item)?)?;
            }
            Ok(list.into_any())
        }
        FieldValue::Struct(members) => Ok(dict(py, members)?.into_any()),
    }
}

/// Time in UTC, from microseconds since 1970. Python takes a float, which is exact until the year 2255.
pub fn utc(py: Python<'_>, us: i64) -> PyResult<Bound<'_, PyDateTime>> {
    PyDateTime::from_timestamp(py, us as f64 / 1e6, Some(&*PyTzInfo::utc(py)?))
}
