//! Numbers as text.

/// Milliseconds with six decimals, which are exact.
pub fn milliseconds(ns: i128) -> String {
    let mut text = Vec::new();
    push_milliseconds(ns, &mut text);
    String::from_utf8(text).unwrap_or_default()
}

pub fn push_milliseconds(ns: i128, out: &mut Vec<u8>) {
    if ns < 0 {
        out.push(b'-');
    }
    let ns = ns.unsigned_abs();
    match u64::try_from(ns) {
        Ok(ns) => {
            push_number(ns / 1_000_000, 1, out);
            out.push(b'.');
            push_number(ns % 1_000_000, 6, out);
        }
        Err(_) => out.extend(format!("{}.{:06}", ns / 1_000_000, ns % 1_000_000).bytes()),
    }
}

/// Appends a number with at least `digits` digits. Formatting macros take several times as long.
pub fn push_number(mut number: u64, digits: usize, out: &mut Vec<u8>) {
    let mut text = [b'0'; 20];
    let mut at = text.len();
    while number > 0 || text.len() - at < digits {
        at -= 1;
        text[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&text[at..]);
}

/// Appends a share in percent with two decimals, rounded half up.
pub fn push_percent(part: u128, whole: u128, out: &mut Vec<u8>) {
    if whole == 0 {
        return out.push(b'-');
    }
    // Both are below 2^75, so the products fit. Most fit 64 bits, which are divided faster.
    let hundredths = match (u64::try_from(part * 20_000 + whole), u64::try_from(2 * whole)) {
        (Ok(part), Ok(whole)) => part / whole,
        _ => ((part * 20_000 + whole) / (2 * whole)) as u64,
    };
    push_number(hundredths / 100, 1, out);
    out.push(b'.');
    push_number(hundredths % 100, 2, out);
}
