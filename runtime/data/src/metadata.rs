//! Metadata of a table's schema, and the summary of its input.

use std::collections::HashMap;
use std::fmt::Write;
use tfbc::internal::rows::TraceFacts;
use tfbc::{Formats, ReportSummary, Tally};

/// Metadata about how a table was made. Metadata about the trace comes from [`TraceFacts`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TableMetadata {
    /// Kind of the input, in the spelling of [`kind_name`].
    pub kind: &'static str,
    /// Name and BLAKE3 hash per format file, in order.
    pub formats: Vec<(String, String)>,
    /// Names and values of dialect settings that differ from the defaults.
    pub dialect: Vec<(String, String)>,
    /// Flags that removed events, and their values.
    pub filter: Vec<(String, String)>,
    /// Id of the event, for a table of one event.
    pub event: Option<String>,
}

/// Counts of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Bytes of the input: used by events, lost, or damaged.
    pub tally: Tally,
    /// Number of rows in the table of events.
    pub rows: u64,
    /// Number of events without a row, because of filters.
    pub filtered: u64,
    /// Number of events that are shorter than their template or definition expects.
    pub truncated: u64,
}

/// Kind of an input in metadata: `aix64-log` for `log64` of [`TraceInfo::kind`](tfbc::TraceInfo::kind).
pub fn kind_name(kind: &str) -> &'static str {
    match kind {
        "log32" => "aix32-log",
        "log64" => "aix64-log",
        "stream32" => "aix32-stream",
        "stream64" => "aix64-stream",
        _ => "qnx-kev",
    }
}

impl TableMetadata {
    /// Adds the names and hashes of format files. Names have no folders, so that a table does not show where it was made.
    #[must_use]
    pub fn with_formats(mut self, formats: &Formats) -> Self {
        let base = |name: &str| name.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        let files = tfbc::internal::format_contents(formats).into_iter();
        self.formats = files.map(|(name, bytes)| (base(&name), blake3::hash(bytes).to_hex().to_string())).collect();
        self
    }

    /// Keys and values, without those of the trace, ordered by key.
    pub fn pairs(&self) -> Vec<(String, String)> {
        let mut pairs: Vec<_> = self.entries(&TraceFacts::default(), None).into_iter().collect();
        pairs.retain(|(key, _)| !matches!(key.as_str(), "tfbc:time_basis" | "tfbc:system"));
        pairs.sort();
        pairs
    }

    /// Keys and values, with those of the trace.
    pub(crate) fn entries(&self, facts: &TraceFacts, time_zero: Option<i128>) -> HashMap<String, String> {
        let zero_ns = time_zero.or(facts.zero_ns);
        let basis = match (time_zero, facts.basis) {
            (Some(_), _) => "given",
            (None, "") => "none",
            (None, basis) => basis,
        };
        let formats = self.formats.iter().map(|(name, hash)| {
            let pairs = [("name", name.as_str()), ("blake3", hash.as_str())];
            object(pairs.into_iter().filter(|(_, value)| !value.is_empty()))
        });
        let formats: Vec<String> = formats.collect();
        let pairs =
            |pairs: &[(String, String)]| object(pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let entries = [
            ("version", Some(String::from("1"))),
            ("program", Some(format!("tfbc {}", env!("CARGO_PKG_VERSION")))),
            ("kind", Some(self.kind.to_owned())),
            ("formats", Some(format!("[{}]", formats.join(",")))),
            ("dialect", Some(pairs(&self.dialect))),
            ("time_basis", Some(basis.to_owned())),
            ("time_zero", zero_ns.map(|zero| zero.to_string())),
            ("filter", Some(pairs(&self.filter))),
            ("event", self.event.clone()),
            ("system", Some(object(facts.system.iter().map(|(name, value)| (*name, value.as_str()))))),
        ];
        entries.into_iter().filter_map(|(key, value)| Some((format!("tfbc:{key}"), value?))).collect()
    }
}

impl Summary {
    /// Counts of a report that had `rows` rows.
    pub fn of(summary: &ReportSummary, rows: u64) -> Self {
        let (tally, n_events, truncated) = match summary {
            ReportSummary::Aix(summary) => (summary.tally, summary.n_events, summary.n_truncated),
            ReportSummary::Qnx(summary) => (summary.tally, summary.counts.records, summary.n_truncated),
        };
        Self { tally, rows, filtered: n_events.saturating_sub(rows), truncated }
    }

    /// Adds the counts of another input.
    pub fn add(&mut self, other: &Self) {
        self.tally = self.tally + other.tally;
        self.rows += other.rows;
        self.filtered += other.filtered;
        self.truncated += other.truncated;
    }

    /// Formats the counts as a JSON object.
    pub fn to_json(&self) -> String {
        let Self { tally: Tally { read, header, events, skipped }, rows, filtered, truncated } = self;
        format!(
            "{{\"read\":{read},\"header\":{header},\"events\":{events},\"skipped\":{skipped},\"rows\":{rows},\
             \"filtered\":{filtered},\"truncated\":{truncated}}}"
        )
    }
}

/// JSON object with texts as values.
fn object<'p>(pairs: impl Iterator<Item = (&'p str, &'p str)>) -> String {
    let pairs: Vec<String> = pairs.map(|(name, value)| format!("{}:{}", quoted(name), quoted(value))).collect();
    format!("{{{}}}", pairs.join(","))
}

/// JSON string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => {
                out.push('\\');
                out.push(letter);
            }
            '\0'..='\x1f' => {
                // Writing to memory cannot fail.
                let _ = write!(out, "\\u{:04x}", letter as u32);
            }
            _ => out.push(letter),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_json() {
        let metadata = TableMetadata {
            kind: kind_name("log32"),
            formats: vec![("a\"b.trcfmt".into(), "00ff".into()), ("default".into(), String::new())],
            filter: vec![("--only".into(), "10\n".into())],
            ..TableMetadata::default()
        };
        let facts = TraceFacts { zero_ns: Some(5), basis: "003", system: vec![("node", "n".into())] };
        let entries = metadata.entries(&facts, None);
        assert_eq!(entries["tfbc:kind"], "aix32-log");
        assert_eq!(entries["tfbc:formats"], r#"[{"name":"a\"b.trcfmt","blake3":"00ff"},{"name":"default"}]"#);
        assert_eq!(entries["tfbc:filter"], r#"{"--only":"10\u000a"}"#);
        assert_eq!((&*entries["tfbc:time_basis"], &*entries["tfbc:time_zero"]), ("003", "5"));
        assert_eq!(entries["tfbc:system"], r#"{"node":"n"}"#);
        assert_eq!((&*entries["tfbc:dialect"], entries.get("tfbc:event")), ("{}", None));
        let given = metadata.entries(&facts, Some(7));
        assert_eq!((&*given["tfbc:time_basis"], &*given["tfbc:time_zero"]), ("given", "7"));
        let unknown = metadata.entries(&TraceFacts::default(), None);
        assert_eq!((&*unknown["tfbc:time_basis"], unknown.get("tfbc:time_zero")), ("none", None));
    }
}
