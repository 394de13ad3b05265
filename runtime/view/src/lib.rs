//! Reports as one HTML file that can be mailed.
//!
//! ```text
//! Events ──────> EventTable ┐
//! Summary ─────> TextTable  ├─ Page ─write─> page.html with page.css, page.js and the data
//! timeline ────> TimelineTracks ┘
//! ```
//!
//! The page loads nothing: style, script and data are in it. The script contains uPlot, which draws the charts.
//!
//! A trace may come from anyone, so its texts meet two walls. Text in HTML is escaped, and text that the script shows is
//! never parsed as HTML: the data are compressed and encoded as base64. If a text were to reach the HTML anyway, the
//! content security policy would refuse to run it, because it allows exactly one script and one style, by their digests.
//!
//! ```
//! use tfbc::{Formats, Trace};
//! use tfbc_view::{EventTable, Page, write};
//!
//! let formats = Formats::builtin();
//! let mut trace = Trace::open("../samples/shell.trc")?;
//! let events = EventTable::read(&mut trace.events(&formats), 100)?;
//! assert_eq!(events.n_events(), 100);
//! let page = Page { title: String::from("<shell>"), events, ..Page::default() };
//! let mut html = Vec::new();
//! write(&page, &mut html)?;
//! assert!(String::from_utf8(html)?.contains("<title>&lt;shell&gt;</title>"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod analysis;
mod data;
mod events;
mod html;

pub use analysis::{summary_sections, timeline_options};
pub use events::{EventTable, LeftOut, TableLimit};

use data::{write_block, write_tracks};
use html::{escaped, fill, push_table};
use std::borrow::Cow;
use std::io::{self, Write};
use tfbc::Notice;
use tfbc_analysis::TextTable;
use tfbc_analysis::timeline::TimelineTracks;

/// Limit on the notices that a page lists.
const MAX_NOTICES: usize = 1000;

const PAGE: &str = include_str!("../page/page.html");
const STYLE: &str = include_str!("../page/page.css");
/// The library that draws the charts, and the page's own code.
const SCRIPT: &str = concat!(include_str!("../page/uplot.js"), include_str!("../page/page.js"));

/// Content of a page.
#[derive(Debug, Default)]
pub struct Page {
    /// Title, such as the name of the trace.
    pub title: String,
    /// Facts about the trace and the page, in order.
    pub facts: Vec<Fact>,
    /// Remarks above the report, such as what was left out.
    pub remarks: Vec<String>,
    /// Events of the report.
    pub events: EventTable,
    /// Notices about the whole trace.
    pub notices: NoticeList,
    /// Tables of the summary.
    pub tables: Vec<TextTable>,
    /// Timeline, if the trace has times.
    pub timeline: Option<TimelineTracks>,
}

/// Fact with its name, such as `events` and `288`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// Name.
    pub name: &'static str,
    /// Value.
    pub value: String,
}

/// Notices of a trace, up to a limit.
#[derive(Debug, Default)]
pub struct NoticeList {
    notices: Vec<Notice>,
    n_left_out: usize,
}

impl NoticeList {
    /// Adds a notice, or counts it if the list is full.
    pub fn push(&mut self, notice: &Notice) {
        if self.notices.len() < MAX_NOTICES {
            self.notices.push(notice.clone());
        } else {
            self.n_left_out += 1;
        }
    }
}

/// Writes a page.
///
/// # Errors
/// The output cannot be written.
pub fn write(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    // Browsers end lines of scripts by LF before they compute the digest.
    let [style, script] = [STYLE, SCRIPT].map(|text| text.replace("\r\n", "\n"));
    fill(PAGE, out, |name, out| match name {
        "title" => out.write_all(escaped(&page.title).as_bytes()),
        "policy" => out.write_all(policy(&style, &script).as_bytes()),
        "style" => out.write_all(style.as_bytes()),
        "script" => out.write_all(script.as_bytes()),
        "facts" => page.facts.iter().try_for_each(|fact| {
            writeln!(out, "<div><dt>{}</dt><dd>{}</dd></div>", escaped(fact.name), escaped(&fact.value))
        }),
        "remarks" => page
            .remarks
            .iter()
            .try_for_each(|remark| writeln!(out, "<p class=\"remark\" role=\"note\">{}</p>", escaped(remark))),
        "summary" => write_summary(page, out),
        "notices" => write_notices(&page.notices, out),
        "notice-count" => {
            let n = page.notices.notices.len() + page.notices.n_left_out;
            if n > 0 { write!(out, " ({n})") } else { Ok(()) }
        }
        "events" => write_block("events-data", out, |out| page.events.write(out)),
        "timeline" => match &page.timeline {
            Some(timeline) => write_block("timeline-data", out, |out| write_tracks(timeline, out)),
            None => Ok(()),
        },
        _ => Ok(()),
    })
}

/// Content security policy: no connection at all, one script and one style.
fn policy(style: &str, script: &str) -> String {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use sha2::{Digest, Sha256};
    let digest = |text: &str| BASE64_STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action \
         'none'",
        digest(script),
        digest(style)
    )
}

fn write_summary(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    if page.tables.is_empty() {
        out.write_all(b"<p>There is no summary.</p>\n")?;
    }
    let mut text = String::new();
    page.tables.iter().for_each(|table| push_table(table, &mut text));
    out.write_all(text.as_bytes())
}

fn write_notices(list: &NoticeList, out: &mut dyn Write) -> io::Result<()> {
    if list.notices.is_empty() {
        return out.write_all(b"<p>The trace has no damaged places.</p>\n");
    }
    out.write_all(b"<ol class=\"notices\">\n")?;
    for notice in &list.notices {
        let class = if notice.damage { "damage" } else { "warning" };
        writeln!(out, "<li class=\"{class}\"><b>{class}</b> {}</li>", escaped(&notice.message))?;
    }
    out.write_all(b"</ol>\n")?;
    match list.n_left_out {
        0 => Ok(()),
        n => writeln!(out, "<p class=\"remark\">{n} more notices are left out of the page.</p>"),
    }
}

/// Text that cannot control anything: control characters and overrides of the writing direction are escapes.
fn harmless(text: &str) -> Cow<'_, str> {
    tfbc::internal::terminal::visible(text)
}
