//! Payload of one event.

use std::cell::Cell;
use std::fmt::{self, Debug, Write};
use tracing_core::Field;
use tracing_core::field::Visit;

/// Maximum bytes of a generic hook.
const MAX: usize = 4096;
/// Offset of the number of fields.
const N_FIELDS: usize = 20;

thread_local! {
    /// Buffer of the thread's last event, kept for reuse. If formatting a value records another event, that one gets a
    /// new buffer.
    static KEPT: Cell<Option<Box<[u8]>>> = const { Cell::new(None) };
}

/// Bytes of one event, in the layout shown on the crate's front page.
pub struct Payload {
    bytes: Box<[u8]>,
    len: usize,
}

impl Payload {
    pub fn new(span: u64, outer: u64, outer_span: u32) -> Self {
        let bytes = KEPT.try_with(Cell::take).ok().flatten().unwrap_or_else(|| Box::new([0; MAX]));
        let mut payload = Self { bytes, len: 0 };
        payload.push(&span.to_be_bytes());
        payload.push(&outer.to_be_bytes());
        payload.push(&outer_span.to_be_bytes());
        payload.push(&[0]);
        payload
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// Adds a field if it fits.
    fn field(&mut self, field: &Field, kind: ValueKind, value: &[u8]) {
        if self.len + 2 + value.len() <= MAX {
            self.push(&[field.index() as u8, kind as u8]);
            self.push(value);
            self.bytes[N_FIELDS] += 1;
        }
    }

    /// Adds a field of variable length, cut to the available space.
    fn long_field(&mut self, field: &Field, kind: ValueKind, write: impl FnOnce(&mut Rest)) {
        let start = self.len + 4;
        if start > MAX {
            return;
        }
        let mut rest = Rest { free: &mut self.bytes[start..], len: 0 };
        write(&mut rest);
        let len = rest.len;
        self.push(&[field.index() as u8, kind as u8]);
        self.push(&(len as u16).to_be_bytes());
        self.len += len;
        self.bytes[N_FIELDS] += 1;
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        let _ = KEPT.try_with(|kept| kept.set(Some(bytes)));
    }
}

/// Type of a field's value.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
enum ValueKind {
    Signed = 1,
    Unsigned = 2,
    Float = 3,
    False = 4,
    True = 5,
    Text = 6,
    Wide = 7,
    Bytes = 8,
}

/// Free bytes of an event. Text beyond them is dropped.
struct Rest<'p> {
    free: &'p mut [u8],
    len: usize,
}

impl Rest<'_> {
    fn push(&mut self, bytes: &[u8]) {
        let free = &mut self.free[self.len..];
        let len = bytes.len().min(free.len());
        free[..len].copy_from_slice(&bytes[..len]);
        self.len += len;
    }
}

impl Write for Rest<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

impl Visit for Payload {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.field(field, ValueKind::Signed, &value.to_be_bytes());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.field(field, ValueKind::Unsigned, &value.to_be_bytes());
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.field(field, ValueKind::Wide, &value.to_be_bytes());
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.field(field, ValueKind::Wide, &value.to_be_bytes());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.field(field, ValueKind::Float, &value.to_be_bytes());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.field(field, if value { ValueKind::True } else { ValueKind::False }, &[]);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.long_field(field, ValueKind::Text, |rest| rest.push(value.as_bytes()));
    }

    fn record_bytes(&mut self, field: &Field, value: &[u8]) {
        self.long_field(field, ValueKind::Bytes, |rest| rest.push(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // If formatting a value fails, the text up to there is kept.
        self.long_field(field, ValueKind::Text, |rest| _ = write!(rest, "{value:?}"));
    }
}
