//! `allow=CODE,CODE` in a `tfbc:` comment.

use crate::trcfmt::ast::Allow;
use crate::{Arena, Source, Span, Spanned};

/// Name of the setting.
pub(crate) const NAME: &[u8] = b"allow";

/// Parses the codes at `value`, separated by commas. Text after the last code is a remark and ignored.
///
/// The scope of the result is the whole file; the caller may narrow it. Returns `None` if there is no code.
pub(crate) fn read<'ast>(arena: &'ast Arena, source: &Source, value: Span, comment: Span) -> Option<Allow<'ast>> {
    let text = source.slice(value);
    let mut codes = arena.list();
    let mut at = 0;
    loop {
        at += text[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let len = text[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        if len > 0 {
            let span = Span::new(value.start + at as u32, value.start + (at + len) as u32);
            codes.push(Spanned::new(arena.slice(source.slice(span)), span));
        }
        at += len;
        at += text[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        if text.get(at) != Some(&b',') {
            break;
        }
        at += 1;
    }
    let whole = whole_lines(source, comment);
    (!codes.is_empty()).then(|| Allow { codes: codes.into_bump_slice(), scope: None, whole })
}

/// Extends a place to its whole lines if they contain nothing else but blanks; otherwise returns it unchanged.
pub(crate) fn whole_lines(source: &Source, place: Span) -> Span {
    let bytes = source.bytes();
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
    let before = &bytes[..place.start as usize];
    let start = before.iter().rposition(|byte| !is_blank(byte)).map_or(0, |last| last + 1);
    let after = &bytes[place.end as usize..];
    let rest = after.iter().take_while(|byte| is_blank(byte)).count();
    let is_first = start == 0 || before[start - 1] == b'\n';
    match after.get(rest) {
        Some(b'\n') if is_first => Span::new(start as u32, place.end + rest as u32 + 1),
        None if is_first => Span::new(start as u32, place.end + rest as u32),
        _ => place,
    }
}

/// Extends a place to the blanks before it; if only they precede it on its line, to the line end before them too.
pub(crate) fn with_blanks(source: &Source, place: Span) -> Span {
    let before = &source.bytes()[..place.start as usize];
    let n_blanks = before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let line = &before[..before.len() - n_blanks];
    let end = match line {
        [.., b'\r', b'\n'] => 2,
        [.., b'\n'] => 1,
        _ => 0,
    };
    Span::new(place.start - (n_blanks + end) as u32, place.end)
}
