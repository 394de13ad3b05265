//! Source text in messages.

/// Source bytes for a message: invalid UTF-8 replaced, control characters escaped, long text cut.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const LIMIT: usize = 40;
    let cut = &bytes[..bytes.len().min(LIMIT)];
    let mut text: String = String::from_utf8_lossy(cut).chars().flat_map(printable).collect();
    if bytes.len() > LIMIT {
        text.push('…');
    }
    text
}

fn printable(c: char) -> impl Iterator<Item = char> {
    let (plain, escaped) = if c.is_control() { (None, Some(c.escape_default())) } else { (Some(c), None) };
    plain.into_iter().chain(escaped.into_iter().flatten())
}
