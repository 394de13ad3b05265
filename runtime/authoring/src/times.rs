//! Times in flags and case files: seconds with up to nine decimals.

/// Parses seconds with up to nine decimals; returns nanoseconds.
///
/// # Errors
/// The text is not a number of seconds with up to nine decimals, or the number is too large.
pub fn seconds(text: &str) -> Result<u64, String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || whole.is_empty() || fraction.len() > 9 {
        return Err(String::from("expected seconds with up to nine decimals, such as 12.5"));
    }
    let whole: u64 = whole.parse().map_err(|_| String::from("too large; expected at most 18446744073 seconds"))?;
    let fraction: u64 = format!("{fraction:0<9}").parse().unwrap_or(0);
    whole
        .checked_mul(1_000_000_000)
        .and_then(|ns| ns.checked_add(fraction))
        .ok_or(String::from("too large; expected at most 18446744073 seconds"))
}

/// Like [`seconds`], with an optional minus sign.
///
/// # Errors
/// The text is not a number of seconds with up to nine decimals, or the number is too large.
pub fn signed_seconds(text: &str) -> Result<i128, String> {
    match text.strip_prefix('-') {
        Some(text) => seconds(text).map(|ns| -i128::from(ns)),
        None => seconds(text).map(i128::from),
    }
}

/// Formats nanoseconds as seconds, without trailing zeros.
pub fn shown(ns: i128) -> String {
    let (sign, ns) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
    let text = format!("{sign}{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Checks that a time range given by two flags does not end before it starts.
///
/// # Errors
/// The range ends before it starts; the message contains both times.
pub fn check_times<T: Into<i128>>(
    from_flag: &str,
    from: Option<T>,
    to_flag: &str,
    to: Option<T>,
) -> Result<(), String> {
    let (from, to) = (from.map(T::into), to.map(T::into));
    match (from, to) {
        (Some(from), Some(to)) if from > to => {
            let (from, to) = (shown(from), shown(to));
            Err(format!("{from_flag} {from} is after {to_flag} {to}, so the range contains no event"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_up_to_nine_decimals() {
        assert_eq!(seconds("12.5"), Ok(12_500_000_000));
        assert_eq!(seconds("0.000000001"), Ok(1));
        for bad in ["", ".5", "-1", "1.0000000001", "18446744074", "1e3"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
        assert_eq!((signed_seconds("-1.5"), shown(-1_500_000_000)), (Ok(-1_500_000_000), String::from("-1.5")));
    }

    #[test]
    fn a_time_range_must_not_end_before_its_start() {
        let check = |from: u64, to: u64| check_times("--from", Some(from), "--until", Some(to));
        assert_eq!((check(3, 3), check(0, 5)), (Ok(()), Ok(())));
        let message = "--from 5 is after --until 3.5, so the range contains no event";
        assert_eq!(check(5_000_000_000, 3_500_000_000), Err(String::from(message)));
        assert_eq!(check_times("--from", Some(5), "--until", None), Ok(()));
    }
}
