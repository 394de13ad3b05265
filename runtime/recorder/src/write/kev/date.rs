//! Dates in the format of C's `ctime`.

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `Wed Jun 24 10:52:58 2009` for seconds since 1970, in UTC.
pub(super) fn ctime(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (h, m, s) = (rest / 3600, rest / 60 % 60, rest % 60);
    let (weekday, month) = (DAYS[(days % 7) as usize], MONTHS[month]);
    format!("{weekday} {month} {day:2} {h:02}:{m:02}:{s:02} {year}")
}

/// Year, month from 0 and day from 1 for a day since 1970. Years are counted from March, so that a leap day is the last
/// day of a year.
fn civil(days: u64) -> (u64, usize, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let is_next = month >= 10;
    (era * 400 + year + u64::from(is_next), ((month + 2) % 12) as usize, day)
}

#[cfg(test)]
mod tests {
    use super::ctime;

    #[test]
    fn dates_are_those_of_ctime() {
        for (seconds, date) in [
            (0, "Thu Jan  1 00:00:00 1970"),
            (951_782_400, "Tue Feb 29 00:00:00 2000"),
            (1_245_840_778, "Wed Jun 24 10:52:58 2009"),
            (1_735_689_599, "Tue Dec 31 23:59:59 2024"),
            (1_735_689_600, "Wed Jan  1 00:00:00 2025"),
            (4_107_542_400, "Mon Mar  1 00:00:00 2100"),
        ] {
            assert_eq!(ctime(seconds), date);
        }
    }
}
