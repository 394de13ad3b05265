//! The event type of AIX traces.

/// An event, as recorded and as templates see it.
#[derive(Debug, Clone, Copy)]
pub struct RawEvent<'t> {
    /// Number in the trace, from 1; malformed events are counted. In a merge, the number among the events returned.
    pub number: u64,
    /// File offset of the event's first byte.
    pub offset: u64,
    /// Buffer that templates see: hook word and data.
    pub bytes: &'t [u8],
    /// True if templates see a 64-bit hook.
    pub wide: bool,
    /// Canonical 16-bit hook id.
    pub id: u16,
    /// Thread id.
    pub tid: u64,
    /// Raw time stamp.
    pub ticks: Option<u64>,
    /// CPU, if the event contains it or is in a CPU's file.
    pub cpu: Option<u64>,
    /// The whole event, as recorded.
    pub recorded: &'t [u8],
}

impl RawEvent<'_> {
    /// Data word of an event that is not generic, from 1.
    pub fn data_word(&self, at: usize) -> u64 {
        let width_bytes = if self.wide { 8 } else { 4 };
        let bytes = self.bytes.get(at * width_bytes..(at + 1) * width_bytes).unwrap_or_default();
        bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }
}
