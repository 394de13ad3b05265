//! QNX's traceprinter: a log's header, then a line an event.
//!
//! ```text
//! default layout    t:0x37b04f820f9a CPU:00 THREAD          :THCREATE           pid:1 tid:1
//! that of 1.02      t:0x4f820f9a CPU:00 THREAD  :THCREATE      pid:1 tid:1
//! ```
//!
//! The default layout is that of QNX 7, in which no event is left out. That of 1.02 is what the tool of QNX 6.4 prints:
//! nothing for events that it does not know.

mod format;
mod header;

pub use format::{DEFAULT, FormatError, LineFormat};
pub use header::write_refused;

use crate::catalog::Catalog;
use crate::events::{Events, Part};
use crate::reader::kev::{KevHeader, KevItem, KevLog, KevRecord, classes};
use crate::records::RecordPrinter;
use crate::report::{Monitor, ReportError};
use format::Line;
use std::io::Write;
use tfbc_vm::{Limits, Machine, TextBuf, num};

/// Bytes of text that are gathered before they are written.
const WRITE_AT: usize = 256 << 10;

/// How events are laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layout {
    /// This, then the arguments, on one line.
    Default(LineFormat),
    /// As traceprinter 1.02 does.
    Compat {
        /// Whether the arguments of combines stand on the event's line (`-n`).
        one_line: bool,
    },
}

/// What is printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrintOptions {
    /// The layout.
    pub layout: Layout,
    /// Whether every slot is shown, too (`-v`). The log must have been opened for slots.
    pub verbose: bool,
    /// What one event may cost.
    pub limits: Limits,
}

/// What a run counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PrintSummary {
    /// Events that the layout prints nothing for.
    pub n_unknown: u64,
    /// Damaged places.
    pub n_damaged: u64,
}

/// Prints a log: its header, then its events in the order in which they end, with the text of the definitions of
/// `catalog` in place of the arguments of the events that they name.
///
/// # Errors
/// The log cannot be read on or the text cannot be written. A damaged log is no error: its notices go to `monitor`.
pub fn print(
    log: &mut KevLog,
    catalog: Option<&Catalog<'_>>,
    options: &PrintOptions,
    out: &mut impl Write,
    monitor: &mut impl Monitor,
) -> Result<PrintSummary, ReportError> {
    let mut text = TextBuf::new();
    header::write(log.header(), options.verbose, &mut text);
    let mut printer = Printer::new(log.header(), catalog, options);
    loop {
        match log.next().map_err(ReportError::Read)? {
            Some(KevItem::Record(record)) => printer.record(&record, &mut text),
            Some(KevItem::Slot(words)) => write_slot(words, &mut text),
            Some(KevItem::Notice(notice)) => {
                write_out(&mut text, out)?;
                out.flush().map_err(ReportError::Write)?;
                printer.summary.n_damaged += u64::from(notice.damage);
                monitor.notice(&notice);
            }
            None => break,
        }
        if text.len() >= WRITE_AT {
            write_out(&mut text, out)?;
            monitor.progress(log.offset(), log.counts().records);
        }
    }
    write_out(&mut text, out)?;
    out.flush().map_err(ReportError::Write)?;
    Ok(printer.summary)
}

fn write_out(text: &mut TextBuf, out: &mut impl Write) -> Result<(), ReportError> {
    out.write_all(text.as_bytes()).map_err(ReportError::Write)?;
    text.clear();
    Ok(())
}

fn write_slot(words: [u32; 4], out: &mut TextBuf) {
    out.push(b"event =>");
    for (name, word) in [" h:0x", " d0:0x", " d1:0x", " d2:0x"].iter().zip(words) {
        out.push(name.as_bytes());
        push_hex(word, out);
    }
    out.push(b"\n");
}

/// Appends eight hex digits.
fn push_hex(word: u32, out: &mut TextBuf) {
    let mut digits = [0; 16];
    num::hex_low(&mut digits, 0, word.into(), 8);
    out.push(&digits[..8]);
}

/// Prints the records of one log.
struct Printer<'p> {
    layout: &'p Layout,
    /// The clock and the byte order.
    header: KevHeader,
    events: Events,
    machine: Machine,
    definitions: Option<RecordPrinter<'p>>,
    class_text: TextBuf,
    event_text: TextBuf,
    data: TextBuf,
    summary: PrintSummary,
}

impl<'p> Printer<'p> {
    fn new(header: &KevHeader, catalog: Option<&'p Catalog<'p>>, options: &'p PrintOptions) -> Self {
        let KevHeader { big_endian, release, .. } = *header;
        let definitions = |catalog| RecordPrinter::new(catalog, big_endian, release, options.limits);
        Printer {
            layout: &options.layout,
            header: KevHeader { attributes: Vec::new(), syspage: None, ..*header },
            events: Events::of(release, big_endian),
            machine: Machine::new(options.limits),
            definitions: catalog.filter(|catalog| catalog.has_records()).map(definitions),
            class_text: TextBuf::new(),
            event_text: TextBuf::new(),
            data: TextBuf::new(),
            summary: PrintSummary::default(),
        }
    }

    #[inline]
    fn record(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        let defined = self.definitions.is_some() && self.define(record);
        match self.layout {
            Layout::Compat { .. } if defined => self.compat_defined(record, out),
            Layout::Compat { one_line: true } => self.compat(Part::CompatOneLine, record, out),
            Layout::Compat { one_line: false } => self.compat(Part::Compat, record, out),
            Layout::Default(format) => self.line(format, record, defined, out),
        }
    }

    /// Puts the text of the record's definitions into `data`; false where none applies.
    fn define(&mut self, record: &KevRecord<'_>) -> bool {
        let Some(definitions) = &mut self.definitions else { return false };
        self.data.clear();
        let class = if record.class == classes::STRAY_SYSTEM { classes::SYSTEM } else { record.class };
        definitions.definitions(&KevRecord { class, ..*record }, &mut self.data)
    }

    #[inline]
    fn compat(&mut self, part: Part, record: &KevRecord<'_>, out: &mut TextBuf) {
        let line = out.len();
        out.push(&prefix(record));
        if !self.events.print(part, &mut self.machine, record, out) {
            out.truncate(line);
            self.summary.n_unknown += 1;
        }
    }

    fn compat_defined(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        out.push(&prefix(record));
        if self.events.print(Part::CompatHeading, &mut self.machine, record, out) {
            out.truncate(out.len() - 1);
        } else {
            // 1.02 has no name for it.
            self.name(record);
            out.push(self.class_text.as_bytes());
            out.pad(8usize.saturating_sub(self.class_text.len()));
            out.push(b":");
            out.push(self.event_text.as_bytes());
        }
        self.defined(out);
    }

    /// Appends the text of the definitions, and ends the line.
    fn defined(&self, out: &mut TextBuf) {
        out.push(b" ");
        out.push(self.data.as_bytes());
        out.push(b"\n");
    }

    /// Finds what stands for the record's class and event.
    fn name(&mut self, record: &KevRecord<'_>) {
        self.class_text.clear();
        self.event_text.clear();
        self.events.class_text(record, &mut self.class_text);
        self.events.event_text(record, &mut self.event_text);
    }

    fn line(&mut self, format: &LineFormat, record: &KevRecord<'_>, defined: bool, out: &mut TextBuf) {
        self.name(record);
        let cycles = record.cycles().unwrap_or(record.stamp.into());
        format.write(
            &Line {
                cycles,
                cpu: record.cpu,
                event: record.event,
                time_us: self.header.ns(cycles).map(|ns| ns / 1000),
                class_text: self.class_text.as_bytes(),
                event_text: self.event_text.as_bytes(),
            },
            out,
        );
        if defined {
            self.defined(out);
        } else {
            self.events.print(Part::Arguments, &mut self.machine, record, out);
        }
    }
}

/// Time and CPU as 1.02 prints them.
#[inline]
fn prefix(record: &KevRecord<'_>) -> [u8; 20] {
    let mut text = *b"t:0x00000000 CPU:00 ";
    num::hex_low(&mut text, 4, record.stamp.into(), 8);
    text[17] += record.cpu / 10;
    text[18] += record.cpu % 10;
    text
}
