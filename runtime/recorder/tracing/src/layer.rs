//! The layer: each span and event as one generic hook.

use crate::Recorder;
use crate::callsites::Callsites;
use crate::payload::Payload;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tfbc_recorder::hooks;
use tfbc_recorder::record::Width;
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::subscriber::Interest;
use tracing_core::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter, Layer};
use tracing_subscriber::registry::{LookupSpan, SpanRef};

/// What happened: the subhook.
#[derive(Debug, Clone, Copy)]
pub(crate) enum What {
    Event,
    Begins,
    Enters,
    Leaves,
    Ends,
    Has,
}

/// Records what a subscriber is told. [`Recorder::layer`] and [`Recorder::alone`] make it.
#[derive(Debug)]
pub struct RecorderLayer {
    /// The hook word without the subhook.
    hook: u32,
    channel: usize,
    has_enters: bool,
    callsites: Arc<Callsites>,
}

/// A span that was recorded.
#[derive(Debug, Clone, Copy)]
struct Open {
    /// The process' id, and the number that the report shows.
    span: u64,
    /// The callsite's number.
    callsite: u64,
}

/// The last span's number.
static LAST: AtomicU32 = AtomicU32::new(0);

impl RecorderLayer {
    pub(crate) fn new(recorder: &Recorder) -> Self {
        let Recorder { id, channel, has_enters, callsites } = recorder;
        Self { hook: u32::from(*id) << 16, channel: *channel, has_enters: *has_enters, callsites: callsites.clone() }
    }

    fn put(&self, what: What, callsite: u64, payload: &Payload) {
        hooks::generic(self.channel, Width::W64, true, self.hook | what as u32, callsite, payload.bytes());
    }

    /// Records what happens to a span that is open.
    fn put_open<'a, S: Subscriber + LookupSpan<'a>>(&self, what: What, span: Option<SpanRef<'a, S>>) {
        if let Some(Open { span, callsite }) = open(span.as_ref()) {
            self.put(what, callsite, &Payload::new(span, 0, 0));
        }
    }
}

fn is_on(channel: usize) -> bool {
    channel < hooks::CHANNELS && hooks::is_on(channel)
}

/// What is known of a span; `None` of one that began while the trace was off.
fn open<'a, S: LookupSpan<'a>>(span: Option<&SpanRef<'a, S>>) -> Option<Open> {
    span?.extensions().get::<Open>().copied()
}

/// Bytes of a span or an event within another.
fn within(span: u64, outer: Option<Open>) -> Payload {
    match outer {
        Some(outer) => Payload::new(span, outer.callsite, outer.span as u32),
        None => Payload::new(span, 0, 0),
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for RecorderLayer {
    fn register_callsite(&self, callsite: &'static Metadata<'static>) -> Interest {
        self.callsites.add(callsite);
        Interest::sometimes()
    }

    fn enabled(&self, _: &Metadata<'_>, _: Context<'_, S>) -> bool {
        is_on(self.channel)
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut payload = within(0, open(context.event_span(event).as_ref()));
        event.record(&mut payload);
        self.put(What::Event, self.callsites.number(event.metadata()), &payload);
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let known = open(Some(&span)).unwrap_or_else(|| {
            let number = LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
            let made = Open {
                span: u64::from(std::process::id()) << 32 | u64::from(number),
                callsite: self.callsites.number(attributes.metadata()),
            };
            span.extensions_mut().replace(made);
            made
        });
        let mut payload = within(known.span, open(span.parent().as_ref()));
        attributes.record(&mut payload);
        self.put(What::Begins, known.callsite, &payload);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(Open { span, callsite }) = open(context.span(id).as_ref()) else { return };
        let mut payload = Payload::new(span, 0, 0);
        values.record(&mut payload);
        self.put(What::Has, callsite, &payload);
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if self.has_enters {
            self.put_open(What::Enters, context.span(id));
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        if self.has_enters {
            self.put_open(What::Leaves, context.span(id));
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        self.put_open(What::Ends, context.span(&id));
    }
}

/// Lets through what is recorded: all while the channel is on, nothing while it is off.
#[derive(Debug, Clone, Copy)]
pub struct IsOn {
    channel: usize,
}

impl IsOn {
    pub(crate) fn new(channel: usize) -> Self {
        Self { channel }
    }
}

impl<S> Filter<S> for IsOn {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        is_on(self.channel)
    }

    fn callsite_enabled(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }
}
