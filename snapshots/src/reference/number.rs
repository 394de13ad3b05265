//! Number and text formatting of the reference.

/// `digits` upper-case hex digits, zero-padded.
pub(super) fn hex(value: u128, digits: usize) -> Vec<u8> {
    format!("{value:0digits$X}").into_bytes()
}

/// Hex as X2 prints it: 4 digits, or 8 or 16 if the value needs them.
pub(super) fn hex_at_least_4(value: u64) -> Vec<u8> {
    let digits = match value {
        0..=0xFFFF => 4,
        0x1_0000..=0xFFFF_FFFF => 8,
        _ => 16,
    };
    hex(value.into(), digits)
}

/// Low `bits` bits as binary digits.
pub(super) fn binary(value: u128, bits: u32) -> Vec<u8> {
    (0..bits).rev().map(|bit| if value >> bit & 1 == 1 { b'1' } else { b'0' }).collect()
}

/// Low `bits` bits as a two's complement number.
pub(super) fn sign_extend(value: u128, bits: u32) -> i64 {
    let unused = 64 - bits.clamp(1, 64);
    (value as u64 as i64) << unused >> unused
}

/// Text as the `A` code prints it: up to the first NUL, with `.` for unprintable bytes.
pub(super) fn ascii(bytes: &[u8]) -> Vec<u8> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    bytes[..end].iter().map(|byte| if (0x20..=0x7e).contains(byte) { *byte } else { b'.' }).collect()
}

/// Seconds since 1970 in the format of ctime, in GMT: `Thu Oct 28 13:34:05 1999`.
pub(super) fn ctime(seconds: u32) -> Vec<u8> {
    const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [(&str, u32); 12] = [
        ("Jan", 31),
        ("Feb", 28),
        ("Mar", 31),
        ("Apr", 30),
        ("May", 31),
        ("Jun", 30),
        ("Jul", 31),
        ("Aug", 31),
        ("Sep", 30),
        ("Oct", 31),
        ("Nov", 30),
        ("Dec", 31),
    ];
    let leap = |year: u32| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = seconds / 86400;
    let (mut day, mut year) = (days, 1970);
    while day >= 365 + leap(year) as u32 {
        day -= 365 + leap(year) as u32;
        year += 1;
    }
    let mut month = 0;
    let length = |month: usize| MONTHS[month].1 + (month == 1 && leap(year)) as u32;
    while day >= length(month) {
        day -= length(month);
        month += 1;
    }
    let weekday = WEEKDAYS[days as usize % 7];
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{weekday} {} {:2} {hour:02}:{minute:02}:{second:02} {year}", MONTHS[month].0, day + 1).into_bytes()
}

/// Number in C's `%.4E` format, from its exact decimal expansion.
pub(super) fn scientific(value: f64) -> Vec<u8> {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_nan() {
        return b"NAN".to_vec();
    }
    if value.is_infinite() {
        return format!("{sign}INF").into_bytes();
    }
    let (digits, mut exponent) = decimal_expansion(value.abs());
    let mut five: Vec<u8> = (0..5).map(|at| digits.get(at).copied().unwrap_or(0)).collect();
    if rounds_up(&five, digits.get(5..).unwrap_or(&[])) {
        exponent += add_one(&mut five);
    }
    let [first, rest @ ..] = &five[..] else { unreachable!("five digits") };
    let rest: String = rest.iter().map(|digit| char::from(b'0' + digit)).collect();
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{first}.{rest}E{exponent_sign}{:02}", exponent.abs()).into_bytes()
}

/// Decimal digits of a finite value without leading zeros (empty for 0), and the power of ten of the first digit.
fn decimal_expansion(value: f64) -> (Vec<u8>, i32) {
    let bits = value.to_bits();
    let (biased, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    let (mantissa, power_of_2) = match biased {
        0 => (fraction, -1074),
        _ => (fraction | 1 << 52, biased - 1075),
    };
    if mantissa == 0 {
        return (Vec::new(), 0);
    }
    let mut digits: Vec<u8> = mantissa.to_string().bytes().map(|digit| digit - b'0').collect();
    // mantissa / 2^n = mantissa * 5^n / 10^n
    let (factor, point) = if power_of_2 < 0 { (5, power_of_2) } else { (2, 0) };
    for _ in 0..power_of_2.abs() {
        multiply(&mut digits, factor);
    }
    let exponent = digits.len() as i32 - 1 + point;
    (digits, exponent)
}

/// Multiplies a decimal number by a one-digit factor.
fn multiply(digits: &mut Vec<u8>, factor: u8) {
    let mut carry = 0;
    for digit in digits.iter_mut().rev() {
        let product = *digit * factor + carry;
        *digit = product % 10;
        carry = product / 10;
    }
    if carry > 0 {
        digits.insert(0, carry);
    }
}

/// True if digits followed by `rest` are rounded up: to nearest, halves to even.
fn rounds_up(digits: &[u8], rest: &[u8]) -> bool {
    let Some((first, others)) = rest.split_first() else { return false };
    let half_and_nothing_else = *first == 5 && others.iter().all(|digit| *digit == 0);
    match half_and_nothing_else {
        true => digits.last().is_some_and(|last| last % 2 == 1),
        false => *first >= 5,
    }
}

/// Adds one to the last digit. Returns 1 if 99999 became 10000 of the next power, else 0.
fn add_one(digits: &mut [u8]) -> i32 {
    for digit in digits.iter_mut().rev() {
        if *digit < 9 {
            *digit += 1;
            return 0;
        }
        *digit = 0;
    }
    digits[0] = 1;
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_c_prints_them() {
        let check = |value: f64, expected: &str| assert_eq!(String::from_utf8_lossy(&scientific(value)), expected);
        check(0.0, "0.0000E+00");
        check(-0.0, "-0.0000E+00");
        check(1.0, "1.0000E+00");
        check(-1.5, "-1.5000E+00");
        check(12345.5, "1.2346E+04");
        check(99999.9, "1.0000E+05");
        check(1.03125, "1.0312E+00"); // a half goes to the even digit
        check(1.09375, "1.0938E+00");
        check(5e-324, "4.9407E-324");
        check(f64::MAX, "1.7977E+308");
        check(f64::NAN, "NAN");
        check(f64::NEG_INFINITY, "-INF");
        check(1e22, "1.0000E+22");
    }

    #[test]
    fn times_print_as_ctime_prints_them() {
        let check = |seconds, expected: &str| assert_eq!(String::from_utf8_lossy(&ctime(seconds)), expected);
        check(0, "Thu Jan  1 00:00:00 1970");
        check(941117645, "Thu Oct 28 13:34:05 1999");
        check(951782400, "Tue Feb 29 00:00:00 2000");
        check(u32::MAX, "Sun Feb  7 06:28:15 2106");
    }
}
