//! `fields=ENTRY, ENTRY` in a `tfbc:` comment.

use crate::{Arena, Source, Span, Spanned};

/// Name of the setting.
pub(crate) const NAME: &[u8] = b"fields";

/// Reads the entries at `value`, separated by commas. Text after the last entry is a remark and ignored.
pub(crate) fn read<'ast>(arena: &'ast Arena, source: &Source, value: Span) -> Vec<Spanned<&'ast [u8]>> {
    let text = source.slice(value);
    let is_blank = |byte: &&u8| byte.is_ascii_whitespace();
    let mut entries = Vec::new();
    let mut at = 0;
    loop {
        at += text[at..].iter().take_while(is_blank).count();
        let len = text[at..].iter().take_while(|byte| !is_blank(byte) && **byte != b',').count();
        if len > 0 {
            let span = Span::new(value.start + at as u32, value.start + (at + len) as u32);
            entries.push(Spanned::new(arena.slice(source.slice(span)), span));
        }
        at += len;
        at += text[at..].iter().take_while(is_blank).count();
        if text.get(at) != Some(&b',') {
            return entries;
        }
        at += 1;
    }
}
