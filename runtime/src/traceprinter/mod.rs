//! QNX's traceprinter: a log's header, then one line per event.
//!
//! ```text
//! default layout    t:0x37b04f820f9a CPU:00 THREAD          :THCREATE           pid:1 tid:1
//! that of 1.02      t:0x4f820f9a CPU:00 THREAD  :THCREATE      pid:1 tid:1
//! ```
//!
//! The default layout imitates QNX 7 and prints every event. The layout of 1.02 imitates the tool of QNX 6.4, which
//! leaves out events that it does not know.

mod format;
mod header;
mod line;
mod syspage;

pub use format::{LineFormat, LineFormatError};
#[doc(hidden)]
pub use header::write_refused;

use crate::catalog::Catalog;
use crate::events::{ArgumentPrinter, BuiltInEvents, EventPrinter, LayoutPart, is_interrupt};
use crate::formats::Formats;
use crate::monitor::{Monitor, ReportError};
use crate::qnx_report::{FormatCounts, QnxSummary, RecordPrinter, RecordWriter, run, run_sorted};
use crate::reader::kev::{KevHeader, KevLog, KevRecord, KevSlot, TraceStart};
use crate::reader::{AnyTrace, System};
use crate::trace::Trace;
use crate::work::MaxWork;
use crate::work::Meter;
use line::{LineWriter, Names, TimeBase};
use std::io::Write;
use std::num::NonZeroUsize;
use tfbc_vm::{Limits, TextBuf, num};

/// Layout of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layout {
    /// Layout of QNX 7 and 8.
    Default {
        /// Text before the arguments (`-p`).
        format: LineFormat,
        /// True if all arguments are on the event's line (`-n`).
        one_line: bool,
    },
    /// Layout of traceprinter 1.02.
    Compat {
        /// True if all arguments are on the event's line (`-n`).
        one_line: bool,
    },
}

impl Default for Layout {
    fn default() -> Self {
        Layout::Default { format: LineFormat::default(), one_line: false }
    }
}

/// Options of [`print()`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PrintOptions {
    /// Layout of the lines.
    pub layout: Layout,
    /// True if every slot is printed, too (`-v`). The log must have been opened with
    /// [`ReadOptions::slots`](crate::aix::ReadOptions::slots).
    pub verbose: bool,
    /// True if events come in ascending time.
    pub sort: bool,
    /// Limits on the work for one event.
    pub limits: Limits,
    /// Limit on the work for all events together.
    pub max_work: MaxWork,
    /// Number of formatting threads; `None` for one per processor.
    pub threads: Option<NonZeroUsize>,
}

/// Prints a QNX log: its header, then its events in the order in which they end. The text of the definitions in
/// `formats` replaces the arguments of the events that they name.
///
/// ```
/// use tfbc::traceprinter::{PrintOptions, print};
/// use tfbc::{Formats, Notice, Trace};
///
/// let (mut log, mut text) = (Trace::open("samples/user.kev")?, Vec::new());
/// print(&mut log, &Formats::builtin(), &PrintOptions::default(), &mut text, &mut |_: &Notice| {})?;
/// assert!(String::from_utf8(text)?.contains(" -- KERNEL EVENTS -- "));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The trace is not a QNX log, reading it failed, or writing the text failed. Damage is not an error but a notice.
pub fn print(
    trace: &mut Trace,
    formats: &Formats,
    options: &PrintOptions,
    mut out: impl Write + Send,
    monitor: &mut (dyn Monitor + Send),
) -> Result<QnxSummary, ReportError> {
    match trace.source_mut() {
        AnyTrace::Aix(_) => Err(ReportError::WrongSystem(System::Aix)),
        AnyTrace::Kev(log) => print_log(log, Some(formats.catalog()), options, &mut out, monitor),
    }
}

/// Prints a log.
pub(crate) fn print_log(
    log: &mut KevLog,
    catalog: Option<&Catalog<'_>>,
    options: &PrintOptions,
    out: &mut (dyn Write + Send),
    monitor: &mut (dyn Monitor + Send),
) -> Result<QnxSummary, ReportError> {
    let mut text = TextBuf::new();
    header::write(log.header(), options.verbose, &mut text);
    out.write_all(text.as_bytes()).map_err(ReportError::Write)?;
    let printer = Printer::new(log.header(), log.start(), catalog, options);
    if options.sort {
        return run_sorted(log, printer, options.threads, out, monitor);
    }
    run(log, printer, options.threads, out, monitor)
}

/// Appends the line of a slot, and the message of traceprinter 1.02 if the slot belongs to no combine.
fn write_slot(slot: KevSlot, out: &mut TextBuf) {
    out.push(b"event =>");
    for (name, word) in [" h:0x", " d0:0x", " d1:0x", " d2:0x"].iter().zip(slot.words) {
        out.push(name.as_bytes());
        push_hex(word, out);
    }
    out.push(b"\n");
    if slot.unbalanced {
        let is_end = slot.words[0] >> 30 == 3;
        out.push(b"TRACEPARSER: unbalanced ");
        out.push(if is_end { b"end" } else { b"continuation" });
        out.push(b" of combine event ignored\n");
    }
}

/// Appends eight hex digits.
fn push_hex(word: u32, out: &mut TextBuf) {
    let mut digits = [0; 16];
    num::hex_low(&mut digits, 0, word.into(), 8);
    out.push(&digits[..8]);
}

/// Prints the records of one log.
struct Printer<'p> {
    catalog: Option<&'p Catalog<'p>>,
    options: &'p PrintOptions,
    /// Header with clock and byte order.
    header: KevHeader,
    start: TraceStart,
    events: BuiltInEvents,
    /// Printer of events without a definition.
    rest: LineParts,
    definitions: Option<Definitions<'p>>,
    class_text: TextBuf,
    event_text: TextBuf,
    data: TextBuf,
    n_left_out: u64,
}

/// Parts of a line, by layout.
enum LineParts {
    Compat(EventPrinter),
    Default(LineWriter, ArgumentPrinter),
}

/// Printers of events with a definition.
struct Definitions<'p> {
    text: RecordPrinter<'p>,
    /// Class and event in the layout of 1.02.
    heading: EventPrinter,
}

impl<'p> Printer<'p> {
    fn new(header: &KevHeader, start: TraceStart, catalog: Option<&'p Catalog<'p>>, options: &'p PrintOptions) -> Self {
        let KevHeader { big_endian, release, .. } = *header;
        let (events, limits) = (BuiltInEvents::of(release, big_endian), options.limits);
        let definitions = |catalog| Definitions {
            text: RecordPrinter::new(catalog, big_endian, release, limits).with_max_work(options.max_work),
            heading: events.printer(LayoutPart::CompatHeading, limits),
        };
        let rest = match &options.layout {
            Layout::Compat { one_line: true } => LineParts::Compat(events.printer(LayoutPart::CompatOneLine, limits)),
            Layout::Compat { one_line: false } => LineParts::Compat(events.printer(LayoutPart::Compat, limits)),
            Layout::Default { format, one_line } => {
                LineParts::Default(LineWriter::new(format), events.argument_printer(*one_line))
            }
        };
        Printer {
            catalog,
            options,
            header: KevHeader { attributes: Vec::new(), syspage: None, ..*header },
            start,
            events,
            rest,
            definitions: catalog.filter(|catalog| catalog.has_records()).map(definitions),
            class_text: TextBuf::new(),
            event_text: TextBuf::new(),
            data: TextBuf::new(),
            n_left_out: 0,
        }
    }

    /// Writes the text of the record's definitions to `data`; false if none applies.
    fn define(&mut self, record: &KevRecord<'_>) -> bool {
        let Some(definitions) = &mut self.definitions else { return false };
        self.data.clear();
        let class = record.meant_class();
        definitions.text.definitions(&KevRecord { class, ..*record }, &mut self.data)
    }

    /// Appends a record of a log with definitions, or of any log in the default layout.
    #[inline(never)]
    fn append_default(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        let defined = self.definitions.is_some() && self.define(record);
        match self.rest {
            LineParts::Compat(_) if defined => self.compat_defined(record, out),
            LineParts::Compat(_) => self.compat(record, out),
            LineParts::Default(..) => self.line(record, defined, out),
        }
    }

    #[inline(always)]
    fn compat(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        let LineParts::Compat(printer) = &mut self.rest else { return };
        let printed = printer.print_after(prefix(record), record, out);
        self.n_left_out += u64::from(!printed);
    }

    fn compat_defined(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        out.push(&prefix(record));
        if self.definitions.as_mut().is_some_and(|definitions| definitions.heading.print(record, out)) {
            out.truncate(out.len() - 1);
        } else {
            // Layout 1.02 has no name for this event.
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

    /// Looks up the texts of the record's class and event.
    fn name(&mut self, record: &KevRecord<'_>) {
        self.class_text.clear();
        self.event_text.clear();
        self.events.class_text(record, &mut self.class_text);
        self.events.event_text(record, &mut self.event_text);
    }

    fn line(&mut self, record: &KevRecord<'_>, defined: bool, out: &mut TextBuf) {
        let LineParts::Default(lines, _) = &self.rest else { return };
        let mut place = lines.find(record);
        if place.is_none() {
            self.name(record);
        }
        let LineParts::Default(lines, arguments) = &mut self.rest else { return };
        let names = Names { class_text: self.class_text.as_bytes(), event_text: self.event_text.as_bytes() };
        // The number of an interrupt is data.
        if place.is_none() && !is_interrupt(record.meant_class(), record.event) {
            place = lines.learn(record, names);
        }
        let times = TimeBase { header: &self.header, start: self.start.cycles() };
        lines.write(place.ok_or(names), record, times, out);
        if defined {
            self.defined(out);
        } else {
            arguments.print(record, out);
        }
    }
}

impl Clone for Printer<'_> {
    fn clone(&self) -> Self {
        Printer::new(&self.header, self.start.clone(), self.catalog, self.options)
    }
}

impl RecordWriter for Printer<'_> {
    #[inline(always)]
    fn record(&mut self, record: &KevRecord<'_>, out: &mut TextBuf) {
        if matches!(self.rest, LineParts::Compat(_)) && self.definitions.is_none() {
            self.compat(record, out);
        } else {
            // Passes a copy, so that the record itself can stay in registers in all other branches.
            self.append_default(&{ *record }, out);
        }
    }

    fn slot(&mut self, slot: KevSlot, out: &mut TextBuf) {
        write_slot(slot, out);
    }

    fn tallied(&self) -> FormatCounts {
        let of_definitions = self.definitions.as_ref().map_or_else(FormatCounts::default, |all| all.text.tallied());
        FormatCounts { n_left_out: self.n_left_out, ..of_definitions }
    }

    fn take_back(&mut self, tallied: FormatCounts) {
        self.n_left_out = tallied.n_left_out;
        self.definitions.iter_mut().for_each(|all| all.text.set_tallied(tallied));
    }

    fn meter(&mut self) -> Option<&mut Meter> {
        self.definitions.as_mut().map(|all| all.text.meter())
    }

    fn slow(&mut self) -> Option<&mut Option<(u8, u16)>> {
        self.definitions.as_mut().map(|all| all.text.slow())
    }
}

/// Time and CPU as traceprinter 1.02 prints them.
#[inline]
fn prefix(record: &KevRecord<'_>) -> [u8; 20] {
    let mut text = *b"t:0x00000000 CPU:00 ";
    num::hex_low(&mut text, 4, record.stamp.into(), 8);
    if let Some(cpu) = text.last_chunk_mut() {
        *cpu = CPUS[usize::from(record.cpu & 63)];
    }
    text
}

/// Texts of all CPUs.
static CPUS: [[u8; 8]; 64] = {
    let mut texts = [*b" CPU:00 "; 64];
    let mut cpu = 0;
    while cpu < texts.len() {
        texts[cpu][5] += cpu as u8 / 10;
        texts[cpu][6] += cpu as u8 % 10;
        cpu += 1;
    }
    texts
};
