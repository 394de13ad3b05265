//! Events of a trace, one at a time, each with its text.
//!
//! ```text
//! Trace ─reader─> events ─filter, template─> Events ─next─> Item::Event │ Item::Notice
//! ```
//!
//! The events are those of a report, in its order: the trace's own header is read and not yielded, templates that skip
//! their event or stop the report do so here too.

use crate::columns::Columns;
use crate::engine::Step;
use crate::events::class_name;
use crate::filter::Filter;
use crate::formats::Formats;
use crate::forms::Form;
use crate::ids::display_id;
use crate::reader::{AnyTrace, Notice};
use crate::records::{QnxEvent, QnxEvents};
use crate::report::{AixEvent, AixEvents, ReportError};
use crate::trace::{Prepared, ReportOptions, Trace};
use std::borrow::Cow;
use std::fmt;

/// Iterator over a trace's events. Each item borrows the iterator until the next call.
///
/// Built by [`Trace::events`]; the trace is read from its present place to its end.
pub struct Events<'a>(State<'a>);

enum State<'a> {
    /// Nothing is read yet.
    Idle(&'a mut Trace, &'a Formats, Box<ReportOptions>),
    Aix(Box<AixEvents<'a>>),
    Qnx(Box<QnxEvents<'a>>),
    Ended,
}

/// Item of a trace.
#[derive(Debug)]
pub enum Item<'e> {
    /// An event that the report shows.
    Event(Event<'e>),
    /// A damaged place or a warning; reading continues after it.
    Notice(Notice),
}

/// An event with its time, context and text.
pub struct Event<'e> {
    text: &'e [u8],
    source: Source<'e>,
}

enum Source<'e> {
    Aix(AixEvent<'e>),
    Qnx(QnxEvent<'e>),
}

/// Field of an event, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The name; a second field of the same name ends in `_2`.
    pub name: String,
    /// The value as it was recorded.
    pub value: FieldValue,
    /// The value as the event's text shows it.
    pub text: String,
}

/// Value of a [`Field`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldValue {
    /// The event ends before the field.
    Missing,
    /// A number, signed or not, of up to 64 bits.
    Integer(i128),
    /// Numbers of a field that repeats.
    Integers(Vec<i128>),
    /// Text.
    Text(String),
}

impl<'a> Events<'a> {
    pub(crate) fn new(trace: &'a mut Trace, formats: &'a Formats) -> Self {
        Self(State::Idle(trace, formats, Box::default()))
    }

    /// Yields only the events of an AIX trace that a filter admits. For logs of QNX, see [`Events::with_options`].
    ///
    /// Has no effect after the first call of [`Events::next`].
    #[must_use]
    pub fn with_filter(mut self, filter: Filter) -> Self {
        if let State::Idle(.., options) = &mut self.0 {
            options.aix.filter = filter;
        }
        self
    }

    /// Follows processes and threads, so that [`Event::pid`] and [`Event::process`] know them. It doubles the cost of an
    /// event.
    ///
    /// Has no effect after the first call of [`Events::next`].
    #[must_use]
    pub fn with_context(mut self) -> Self {
        if let State::Idle(.., options) = &mut self.0 {
            options.aix.follow_context = true;
            options.qnx.follow_owners = true;
        }
        self
    }

    /// Takes filters, limits and the context table of a report's options; columns and forms do not matter.
    ///
    /// Has no effect after the first call of [`Events::next`].
    #[must_use]
    pub fn with_options(mut self, options: ReportOptions) -> Self {
        if let State::Idle(.., own) = &mut self.0 {
            **own = options;
        }
        self
    }

    /// The next event or notice; `None` at the end of the trace, or after a template's `$STOP`.
    ///
    /// # Errors
    /// The trace cannot be read further. Damage is no error: a notice reports it.
    #[expect(clippy::should_implement_trait, reason = "items borrow the iterator")]
    pub fn next(&mut self) -> Result<Option<Item<'_>>, ReportError> {
        if matches!(self.0, State::Idle(..)) {
            self.0 = std::mem::replace(&mut self.0, State::Ended).started();
        }
        match &mut self.0 {
            State::Aix(events) => match events.advance()? {
                Step::End => Ok(None),
                Step::Notice(notice) => Ok(Some(Item::Notice(notice))),
                Step::Text => {
                    Ok(events.current().map(|(text, event)| Item::Event(Event::new(text, Source::Aix(event)))))
                }
            },
            State::Qnx(events) => match events.advance()? {
                Step::End => Ok(None),
                Step::Notice(notice) => Ok(Some(Item::Notice(notice))),
                Step::Text => {
                    Ok(events.current().map(|(text, event)| Item::Event(Event::new(text, Source::Qnx(event)))))
                }
            },
            State::Idle(..) | State::Ended => Ok(None),
        }
    }
}

impl<'a> State<'a> {
    fn started(self) -> Self {
        let State::Idle(trace, formats, options) = self else { return self };
        let ReportOptions { mut aix, mut qnx } = *options;
        aix.columns = Columns::text_only();
        (aix.form, aix.no_heading, aix.page_size, aix.colour) = (Form::Text, true, 0, false);
        (aix.stats, aix.histogram) = (false, false);
        qnx.columns = Columns::data_only();
        (qnx.form, qnx.no_heading, qnx.sort, qnx.colour, qnx.stats) = (Form::Text, true, false, false, false);
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
    fn new(text: &'e [u8], source: Source<'e>) -> Self {
        Self { text, source }
    }

    /// The id as reports print it: of AIX, the hook id such as `106`; of QNX, class and event such as `USER:65`.
    pub fn id(&self) -> String {
        match &self.source {
            Source::Aix(event) => display_id(event.id()),
            Source::Qnx(event) => qnx_id(event.class(), event.event()),
        }
    }

    /// The hook id of an AIX event in its canonical form: `0x1060` for hook 106.
    pub fn hook_id(&self) -> Option<u16> {
        match &self.source {
            Source::Aix(event) => Some(event.id()),
            Source::Qnx(_) => None,
        }
    }

    /// Class and event number of a QNX event.
    pub fn class_and_event(&self) -> Option<(u8, u16)> {
        match &self.source {
            Source::Aix(_) => None,
            Source::Qnx(event) => Some((event.class(), event.event())),
        }
    }

    /// The label of the event's template, or of QNX's tables; empty if there is none.
    pub fn label(&self) -> Cow<'e, str> {
        match &self.source {
            Source::Aix(event) => String::from_utf8_lossy(event.label()),
            Source::Qnx(event) => event.label(),
        }
    }

    /// Time in nanoseconds, since the epoch of the trace's clock: of QNX the boot. `None` before a QNX log tells its clock.
    pub fn time_ns(&self) -> Option<u64> {
        match &self.source {
            Source::Aix(event) => Some(event.time_ns()),
            Source::Qnx(event) => event.time_ns(),
        }
    }

    /// Time in nanoseconds since the trace began.
    pub fn elapsed_ns(&self) -> Option<u64> {
        match &self.source {
            Source::Aix(event) => Some(event.elapsed_ns()),
            Source::Qnx(event) => event.elapsed_ns(),
        }
    }

    /// The CPU, if the trace tells it. An AIX trace often tells it by its context alone ([`Events::with_context`]).
    pub fn cpu(&self) -> Option<u64> {
        match &self.source {
            Source::Aix(event) => event.cpu(),
            Source::Qnx(event) => Some(event.cpu()),
        }
    }

    /// The process id, with [`Events::with_context`] and if it is known.
    pub fn pid(&self) -> Option<u64> {
        match &self.source {
            Source::Aix(event) => event.pid(),
            Source::Qnx(event) => event.pid(),
        }
    }

    /// The thread id; of QNX the number in its process, with [`Events::with_context`].
    pub fn tid(&self) -> Option<u64> {
        match &self.source {
            Source::Aix(event) => Some(event.tid()),
            Source::Qnx(event) => event.tid(),
        }
    }

    /// Name of the process, with [`Events::with_context`] and if it is known.
    pub fn process(&self) -> Option<Cow<'e, str>> {
        let name = match &self.source {
            Source::Aix(event) => event.process(),
            Source::Qnx(event) => event.process(),
        };
        name.map(String::from_utf8_lossy)
    }

    /// The event's own bytes: of AIX from the hook word to before the time stamp, of QNX the payload in memory order.
    pub fn bytes(&self) -> &'e [u8] {
        match &self.source {
            Source::Aix(event) => event.bytes(),
            Source::Qnx(event) => event.bytes(),
        }
    }

    /// The text by the event's template, as `tfbc report --columns text` prints it, without the newline at its end. It may
    /// have several lines. Bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> Cow<'e, str> {
        String::from_utf8_lossy(self.text_bytes())
    }

    /// The text of [`Event::text`] as the bytes that the report holds.
    pub fn text_bytes(&self) -> &'e [u8] {
        self.text
    }

    /// The typed fields: of QNX what definitions name, or the arguments of the kernel's own events. Events of AIX have
    /// none yet.
    pub fn fields(&self) -> Vec<Field> {
        match &self.source {
            Source::Aix(_) => Vec::new(),
            Source::Qnx(event) => event.fields(),
        }
    }
}

impl fmt::Debug for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").field("id", &self.id()).field("text", &self.text()).finish_non_exhaustive()
    }
}

/// Class and event such as `USER:65`; a class without a name is a number.
pub(crate) fn qnx_id(class: u8, event: u16) -> String {
    match class_name(class) {
        Some(name) => format!("{name}:{event}"),
        None => format!("{class}:{event}"),
    }
}
