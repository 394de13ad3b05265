/// One trace event as a template sees it.
#[derive(Debug, Clone, Copy)]
pub struct Event<'e> {
    /// The presented buffer: hook word and data, without fill, thread id and time stamp; big-endian. May be shorter
    /// than its header says.
    pub bytes: &'e [u8],
    /// Whether the hook is a 64-bit one (`$HOOKENV` 64).
    pub wide: bool,
    /// Converted time in ns since the epoch of the trace's clock; events without a stamp carry the last known time.
    pub time_ns: u64,
    /// Offset in the file of the event's first byte.
    pub offset: u64,
}

/// The hook environment a routine is compiled for.
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
}

impl Env {
    /// All environments, in the order in which a hook's routines are stored.
    pub const ALL: [Env; 4] = [Env::Hook32, Env::Generic32, Env::Hook64, Env::Generic64];

    /// Bytes of a word: 4 or 8.
    pub const fn word(self) -> u8 {
        match self {
            Env::Hook32 | Env::Generic32 => 4,
            Env::Hook64 | Env::Generic64 => 8,
        }
    }

    /// Whether the hook is generic.
    pub const fn generic(self) -> bool {
        matches!(self, Env::Generic32 | Env::Generic64)
    }
}

impl Event<'_> {
    /// The hook word; missing bytes of it read as zero.
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

    /// The environment that the hook word tells; missing bytes of it read as zero.
    pub fn env(&self) -> Env {
        match (self.wide, self.is_generic()) {
            (false, false) => Env::Hook32,
            (false, true) => Env::Generic32,
            (true, false) => Env::Hook64,
            (true, true) => Env::Generic64,
        }
    }

    /// Whether the hook word says generic: word count 0, or flag 4000.
    pub fn is_generic(&self) -> bool {
        if self.wide { self.header() >> 48 & 0x4000 != 0 } else { self.header() >> 16 & 7 == 0 }
    }

    /// The canonical 16-bit hook id.
    pub fn hook_id(&self) -> u16 {
        if self.wide { (self.header() >> 16) as u16 } else { ((self.header() >> 20) << 4) as u16 }
    }

    /// `HT`: the hook type's 4 bits, or the 16 flags.
    pub fn hook_type(&self) -> u16 {
        if self.wide { (self.header() >> 48) as u16 } else { (self.header() >> 16 & 15) as u16 }
    }

    /// `$HD`: low 16 bits of the hook word.
    pub fn hook_data(&self) -> u16 {
        self.header() as u16
    }

    /// `$HL`: bytes of hook data that the hook word announces.
    pub fn hook_len(&self) -> u32 {
        match (self.wide, self.is_generic()) {
            (true, _) => (self.header() >> 32) as u16 as u32,
            (false, true) => self.hook_data() as u32,
            (false, false) => ((self.header() >> 16 & 7) as u32 - 1) * 4,
        }
    }
}
