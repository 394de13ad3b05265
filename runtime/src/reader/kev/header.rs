//! Text header of a log, and the system page after it.

use super::syspage::{QTIME_ONE_CLOCK, Syspage};
use crate::reader::aix::{format_file, is_trace};
use crate::reader::window::Window;
use std::fmt;
use std::io;

/// Limit on the offset of the begin marker's end.
pub const MAX_MARKER_OFFSET: usize = 64 << 10;
/// Maximum number of bytes before the system page, and of the page itself.
pub const MAX_HEADER_BYTES: usize = 2 << 20;
/// Maximum attributes of a header.
const MAX_ATTRIBUTES: usize = 4096;

const PREFIX: &[u8] = b"TRACE_";
const COLONS: &[u8] = b"::";
const BEGIN: &[u8] = b"TRACE_HEADER_BEGIN::";
const END: &[u8] = b"TRACE_HEADER_END::";

/// Key without its `TRACE_`, and value.
pub type HeaderAttribute = (Vec<u8>, Vec<u8>);

/// Release of QNX, such as 7.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QnxRelease {
    /// Number before the first dot.
    pub major: u32,
    /// Number after the first dot, 0 if there is none.
    pub minor: u32,
}

/// Header of a log: everything before its slots.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KevHeader {
    /// All attributes between `HEADER_BEGIN` and `HEADER_END`, in their order.
    pub attributes: Vec<HeaderAttribute>,
    /// True if slots and system page are big-endian.
    pub big_endian: bool,
    /// Clock cycles per second: `CYCLES_PER_SEC`, or else the value of the system page; never 0.
    pub cycles_per_sec: Option<u64>,
    /// `SYS_RELEASE`.
    pub release: Option<QnxRelease>,
    /// `CPU_NUM`.
    pub cpu_num: Option<u32>,
    /// The system page, if the log contains one.
    pub syspage: Option<Syspage>,
    /// True if one clock serves all CPUs (system page, qtime flag 8).
    pub one_clock: bool,
}

impl KevHeader {
    /// The value of a key without its `TRACE_`; the first if there are several.
    ///
    /// Tracelogger writes its own attributes before those that users add.
    pub fn attribute(&self, key: &str) -> Option<&[u8]> {
        find(&self.attributes, key)
    }

    /// Nanoseconds from 1970 to the clock's zero; `None` if the system page has no boot time.
    pub fn boot_ns(&self) -> Option<i128> {
        let qtime = self.syspage.as_ref().and_then(Syspage::qtime);
        qtime.filter(|qtime| qtime.boot_time > 0).map(|qtime| i128::from(qtime.boot_time) * 1_000_000_000)
    }

    /// Converts cycles to nanoseconds, rounded down, at most [`u64::MAX`]; `None` if the clock rate is unknown.
    ///
    /// ```
    /// use tfbc::testing::qnx::KevHeader;
    /// let header = KevHeader { cycles_per_sec: Some(736_629_000), ..KevHeader::default() };
    /// assert_eq!(header.ns(736_629_000 * 3 + 1), Some(3_000_000_001));
    /// ```
    #[inline]
    pub fn ns(&self, cycles: u64) -> Option<u64> {
        const NS: u64 = 1_000_000_000;
        let rate = self.cycles_per_sec.filter(|&rate| rate > 0)?;
        let (seconds, rest) = (cycles / rate, cycles % rate);
        let rest_ns = match rest.checked_mul(NS) {
            Some(product) => product / rate,
            None => (u128::from(rest) * u128::from(NS) / u128::from(rate)) as u64,
        };
        Some(seconds.saturating_mul(NS).saturating_add(rest_ns))
    }
}

/// Refusal of a log that cannot be read at all.
#[derive(Debug)]
pub struct KevRefusal {
    /// Kind of the reason.
    pub kind: KevRefusalKind,
    /// Attributes read before the refusal.
    pub header: Vec<HeaderAttribute>,
    /// Message with the offset, the value found and the value expected.
    pub(super) message: String,
}

/// Reason for refusing a log.
#[derive(Debug)]
#[non_exhaustive]
pub enum KevRefusalKind {
    /// It cannot be opened or read.
    Io(io::Error),
    /// The first bytes contain no `TRACE_HEADER_BEGIN`.
    NotKev,
    /// The file ends before the header does.
    Cut,
    /// The header is too long, or has more than 4,096 attributes.
    TooLong,
    /// The byte order is unknown: the header names none, or both, and the system page does not decide between them.
    Endian,
    /// The log is of a version before 0.96, or before 1.01 with
    /// [`ReadOptions::as_traceprinter_1_02`](crate::aix::ReadOptions::as_traceprinter_1_02).
    Version,
    /// The system page is cut, or too long.
    Syspage,
}

impl fmt::Display for KevRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            KevRefusalKind::Io(error) => error.fmt(f),
            _ => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for KevRefusal {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            KevRefusalKind::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for KevRefusal {
    fn from(error: io::Error) -> Self {
        Self { kind: KevRefusalKind::Io(error), header: Vec::new(), message: String::new() }
    }
}

/// True if a file is a log: its first 64 KiB contain a begin marker.
///
/// ```
/// use tfbc::testing::qnx::is_kev;
/// assert!(is_kev(b"from a dump: TRACE_HEADER_BEGIN::TRACE_FILE_NAME::a.kev"));
/// assert!(!is_kev(b"TRACE_HEADER"));
/// ```
pub fn is_kev(bytes: &[u8]) -> bool {
    marker(bytes, BEGIN).is_some_and(|at| at + BEGIN.len() <= MAX_MARKER_OFFSET)
}

/// Reads everything before the slots; the window then starts at the system page. Returns the header, the page's length
/// and warnings.
pub(super) fn read(window: &mut Window, only_new: bool) -> Result<(KevHeader, usize, Vec<String>), KevRefusal> {
    let attributes = read_attributes(window)?;
    match checked(window, &attributes, only_new) {
        Ok((header, page_len, warnings)) => Ok((KevHeader { attributes, ..header }, page_len, warnings)),
        Err(refusal) => Err(KevRefusal { header: attributes, ..refusal }),
    }
}

fn refuse<T>(kind: KevRefusalKind, message: String) -> Result<T, KevRefusal> {
    Err(KevRefusal { kind, header: Vec::new(), message })
}

fn read_attributes(window: &mut Window) -> Result<Vec<HeaderAttribute>, KevRefusal> {
    // Dumps may have other bytes before the header.
    let start = match seek_marker(window, BEGIN, 0, MAX_MARKER_OFFSET)? {
        MarkerSearch::Found(at) => at + BEGIN.len(),
        MarkerSearch::Ended | MarkerSearch::Beyond => {
            let n = window.bytes().len().min(MAX_MARKER_OFFSET);
            let other = if is_trace(window.bytes()) {
                Some("trace from AIX: `trcrpt` and `tfbc report` read it")
            } else {
                format_file(window.bytes())
            };
            let message = match other {
                Some(other) => format!("not a .kev log but a {other}"),
                None => format!("not a .kev log: no TRACE_HEADER_BEGIN:: in its first {n} bytes"),
            };
            return refuse(KevRefusalKind::NotKev, message);
        }
    };
    let sought = seek_marker(window, END, start, MAX_HEADER_BYTES)?;
    let so_far = &window.bytes()[start.min(window.bytes().len())..];
    match sought {
        MarkerSearch::Found(end) => {
            let attributes = split(&so_far[..end - start]);
            if attributes.len() > MAX_ATTRIBUTES {
                let message = format!("the header has more than {MAX_ATTRIBUTES} attributes");
                return refuse(KevRefusalKind::TooLong, message);
            }
            window.consume(end + END.len());
            Ok(attributes)
        }
        MarkerSearch::Ended => {
            let at = start + so_far.len();
            let message = format!("truncated at offset {at:#x}: the header has no TRACE_HEADER_END::");
            // The last value may be truncated.
            let mut header = split(so_far);
            header.pop();
            Err(KevRefusal { kind: KevRefusalKind::Cut, header, message })
        }
        MarkerSearch::Beyond => refuse(
            KevRefusalKind::TooLong,
            format!("no TRACE_HEADER_END:: up to offset {MAX_HEADER_BYTES:#x}, the limit of a header"),
        ),
    }
}

/// Result of a search for a marker.
enum MarkerSearch {
    /// Index of the marker in the window's bytes.
    Found(usize),
    /// The file has no more bytes.
    Ended,
    /// The marker does not end within the limit.
    Beyond,
}

/// Searches for a marker that starts at `from` or later and ends at `limit` or earlier.
fn seek_marker(window: &mut Window, text: &[u8], from: usize, limit: usize) -> io::Result<MarkerSearch> {
    let mut looked = from;
    loop {
        let bytes = window.bytes();
        if let Some(at) = bytes.get(looked..).and_then(|rest| marker(rest, text)) {
            let at = looked + at;
            return Ok(if at + text.len() <= limit { MarkerSearch::Found(at) } else { MarkerSearch::Beyond });
        }
        if bytes.len() >= limit {
            return Ok(MarkerSearch::Beyond);
        }
        // Searches each byte once, even if the marker is split between two reads.
        looked = from.max((bytes.len() + 1).saturating_sub(text.len()));
        if !window.fill()? {
            return Ok(MarkerSearch::Ended);
        }
    }
}

fn marker(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text)
}

/// Splits the text between the markers into attributes, and stops at one more than the limit. Text before the first key
/// belongs to `HEADER_BEGIN` and is left out.
fn split(bytes: &[u8]) -> Vec<HeaderAttribute> {
    let mut attributes: Vec<HeaderAttribute> = Vec::new();
    let (mut at, mut value_start) = (0, 0);
    while at < bytes.len() && attributes.len() <= MAX_ATTRIBUTES {
        if !bytes[at..].starts_with(PREFIX) {
            at += 1;
            continue;
        }
        // A key that starts inside this run also ends with it.
        let run = at + bytes[at..].iter().take_while(|byte| is_key_byte(**byte)).count();
        if run > at + PREFIX.len() && bytes[run..].starts_with(COLONS) {
            end_value(&mut attributes, &bytes[value_start..at]);
            attributes.push((bytes[at + PREFIX.len()..run].to_vec(), Vec::new()));
            value_start = run + COLONS.len();
            at = value_start;
        } else {
            at = run;
        }
    }
    end_value(&mut attributes, &bytes[value_start..]);
    attributes
}

fn end_value(attributes: &mut [HeaderAttribute], value: &[u8]) {
    if let Some((_, last)) = attributes.last_mut() {
        *last = value.to_vec();
    }
}

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_'
}

/// Checks the attributes and reads the system page. The caller adds the attributes to the result.
fn checked(
    window: &mut Window,
    attributes: &[HeaderAttribute],
    only_new: bool,
) -> Result<(KevHeader, usize, Vec<String>), KevRefusal> {
    let has = |key| find(attributes, key).is_some();
    // The byte order is decided first, because everything after the text depends on it.
    let (little, big) = (has("LITTLE_ENDIAN"), has("BIG_ENDIAN"));
    if !little && !big {
        let message = "neither TRACE_LITTLE_ENDIAN:: nor TRACE_BIG_ENDIAN:: in the header".to_string();
        return refuse(KevRefusalKind::Endian, message);
    }
    let mut warnings = Vec::from_iter(check_version(attributes, only_new)?);
    let image = read_image(window, number(attributes, "SYSPAGE_LEN").unwrap_or(0))?;
    let page_len = image.len();
    // If both keys are present, the sizes at the page's start decide: they make sense in one byte order only.
    let big_endian = if little && big { deciding(&image)? } else { big };
    // A page of an unknown version is used, because some of its facts are at fixed offsets.
    let syspage = (!image.is_empty()).then(|| Syspage::new(image, big_endian));
    warnings.extend(syspage.as_ref().and_then(Syspage::unknown_version).map(|(major, minor)| {
        format!(
            "the system page has version {major}.{minor}, expected 2: only its machine and its number of CPUs are used"
        )
    }));
    let qtime = syspage.as_ref().and_then(Syspage::qtime);
    let rate = number(attributes, "CYCLES_PER_SEC").filter(|&rate| rate > 0);
    let header = KevHeader {
        attributes: Vec::new(),
        big_endian,
        cycles_per_sec: rate.or(qtime.map(|qtime| qtime.cycles_per_sec).filter(|&rate| rate > 0)),
        release: find(attributes, "SYS_RELEASE").and_then(release),
        cpu_num: number(attributes, "CPU_NUM").and_then(|n| u32::try_from(n).ok()),
        syspage,
        one_clock: qtime.is_some_and(|qtime| qtime.flags & QTIME_ONE_CLOCK != 0),
    };
    Ok((header, page_len, warnings))
}

/// Version that this reader and traceprinter 1.02 expect, and the oldest that is read with a warning.
const VERSION: (u64, u64) = (1, 1);
const OLDEST_VERSION: (u64, u64) = (0, 96);

/// Refuses logs of versions before 0.96, or before 1.01 with `only_new`. Returns a warning for the others before 1.01
/// and for logs that name no version.
fn check_version(attributes: &[HeaderAttribute], only_new: bool) -> Result<Option<String>, KevRefusal> {
    let version = number(attributes, "VER_MAJOR").zip(number(attributes, "VER_MINOR"));
    let found = match version {
        Some(version) if version >= VERSION => return Ok(None),
        Some((major, minor)) => format!("version {major}.{minor:02} of .kev logs"),
        None => String::from("no version in the header"),
    };
    if only_new || version.is_some_and(|version| version < OLDEST_VERSION) {
        let oldest = if only_new { "1.01" } else { "0.96" };
        return refuse(KevRefusalKind::Version, format!("{found}, expected {oldest} or newer"));
    }
    Ok(Some(format!("{found}, expected 1.01 or newer: slots are read as those of 1.01")))
}

fn read_image(window: &mut Window, len: u64) -> Result<Vec<u8>, KevRefusal> {
    let offset = window.offset();
    if len > MAX_HEADER_BYTES as u64 {
        let message = format!(
            "TRACE_SYSPAGE_LEN:: of the system page at offset {offset:#x} is {len}, expected at most {MAX_HEADER_BYTES} bytes"
        );
        return refuse(KevRefusalKind::Syspage, message);
    }
    let len = len as usize;
    while window.bytes().len() < len {
        if !window.fill()? {
            let found = window.bytes().len();
            let at = offset + found as u64;
            let message =
                format!("truncated at offset {at:#x}: {found} bytes left for the system page, expected {len}");
            return refuse(KevRefusalKind::Syspage, message);
        }
    }
    Ok(window.bytes()[..len].to_vec())
}

/// Byte order in which the sizes of the page make sense, if that is only one.
fn deciding(image: &[u8]) -> Result<bool, KevRefusal> {
    let plausible = |big_endian| Syspage::new(image.to_vec(), big_endian).is_plausible();
    match (plausible(false), plausible(true)) {
        (true, false) => Ok(false),
        (false, true) => Ok(true),
        (either, _) => {
            let orders = if either { "either byte order" } else { "neither byte order" };
            let message = format!(
                "both TRACE_LITTLE_ENDIAN:: and TRACE_BIG_ENDIAN:: in the header, and {orders} fits the sizes of the \
                 system page ({} bytes)",
                image.len()
            );
            refuse(KevRefusalKind::Endian, message)
        }
    }
}

fn find<'a>(attributes: &'a [HeaderAttribute], key: &str) -> Option<&'a [u8]> {
    attributes.iter().find(|(name, _)| name == key.as_bytes()).map(|(_, value)| value.as_slice())
}

/// Decimal number at the start of a value; `None` if there is none.
fn number(attributes: &[HeaderAttribute], key: &str) -> Option<u64> {
    leading_number(find(attributes, key)?)
}

fn leading_number(text: &[u8]) -> Option<u64> {
    let digits = text.trim_ascii_start();
    let n = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let digit = |byte: &u8| u64::from(byte - b'0');
    // Saturating: a number of a thousand digits is as wrong as a huge one, but must not panic.
    (n > 0).then(|| digits[..n].iter().fold(0u64, |all, byte| all.saturating_mul(10).saturating_add(digit(byte))))
}

/// Parses a release. The numbers after the minor one are ignored.
fn release(text: &[u8]) -> Option<QnxRelease> {
    let mut parts = text.split(|&byte| byte == b'.').map(|part| u32::try_from(leading_number(part)?).ok());
    let major = parts.next()??;
    Some(QnxRelease { major, minor: parts.next().flatten().unwrap_or(0) })
}
