//! `<!-- tfbc: … -->` comments: settings of the file, and allowed warnings.

use super::super::ast::{Allow, Setting};
use super::super::codes;
use super::super::number::is_blank;
use super::super::xml::{FatalError, XmlToken};
use super::FileParser;
use crate::allow;
use crate::field_entries;
use crate::{Span, Spanned};

impl<'ast, 's> FileParser<'ast, 's> {
    /// Reads the next piece and keeps track of the scopes of `allow=` comments.
    pub(super) fn next(&mut self) -> Result<Option<XmlToken<'s>>, FatalError> {
        let piece = self.xml.next()?;
        match &piece {
            Some(XmlToken::Start(tag)) => {
                if tag.name != "datakey" {
                    self.no_datakey();
                }
                self.open.push((tag.span.start, self.allows.len()));
                let here = Span::new(tag.span.start, u32::MAX);
                self.allows.extend(self.before.drain(..).map(|allow| Allow { scope: Some(here), ..allow }));
            }
            Some(XmlToken::End) => {
                self.allow_nothing();
                self.close();
            }
            Some(XmlToken::Text(_)) => self.allow_nothing(),
            _ => {}
        }
        Ok(piece)
    }

    /// Ends the scope of the `allow=` comments that apply to the innermost open element.
    fn close(&mut self) {
        let Some((start, n_before)) = self.open.pop() else { return };
        let end = self.xml.offset();
        for allow in &mut self.allows[n_before..] {
            if let Some(scope) = allow.scope.as_mut().filter(|scope| scope.start == start) {
                scope.end = end;
            }
        }
    }

    /// Warns about `allow=` comments that precede a text, an end tag or the end of the document: they have no effect.
    pub(super) fn allow_nothing(&mut self) {
        self.no_datakey();
        for allow in self.before.drain(..) {
            let ([first, .., last] | [first @ last]) = allow.codes else { continue };
            let message = "`allow=` after the first element is not directly before an element";
            let warning = self.reports.warning(&codes::LATE_SETTING, first.span.to(last.span), message);
            self.reports
                .add(warning.with_help("move it directly before its element, or to the top for the whole file"));
        }
    }

    /// Warns about `fields=` comments that are not directly before a datakey: they have no effect.
    fn no_datakey(&mut self) {
        if let [first, .., last] | [first @ last] = &std::mem::take(&mut self.fields)[..] {
            let message = "`fields=` is not directly before a `datakey`";
            let warning = self.reports.warning(&codes::LATE_SETTING, first.span.to(last.span), message);
            self.reports.add(warning.with_help("move it directly before its datakey"));
        }
    }

    /// Reads `<!-- tfbc: NAME=VALUE -->`; other comments are ignored.
    pub(super) fn comment(&mut self, text: &str, place: Span) {
        let start = place.start + "<!--".len() as u32 + (text.len() - text.trim_start_matches(is_blank).len()) as u32;
        let Some(setting) = text.trim_matches(is_blank).strip_prefix("tfbc:") else { return };
        let whole = self.trimmed(setting, start + "tfbc:".len() as u32);
        if let Some((name, value)) = setting.split_once('=')
            && name.trim_matches(is_blank).as_bytes() == allow::NAME
        {
            let at = whole.span.end - value.trim_end_matches(is_blank).len() as u32;
            return self.allow(Span::new(at, whole.span.end), place, whole.span);
        }
        if let Some((name, value)) = setting.split_once('=')
            && name.trim_matches(is_blank).as_bytes() == field_entries::NAME
        {
            let at = whole.span.end - value.trim_end_matches(is_blank).len() as u32;
            let value = Span::new(at, whole.span.end);
            return self.fields.extend(field_entries::read(self.arena, self.reports.source, value));
        }
        if self.has_child {
            let message = "setting after the first element has no effect";
            let warning = self.reports.warning(&codes::LATE_SETTING, whole.span, message);
            self.reports.add(warning.with_help("move it to the top: settings apply to the whole file"));
            return;
        }
        match setting.split_once('=') {
            Some((name, value)) if !name.trim_matches(is_blank).is_empty() => {
                let value_at = start + ("tfbc:".len() + name.len() + 1) as u32;
                let name = self.trimmed(name, start + "tfbc:".len() as u32);
                self.settings.push(Setting { name, value: self.trimmed(value, value_at) });
            }
            _ => {
                let error =
                    self.reports.error(&codes::SETTING, whole.span, "setting does not have the form NAME=VALUE");
                self.reports.add(error.with_help("write for example `<!-- tfbc: bare-s=number -->`"));
            }
        }
    }

    /// Reads `<!-- tfbc: allow=CODE -->`. Before the root's first child it applies to the file, later to the next
    /// element.
    fn allow(&mut self, value: Span, comment: Span, setting: Span) {
        match allow::read(self.arena, self.reports.source, value, comment) {
            None => {
                let error = self.reports.error(&codes::SETTING, setting, "`allow=` names no code");
                self.reports.add(error.with_help("write for example `<!-- tfbc: allow=X98 -->`"));
            }
            Some(allow) if self.has_child => self.before.push(allow),
            Some(allow) => self.allows.push(allow),
        }
    }

    /// Trimmed copy of `text`, which starts at source offset `at`.
    fn trimmed(&self, text: &str, at: u32) -> Spanned<&'ast [u8]> {
        let start = at + (text.len() - text.trim_start_matches(is_blank).len()) as u32;
        let text = text.trim_matches(is_blank).as_bytes();
        Spanned::new(self.arena.slice(text), Span::new(start, start + text.len() as u32))
    }
}
