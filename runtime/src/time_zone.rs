//! Time zones of dates, with the syntax of AIX's `TZ`.

use jiff_core::Timestamp;
use jiff_core::civil::{Date, DateTime, Time};
use jiff_core::tz::{Offset, posix, tzif};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rule for values such as `EST5EDT`, which name a summer time but not when it starts and ends.
const DEFAULT_RULE: &str = ",M3.2.0,M11.1.0";

/// Usual folders of zone files.
const ZONE_FOLDERS: [&str; 4] =
    ["/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo"];

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Largest accepted zone file, in bytes. Real ones are below 4 KiB.
const MAX_ZONE_FILE: u64 = 1 << 20;

/// Formats seconds since 1970 as date and time in UTC, such as `1999-10-28T13:34:05`. A time outside the calendar is
/// printed as a number.
pub(crate) fn utc(seconds: i64, separator: char) -> String {
    let Ok(moment) = Timestamp::from_second(seconds) else { return seconds.to_string() };
    let moment = moment.to_datetime(Offset::UTC);
    let (date, time) = (moment.date(), moment.time());
    let (year, month, day) = (date.year(), date.month(), date.day());
    let (hour, minute, second) = (time.hour(), time.minute(), time.second());
    format!("{year:04}-{month:02}-{day:02}{separator}{hour:02}:{minute:02}:{second:02}")
}

/// Time zone of the dates in a report's heading and in its flags.
///
/// ```
/// use tfbc::aix::TimeZone;
///
/// let tokyo = TimeZone::parse("JST-9", None).unwrap();
/// assert_eq!(tokyo.date(941_117_645), "Thu Oct 28 22:34:05 1999");
/// assert_eq!(tokyo.seconds("102822340599"), Some(941_117_645));
/// assert_eq!(TimeZone::UTC.date(941_117_645), "Thu Oct 28 13:34:05 1999");
/// ```
#[derive(Debug, Clone)]
pub struct TimeZone(Rules);

#[derive(Debug, Clone)]
enum Rules {
    Utc,
    Posix(Arc<posix::TimeZone>),
    File(Arc<tzif::TimeZone>),
}

impl Rules {
    fn offset(&self, time: Timestamp) -> Offset {
        match self {
            Self::Utc => Offset::UTC,
            Self::Posix(rule) => rule.to_offset(time),
            Self::File(file) => file.to_offset(time),
        }
    }

    /// Time of a local date. If the date occurs twice, the first occurrence is meant.
    fn timestamp(&self, date: DateTime) -> Option<Timestamp> {
        match self {
            Self::Utc => Offset::UTC.to_timestamp(date).ok(),
            Self::Posix(rule) => rule.to_ambiguous_timestamp(date).compatible().ok(),
            Self::File(file) => file.to_ambiguous_timestamp(date).compatible().ok(),
        }
    }
}

impl Default for TimeZone {
    fn default() -> Self {
        Self::UTC
    }
}

impl TimeZone {
    /// Universal time.
    pub const UTC: TimeZone = TimeZone(Rules::Utc);

    /// Parses a value of `TZ`: a POSIX rule such as `CET-1CEST,M3.5.0,M10.5.0/3`, or the name of a zone file in
    /// `folder`, with or without a `:` before it. Without a folder, zone files come from the system's zoneinfo folders.
    /// An empty value is UTC.
    ///
    /// Returns `None` if the value is neither a rule nor a zone file.
    pub fn parse(value: &str, folder: Option<&Path>) -> Option<Self> {
        let name = value.strip_prefix(':').unwrap_or(value);
        if matches!(name, "" | "UTC" | "GMT") {
            return Some(Self::UTC);
        }
        let folders = folder.map_or_else(|| ZONE_FOLDERS.map(PathBuf::from).to_vec(), |folder| vec![folder.to_owned()]);
        let file = folders.iter().find_map(|folder| zone_file(&folder.join(name)));
        let rule = |text: &str| posix::TimeZone::parse(text).ok().map(|rule| Rules::Posix(Arc::new(rule)));
        file.and_then(|bytes| tzif::TimeZone::parse(&bytes).ok())
            .map(|file| Rules::File(Arc::new(file)))
            .or_else(|| rule(name))
            .or_else(|| rule(&format!("{name}{DEFAULT_RULE}")))
            .map(Self)
    }

    /// Formats seconds since 1970 as `Thu Oct 28 13:34:05 1999`.
    #[doc(hidden)]
    pub fn date(&self, seconds: u32) -> String {
        let time = Timestamp::constant(seconds.into(), 0);
        let local = time.to_datetime(self.0.offset(time));
        let (date, time) = (local.date(), local.time());
        format!(
            "{} {} {:2} {:02}:{:02}:{:02} {}",
            DAYS[date.weekday().to_monday_zero_offset() as usize],
            MONTHS[date.month() as usize - 1],
            date.day(),
            time.hour(),
            time.minute(),
            time.second(),
            date.year(),
        )
    }

    /// Parses a date of 12 digits, `MMddhhmmssyy`, to seconds since 1970. Years 70 to 99 are 1970 to 1999. A local time
    /// that occurs twice means the first occurrence; a local time that is skipped uses the offset before the change.
    ///
    /// Returns `None` if the text is not 12 digits, or not a date.
    #[doc(hidden)]
    pub fn seconds(&self, date: &str) -> Option<u32> {
        if date.len() != 12 || !date.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let part = |at: usize| date[2 * at..2 * at + 2].parse::<i8>().ok();
        let year = i16::from(part(5)?);
        let year = year + if year < 70 { 2000 } else { 1900 };
        if part(4)? > 59 {
            return None;
        }
        let date = Date::new(year, part(0)?, part(1)?).ok()?;
        let time = Time::new(part(2)?, part(3)?, part(4)?, 0).ok()?;
        let time = self.0.timestamp(DateTime::from_parts(date, time))?;
        // In zones east of Greenwich, 1970 starts before second 0.
        u32::try_from(time.as_second().max(0)).ok()
    }
}

/// Reads a zone file; `None` if there is none.
fn zone_file(path: &Path) -> Option<Vec<u8>> {
    // The name may also be that of a folder or device.
    let is_file = fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= MAX_ZONE_FILE);
    let mut bytes = Vec::new();
    File::open(path).ok().filter(|_| is_file)?.take(MAX_ZONE_FILE).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(value: &str) -> TimeZone {
        TimeZone::parse(value, Some(Path::new("/nonexistent"))).unwrap_or_else(|| panic!("{value} is a zone"))
    }

    #[test]
    fn dates_are_formatted_in_the_zone() {
        for (value, date) in [
            ("", "Thu Oct 28 13:34:05 1999"),
            ("UTC0", "Thu Oct 28 13:34:05 1999"),
            ("JST-9", "Thu Oct 28 22:34:05 1999"),
            (":JST-9", "Thu Oct 28 22:34:05 1999"),
            ("<+0330>-3:30", "Thu Oct 28 17:04:05 1999"),
            ("EST5EDT,M4.1.0,M10.5.0", "Thu Oct 28 09:34:05 1999"),
            ("EST5EDT", "Thu Oct 28 09:34:05 1999"),
            ("CET-1CEST,M3.5.0,M10.5.0/3", "Thu Oct 28 15:34:05 1999"),
        ] {
            assert_eq!(zone(value).date(941_117_645), date, "{value}");
        }
        assert_eq!(TimeZone::UTC.date(0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(TimeZone::UTC.date(u32::MAX), "Sun Feb  7 06:28:15 2106");
        for wrong in ["Nowhere/None", "J9", "EST", "5", "EST5EDT,", "JST-99", "\0"] {
            assert!(TimeZone::parse(wrong, Some(Path::new("/nonexistent"))).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn zone_files_are_found_by_name() {
        let folder = tempfile::tempdir().unwrap();
        // TZif version 1: no transitions, one type, UTC+1, `XYZ`.
        let mut file = b"TZif\0".to_vec();
        file.resize(20, 0);
        file.extend([0, 0, 0, 0, 1, 4].iter().flat_map(|n: &u32| n.to_be_bytes()));
        file.extend(3600_i32.to_be_bytes());
        file.extend(*b"\0\0XYZ\0");
        fs::create_dir(folder.path().join("Area")).unwrap();
        fs::write(folder.path().join("Area/Town"), file).unwrap();
        let parse = |value| TimeZone::parse(value, Some(folder.path()));
        for name in ["Area/Town", ":Area/Town"] {
            assert_eq!(parse(name).unwrap().date(0), "Thu Jan  1 01:00:00 1970", "{name}");
        }
        assert!(parse("Area").is_none(), "a folder is no zone");
    }

    #[test]
    fn dates_become_seconds() {
        let utc = TimeZone::UTC;
        for (date, seconds) in [
            ("010100000070", 0),
            ("022900000000", 951_782_400),
            ("123123595999", 946_684_799),
            ("010100000000", 946_684_800),
            ("102813340599", 941_117_645),
        ] {
            assert_eq!(utc.seconds(date), Some(seconds), "{date}");
        }
        for wrong in [
            "",
            "130100000000",
            "010000000000",
            "010124000000",
            "010100600000",
            "010100006000",
            "01010000000",
            "0101000000+0",
            "022900000001", // 2001 had 28 days in February
        ] {
            assert_eq!(utc.seconds(wrong), None, "{wrong}");
        }
        assert_eq!(zone("JST-9").seconds("010100000070"), Some(0));
        assert_eq!(zone("JST-9").seconds("102822340599"), Some(941_117_645));
    }

    #[test]
    fn ambiguous_and_skipped_times_have_one_meaning() {
        // In 1999 from 2:00 to 3:00 on April 4, from 2:00 back to 1:00 on October 31.
        let new_york = zone("EST5EDT,M4.1.0,M10.5.0");
        assert_eq!(new_york.seconds("040402300099"), new_york.seconds("040403300099"), "skipped");
        let twice = new_york.seconds("103101300099").unwrap();
        assert_eq!(TimeZone::UTC.date(twice), "Sun Oct 31 05:30:00 1999", "the first occurrence");
    }
}
