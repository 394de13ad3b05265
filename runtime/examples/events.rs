//! Prints the events of a trace with their fields, then a report of it, with nothing but the library's public face.
//!
//! ```sh
//! cargo run -p tfbc --example events -- runtime/samples/user.kev runtime/samples/user.xml
//! cargo run -p tfbc --example events -- runtime/samples/shell.trc
//! ```
//!
//! The first argument is a trace of AIX or QNX (`-` is standard input). The others are format files, event definitions or
//! blobs; without them, the built-in templates are used.

use std::error::Error;
use std::io::{self, Write};
use tfbc::aix::Timestamp;
use tfbc::{Columns, Event, FieldValue, Formats, Item, Notice, ReportOptions, ReportSummary, Trace, report_with};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let path = arguments.next().ok_or("usage: events TRACE [FORMAT]...")?;
    // The error of a file that does not compile contains its first diagnostic.
    let formats = Formats::load(arguments)?;
    eprint!("{}", formats.findings());

    // Not locked, because the report is written by several threads.
    let mut out = io::stdout();
    let mut trace = Trace::open(&path)?;
    let mut events = trace.events(&formats).with_context();
    while let Some(item) = events.next()? {
        match item {
            Item::Event(event) => write_event(&event, &mut out)?,
            Item::Notice(notice) => eprintln!("{}: {}", path.display(), notice.message),
        }
    }
    if path == "-" {
        return Ok(());
    }

    // A trace is read once, so the report opens it again.
    let mut options = ReportOptions::default();
    options.aix.columns = Columns::parse("text", Timestamp::default())?;
    options.qnx.columns = Columns::parse_qnx("text")?;
    let mut n_notices = 0;
    let summary =
        report_with(&mut Trace::open(&path)?, &formats, &options, &mut out, &mut |_: &Notice| n_notices += 1)?;
    let n_reported = match summary {
        ReportSummary::Aix(summary) => summary.n_reported,
        ReportSummary::Qnx(summary) => summary.n_reported,
    };
    eprintln!("{n_reported} events, {n_notices} notices");
    Ok(())
}

/// Writes an event as one line: number, id, label, time, CPU, process, and fields that have a value.
fn write_event(event: &Event<'_>, out: &mut impl Write) -> io::Result<()> {
    write!(out, "{} {} {}", event.seq(), event.id(), event.label())?;
    if let Some(elapsed_ns) = event.elapsed_ns() {
        write!(out, " +{elapsed_ns} ns")?;
    }
    if let Some(cpu) = event.cpu() {
        write!(out, " CPU {cpu}")?;
    }
    if let Some(process) = event.process() {
        write!(out, " {process}")?;
    }
    for field in event.fields() {
        match field.value {
            FieldValue::Missing => {}
            FieldValue::Integer(number) => write!(out, " {}={number}", field.name)?,
            _ => write!(out, " {}={:?}", field.name, field.text)?,
        }
    }
    writeln!(out)
}
