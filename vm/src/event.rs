//! Events as templates see them, and the environments that routines are compiled for.

/// Trace event, as templates see it.
#[derive(Debug, Clone, Copy)]
pub struct Event<'e> {
    /// Buffer of a hook: hook word and data, without fill, thread id and time stamp; big-endian. It may be shorter than
    /// its header says. For a record: the payload, that is the joined data words of all its slots, in memory order.
    pub bytes: &'e [u8],
    /// True for a 64-bit hook (`$HOOKENV` 64) or a combine record.
    pub wide: bool,
    /// Header of a QNX record; `None` for an AIX hook.
    pub record: Option<RecordHeader>,
    /// Time in ns since the epoch of the trace's clock. An event without a stamp has the last known time.
    pub time_ns: u64,
    /// Offset of the event's first byte in the file.
    pub offset: u64,
}

/// Header fields of a QNX record that templates use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RecordHeader {
    /// Event number, 10 bits.
    pub event: u16,
    /// True if the log is big-endian.
    pub big_endian: bool,
}

/// Kind of event that an entry of a program formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Space {
    /// AIX hooks, by canonical id.
    Hook,
    /// QNX records by class and event: `class << 10 | event`.
    Record,
    /// QNX records as rows of fields, by class and event. Instead of a label, the entry has its encoded
    /// [`Schema`](crate::Schema). Blobs before version 7 have other entries here, which are not used.
    RecordFields,
    /// AIX hooks as rows of fields, by canonical id. Instead of a label, the entry has its encoded
    /// [`Schema`](crate::Schema).
    HookFields,
}

impl Space {
    /// Every space, by number.
    pub const ALL: [Space; 4] = [Space::Hook, Space::Record, Space::RecordFields, Space::HookFields];

    /// True if entries of this space print text, false if they store fields.
    pub(crate) const fn prints(self) -> bool {
        matches!(self, Space::Hook | Space::Record)
    }

    /// Environments of this space, in the order in which an entry's routines are stored.
    pub const fn envs(self) -> [Env; 4] {
        match self {
            Space::Hook | Space::HookFields => [Env::Hook32, Env::Generic32, Env::Hook64, Env::Generic64],
            Space::Record | Space::RecordFields => [Env::SimpleLittle, Env::WideLittle, Env::SimpleBig, Env::WideBig],
        }
    }

    /// Id of a record's class and event.
    pub const fn record_id(class: u8, event: u16) -> u16 {
        (class as u16 & 31) << 10 | event & 1023
    }
}

/// Environment that a routine is compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Env {
    /// 32-bit hook.
    Hook32,
    /// 32-bit generic hook.
    Generic32,
    /// 64-bit hook.
    Hook64,
    /// 64-bit generic hook.
    Generic64,
    /// Simple record, little-endian.
    SimpleLittle,
    /// Combine record, little-endian.
    WideLittle,
    /// Simple record, big-endian.
    SimpleBig,
    /// Combine record, big-endian.
    WideBig,
}

impl Env {
    /// All environments.
    pub const ALL: [Env; 8] = [
        Env::Hook32,
        Env::Generic32,
        Env::Hook64,
        Env::Generic64,
        Env::SimpleLittle,
        Env::WideLittle,
        Env::SimpleBig,
        Env::WideBig,
    ];

    /// Index among the four environments of its space.
    pub const fn index(self) -> usize {
        self as usize & 3
    }

    /// Bytes of a word: 4 or 8.
    pub const fn word(self) -> u8 {
        match self {
            Env::Hook64 | Env::Generic64 => 8,
            _ => 4,
        }
    }

    /// True if numbers are little-endian.
    pub const fn little_endian(self) -> bool {
        matches!(self, Env::SimpleLittle | Env::WideLittle)
    }

    /// True for combine records.
    pub const fn combine(self) -> bool {
        matches!(self, Env::WideLittle | Env::WideBig)
    }

    /// Name in listings.
    pub const fn name(self) -> &'static str {
        match self {
            Env::Hook32 => "hook32",
            Env::Generic32 => "generic32",
            Env::Hook64 => "hook64",
            Env::Generic64 => "generic64",
            Env::SimpleLittle => "simple-le",
            Env::WideLittle => "wide-le",
            Env::SimpleBig => "simple-be",
            Env::WideBig => "wide-be",
        }
    }

    /// True for generic hooks.
    pub const fn generic(self) -> bool {
        matches!(self, Env::Generic32 | Env::Generic64)
    }
}

impl Event<'_> {
    /// The hook word; missing bytes are zero.
    #[inline]
    fn header(&self) -> u64 {
        match (self.wide, self.bytes.first_chunk::<8>(), self.bytes.first_chunk::<4>()) {
            (true, Some(word), _) => u64::from_be_bytes(*word),
            (false, _, Some(word)) => u32::from_be_bytes(*word).into(),
            _ => self.short_header(),
        }
    }

    #[cold]
    fn short_header(&self) -> u64 {
        let byte = |at: usize| u64::from(self.bytes.get(at).copied().unwrap_or(0));
        (0..if self.wide { 8 } else { 4 }).fold(0, |word, at| word << 8 | byte(at))
    }

    /// Environment of the event. For a hook, the hook word decides; its missing bytes are zero.
    pub fn env(&self) -> Env {
        if let Some(record) = self.record {
            return match (self.wide, record.big_endian) {
                (false, false) => Env::SimpleLittle,
                (true, false) => Env::WideLittle,
                (false, true) => Env::SimpleBig,
                (true, true) => Env::WideBig,
            };
        }
        match (self.wide, self.is_generic()) {
            (false, false) => Env::Hook32,
            (false, true) => Env::Generic32,
            (true, false) => Env::Hook64,
            (true, true) => Env::Generic64,
        }
    }

    /// Index among the four environments of its space.
    #[inline(always)]
    pub fn env_index(&self) -> usize {
        match self.record {
            Some(record) => usize::from(self.wide) | usize::from(record.big_endian) << 1,
            None => usize::from(self.is_generic()) | usize::from(self.wide) << 1,
        }
    }

    /// True if the hook word says generic: word count 0, or flag 4000.
    #[inline]
    pub fn is_generic(&self) -> bool {
        // Runs for every event of a trace. One byte is enough, so the hook word is not assembled.
        let byte = |at: usize| self.bytes.get(at).copied().unwrap_or(0);
        if self.wide { byte(0) & 0x40 != 0 } else { byte(1) & 7 == 0 }
    }

    /// Canonical 16-bit hook id.
    #[inline]
    pub fn hook_id(&self) -> u16 {
        let at = if self.wide { 4 } else { 0 };
        let id = self.bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_else(|| self.short_id(at));
        if self.wide { u16::from_be_bytes(id) } else { u16::from_be_bytes(id) & 0xfff0 }
    }

    #[cold]
    fn short_id(&self, at: usize) -> [u8; 2] {
        [self.bytes.get(at).copied().unwrap_or(0), 0]
    }

    /// `HT`: the 4 bits of the hook type, or the 16 flags.
    pub fn hook_type(&self) -> u16 {
        if self.wide { (self.header() >> 48) as u16 } else { (self.header() >> 16 & 15) as u16 }
    }

    /// `$HD`: low 16 bits of the hook word.
    #[inline]
    pub fn hook_data(&self) -> u16 {
        self.header() as u16
    }

    /// `$HL` of a 64-bit hook whose hook word contains it.
    #[inline(always)]
    pub(crate) fn wide_len(&self) -> Option<u16> {
        let len = self.bytes.get(2..).filter(|_| self.wide)?.first_chunk()?;
        Some(u16::from_be_bytes(*len))
    }

    /// `$HL`: bytes of hook data according to the hook word.
    pub fn hook_len(&self) -> u32 {
        match (self.wide, self.is_generic()) {
            (true, _) => (self.header() >> 32) as u16 as u32,
            (false, true) => self.hook_data() as u32,
            (false, false) => ((self.header() >> 16 & 7) as u32 - 1) * 4,
        }
    }
}
