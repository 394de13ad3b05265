//! Summary and timeline of a page.

use super::{Fact, Page};
use tfbc::aix::ContextTable;
use tfbc_analysis::timeline::{InstantChoice, TimelineForm, TimelineOptions};
use tfbc_analysis::{SortKey, Summary, Value, text_table};

/// Sections of the summary that are tables, in order.
const TABLES: [&str; 7] = ["cpu", "process", "thread", "call", "interrupt", "state", "pending"];
/// Rows of a table.
const MAX_ROWS: usize = 500;
/// Tracks of the timeline.
const TRACKS: [&str; 6] = ["cpus", "calls", "states", "timers", "events", "marks"];

/// Sections of the summary that a page shows.
pub fn summary_sections() -> Vec<String> {
    ["head"].iter().chain(&TABLES).map(|name| (*name).to_owned()).collect()
}

/// Options of the timeline that a page shows. `has_formats` is true if the format files are the user's.
pub fn timeline_options(has_formats: bool, own_context: Option<ContextTable>, max_slices: u64) -> TimelineOptions {
    TimelineOptions {
        form: TimelineForm::Chrome,
        tracks: TRACKS.to_vec(),
        instants: InstantChoice::Defined,
        has_formats,
        pairs: Vec::new(),
        own_context,
        max_slices,
    }
}

/// Nanoseconds as seconds, without trailing zeros.
fn seconds(ns: i128) -> String {
    let (sign, ns) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
    let text = format!("{sign}{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Page {
    /// Adds a fact.
    pub fn push_fact(&mut self, name: &'static str, value: String) {
        self.facts.push(Fact { name, value });
    }

    /// Adds the number of events of the trace, and of those on the page if it leaves some out.
    pub fn push_events(&mut self, n_all: u64) {
        let n = self.events.n_events() as u64;
        let text = if n == n_all { n.to_string() } else { format!("{n_all}, of them {n} on this page") };
        self.push_fact("events", text);
    }

    /// Adds the tables of a summary, each with the longest times first.
    pub fn push_summary(&mut self, summary: &Summary) {
        for name in TABLES {
            let Some(section) = summary.section(name).filter(|section| section.rows().len() > 0) else { continue };
            let mut section = section.clone();
            section.sort(SortKey::Total);
            section.keep_top(MAX_ROWS);
            self.tables.push(text_table(&section, summary.whole_ns));
        }
    }

    /// Adds the facts that the head of a summary contains.
    pub fn push_head(&mut self, summary: &Summary) {
        let Some(head) = summary.section("head") else { return };
        let Some(row) = head.rows().next() else { return };
        let value = |name: &str| head.get(row, name);
        if let (Some(Value::Number(from)), Some(Value::Number(until))) = (value("from_ns"), value("until_ns")) {
            self.push_fact("span", format!("{} s to {} s", seconds(*from), seconds(*until)));
        }
        for (name, key) in [("CPUs", "cpus"), ("remarks", "notes")] {
            match value(key) {
                None | Some(Value::Null) => {}
                Some(Value::List(values)) if values.is_empty() => {}
                Some(Value::List(values)) => {
                    self.push_fact(name, values.iter().map(Value::to_string).collect::<Vec<_>>().join("\n"));
                }
                Some(value) => self.push_fact(name, value.to_string()),
            }
        }
    }
}
