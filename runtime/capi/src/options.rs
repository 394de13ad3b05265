//! Options of a trace and its tables, as a JSON object.

use serde_json::{Map, Value};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use tfbc::TraceKind;
use tfbc::aix::{AixKind, ReadOptions};
use tfbc_data::{EventColumn, MAX_BATCH_ROWS, Selection, TableOptions};

/// Options of a trace and its tables.
#[derive(Default)]
pub struct Options {
    pub read: ReadOptions,
    pub selection: Selection,
    pub table: TableOptions,
    formats: Vec<String>,
    has_no_built_in: bool,
}

impl Options {
    /// Parses a JSON object.
    pub fn parse(json: &str) -> Result<Self, String> {
        let object: Map<String, Value> = serde_json::from_str(json).map_err(|error| format!("options: {error}"))?;
        let (mut options, mut has_text, mut has_fields) = (Self::default(), true, true);
        for (name, value) in object.iter().filter(|(_, value)| !value.is_null()) {
            let wrong = |expected: &str| format!("option `{name}`: expected {expected}, found {value}");
            let texts = || texts(value).ok_or_else(|| wrong("a text, a number or a list of them"));
            let flag = || value.as_bool().ok_or_else(|| wrong("true or false"));
            let seconds = || seconds(value).ok_or_else(|| wrong("seconds"));
            let count = || value.as_u64().and_then(|n| NonZeroUsize::new(n as usize)).ok_or_else(|| wrong("a count"));
            let filter = &mut options.selection.filter;
            match name.as_str() {
                "formats" => options.formats = texts()?,
                "builtin" => options.has_no_built_in = !flag()?,
                "kind" => options.read.format = Some(kind(value).ok_or_else(|| wrong("a kind of trace"))?),
                "time_zero" => {
                    let ns = value.as_str().and_then(tfbc_data::parse_time);
                    options.table.time_zero = Some(ns.ok_or_else(|| wrong("a date such as 2026-01-31T12:00:00Z"))?);
                }
                "columns" => {
                    let columns = EventColumn::parse(&texts()?.join(",")).map_err(|error| error.to_string())?;
                    options.table.columns = Some(columns);
                }
                "only" => filter.only = texts()?,
                "excluding" => filter.except = texts()?,
                "pid" => filter.pids = texts()?,
                "tid" => filter.tids = texts()?,
                "cpu" => filter.cpus = texts()?,
                "exec" => filter.programs = texts()?,
                "start" => filter.from_ns = Some(seconds()?),
                "end" => filter.until_ns = Some(seconds()?),
                "grep" => filter.grep = Some(value.as_str().ok_or_else(|| wrong("a text"))?.to_owned()),
                "defined" => filter.defined = flag()?,
                "text" => has_text = flag()?,
                "fields" => has_fields = flag()?,
                "batch_rows" => {
                    let n = count()?.get();
                    options.table.batch_rows =
                        Some(n).filter(|n| *n <= MAX_BATCH_ROWS).ok_or_else(|| wrong("at most 1048576"))?;
                }
                "threads" => options.selection.threads = Some(count()?),
                _ => return Err(format!("unknown option `{name}`")),
            }
        }
        if options.table.columns.is_none() && !(has_text && has_fields) {
            let is_wanted = |column: &EventColumn| match column {
                EventColumn::Text => has_text,
                EventColumn::Fields => has_fields,
                column => column.is_default(),
            };
            options.table.columns = Some(EventColumn::ALL.iter().copied().filter(is_wanted).collect());
        }
        Ok(options)
    }

    /// Paths of format files, the built-in one first.
    pub fn format_paths(&self) -> Vec<PathBuf> {
        let built_in = (!self.has_no_built_in).then(|| PathBuf::from("default"));
        built_in.into_iter().chain(self.formats.iter().map(PathBuf::from)).collect()
    }
}

/// A text or number, or a list of them.
fn texts(value: &Value) -> Option<Vec<String>> {
    let one = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    match value {
        Value::Array(items) => items.iter().map(one).collect(),
        value => one(value).map(|text| vec![text]),
    }
}

/// Nanoseconds of a number of seconds.
fn seconds(value: &Value) -> Option<i128> {
    match value.as_i64() {
        Some(seconds) => Some(i128::from(seconds) * 1_000_000_000),
        // The cast saturates, far outside of any trace.
        None => value.as_f64().map(|seconds| (seconds * 1e9).round() as i128),
    }
}

fn kind(value: &Value) -> Option<TraceKind> {
    let kinds = [AixKind::Stream32, AixKind::Stream64, AixKind::Log32, AixKind::Log64].map(TraceKind::Aix);
    kinds.into_iter().chain([TraceKind::Kev]).find(|kind| Some(kind.name()) == value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_of_python() {
        let options = Options::parse(
            r#"{"only":["101",134],"pid":5,"start":1.5,"end":2,"text":false,"batch_rows":7,"threads":2,"grep":null,
                "time_zero":"1970-01-01T00:00:01Z","formats":"a.trcfmt","kind":"log64"}"#,
        )
        .unwrap();
        let filter = &options.selection.filter;
        assert_eq!((&filter.only[..], &filter.pids[..]), (&["101".into(), "134".into()][..], &["5".into()][..]));
        assert_eq!((filter.from_ns, filter.until_ns), (Some(1_500_000_000), Some(2_000_000_000)));
        assert_eq!((options.table.batch_rows, options.table.time_zero), (7, Some(1_000_000_000)));
        assert!(!options.table.columns.unwrap().contains(&EventColumn::Text));
        assert_eq!(options.formats, ["a.trcfmt"]);
    }

    #[test]
    fn wrong_options_are_named() {
        let error = |json| Options::parse(json).err().unwrap();
        assert_eq!(error(r#"{"oly":1}"#), "unknown option `oly`");
        assert_eq!(error(r#"{"text":1}"#), "option `text`: expected true or false, found 1");
        assert!(error(r#"{"columns":"x"}"#).starts_with("a table has no column `x`"));
        assert!(error("[]").starts_with("options: "));
        assert!(error(r#"{"batch_rows":0}"#).contains("a count"));
    }
}
