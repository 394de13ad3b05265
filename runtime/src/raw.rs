//! Raw output: the selected events of one or more AIX logs, written as one stream that is a trace again.
//!
//! A 64-bit stream starts with the word EFDF1114; a 32-bit stream has no such word. Events are copied byte by byte, in
//! the order of the report. An event from a CPU's own file gets the P flag and a last word with the CPU number, because
//! the stream would lose the number otherwise; 32-bit events have no room for it. Hooks 001 to 00B are always written:
//! without them, the stream has no times and no names.

use crate::aix_report::{AixReportOptions, AixSummary};
use crate::engine::WRITE_AT;
use crate::ids::IdSet;
use crate::monitor::{Monitor, PROGRESS_EVERY, ReportError};
use crate::reader::aix::{AixKind, Kernel, LogInfo, LogItem, Logs, PASSED, RawEvent, Step, TimedEvent, hooks};
use crate::selection::ContextFilter;
use std::io::Write;

/// P flag in the first byte of a 64-bit hook word: the event ends in a CPU number.
const CPUID: u8 = 0x10;

/// Writes the events that the options select as one stream.
///
/// # Errors
/// The logs cannot be combined into one stream, reading a log failed, or writing the stream failed.
pub fn write_raw(
    logs: &mut Logs,
    options: &AixReportOptions,
    out: &mut dyn Write,
    monitor: &mut dyn Monitor,
) -> Result<AixSummary, ReportError> {
    refuse_mixed(logs)?;
    let infos = logs.logs().to_vec();
    let mut selection = ContextFilter::new(options);
    logs.need(needed(options));
    let mut summary = AixSummary::default();
    let mut bytes = first_word(&infos);
    while let Some(item) = logs.next().map_err(ReportError::Read)? {
        match item {
            LogItem::Event(timed) => {
                summary.n_events += 1;
                if selection.admits(&timed)? || is_internal(timed.event.id) {
                    summary.n_reported += 1;
                    put(&timed, &infos[timed.log], &mut bytes);
                }
            }
            LogItem::Passed => summary.n_events += PASSED,
            LogItem::Notice { notice, .. } => {
                summary.n_damaged += u64::from(notice.damage);
                monitor.notice(&notice);
            }
        }
        if bytes.len() >= WRITE_AT {
            out.write_all(&bytes).map_err(ReportError::Write)?;
            bytes.clear();
        }
        if summary.n_events.is_multiple_of(PROGRESS_EVERY) {
            monitor.progress(logs.progress(), summary.n_events);
        }
    }
    // Checked again now that the logs are read, because their clock factors may have changed after the first check.
    refuse_mixed(logs)?;
    out.write_all(&bytes).and_then(|()| out.flush()).map_err(ReportError::Write)?;
    let tally = logs.tally();
    summary.n_events += logs.n_passed() % PASSED;
    summary.bytes = (tally.read, tally.skipped);
    summary.imbalance = logs.check(summary.n_reported, summary.n_events - summary.n_reported).err();
    summary.n_clamped = logs.clamped();
    Ok(summary)
}

fn refuse_mixed(logs: &Logs) -> Result<(), ReportError> {
    logs.no_stream().map_or(Ok(()), |why| Err(ReportError::NoStream(why)))
}

/// Ids that must be read: those to write, and those that provide the context for the filter.
fn needed(options: &AixReportOptions) -> IdSet {
    let mut ids = IdSet::default();
    (0..=u16::MAX).filter(|id| options.filter.shows(*id) || is_internal(*id)).for_each(|id| ids.insert(id));
    if options.filter.needs_context() {
        options.context.ids().for_each(|id| ids.insert(id));
    }
    ids
}

fn first_word(infos: &[LogInfo]) -> Vec<u8> {
    match infos.first().map(|log| log.kind.kernel()) {
        Some(Kernel::Bits64) => AixKind::Stream64.magic().unwrap_or_default().to_be_bytes().to_vec(),
        _ => Vec::new(),
    }
}

/// True for hooks 001 to 00B, which describe the trace itself.
fn is_internal(id: u16) -> bool {
    (hooks::TRACE_ON..=hooks::WRAPPED).contains(&id)
}

/// Appends an event. If it has a CPU number, that becomes its last word.
fn put(timed: &TimedEvent<'_>, log: &LogInfo, out: &mut Vec<u8>) {
    let RawEvent { recorded, cpu, .. } = timed.event;
    let start = out.len();
    let flagged = recorded.first().is_some_and(|flags| flags & CPUID != 0);
    if log.kind.kernel() == Kernel::Bits32 || (cpu.is_none() && !flagged) {
        out.extend_from_slice(recorded);
        return;
    }
    match log.rules.step(recorded) {
        Step::Whole(parts) if parts.cpu.is_some() => {
            let at = parts.cpu.unwrap_or(0);
            out.extend_from_slice(&recorded[..at]);
            out.extend_from_slice(&recorded[at + 8..]);
            out.extend_from_slice(&recorded[at..at + 8]);
        }
        _ => {
            out.extend_from_slice(recorded);
            out[start] &= !CPUID;
            if let Some(cpu) = cpu {
                out[start] |= CPUID;
                out.extend_from_slice(&cpu.to_be_bytes());
            }
        }
    }
}
