//! Fixes of elements and attributes.

use super::super::number::is_blank;
use super::super::xml::{Attribute, Tag};
use super::FileParser;
use crate::{Edit, Fix, Span, nearest};

impl FileParser<'_, '_> {
    /// Renames an element, in both tags. Its end must have been read.
    pub(super) fn rename(&self, tag: &Tag, name: &str) -> Fix {
        let start = Span::new(tag.span.start + 1, tag.span.end);
        let end = self.xml.offset();
        let text = self.reports.source.slice(Span::new(start.end, end));
        let len = start.len();
        let in_end_tag = text.iter().rposition(|byte| *byte == b'<').filter(|at| text[at + 1..].starts_with(b"/"));
        let mut fix = write(start, name);
        fix.edits.extend(in_end_tag.map(|at| {
            let at = start.end + at as u32 + 2;
            Edit::replace(Span::new(at, at + len), name)
        }));
        fix
    }

    /// Deletes an attribute and the blanks before it.
    pub(super) fn delete(&self, attribute: &Attribute) -> Fix {
        let before = &self.reports.source.bytes()[..attribute.span.start as usize];
        let n_blanks = before.iter().rev().take_while(|byte| is_blank(char::from(**byte))).count() as u32;
        let place = Span::new(attribute.span.start - n_blanks, attribute.span.end);
        Fix::safe(format!("delete `{}`", attribute.name), [Edit::delete(place)])
    }
}

/// The known name nearest to `name`.
pub(super) fn near<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let near = nearest(name.as_bytes(), known.iter().map(|known| known.as_bytes()))?;
    known.iter().copied().find(|known| known.as_bytes() == near)
}

/// Replaces the name at `place`.
pub(super) fn write(place: Span, name: &str) -> Fix {
    Fix::guess(format!("write `{name}`"), [Edit::replace(place, name)])
}

/// True if a field of the format may have a count above 1. Used before the format is parsed, so it errs towards true.
pub(super) fn may_hold_array(format: &str) -> bool {
    format.split('%').any(|field| {
        let sized = field.strip_prefix(['1', '2', '4', '8']).unwrap_or(field);
        let counted = sized.strip_prefix(['s', 'u']).unwrap_or(sized);
        let digits = &counted[..counted.len() - counted.trim_start_matches(|c: char| c.is_ascii_digit()).len()];
        !matches!(digits, "" | "0" | "1")
    })
}

/// Offset and number of the leading zeros of a decimal number. Of `000` one zero stays.
pub(super) fn zeros(text: &str) -> (usize, usize) {
    let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let n_zeros = digits.len() - digits.trim_start_matches('0').len();
    (text.len() - digits.len(), n_zeros.min(digits.len() - 1))
}
