//! Iterator over a trace's events, each with its text.
//!
//! ```text
//! Trace ─reader─> events ─filter, template─> Events ─next─> Item::Event │ Item::Notice
//! ```
//!
//! Yields the events of a report in the report's order. The events of a trace's header are not among them, and a
//! template's `$SKIP` and `$STOP` apply.

use crate::aix_report::{AixEvent, AixEvents};
use crate::columns::Columns;
use crate::engine::StepResult;
use crate::event_filter::{EventFilter, FilterError};
use crate::fields::Field;
use crate::formats::Formats;
use crate::ids::EventId;
use crate::monitor::ReportError;
use crate::output_format::Form;
use crate::qnx_report::{QnxEvent, QnxEvents};
use crate::reader::aix::FastEvent;
use crate::reader::{AnyTrace, Notice};
use crate::terminal::ReportColour;
use crate::trace::{Prepared, ReportOptions, Trace};
use std::borrow::Cow;
use std::fmt;

/// Iterator over a trace's events, made by [`Trace::events`].
///
/// It starts at the trace's current position. Each item borrows the iterator until the next call, so that a large trace
/// is never copied.
pub struct Events<'a>(State<'a>);

enum State<'a> {
    /// Created, but nothing has been read.
    Idle(&'a mut Trace, &'a Formats, Box<EventOptions>),
    Aix(Box<AixEvents<'a>>),
    Qnx(Box<QnxEvents<'a>>),
    Ended,
}

struct EventOptions {
    report: ReportOptions,
    has_texts: bool,
}

/// An event or a notice.
#[derive(Debug)]
pub enum Item<'e> {
    /// An event that the report shows.
    Event(Event<'e>),
    /// A warning or a damaged place. Reading continues after it.
    Notice(Notice),
}

/// One event with its id, time, context and text.
pub struct Event<'e> {
    text: &'e [u8],
    source: EventSource<'e>,
}

enum EventSource<'e> {
    Aix(AixEvent<'e>),
    Qnx(QnxEvent<'e>),
}

impl Trace {
    /// Iterates over the events, each with the text that `formats` gives it.
    pub fn events<'a>(&'a mut self, formats: &'a Formats) -> Events<'a> {
        Events::new(self, formats)
    }
}

impl<'a> Events<'a> {
    pub(crate) fn new(trace: &'a mut Trace, formats: &'a Formats) -> Self {
        Self(State::Idle(trace, formats, Box::new(EventOptions { report: ReportOptions::default(), has_texts: true })))
    }

    /// Sets the filter.
    ///
    /// Has no effect after the first call to [`Events::next`].
    ///
    /// # Errors
    /// A text of the filter is malformed, or names something that no event has.
    pub fn with_filter(mut self, filter: &EventFilter) -> Result<Self, FilterError> {
        if let State::Idle(trace, formats, options) = &mut self.0 {
            options.report = std::mem::take(&mut options.report).with_filter(filter, trace, formats)?;
        }
        Ok(self)
    }

    /// Tracks processes, threads and CPUs, so that [`Event::pid`] and [`Event::process`] return values. This doubles the
    /// cost per event.
    ///
    /// Has no effect after the first call to [`Events::next`].
    #[must_use]
    pub fn with_context(mut self) -> Self {
        if let State::Idle(.., options) = &mut self.0 {
            options.report.aix.follow_context = true;
            options.report.qnx.follow_owners = true;
        }
        self
    }

    /// Leaves all texts empty, for programs that read ids, times, bytes or [`Event::fields`]. An event then costs a
    /// small part: most are read where they are in the input. [`Event::note`] is `None`, as it describes the text.
    ///
    /// Has no effect after the first call to [`Events::next`].
    ///
    /// ```
    /// use tfbc::{Formats, Item, Trace};
    ///
    /// let formats = Formats::builtin();
    /// let mut trace = Trace::open("samples/shell.trc")?;
    /// let mut events = trace.events(&formats).without_texts();
    /// let mut last_ns = None;
    /// while let Some(item) = events.next()? {
    ///     if let Item::Event(event) = item {
    ///         last_ns = event.elapsed_ns();
    ///     }
    /// }
    /// assert!(last_ns > Some(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn without_texts(mut self) -> Self {
        if let State::Idle(.., options) = &mut self.0 {
            options.has_texts = false;
        }
        self
    }

    /// Replaces all options: filter, limits and context table are those of a report. Columns and output format are
    /// ignored.
    ///
    /// Has no effect after the first call to [`Events::next`].
    #[must_use]
    pub fn with_options(mut self, options: ReportOptions) -> Self {
        if let State::Idle(.., own) = &mut self.0 {
            own.report = options;
        }
        self
    }

    /// Returns the next event or notice, or `None` at the end of the trace or after a template's `$STOP`.
    ///
    /// # Errors
    /// Reading the trace failed. Damage is not an error but a notice.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "items borrow the iterator")]
    pub fn next(&mut self) -> Result<Option<Item<'_>>, ReportError> {
        if let State::Aix(events) = &mut self.0 {
            if let Some(found) = events.step_fast() {
                return Ok(self.fast_event(found).map(Item::Event));
            }
            if events.step() {
                return Ok(self.recent(0).map(Item::Event));
            }
        }
        match self.advance()? {
            StepResult::End => return Ok(None),
            StepResult::Notice(notice) => return Ok(Some(Item::Notice(notice))),
            StepResult::Text => {}
        }
        Ok(self.recent(0).map(Item::Event))
    }

    /// An event at which the reader is.
    #[inline(always)]
    fn fast_event(&self, found: FastEvent) -> Option<Event<'_>> {
        let State::Aix(events) = &self.0 else { return None };
        Some(Event::new(&[], EventSource::Aix(events.fast_event(found))))
    }

    /// Moves to the next chunk, notice, QNX event or the end.
    #[inline(never)]
    fn advance(&mut self) -> Result<StepResult, ReportError> {
        if let State::Idle(trace, formats, options) = &self.0 {
            trace.check_part(formats, &options.report, false)?;
            self.0 = std::mem::replace(&mut self.0, State::Ended).start();
        }
        match &mut self.0 {
            State::Aix(events) => events.advance(),
            State::Qnx(events) => events.advance(),
            State::Idle(..) | State::Ended => Ok(StepResult::End),
        }
    }

    /// True if the next event is already formatted, so that [`Events::next`] returns it without reading the trace.
    #[inline]
    #[doc(hidden)]
    pub fn has_buffered(&self) -> bool {
        match &self.0 {
            State::Aix(events) => events.has_buffered(),
            State::Qnx(events) => events.has_buffered(),
            State::Idle(..) | State::Ended => false,
        }
    }

    /// Returns an event again that [`Events::next`] has returned: 0 is the last one, 1 the one before it.
    ///
    /// Events are formatted in chunks. The events of the last chunk remain available until `next` is called while
    /// [`Events::has_buffered`] is false; earlier ones are `None`.
    ///
    /// ```
    /// use tfbc::{Formats, Trace};
    ///
    /// let formats = Formats::builtin();
    /// let mut trace = Trace::open("samples/shell.trc")?;
    /// let mut events = trace.events(&formats);
    /// let mut ids = Vec::new();
    /// while events.next()?.is_some() && events.has_buffered() {
    ///     ids.push(events.recent(0).unwrap().id());
    /// }
    /// assert_eq!(events.recent(ids.len()).unwrap().id(), ids[0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[doc(hidden)]
    pub fn recent(&self, n_before: usize) -> Option<Event<'_>> {
        match &self.0 {
            State::Aix(events) => {
                events.recent(n_before).map(|(text, event)| Event::new(text, EventSource::Aix(event)))
            }
            State::Qnx(events) => {
                events.recent(n_before).map(|(text, event)| Event::new(text, EventSource::Qnx(event)))
            }
            State::Idle(..) | State::Ended => None,
        }
    }
}

impl<'a> State<'a> {
    fn start(self) -> Self {
        let State::Idle(trace, formats, options) = self else { return self };
        let EventOptions { report: ReportOptions { mut aix, mut qnx }, has_texts } = *options;
        aix.columns = if has_texts { Columns::text_only() } else { Columns::text_only().without_text() };
        (aix.form, aix.no_heading, aix.page_size, aix.colour) = (Form::Text, true, 0, ReportColour::Off);
        (aix.stats, aix.histogram) = (false, false);
        qnx.columns = if has_texts { Columns::data_only() } else { Columns::data_only().without_data() };
        (qnx.form, qnx.no_heading, qnx.sort, qnx.colour, qnx.stats) =
            (Form::Text, true, false, ReportColour::Off, false);
        let (source, prepared) = trace.prepare(ReportOptions { aix, qnx });
        let Prepared { options, infos, known_steps } = prepared;
        match source {
            AnyTrace::Aix(logs) => {
                let events = AixEvents::new(logs, infos, formats.catalog(), &options.aix, known_steps);
                State::Aix(Box::new(events))
            }
            AnyTrace::Kev(log) => {
                State::Qnx(Box::new(QnxEvents::new(log, formats.catalog(), &options.qnx, known_steps)))
            }
        }
    }
}

impl fmt::Debug for Events<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

impl<'e> Event<'e> {
    fn new(text: &'e [u8], source: EventSource<'e>) -> Self {
        Self { text, source }
    }

    /// Id as reports and [`EventFilter::only`] spell it: a hook id of AIX, such as `106`, or class and number of QNX,
    /// such as `USER:65`.
    pub fn id(&self) -> String {
        self.event_id().name()
    }

    /// Id as numbers: the 16-bit hook id of AIX, `0x1060` for hook 106, or class and number of QNX.
    #[inline]
    pub fn event_id(&self) -> EventId {
        match &self.source {
            EventSource::Aix(event) => EventId::Hook(event.id()),
            EventSource::Qnx(event) => EventId::Record(event.class(), event.event()),
        }
    }

    /// Label from the event's template or from the built-in table of QNX events; empty if there is none.
    pub fn label(&self) -> Cow<'e, str> {
        match &self.source {
            EventSource::Aix(event) => String::from_utf8_lossy(event.label()),
            EventSource::Qnx(event) => event.label(),
        }
    }

    /// Position in the input, from 0. Counts all events, also those that the filter leaves out.
    pub fn seq(&self) -> u64 {
        match &self.source {
            EventSource::Aix(event) => event.seq(),
            EventSource::Qnx(event) => event.seq(),
        }
    }

    /// Time in microseconds since 1970, UTC. `None` before the event of an AIX trace that contains its start time
    /// (hook 003); in a QNX log without the boot time ([`QnxHeader::boot_ns`](crate::QnxHeader::boot_ns)); and if
    /// [`Event::time_ns`] is `None`.
    pub fn unix_us(&self) -> Option<i64> {
        match &self.source {
            EventSource::Aix(event) => event.unix_us(),
            EventSource::Qnx(event) => event.unix_us(),
        }
    }

    /// Reason why the text is incomplete: `truncated` if the event ends too early, `limit` if a limit was reached,
    /// `refused` if the verifier refuses the template. `None` if the text is complete.
    pub fn note(&self) -> Option<&'static str> {
        match &self.source {
            EventSource::Aix(event) => event.note().name(),
            EventSource::Qnx(event) => event.note().name(),
        }
    }

    /// Time in nanoseconds since the zero of the trace's clock, which is the boot for a QNX log.
    ///
    /// `None` only in a QNX log: before its first time event, or if its header does not contain the rate of the clock.
    #[inline]
    pub fn time_ns(&self) -> Option<u64> {
        match &self.source {
            EventSource::Aix(event) => Some(event.time_ns()),
            EventSource::Qnx(event) => event.time_ns(),
        }
    }

    /// Time in nanoseconds since the trace began; negative for a QNX record from before its start.
    ///
    /// `None` if [`Event::time_ns`] is `None`.
    #[inline]
    pub fn elapsed_ns(&self) -> Option<i64> {
        match &self.source {
            EventSource::Aix(event) => Some(i64::try_from(event.elapsed_ns()).unwrap_or(i64::MAX)),
            EventSource::Qnx(event) => event.elapsed_ns(),
        }
    }

    /// CPU that recorded the event. `None` if neither the event nor its file contains the CPU of an AIX event, and no
    /// earlier event contains it, which needs [`Events::with_context`].
    pub fn cpu(&self) -> Option<u64> {
        match &self.source {
            EventSource::Aix(event) => event.cpu(),
            EventSource::Qnx(event) => Some(event.cpu()),
        }
    }

    /// Process id; needs [`Events::with_context`]. `None` if no earlier event contains it.
    pub fn pid(&self) -> Option<u64> {
        match &self.source {
            EventSource::Aix(event) => event.pid(),
            EventSource::Qnx(event) => event.pid(),
        }
    }

    /// Thread id; for QNX, the thread's number in its process, which needs [`Events::with_context`].
    ///
    /// `None` only in a QNX log, before the first event that names the CPU's thread.
    #[inline]
    pub fn tid(&self) -> Option<u64> {
        match &self.source {
            EventSource::Aix(event) => Some(event.tid()),
            EventSource::Qnx(event) => event.tid(),
        }
    }

    /// Name of the process; needs [`Events::with_context`]. `None` if no earlier event contains it.
    pub fn process(&self) -> Option<Cow<'e, str>> {
        let name = match &self.source {
            EventSource::Aix(event) => event.process(),
            EventSource::Qnx(event) => event.process(),
        };
        name.map(String::from_utf8_lossy)
    }

    /// Path of the executable of an AIX event, or name of the process of a QNX event; needs [`Events::with_context`].
    /// `None` if no earlier event contains it.
    pub fn executable(&self) -> Option<Cow<'e, str>> {
        let name = match &self.source {
            EventSource::Aix(event) => event.path(),
            EventSource::Qnx(event) => event.process(),
        };
        name.map(String::from_utf8_lossy)
    }

    /// Bytes of the event: for AIX, from the hook word up to the time stamp; for QNX, the payload in the byte order of
    /// the traced machine.
    #[inline]
    pub fn bytes(&self) -> &'e [u8] {
        match &self.source {
            EventSource::Aix(event) => event.bytes(),
            EventSource::Qnx(event) => event.bytes(),
        }
    }

    /// Text that the event's template prints, as in `tfbc report --columns text`.
    ///
    /// It may have several lines and does not end in a newline. Bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> Cow<'e, str> {
        String::from_utf8_lossy(self.text_bytes())
    }

    /// Like [`Event::text`], but the bytes of the report, unchanged.
    #[inline]
    pub fn text_bytes(&self) -> &'e [u8] {
        self.text
    }

    /// Typed fields: of an AIX event, the values that its template prints, in the order of [`EventFormat::fields`]; of a
    /// QNX event, those that its definition names, or the arguments of a kernel event.
    ///
    /// Empty if the event has no template. A field without a value is [`FieldValue::Missing`](crate::FieldValue); so are
    /// all fields of an event above the work limit of a report. This call computes the fields, so iterating without it
    /// costs nothing.
    ///
    /// ```
    /// use tfbc::{FieldValue, Formats, Item, Trace};
    ///
    /// let formats = Formats::builtin();
    /// let mut trace = Trace::open("samples/shell.trc")?;
    /// let mut events = trace.events(&formats);
    /// while let Some(Item::Event(event)) = events.next()? {
    ///     if event.id() == "134" {
    ///         assert_eq!(event.fields()[0].name, "cmd");
    ///         assert_eq!(event.fields()[0].value, FieldValue::Text("/usr/bin/ls".into()));
    ///         break;
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`EventFormat::fields`]: crate::EventFormat::fields
    pub fn fields(&self) -> Vec<Field> {
        match &self.source {
            EventSource::Aix(event) => event.fields(),
            EventSource::Qnx(event) => event.fields(),
        }
    }
}

impl fmt::Debug for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").field("id", &self.id()).field("text", &self.text()).finish_non_exhaustive()
    }
}

const _: () = {
    const fn assert_send<T: Send>() {}
    assert_send::<Events<'_>>();
};
