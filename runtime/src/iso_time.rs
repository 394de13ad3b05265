//! Times as text of ISO 8601, such as `1999-10-28T13:34:05.000250Z`.

use jiff_core::Timestamp;
use jiff_core::civil::{Date, DateTime, Time};
use jiff_core::tz::Offset;

/// Formats microseconds since 1970, in UTC.
///
/// Times outside the years -9998 to 9999 are numbers.
pub fn format_us(us: i64) -> String {
    let (seconds, rest) = (us.div_euclid(1_000_000), us.rem_euclid(1_000_000));
    if !(-377_000_000_000..253_000_000_000).contains(&seconds) {
        return us.to_string();
    }
    let moment = Timestamp::constant(seconds, 0).to_datetime(Offset::UTC);
    let (date, time) = (moment.date(), moment.time());
    let (year, month, day) = (date.year(), date.month(), date.day());
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{rest:06}Z", time.hour(), time.minute(), time.second())
}

/// Nanoseconds since 1970 of a date, with or without time of day and offset: `1999-10-28`, `1999-10-28T13:34:05.25+02:00`.
/// Without an offset it is UTC.
pub fn parse_ns(text: &str) -> Option<i128> {
    let (date, rest) = text.split_at_checked(10)?;
    let mut parts = date.split('-').map(number);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let date = Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()?;
    let rest = rest.strip_prefix(['T', ' ']).or(rest.is_empty().then_some("00:00"))?;
    let (time, offset_s) = match rest.strip_suffix('Z') {
        Some(time) => (time, 0),
        None => match rest.rfind(['+', '-']) {
            Some(at) => {
                let (hours, minutes) = rest[at + 1..].split_once(':')?;
                let seconds = i128::from(number(hours)? * 3600 + number(minutes)? * 60);
                (&rest[..at], if rest[at..].starts_with('-') { -seconds } else { seconds })
            }
            None => (rest, 0),
        },
    };
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut parts = time.split(':').map(number);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?);
    let time = Time::new(hour.try_into().ok()?, minute.try_into().ok()?, second.try_into().ok()?, 0).ok()?;
    if parts.next().is_some() || fraction.len() > 9 {
        return None;
    }
    let ns = if fraction.is_empty() { 0 } else { number(&format!("{fraction:0<9}"))? };
    let seconds = DateTime::from_parts(date, time).to_timestamp(Offset::UTC).ok()?.as_second();
    Some((i128::from(seconds) - offset_s) * 1_000_000_000 + i128::from(ns))
}

/// Parses decimal digits.
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_printed_in_utc() {
        assert_eq!(format_us(941_117_645_000_250), "1999-10-28T13:34:05.000250Z");
        assert_eq!(format_us(-1), "1969-12-31T23:59:59.999999Z");
        assert_eq!(format_us(i64::MIN), i64::MIN.to_string());
    }

    #[test]
    fn dates_are_read_with_and_without_offset() {
        let ns = 941_117_645_000_000_000;
        for text in
            ["1999-10-28T13:34:05Z", "1999-10-28 13:34:05", "1999-10-28T15:34:05+02:00", "1999-10-28T08:04:05-05:30"]
        {
            assert_eq!(parse_ns(text), Some(ns), "{text}");
        }
        assert_eq!(parse_ns("1999-10-28T13:34:05.25Z"), Some(ns + 250_000_000));
        assert_eq!(parse_ns("1970-01-02"), Some(86_400_000_000_000));
        assert_eq!(parse_ns("1970-01-01T00:01"), Some(60_000_000_000));
        for text in [
            "",
            "1999-10-28T",
            "1999-13-28",
            "1999-10-28T25:00",
            "1999-10-28T1",
            "yesterday..",
            "1999-10-28T13:34:05+2",
        ] {
            assert_eq!(parse_ns(text), None, "{text}");
        }
    }
}
