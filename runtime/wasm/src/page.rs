//! Table, summary and timeline, as the page that `tfbc view` writes.

use crate::host::{Host, HostMonitor, HostWriter};
use crate::job::{Failure, Job, Prepared};
use serde_json::{Value, json};
use std::io::{Read, Seek};
use tfbc::{Monitor, Notice};
use tfbc_analysis::timeline::tracks;
use tfbc_analysis::{AnalysisError, AnalysisOptions, summarise};
use tfbc_authoring::times::shown;
use tfbc_view::{EventTable, LeftOut, NoticeList, Page, TableLimit, summary_sections, timeline_options, write};

/// Progress and notices for the host, and notices for the page.
struct PageMonitor<'h, H> {
    host: HostMonitor<'h, H>,
    notices: NoticeList,
}

impl<H: Host> Monitor for PageMonitor<'_, H> {
    fn notice(&mut self, notice: &Notice) {
        self.notices.push(notice);
        self.host.notice(notice);
    }

    fn progress(&mut self, offset: u64, n_events: u64) {
        self.host.progress(offset, n_events);
    }
}

/// Options of summary and timeline.
pub fn analysis(job: &Job) -> AnalysisOptions {
    let time = |ns: Option<i128>| ns.map(|ns| u64::try_from(ns.max(0)).unwrap_or(u64::MAX));
    AnalysisOptions { from: time(job.from), until: time(job.until), ..AnalysisOptions::default() }
}

/// Writes the page of a trace in pieces. Returns the number of its events.
pub fn page<R: Read + Seek + Send + 'static>(
    job: &Job,
    open: &impl Fn(usize) -> R,
    host: &mut impl Host,
) -> Result<Value, Failure> {
    let Prepared { formats, mut trace, info, options } = job.prepare(open)?;
    let mut events = trace.events(&formats).with_options(options).with_context();
    let table = EventTable::read(&mut events, job.limit as usize).map_err(|error| Failure(error.to_string()))?;
    drop(events);
    let mut page = Page { title: job.name().to_owned(), events: table, ..Page::default() };

    let options = AnalysisOptions { sections: Some(summary_sections()), ..analysis(job) };
    let mut monitor = PageMonitor { host: HostMonitor(&mut *host), notices: NoticeList::default() };
    let summary = summarise(&mut job.open(open)?, &options, &mut monitor);
    page.notices = monitor.notices;
    let summary = known(summary, &mut page.remarks, "There is no summary and no timeline")?;
    if let Some(summary) = &summary {
        page.push_summary(summary);
        let options = AnalysisOptions { sections: Some(vec![String::from("call")]), ..options };
        let what = timeline_options(!job.formats.is_empty(), None, job.limit);
        let mut again = job.open(open)?;
        let found = tracks(&mut again, &options, &what, formats.catalog(), &mut |_: &Notice| {});
        if let Some((timeline, counts)) = known(found, &mut page.remarks, "There is no timeline")? {
            if counts.is_full {
                let n = job.limit;
                page.remarks.push(format!("The timeline ends after {n} slices: give a time in From to see others"));
            }
            page.timeline = Some(timeline);
        }
    }
    let n_all = summary.as_ref().map_or(0, |summary| summary.n_events);
    let (n, is_whole) = (page.events.n_events(), page.events.left_out().is_none());
    if let Some(LeftOut { limit, from_ns }) = page.events.left_out() {
        let from = from_ns.map_or(String::new(), |ns| format!(" from {} s on", shown(ns.into())));
        let why = match limit {
            TableLimit::Events => "give a time in From to see them",
            TableLimit::Text => "the table has at most 64 MiB of text",
        };
        page.remarks.insert(0, format!("These are the first {n} of {n_all} events. Those{from} were left out: {why}"));
    }
    page.push_fact("trace", page.title.clone());
    page.push_fact("kind", info.kind.to_string());
    page.push_events(n_all);
    if let Some(summary) = &summary {
        page.push_head(summary);
    }
    page.push_fact("written by", format!("tfbc {}", env!("CARGO_PKG_VERSION")));
    write(&page, &mut HostWriter(host)).map_err(|error| Failure(error.to_string()))?;
    Ok(json!({ "kind": info.kind.to_string(), "events": n, "all": n_all, "isWhole": is_whole }))
}

/// Result of an analysis; if the trace does not allow it, `None` and a remark.
fn known<T>(result: Result<T, AnalysisError>, remarks: &mut Vec<String>, what: &str) -> Result<Option<T>, Failure> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(AnalysisError::Read(error)) => Err(Failure(format!("cannot continue reading: {error}"))),
        Err(error) => {
            remarks.push(format!("{what}: {error}"));
            Ok(None)
        }
    }
}
