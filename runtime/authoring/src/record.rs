//! One QNX record, given by its payload instead of a log.

use crate::cases::ProgramObserver;
use tfbc::internal::KevRecord;
use tfbc::internal::templates::RecordPrinter;
use tfbc::{Formats, MaxWork};
use tfbc_vm::{Limits, Space, TextBuf};

/// A record, and the limits of its definitions.
#[derive(Debug, Clone, Copy)]
pub struct GivenRecord<'b> {
    /// Class of the event.
    pub class: u8,
    /// Number of the event in its class.
    pub event: u16,
    /// True for a combine record.
    pub wide: bool,
    /// True if the payload is big-endian.
    pub big_endian: bool,
    /// The payload.
    pub bytes: &'b [u8],
    /// Limits per definition.
    pub limits: Limits,
    /// Work limit of all definitions together.
    pub max_work: MaxWork,
}

impl<'b> GivenRecord<'b> {
    /// Appends the data column of a report: the texts of the definitions that apply, or the arguments. Returns false if
    /// no definition applies.
    pub fn print(&self, formats: &Formats, out: &mut TextBuf) -> bool {
        let (mut printer, record) = (self.printer(formats), self.record());
        let is_defined = printer.definitions(&record, out);
        if !is_defined {
            printer.arguments(&record, out);
        }
        is_defined
    }

    /// Runs each definition of the event with an observer of its own. Their texts are discarded.
    pub fn observe(&self, formats: &Formats, observers: &mut impl ProgramObserver) {
        let (catalog, mut printer, record) = (formats.catalog(), self.printer(formats), self.record());
        for entry in catalog.records(Space::Record, record.class, record.event) {
            let mut observer = observers.observer(catalog.record_program(entry));
            printer.one(entry, &record, &mut TextBuf::new(), &mut observer);
        }
    }

    fn printer<'f>(&self, formats: &'f Formats) -> RecordPrinter<'f> {
        RecordPrinter::new(formats.catalog(), self.big_endian, None, self.limits).with_max_work(self.max_work)
    }

    fn record(&self) -> KevRecord<'b> {
        let Self { class, event, wide, bytes, .. } = *self;
        KevRecord { number: 1, offset: 0, class, event, cpu: 0, wide, stamp: 0, msb: None, bytes }
    }
}
