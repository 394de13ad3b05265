//! Renders diagnostics: with underlined source lines, as one line each, or as JSON.

use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};
use std::fmt::Write;
use tfbc::internal::terminal::visible;
use tfbc_grammar::{Diagnostic, Edit, Label, Severity, Source, Sources};

/// Maximum length of source lines passed to the renderer, which cuts them to the terminal's width. Longer lines are cut
/// here first: a file may be one line of megabytes with a thousand problems.
const MAX_WHOLE: usize = 4096;
/// Bytes shown of a longer line.
const MAX_SHOWN: usize = 120;
/// Bytes of a longer line shown before the marked position.
const SHOWN_BEFORE: usize = 40;
/// Maximum number of lines in one excerpt.
const MAX_LINES: u32 = 4;

/// Renders one diagnostic with its source lines, plain or in colour. Ends with a newline.
///
/// ```
/// use tfbc_grammar::{Diagnostic, Source, Sources, Span, codes};
/// let mut sources = Sources::new();
/// let id = sources.add(Source::new("a.trcfmt", "010 1.0 X17\n"));
/// let found = Diagnostic::error(&codes::SOURCE_TOO_LARGE, id, Span::new(8, 11), "no code `X17`").with_label("here");
/// let text = tfbc_authoring::render::human(&sources, &found, false);
/// assert!(text.starts_with("error[S01]: no code `X17`\n"));
/// assert!(text.contains("a.trcfmt:1:9") && text.contains("^^^ here"));
/// ```
pub fn human(sources: &Sources, diagnostic: &Diagnostic, colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group = Group::with_title(level.primary_title(visible(&diagnostic.message)).id(diagnostic.code.code));
    let mut rest: Vec<&Label> = diagnostic.secondary.iter().collect();
    group = group.elements(excerpts(sources, &diagnostic.primary, &mut rest, AnnotationKind::Primary));
    while !rest.is_empty() {
        let label = rest.remove(0);
        group = group.elements(excerpts(sources, label, &mut rest, AnnotationKind::Context));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(visible(help)));
    }
    let mut text = renderer.render(&[group]);
    text.push('\n');
    text
}

/// Position of one label, and the excerpt around it. Labels on the same lines are taken out of `others` and shown
/// together.
fn excerpts<'d>(
    sources: &Sources,
    label: &'d Label,
    others: &mut Vec<&'d Label>,
    kind: AnnotationKind,
) -> Vec<Element<'d>> {
    let Some(source) = sources.get(label.source) else { return Vec::new() };
    let (line, column) = place(source, label.span.start);
    let excerpt = Excerpt::new(source, label);
    let mut annotations = vec![annotation(kind, excerpt.place(label), label)];
    others.retain(|other| {
        let inside = other.source == label.source && excerpt.contains(other);
        if inside {
            annotations.push(annotation(AnnotationKind::Context, excerpt.place(other), other));
        }
        !inside
    });
    let name = visible(source.name()).into_owned();
    let snippet = Snippet::source(excerpt.text).line_start(line as usize).annotations(annotations);
    if !excerpt.cut {
        return vec![snippet.path(name).into()];
    }
    let origin = Origin::path(name).line(line as usize).char_column(column as usize);
    vec![origin.into(), snippet.into()]
}

/// Line and column of an offset, from 1. Columns count characters, or bytes in lines longer than 4096 bytes; an invalid
/// UTF-8 byte counts as one.
fn place(source: &Source, offset: u32) -> (u32, u32) {
    let (line, column) = source.line_column(offset);
    let text = source.line(line);
    let Some(before) = text.get(..column as usize - 1).filter(|_| text.len() <= MAX_WHOLE) else {
        return (line, column);
    };
    let n = before.utf8_chunks().map(|chunk| chunk.valid().chars().count() + chunk.invalid().len()).sum::<usize>();
    (line, n as u32 + 1)
}

fn annotation<'d>(
    kind: AnnotationKind,
    span: std::ops::Range<usize>,
    label: &'d Label,
) -> annotate_snippets::Annotation<'d> {
    let text = (!label.text.is_empty()).then(|| visible(&label.text));
    kind.span(span).label(text)
}

/// Range of source lines as text, with a map from source offsets to text offsets.
struct Excerpt {
    text: String,
    /// Source offset of the first byte.
    start: u32,
    /// Text offset per source byte, and of the end.
    offsets: Vec<usize>,
    /// True if a line is cut.
    cut: bool,
}

impl Excerpt {
    /// Lines of a label, at most [`MAX_LINES`]. If the label is far from the line's start, the line is cut around it.
    fn new(source: &Source, label: &Label) -> Self {
        let (first, column) = source.line_column(label.span.start);
        let (last, _) = source.line_column(label.span.end.max(label.span.start));
        let last = last.min(first.saturating_add(MAX_LINES - 1));
        let line_start = label.span.start - (column - 1);
        let mut end = line_start as usize + source.line(first).len();
        for line in first + 1..=last {
            let next = next_line(source, end);
            if next + source.line(line).len() - line_start as usize > MAX_WHOLE {
                break;
            }
            end = next + source.line(line).len();
        }
        let (mut start, mut shown_end) = (line_start, end);
        if end - line_start as usize > MAX_WHOLE {
            start = line_start.max(label.span.start.saturating_sub(SHOWN_BEFORE as u32));
            shown_end = end.min(start as usize + MAX_SHOWN);
        }
        let bytes = source.bytes().get(start as usize..shown_end).unwrap_or_default();
        Self::of_bytes(bytes, start, start > line_start, shown_end < end)
    }

    fn of_bytes(bytes: &[u8], start: u32, cut_before: bool, cut_after: bool) -> Self {
        let mut text = String::from(if cut_before { "…" } else { "" });
        let mut offsets = Vec::with_capacity(bytes.len() + 1);
        for chunk in bytes.utf8_chunks() {
            for (at, char) in chunk.valid().char_indices() {
                offsets.resize(offsets.len() + char.len_utf8(), text.len());
                debug_assert!(at < chunk.valid().len());
                // The renderer escapes the other control characters.
                text.push(if matches!(char, '\u{80}'..='\u{9f}') { '\u{fffd}' } else { char });
            }
            // One character per invalid byte keeps the columns of the rest.
            for _ in chunk.invalid() {
                offsets.push(text.len());
                text.push('\u{fffd}');
            }
        }
        offsets.push(text.len());
        if cut_after {
            text.push('…');
        }
        Self { text, start, offsets, cut: cut_before || cut_after }
    }

    fn contains(&self, label: &Label) -> bool {
        let end = self.start as usize + self.offsets.len();
        label.span.start >= self.start && (label.span.end as usize) < end
    }

    /// Range of the label in the excerpt.
    fn place(&self, label: &Label) -> std::ops::Range<usize> {
        let at = |offset: u32| {
            let index = (offset.saturating_sub(self.start) as usize).min(self.offsets.len() - 1);
            self.offsets[index]
        };
        let start = at(label.span.start);
        start..at(label.span.end).max(start)
    }
}

/// Offset after the line end at `end`.
fn next_line(source: &Source, end: usize) -> usize {
    let rest = source.bytes().get(end..).unwrap_or_default();
    end + rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1)
}

/// Renders one diagnostic as one line: `file:line:column: error[S07]: message`. Ends with a newline.
pub fn short(sources: &Sources, diagnostic: &Diagnostic) -> String {
    let Diagnostic { message, code, .. } = diagnostic;
    let message = visible(message);
    let severity = diagnostic.severity;
    match sources.get(diagnostic.primary.source) {
        Some(source) => {
            let (line, column) = place(source, diagnostic.primary.span.start);
            format!("{}:{line}:{column}: {severity}[{}]: {message}\n", visible(source.name()), code.code)
        }
        None => format!("{severity}[{}]: {message}\n", code.code),
    }
}

/// Renders one diagnostic as a JSON object on one line: severity, code, message, help, positions and fix. Lines and
/// columns start at 1, columns count characters, and offsets are in bytes. Ends with a newline.
pub fn json(sources: &Sources, diagnostic: &Diagnostic) -> String {
    let place_of = |label: &Label| {
        let source = sources.get(label.source);
        let (line, column) = source.map_or((0, 0), |source| place(source, label.span.start));
        let (end_line, end_column) = source.map_or((0, 0), |source| place(source, label.span.end));
        serde_json::json!({
            "file": source.map_or("", Source::name),
            "line": line,
            "column": column,
            "end_line": end_line,
            "end_column": end_column,
            "start": label.span.start,
            "end": label.span.end,
            "label": label.text,
        })
    };
    let fix = diagnostic.fix.as_ref().map(|fix| {
        let edit =
            |edit: &Edit| serde_json::json!({ "start": edit.span.start, "end": edit.span.end, "text": edit.text });
        let edits: Vec<_> = fix.edits.iter().map(edit).collect();
        serde_json::json!({ "title": fix.title, "safe": fix.safe, "edits": edits })
    });
    let object = serde_json::json!({
        "fix": fix,
        "severity": diagnostic.severity.to_string(),
        "code": diagnostic.code.code,
        "message": diagnostic.message,
        "help": diagnostic.help,
        "primary": place_of(&diagnostic.primary),
        "secondary": diagnostic.secondary.iter().map(place_of).collect::<Vec<_>>(),
    });
    format!("{object}\n")
}

/// `2 errors, 1 warning`; `None` if both are 0.
///
/// ```
/// assert_eq!(tfbc_authoring::render::summary(2, 1).as_deref(), Some("2 errors, 1 warning"));
/// assert_eq!(tfbc_authoring::render::summary(0, 0), None);
/// ```
pub fn summary(n_errors: usize, n_warnings: usize) -> Option<String> {
    let mut out = String::new();
    for (n, word) in [(n_errors, "error"), (n_warnings, "warning")] {
        if n > 0 {
            let comma = if out.is_empty() { "" } else { ", " };
            let plural = if n == 1 { "" } else { "s" };
            let _ = write!(out, "{comma}{n} {word}{plural}");
        }
    }
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfbc_grammar::{Span, codes};

    fn render(text: &[u8], start: u32, end: u32) -> String {
        let mut sources = Sources::new();
        let id = sources.add(Source::new("a.trcfmt", text));
        let found = Diagnostic::error(&codes::SOURCE_TOO_LARGE, id, Span::new(start, end), "found").with_label("here");
        human(&sources, &found, false)
    }

    fn lines(text: &str) -> Vec<&str> {
        text.lines().map(str::trim_end).collect()
    }

    #[test]
    fn the_place_is_underlined() {
        let text = render(b"first\n010 1.0 X17\n", 14, 17);
        assert_eq!(
            lines(&text),
            ["error[S01]: found", " --> a.trcfmt:2:9", "  |", "2 | 010 1.0 X17", "  |         ^^^ here",]
        );
    }

    #[test]
    fn bytes_that_are_no_text_keep_their_columns() {
        let text = render(b"010 \"h\xe9llo\" X17\n", 12, 15);
        assert!(text.contains("a.trcfmt:1:13"), "{text}");
        assert!(text.contains("010 \"h\u{fffd}llo\" X17"), "{text}");
        assert!(text.contains("|             ^^^ here"), "{text}");
        let text = render("010 \"hé\" X17\n".as_bytes(), 10, 13);
        assert!(text.contains("|          ^^^ here"), "{text}");
    }

    #[test]
    fn a_very_long_line_is_cut_around_the_place() {
        let mut line = vec![b'a'; 1 << 20];
        line[700_000..700_003].copy_from_slice(b"X17");
        let text = render(&line, 700_000, 700_003);
        assert!(text.len() < 1000, "{}", text.len());
        assert!(text.contains("a.trcfmt:1:700001") && text.contains("X17") && text.contains("^^^ here"), "{text}");
    }

    #[test]
    fn the_end_of_a_file_can_be_a_place() {
        for (text, at) in [(&b""[..], 0), (b"010 1.0", 7), (b"010 1.0\n", 8), (b"010", 3000)] {
            let rendered = render(text, at, at + 1);
            assert!(rendered.contains("found"), "{rendered}");
        }
    }

    #[test]
    fn a_place_over_several_lines() {
        let text = render(b"010 1.0 \"a\\\nb\" \\\n X17\n", 8, 20);
        assert!(text.contains("a.trcfmt:1:9") && text.contains("here"), "{text}");
    }

    #[test]
    fn short_and_json() {
        let mut sources = Sources::new();
        let id = sources.add(Source::new("a", "x\nyy"));
        let found = Diagnostic::warning(&codes::SOURCE_TOO_LARGE, id, Span::new(3, 4), "a \"b\"").with_help("h");
        assert_eq!(short(&sources, &found), "a:2:2: warning[S01]: a \"b\"\n");
        let value: serde_json::Value = serde_json::from_str(&json(&sources, &found)).unwrap();
        assert_eq!(value["primary"]["line"], 2);
        assert_eq!(value["message"], "a \"b\"");
        assert_eq!(value["help"], "h");
    }
}
