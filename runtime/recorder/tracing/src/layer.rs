//! The layer: each span and event becomes a generic hook.

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

/// Kind of a hook, which is its subhook.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SpanAction {
    Event,
    Begins,
    Enters,
    Leaves,
    Ends,
    Has,
}

/// Subscriber layer that records, made by [`Recorder::layer`](crate::Recorder::layer) and
/// [`Recorder::alone`](crate::Recorder::alone).
#[derive(Debug)]
pub struct RecorderLayer {
    /// Hook word without the subhook.
    hook: u32,
    channel: usize,
    has_enters: bool,
    callsites: Arc<Callsites>,
}

/// A recorded span.
#[derive(Debug, Clone, Copy)]
struct OpenSpan {
    /// Process id, and the number that the report shows.
    span: u64,
    /// Number of the callsite.
    callsite: u64,
}

/// Number of the last span.
static LAST: AtomicU32 = AtomicU32::new(0);

impl RecorderLayer {
    pub(crate) fn new(id: u16, channel: usize, has_enters: bool, callsites: Arc<Callsites>) -> Self {
        Self { hook: u32::from(id) << 16, channel, has_enters, callsites }
    }

    fn put(&self, what: SpanAction, callsite: u64, payload: &Payload) {
        hooks::generic(self.channel, Width::W64, true, self.hook | what as u32, callsite, payload.bytes());
    }

    /// Records what happens to an open span.
    fn put_open<'a, S: Subscriber + LookupSpan<'a>>(&self, what: SpanAction, span: Option<SpanRef<'a, S>>) {
        if let Some(OpenSpan { span, callsite }) = open(span.as_ref()) {
            self.put(what, callsite, &Payload::new(span, 0, 0));
        }
    }
}

fn is_on(channel: usize) -> bool {
    channel < hooks::CHANNELS && hooks::is_on(channel)
}

/// Data of a recorded span; `None` if it was created while the trace was off.
fn open<'a, S: LookupSpan<'a>>(span: Option<&SpanRef<'a, S>>) -> Option<OpenSpan> {
    span?.extensions().get::<OpenSpan>().copied()
}

/// Payload of a span or event within another span.
fn within(span: u64, outer: Option<OpenSpan>) -> Payload {
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
        self.put(SpanAction::Event, self.callsites.number(event.metadata()), &payload);
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let known = open(Some(&span)).unwrap_or_else(|| {
            let number = LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
            let made = OpenSpan {
                span: u64::from(std::process::id()) << 32 | u64::from(number),
                callsite: self.callsites.number(attributes.metadata()),
            };
            span.extensions_mut().replace(made);
            made
        });
        let mut payload = within(known.span, open(span.parent().as_ref()));
        attributes.record(&mut payload);
        self.put(SpanAction::Begins, known.callsite, &payload);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(OpenSpan { span, callsite }) = open(context.span(id).as_ref()) else { return };
        let mut payload = Payload::new(span, 0, 0);
        values.record(&mut payload);
        self.put(SpanAction::Has, callsite, &payload);
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if self.has_enters {
            self.put_open(SpanAction::Enters, context.span(id));
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        if self.has_enters {
            self.put_open(SpanAction::Leaves, context.span(id));
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        self.put_open(SpanAction::Ends, context.span(&id));
    }
}

/// Filter that is open while the channel is on.
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
