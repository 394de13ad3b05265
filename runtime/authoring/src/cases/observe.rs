//! Runs the templates of a trace's events under an observer.

use super::event::Slice;
use super::show::{NoObserver, ProgramObserver, run_observed};
use super::slice::{SliceOptions, aix_options, qnx_options, unreadable};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use tfbc::ReportError;
use tfbc::aix::AixReportOptions;
use tfbc::internal::filter::admits;
use tfbc::internal::templates::{Catalog, RecordPrinter};
use tfbc::internal::{AnyTrace, ContextState, KevItem, KevLog, LogItem, Logs, Meter, TraceState};
use tfbc::qnx::QnxReportOptions;
use tfbc_vm::{Event, EventInput, LineStart, Machine, Space, TextBuf, Timers, Unobserved};

/// Runs the templates of a slice's events under an observer.
///
/// # Errors
/// The trace cannot be read, or the filter is invalid.
pub fn watch(
    slice: &Slice,
    catalog: &Catalog<'_>,
    options: &SliceOptions,
    watch: &mut impl ProgramObserver,
) -> Result<(), String> {
    let range = slice.skip..slice.first.map_or(u64::MAX, |first| slice.skip.saturating_add(first));
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", slice.trace.display());
    let opened = AnyTrace::open(&slice.trace, &options.reading()).map_err(|error| unreadable(slice, &error))?;
    match opened {
        AnyTrace::Aix(mut logs) => {
            let wanted = aix_options(slice, options)?;
            watch_hooks(&mut logs, catalog, &wanted, range, watch).map_err(|error| failed(&error))
        }
        AnyTrace::Kev(mut log) => {
            let wanted = qnx_options(slice, options, log.header().release)?;
            watch_records(&mut log, catalog, &wanted, range, watch).map_err(|error| failed(&error))
        }
    }
}

/// Events that their template drops do not count toward `first`, as in a report.
fn watch_hooks(
    logs: &mut Logs,
    catalog: &Catalog<'_>,
    wanted: &AixReportOptions,
    range: Range<u64>,
    watch: &mut impl ProgramObserver,
) -> Result<(), ReportError> {
    let mut state = TraceState::default();
    let mut context = ContextState::new(Arc::clone(&wanted.context), Arc::clone(&wanted.names));
    let mut filter = wanted.filter.clone();
    let (mut machine, mut timers, mut text) = (Machine::new(wanted.limits), Timers::new(), TextBuf::new());
    let mut meter = Meter::new(wanted.max_work, wanted.limits.steps);
    let infos = logs.logs().to_vec();
    let mut n_met = 0;
    while n_met < range.end
        && let Some(item) = logs.next().map_err(ReportError::Read)?
    {
        let LogItem::Event(timed) = item else { continue };
        state.advance(&timed.event);
        context.advance(&timed.event);
        let shown = wanted.shows(catalog, timed.event.id) && catalog.lookup(timed.event.id).is_some();
        let shown = shown && admits(&mut filter, &state, &mut context, &timed)?;
        let Some(entry) = catalog.lookup(timed.event.id).filter(|entry| shown || entry.has_effects) else { continue };
        let (facts, paths) = context.facts_and_paths(&timed.event);
        let program = catalog.program(entry);
        text.clear();
        let event = Event {
            bytes: timed.event.bytes,
            wide: timed.event.wide,
            record: None,
            time_ns: timed.time.time_ns,
            offset: timed.event.offset,
        };
        let context = state.system().context(&infos[timed.log], timed.reported_cpus, &facts, paths);
        meter.next(event.bytes.len() as u64);
        let mut run = machine.start(program, &mut timers);
        let (input, start) = (EventInput { event: &event, context: &context }, LineStart::default());
        let outcome = if shown && n_met >= range.start {
            meter.run(&mut run, entry.hook, input, start, &mut text, &mut watch.observer(program))
        } else {
            meter.run(&mut run, entry.hook, input, start, &mut text, &mut Unobserved)
        };
        n_met += u64::from(shown && !outcome.skipped);
        if shown && outcome.stop {
            break;
        }
    }
    Ok(())
}

fn watch_records(
    log: &mut KevLog,
    catalog: &Catalog<'_>,
    wanted: &QnxReportOptions,
    range: Range<u64>,
    watch: &mut impl ProgramObserver,
) -> io::Result<()> {
    let (release, big_endian) = (log.header().release, log.header().big_endian);
    let header = log.header().clone();
    let mut printer = RecordPrinter::new(catalog, big_endian, release, wanted.limits).with_max_work(wanted.max_work);
    let mut unwatched = NoObserver;
    let mut text = TextBuf::new();
    let mut n_met = 0;
    while n_met < range.end
        && let Some(item) = log.next()?
    {
        let KevItem::Record(record) = item else { continue };
        let time = record.cycles().and_then(|cycles| header.ns(cycles));
        if !wanted.filter.shows(record.meant_class(), record.event, record.cpu, time.map(i128::from)) {
            continue;
        }
        let mut defined = false;
        for entry in catalog.records(Space::Record, record.class, record.event) {
            text.clear();
            let outcome = if n_met >= range.start {
                run_observed(&mut printer, catalog, entry, &record, &mut text, watch)
            } else {
                run_observed(&mut printer, catalog, entry, &record, &mut text, &mut unwatched)
            };
            defined |= !outcome.skipped;
        }
        n_met += u64::from(defined || !wanted.defined);
    }
    Ok(())
}
