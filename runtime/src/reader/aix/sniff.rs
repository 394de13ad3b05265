//! Detects the kind of an AIX trace by its first bytes.

use super::hooks;
use super::step::{CpuidWord, Kernel, Parts, Step, StepRules};
use std::fmt;

/// Kind of an AIX trace file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AixKind {
    /// Sequential stream of a 32-bit kernel, which has no header.
    Stream32,
    /// Sequential stream of a 64-bit kernel.
    Stream64,
    /// Log file of a 32-bit kernel.
    Log32,
    /// Log file of a 64-bit kernel.
    Log64,
}

/// First words of traces that have one, by kind.
pub(super) const MAGIC_LOG_AIX3: u32 = 0xEFDF_1111;
pub(super) const MAGIC_LOG32: u32 = 0xEFDF_1112;
pub(super) const MAGIC_LOG64: u32 = 0xEFDF_1113;
pub(super) const MAGIC_STREAM64: u32 = 0xEFDF_1114;

/// Number of first bytes of a text file that are searched for its kind.
const MAX_TEXT_HEAD: usize = 16 << 10;

/// Number of valid events at the start of a file without a header that make it a 32-bit stream.
const CLEAN_EVENTS: u32 = 8;

impl AixKind {
    /// All kinds.
    pub const ALL: [AixKind; 4] = [AixKind::Stream32, AixKind::Stream64, AixKind::Log32, AixKind::Log64];

    /// Name of the kind, as `--format` accepts it.
    #[doc(hidden)]
    pub const fn name(self) -> &'static str {
        match self {
            AixKind::Stream32 => "stream32",
            AixKind::Stream64 => "stream64",
            AixKind::Log32 => "log32",
            AixKind::Log64 => "log64",
        }
    }

    /// Kernel of the traced system.
    #[doc(hidden)]
    pub const fn kernel(self) -> Kernel {
        match self {
            AixKind::Stream32 | AixKind::Log32 => Kernel::Bits32,
            AixKind::Stream64 | AixKind::Log64 => Kernel::Bits64,
        }
    }

    /// True for log files, which are read by position.
    pub(crate) const fn is_log(self) -> bool {
        matches!(self, AixKind::Log32 | AixKind::Log64)
    }

    /// First word of files of this kind.
    #[doc(hidden)]
    pub const fn magic(self) -> Option<u32> {
        match self {
            AixKind::Stream32 => None,
            AixKind::Stream64 => Some(MAGIC_STREAM64),
            AixKind::Log32 => Some(MAGIC_LOG32),
            AixKind::Log64 => Some(MAGIC_LOG64),
        }
    }
}

impl fmt::Display for AixKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AixKind::Stream32 => "AIX 32-bit trace stream",
            AixKind::Stream64 => "AIX 64-bit trace stream",
            AixKind::Log32 => "AIX 32-bit trace log",
            AixKind::Log64 => "AIX 64-bit trace log",
        })
    }
}

/// Describes a compressed file by its first bytes; `None` if it is not compressed.
pub fn compressed(bytes: &[u8]) -> Option<&'static str> {
    let kinds: [(&[u8], &str); 3] = [
        (&[0x1F, 0x8B], "gzip file: unpack it first"),
        (&[0x28, 0xB5, 0x2F, 0xFD], "zstd file: unpack it first"),
        (&[0x1F, 0x9D], "compress file: unpack it first"),
    ];
    kinds.into_iter().find_map(|(magic, what)| bytes.starts_with(magic).then_some(what))
}

/// True if the first bytes are text.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(MAX_TEXT_HEAD)];
    !head.iter().any(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace())
}

/// Describes a format file by its first bytes, with the command to use for it. `None` for other files.
pub(in crate::reader) fn format_file(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(&tfbc_vm::LABEL) {
        return Some(".tfbc blob: give it with -t, and the trace after it");
    }
    if !is_text(bytes) {
        return None;
    }
    let head = &bytes[..bytes.len().min(MAX_TEXT_HEAD)];
    let text = String::from_utf8_lossy(head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head));
    let is_xml = text.trim_start().starts_with('<');
    if is_xml && ["<eventdefinition", "<eventformatting"].iter().any(|root| text.contains(root)) {
        return Some("file of QNX event definitions: give it with -t, and the log after it");
    }
    let has_stanza = || text.lines().find(|line| !is_comment(line)).is_some_and(begins_stanza);
    (!is_xml && has_stanza()).then_some("format file: give it with -t, and the trace after it")
}

fn is_comment(line: &str) -> bool {
    line.trim_start().is_empty() || line.starts_with(['#', '*'])
}

/// True if a line starts with an event id and a version, such as `010 1.0`.
fn begins_stanza(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let (id, version) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    matches!(id.len(), 3 | 4)
        && id.bytes().all(|byte| byte.is_ascii_hexdigit())
        && version.split_once('.').is_some_and(|(version, release)| is_number(version) && is_number(release))
}

/// True if bytes start with the first word of a trace that has a header.
pub fn is_trace(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|word| (MAGIC_LOG_AIX3..=MAGIC_STREAM64).contains(&u32::from_be_bytes(*word)))
}

/// True if bytes start with one of the first hooks of a 32-bit stream.
pub fn may_be_stream32(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|word| begins_stream32(u32::from_be_bytes(*word)))
}

fn begins_stream32(word: u32) -> bool {
    let id = ((word >> 20) << 4) as u16;
    [hooks::TRACE_ON, hooks::HEADER, hooks::UTILITY].contains(&id)
}

/// Result of looking at the first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sniffed {
    AixKind(AixKind),
    /// A log of AIX 3, whose layout is not public.
    Aix3,
    /// Not recognized as an AIX trace.
    Unknown,
    /// More bytes are needed.
    More,
}

/// Detects a trace from its first bytes; `ended` is true if the input has no more.
pub(super) fn sniff(bytes: &[u8], ended: bool) -> Sniffed {
    let Some(magic) = bytes.first_chunk() else { return if ended { Sniffed::Unknown } else { Sniffed::More } };
    match u32::from_be_bytes(*magic) {
        MAGIC_LOG_AIX3 => Sniffed::Aix3,
        MAGIC_LOG32 => Sniffed::AixKind(AixKind::Log32),
        MAGIC_LOG64 => Sniffed::AixKind(AixKind::Log64),
        MAGIC_STREAM64 => Sniffed::AixKind(AixKind::Stream64),
        word => sniff_stream32(word, bytes, ended),
    }
}

/// Detects a 32-bit stream, which has no header: it starts with one of a few hooks, and its first events are valid.
/// Time factors at the start suffice as proof; the report handles damage after them.
fn sniff_stream32(word: u32, bytes: &[u8], ended: bool) -> Sniffed {
    if !begins_stream32(word) {
        return Sniffed::Unknown;
    }
    let rules =
        StepRules { kernel: Kernel::Bits32, cpuid_word: CpuidWord::None, lenient: false, short_generic_word: false };
    let mut at = 0;
    for _ in 0..CLEAN_EVENTS {
        match rules.step(&bytes[at..]) {
            Step::Whole(_) if at == 0 && is_factors(word, bytes) => break,
            Step::Whole(Parts { size, .. }) | Step::Malformed { size: Some(size), .. } => at += size,
            Step::Short(_) if ended => break,
            Step::Short(_) => return Sniffed::More,
            Step::Malformed { size: None, .. } => return Sniffed::Unknown,
        }
    }
    Sniffed::AixKind(AixKind::Stream32)
}

/// True if the first event contains time factors: a generic 00A of 24 bytes and kind 25C.
fn is_factors(word: u32, bytes: &[u8]) -> bool {
    word & !0x8_0000 == 0x00A0_0018 && bytes.get(4..8) == Some(&[0, 0, 2, 0x5C])
}
