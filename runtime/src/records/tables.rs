//! What is shown of records that no definition names.

use crate::reader::kev::KevRecord;
use tfbc_vm::{Machine, TextBuf, num};

/// The built-in tables of one release.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tables;

impl Tables {
    pub fn of(_release: Option<(u32, u32)>) -> Self {
        Tables
    }

    /// Appends the arguments of a record as traceprinter's default layout has them, without the blank before the first.
    pub fn arguments(&self, _machine: &mut Machine, record: &KevRecord<'_>, big_endian: bool, out: &mut TextBuf) {
        let (words, _) = record.bytes.as_chunks::<4>();
        for (at, word) in words.iter().enumerate() {
            let value = if big_endian { u32::from_be_bytes(*word) } else { u32::from_le_bytes(*word) };
            let mut text = *b" 0x        ";
            num::hex_low(&mut text, 3, value.into(), 8);
            out.push(&text[usize::from(at == 0)..]);
        }
    }

    /// The events of a class that have a label.
    pub fn events(&self, class: u8, label: &str) -> Vec<u16> {
        if (class, label) == (4, "THREADY") { vec![2] } else { Vec::new() }
    }

    /// Appends the label of an event.
    pub fn label(&self, _class: u8, event: u16, out: &mut TextBuf) {
        out.push(format!("EVENT {event}").as_bytes());
    }
}

/// The class with a name.
pub(crate) fn class_number(name: &str) -> Option<u8> {
    (0..32).find(|class| class_name(*class) == Some(name))
}

/// The name of a class.
pub(crate) fn class_name(class: u8) -> Option<&'static str> {
    const NAMES: [&str; 12] =
        ["EMPTY", "CONTROL", "KER_CALL", "INT", "PR_TH", "SYSTEM", "USER", "COMM", "QUIP", "SEC", "QVM", "PMU"];
    NAMES.get(usize::from(class)).copied()
}
