//! Facts that rows carry: properties of the trace, and why a row is incomplete.

use tfbc_vm::{Outcome, TextBuf};

/// Facts from the header of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceFacts {
    /// UTC nanoseconds of elapsed time 0, if the trace contains its start time.
    pub zero_ns: Option<i128>,
    /// Source of the start time: `003` or `boot_time`; empty if it is unknown.
    pub basis: &'static str,
    /// Names and values of the known properties of the system.
    pub system: Vec<(&'static str, String)>,
}

/// First reason found why the text or the fields of an event are incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowNote {
    /// Text and fields are complete.
    #[default]
    None,
    /// The event is shorter than its template expects.
    Truncated,
    /// A limit was reached.
    Limit,
    /// The verifier refuses the template.
    Refused,
}

/// Value of [`TraceFacts::basis`] for a start time from hook 003.
pub(crate) const HOOK_003: &str = "003";
pub(crate) const BOOT_TIME: &str = "boot_time";
/// Names in [`TraceFacts::system`].
pub(crate) const SYSTEM: [&str; 7] = ["system", "node", "machine", "release", "version", "cpus", "traced_cpus"];

impl RowNote {
    /// Converts the outcome of a template.
    pub(crate) fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome { truncated: true, .. } => RowNote::Truncated,
            Outcome { limited: true, .. } => RowNote::Limit,
            Outcome { refused: true, .. } => RowNote::Refused,
            _ => RowNote::None,
        }
    }

    /// Word in the column `note`; `None` for a complete event.
    pub fn name(self) -> Option<&'static str> {
        match self {
            RowNote::None => None,
            RowNote::Truncated => Some("truncated"),
            RowNote::Limit => Some("limit"),
            RowNote::Refused => Some("refused"),
        }
    }
}

impl TraceFacts {
    /// Appends the encoded facts.
    pub(crate) fn encode(&self, out: &mut TextBuf) {
        let mut text = Vec::new();
        text.extend_from_slice(&self.zero_ns.unwrap_or_default().to_le_bytes());
        text.push(u8::from(self.zero_ns.is_some()) | u8::from(self.basis == BOOT_TIME) << 1);
        for (name, value) in &self.system {
            text.push(SYSTEM.iter().position(|known| known == name).unwrap_or_default() as u8);
            text.extend_from_slice(&(value.len() as u32).to_le_bytes());
            text.extend_from_slice(value.as_bytes());
        }
        out.push(&text);
    }

    /// Decodes facts; `None` if they are cut.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (zero, rest) = bytes.split_first_chunk()?;
        let (flags, mut rest) = rest.split_first()?;
        let mut system = Vec::new();
        while let Some((name, value)) = rest.split_first() {
            let (len, value) = value.split_first_chunk()?;
            let (value, others) = value.split_at_checked(u32::from_le_bytes(*len) as usize)?;
            system.push((*SYSTEM.get(usize::from(*name))?, String::from_utf8_lossy(value).into_owned()));
            rest = others;
        }
        let zero_ns = (flags & 1 != 0).then_some(i128::from_le_bytes(*zero));
        let basis = match (zero_ns, flags & 2) {
            (None, _) => "",
            (_, 0) => HOOK_003,
            _ => BOOT_TIME,
        };
        Some(Self { zero_ns, basis, system })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_decoded_as_they_were_encoded() {
        let system = vec![("node", String::from("n")), ("cpus", String::from("2"))];
        let facts = TraceFacts { zero_ns: Some(-5), basis: BOOT_TIME, system };
        for facts in [facts, TraceFacts::default()] {
            let mut text = TextBuf::new();
            facts.encode(&mut text);
            assert_eq!(TraceFacts::decode(text.as_bytes()), Some(facts));
        }
    }
}
