//! Picture of the list.

use super::app::{App, Task};
use super::row::{Row, RowKind, seconds};
use super::store::Reading;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph};
use regex::Regex;
use unicode_width::UnicodeWidthChar;

/// Width from which details are at the right of the list.
const WIDE: u16 = 130;
/// Width that texts have at least; columns are left out before.
const MIN_TEXT: usize = 24;

/// Width of the list of keys.
const KEYS_WIDTH: u16 = 66;

/// Keys, and what they do.
const KEYS: &[(&str, &str)] = &[
    ("j k ↓ ↑", "next row, row before"),
    ("f b Space PgDn PgUp", "page down, page up"),
    ("d u", "half a page"),
    ("g G Home End", "first row, last row; 100G: row 100"),
    ("50%", "half of what was read"),
    ("h l ← →", "move long lines; 0: back"),
    ("/ n N", "search, next match, match before"),
    ("t", "go to a time"),
    (":", "go to a row"),
    ("] [", "next damage or gap, the one before"),
    ("Enter", "bytes, fields and template; J K move them"),
    ("&", "filter: flags of tfbc report, or a pattern"),
    ("i p c", "only this id, process, CPU"),
    ("x", "no filter"),
    ("ma 'a ''", "set mark a, go to it, go back"),
    ("y Y", "copy the text, the bytes"),
    ("Ctrl-L Ctrl-Z", "draw again, stop"),
    ("q", "quit"),
];

/// Styles of the screen.
#[derive(Clone, Copy)]
struct Styles {
    has_colour: bool,
}

impl Styles {
    fn colour(self, colour: Color) -> Style {
        if self.has_colour { Style::new().fg(colour) } else { Style::new() }
    }

    fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    fn bar(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn found(self) -> Style {
        let marked = Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
        if self.has_colour { marked.fg(Color::Yellow) } else { marked }
    }

    fn notice(self, kind: RowKind) -> Style {
        let colour = if kind == RowKind::Damage { Color::Red } else { Color::Yellow };
        self.colour(colour).add_modifier(Modifier::BOLD)
    }
}

impl App<'_> {
    /// Draws the list.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let styles = Styles { has_colour: self.settings.has_colour };
        let area = frame.area();
        if area.height < 3 || area.width < 10 {
            frame.render_widget(Paragraph::new("too small"), area);
            return;
        }
        let body = Rect { y: area.y + 1, height: area.height - 2, ..area };
        let (list, details) = self.split(body);
        self.list = list;
        self.settle();
        frame.render_widget(self.title(styles, area.width), Rect { height: 1, ..area });
        self.draw_list(frame, list, styles);
        if let Some(details) = details {
            let text = self.details();
            let is_below = details.width == body.width;
            let block = Block::new().borders(if is_below { Borders::TOP } else { Borders::LEFT });
            let inner = block.inner(details);
            let lines: Vec<Line<'_>> =
                text.lines().flat_map(|line| wrapped(line, inner.width.into())).map(Line::raw).collect();
            let (n_lines, height) = (u16::try_from(lines.len()).unwrap_or(u16::MAX), inner.height);
            self.details_top = self.details_top.min(n_lines.saturating_sub(height));
            let paragraph = Paragraph::new(lines).block(block).scroll((self.details_top, 0));
            frame.render_widget(paragraph, details);
        }
        let status = Rect { y: area.y + area.height - 1, height: 1, ..area };
        self.draw_status(frame, status, styles);
        if self.shows_keys {
            draw_keys(frame, area);
        }
    }

    /// Areas of the list and of the details.
    fn split(&self, body: Rect) -> (Rect, Option<Rect>) {
        if !self.shows_details {
            return (body, None);
        }
        if body.width >= WIDE {
            let width = body.width / 2;
            let right = Rect { x: body.x + width, width: body.width - width, ..body };
            return (Rect { width, ..body }, Some(right));
        }
        let height = (body.height * 2 / 5).max(1);
        let below = Rect { y: body.y + height, height: body.height - height, ..body };
        (Rect { height, ..body }, Some(below))
    }

    fn title(&self, styles: Styles, width: u16) -> Paragraph<'static> {
        let filter = if self.filter.is_empty() { String::new() } else { format!("  filter: {}", self.filter) };
        let text = cut(&format!(" {}{filter}", self.settings.title), 0, width.into());
        Paragraph::new(pad(text, width.into())).style(styles.bar())
    }

    fn draw_list(&mut self, frame: &mut Frame<'_>, area: Rect, styles: Styles) {
        let rows = self.rows(self.top, area.height.into());
        if rows.is_empty() {
            let text = match self.facts().reading {
                Reading::Active => "reading…",
                _ if self.filter.is_empty() => "the trace has no events",
                _ => "no event matches the filter: x removes it",
            };
            frame.render_widget(Paragraph::new(text).style(styles.dim()), area);
            return;
        }
        let columns = ColumnWidths::of(&rows, area.width.into());
        let lines: Vec<Line<'_>> = rows
            .iter()
            .enumerate()
            .map(|(at, row)| {
                let line = columns.line(row, self.left, area.width.into(), self.search.as_ref(), styles);
                match self.top + at as u64 == self.chosen {
                    true => line.style(styles.chosen()),
                    false => line,
                }
            })
            .collect();
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn draw_status(&self, frame: &mut Frame<'_>, area: Rect, styles: Styles) {
        if let Some(prompt) = &self.prompt {
            let width = usize::from(area.width);
            let (label, before) = (prompt.label(), prompt.before_cursor());
            let skipped = (label.len() + columns_of(&before) + 1).saturating_sub(width);
            let text = cut(&format!("{label}{}", prompt.text()), skipped, width);
            frame.render_widget(Paragraph::new(text), area);
            let column = label.len() + columns_of(&before) - skipped;
            frame.set_cursor_position((area.x + column as u16, area.y));
            return;
        }
        let facts = self.facts();
        let reading = match &facts.reading {
            Reading::Active => "  reading…",
            Reading::Complete => "",
            Reading::Full => "  the rest does not fit: --max-spill, or a filter",
            Reading::Failed(_) => "  failed",
        };
        let waiting = match self.task {
            Some(Task::Search { .. }) => "  searching…",
            Some(Task::Time(_) | Task::Row(_)) => "  waiting…",
            Some(Task::End) | None => "",
        };
        let damage = if facts.n_damaged > 0 { format!("  {} damaged", facts.n_damaged) } else { String::new() };
        let failure = if let Reading::Failed(why) = &facts.reading { why.as_str() } else { "" };
        let message = if self.message.is_empty() { failure } else { &self.message };
        let text = match message.is_empty() {
            false => format!(" {message}"),
            true => {
                let row = if facts.n_rows == 0 { 0 } else { self.chosen + 1 };
                let until = match facts.last_ns.filter(|_| facts.reading == Reading::Active) {
                    Some(ns) => format!(" up to {} s", seconds(ns)),
                    None => String::new(),
                };
                let keys = if area.width >= 60 { "  ? keys" } else { "" };
                format!(" {row}/{}{reading}{until}{waiting}{damage}{keys}", facts.n_rows)
            }
        };
        let text = pad(cut(&text, 0, area.width.into()), area.width.into());
        let style = if message.is_empty() { styles.bar() } else { styles.bar().add_modifier(Modifier::BOLD) };
        frame.render_widget(Paragraph::new(text).style(style), area);
    }
}

/// Widths of the columns; a column that is not shown has 0.
struct ColumnWidths {
    time: usize,
    cpu: usize,
    process: usize,
    tid: usize,
    id: usize,
}

impl ColumnWidths {
    /// Widths for the rows of a screen.
    fn of(rows: &[Row], width: usize) -> Self {
        let widest = |of: &dyn Fn(&Row) -> usize, max: usize| rows.iter().map(of).max().unwrap_or(0).min(max);
        let digits = |number: Option<u64>| number.map_or(0, |number| number.to_string().len());
        let mut columns = Self {
            time: widest(&|row| row.time().len(), 24),
            cpu: widest(&|row| digits(row.cpu), 5),
            process: widest(&|row| columns_of(&row.process), 16),
            tid: widest(&|row| digits(row.tid), 12),
            id: widest(&|row| row.id_name().len(), 24),
        };
        for narrow in [0, 1, 2] {
            if columns.sum() + MIN_TEXT <= width {
                break;
            }
            match narrow {
                0 => columns.tid = 0,
                1 => columns.cpu = 0,
                _ => columns.process = 0,
            }
        }
        columns
    }

    fn sum(&self) -> usize {
        [self.time, self.cpu, self.process, self.tid, self.id].iter().map(|width| width + usize::from(*width > 0)).sum()
    }

    /// Line of a row.
    fn line(&self, row: &Row, left: usize, width: usize, search: Option<&Regex>, styles: Styles) -> Line<'static> {
        if !row.is_event() {
            let mark = if row.kind == RowKind::Damage { "damage: " } else { "note: " };
            let text = cut(&format!("{mark}{}", row.line()), left, width);
            return Line::styled(pad(text, width), styles.notice(row.kind));
        }
        let number = |number: Option<u64>, width: usize| {
            let text = number.map_or(String::new(), |number| number.to_string());
            if width == 0 { String::new() } else { format!("{text:>width$} ", text = cut(&text, 0, width)) }
        };
        let name = |text: &str, width: usize| {
            if width == 0 { String::new() } else { format!("{} ", pad(cut(text, 0, width), width)) }
        };
        let mut spans = vec![Span::styled(
            format!(
                "{:>time$} {}{}{}",
                row.time(),
                number(row.cpu, self.cpu),
                name(&row.process, self.process),
                number(row.tid, self.tid),
                time = self.time
            ),
            styles.dim(),
        )];
        spans.push(Span::styled(name(&row.id_name(), self.id), styles.colour(Color::Cyan)));
        let room = width.saturating_sub(self.sum());
        let text = cut(&row.line(), left, room);
        let n_columns = columns_of(&text);
        let mut from = 0;
        for found in search.into_iter().flat_map(|search| search.find_iter(&text)).filter(|found| !found.is_empty()) {
            spans.push(Span::raw(text[from..found.start()].to_owned()));
            spans.push(Span::styled(found.as_str().to_owned(), styles.found()));
            from = found.end();
        }
        spans.push(Span::raw(format!("{}{}", &text[from..], " ".repeat(room.saturating_sub(n_columns)))));
        Line::from(spans)
    }
}

fn draw_keys(frame: &mut Frame<'_>, area: Rect) {
    let width = KEYS_WIDTH.min(area.width);
    // A narrow screen has no room for a column of keys.
    let column = if width < KEYS_WIDTH { 0 } else { 20 };
    let texts = KEYS.iter().map(|(keys, what)| format!("{keys:<column$} {what}"));
    let lines: Vec<Line<'_>> =
        texts.flat_map(|text| wrapped(&text, usize::from(width).saturating_sub(2))).map(Line::raw).collect();
    let height = (lines.len() as u16 + 2).min(area.height);
    let window = Rect { x: (area.width - width) / 2, y: (area.height - height) / 2, width, height };
    frame.render_widget(Clear, window);
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(" Keys ")), window);
}

/// Columns that a text takes.
fn columns_of(text: &str) -> usize {
    text.chars().map(|letter| letter.width().unwrap_or(0)).sum()
}

/// Part of a text: `width` columns from the column `from` on. A text that is cut ends in `…`.
fn cut(text: &str, from: usize, width: usize) -> String {
    let (mut column, mut out, mut used) = (0, String::new(), 0);
    for letter in text.chars() {
        let size = letter.width().unwrap_or(0);
        if column >= from {
            if used + size > width {
                while used + 1 > width
                    && let Some(last) = out.pop()
                {
                    used -= last.width().unwrap_or(0);
                }
                if width > 0 {
                    out.push('…');
                }
                return out;
            }
            out.push(letter);
            used += size;
        }
        column += size;
    }
    out
}

/// Lines of a text that is wrapped at blanks, or within words that are longer than the width. Lines after the first are
/// indented.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let (mut lines, mut rest) = (Vec::new(), text);
    loop {
        // The indent must leave room for the text.
        let indent = if lines.is_empty() || width < 16 { "" } else { "  " };
        let mut room = width - indent.len();
        let fits = rest.char_indices().find(|(_, letter)| {
            let size = letter.width().unwrap_or(0);
            let is_full = size > room;
            room = room.saturating_sub(size);
            is_full
        });
        let Some((end, _)) = fits else {
            lines.push(format!("{indent}{rest}"));
            return lines;
        };
        // A character that is wider than the whole line would never fit.
        let end = end.max(rest.chars().next().map_or(1, char::len_utf8));
        let blank = rest[..end].trim_end().rfind(' ').filter(|at| !rest[..*at].trim().is_empty());
        let end = if rest[end..].starts_with(' ') { end } else { blank.unwrap_or(end) };
        lines.push(format!("{indent}{}", rest[..end].trim_end()));
        rest = rest[end..].trim_start();
        if rest.is_empty() {
            return lines;
        }
    }
}

/// Text with blanks up to a width.
fn pad(mut text: String, width: usize) -> String {
    let n = width.saturating_sub(columns_of(&text));
    text.extend(std::iter::repeat_n(' ', n));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_columns() {
        assert_eq!(cut("abcdef", 0, 6), "abcdef");
        assert_eq!(cut("abcdef", 0, 4), "abc…");
        assert_eq!(cut("abcdef", 2, 4), "cdef");
        assert_eq!(cut("世界世界", 0, 5), "世界…");
        assert_eq!(cut("世界世界", 0, 4), "世…");
        assert_eq!((cut("abc", 5, 4), cut("abc", 0, 0)), (String::new(), String::new()));
        assert_eq!(pad(String::from("世"), 4), "世  ");
    }

    #[test]
    fn texts_are_wrapped_at_blanks() {
        assert_eq!(wrapped("abc def", 7), ["abc def"]);
        assert_eq!(wrapped("abc def", 5), ["abc", "def"]);
        assert_eq!(wrapped("abc def", 3), ["abc", "def"]);
        assert_eq!(wrapped("", 5), [""]);
        assert_eq!(wrapped("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrapped("世界世", 1), ["世", "界", "世"]);
        assert_eq!(wrapped("   abcdef   ghi", 9), ["   abcdef", "ghi"]);
        assert_eq!(wrapped("          abcdefgh", 9), ["", "abcdefgh"]);
        assert_eq!(wrapped("one two three four five", 16), ["one two three", "  four five"]);
        for width in 0..30 {
            for line in wrapped("event 12, at 0.002831517 s, CPU 0, process /usr/bin/ls 世界", width) {
                assert!(columns_of(&line) <= width.max(2), "{width}: {line}");
            }
        }
    }
}
