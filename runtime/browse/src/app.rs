//! State of the list, and what keys do.

use super::prompt::{Prompt, Purpose, Typed};
use super::reader::{Opened, Reader};
use super::row::{Row, hex, seconds};
use super::store::{Facts, Page, Reading};
use super::{Describe, Open, Settings};
use ratatui::crossterm::event::{
    KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use ratatui::layout::Rect;
use regex::{Regex, RegexBuilder};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Number of decompressed pages in memory.
const N_PAGES: usize = 8;
/// Time for a search before the keys are looked at again.
const BUDGET: Duration = Duration::from_millis(30);
/// Limit on copied text, in bytes: some terminals ignore longer ones.
const MAX_COPY: usize = 64 << 10;

/// Work of the screen that a key asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// End the list.
    Quit,
    /// Draw everything again.
    Redraw,
    /// Copy a text to the clipboard.
    Copy(String),
    /// Stop the program until the shell continues it.
    Suspend,
}

/// Work that waits for rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Task {
    /// Search from a row on.
    Search { row: u64, is_forward: bool },
    /// Choose the first event at or after a time.
    Time(i64),
    /// Choose a row.
    Row(u64),
    /// Choose the last row of the trace.
    End,
}

/// Key that waits for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pending {
    Mark,
    GoToMark,
    Z,
}

/// State of the list.
pub struct App<'a> {
    pub(crate) settings: Settings,
    open: &'a Open<'a>,
    describe: &'a Describe<'a>,
    reader: Reader,
    pages: VecDeque<(usize, Rc<Page>)>,
    /// First row on the screen, and the chosen one.
    pub(crate) top: u64,
    pub(crate) chosen: u64,
    /// Area of the list in the last picture.
    pub(crate) list: Rect,
    /// First column of the texts on the screen.
    pub(crate) left: usize,
    pub(crate) shows_details: bool,
    pub(crate) details_top: u16,
    /// Description of a row.
    details: Option<(u64, Rc<str>)>,
    pub(crate) prompt: Option<Prompt>,
    pub(crate) shows_keys: bool,
    pub(crate) search: Option<Regex>,
    pub(crate) task: Option<Task>,
    pub(crate) message: String,
    pub(crate) filter: String,
    history: HashMap<&'static str, Vec<String>>,
    count: Option<u64>,
    pending: Option<Pending>,
    marks: HashMap<char, u64>,
    action: Option<Action>,
}

impl<'a> App<'a> {
    /// Starts to read an opened trace.
    pub fn new(settings: Settings, first: Opened, open: &'a Open<'a>, describe: &'a Describe<'a>) -> io::Result<Self> {
        let reader = Reader::start(first, settings.formats.clone(), settings.max_bytes)?;
        Ok(Self {
            settings,
            open,
            describe,
            reader,
            pages: VecDeque::new(),
            top: 0,
            chosen: 0,
            list: Rect::default(),
            left: 0,
            shows_details: false,
            details_top: 0,
            details: None,
            prompt: None,
            shows_keys: false,
            search: None,
            task: None,
            message: String::new(),
            filter: String::new(),
            history: HashMap::new(),
            count: None,
            pending: None,
            marks: HashMap::new(),
            action: None,
        })
    }

    /// Facts about what was read so far.
    pub fn facts(&self) -> Facts {
        self.reader.facts()
    }

    /// Takes the action that the last key asked for.
    pub fn take_action(&mut self) -> Option<Action> {
        self.action.take()
    }

    /// True if a key asked for an action.
    pub fn has_action(&self) -> bool {
        self.action.is_some()
    }

    // Rows.

    fn page(&mut self, at: usize) -> Rc<Page> {
        if let Some(found) = self.pages.iter().position(|(page, _)| *page == at) {
            let page = self.pages.remove(found);
            self.pages.extend(page);
        } else {
            let page = self.reader.store().page(at).unwrap_or_else(|error| {
                self.message = format!("cannot read the temporary file: {error}");
                Page::default()
            });
            self.pages.push_back((at, Rc::new(page)));
            if self.pages.len() > N_PAGES {
                self.pages.pop_front();
            }
        }
        self.pages.back().map(|(_, page)| page.clone()).unwrap_or_default()
    }

    /// Rows from one on, at most `n`.
    pub(crate) fn rows(&mut self, from: u64, n: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        while rows.len() < n {
            let Some(at) = self.reader.store().page_of(from + rows.len() as u64) else { break };
            let page = self.page(at);
            let skipped = (from + rows.len() as u64 - page.first_row) as usize;
            let found = page.rows.iter().skip(skipped).take(n - rows.len());
            let before = rows.len();
            rows.extend(found.cloned());
            if rows.len() == before {
                break;
            }
        }
        rows
    }

    /// The chosen row.
    pub(crate) fn row(&mut self) -> Option<Row> {
        self.rows(self.chosen, 1).pop()
    }

    /// Description of the chosen row.
    pub(crate) fn details(&mut self) -> Rc<str> {
        if let Some((row, text)) = &self.details
            && *row == self.chosen
        {
            return text.clone();
        }
        let Some(row) = self.row() else { return Rc::from("") };
        let text = match row.is_event() {
            true => Rc::from((self.describe)(&row)),
            false => Rc::from(row.text),
        };
        (self.details, self.details_top) = (Some((self.chosen, text)), 0);
        self.details.as_ref().map(|(_, text)| text.clone()).unwrap_or_else(|| Rc::from(""))
    }

    // Work that takes longer than a key.

    /// True if a search has more rows to look at, so that it continues without waiting.
    pub fn is_searching(&self) -> bool {
        let n_rows = self.facts().n_rows;
        matches!(self.task, Some(Task::Search { row, .. }) if row < n_rows)
    }

    /// Continues the task. Returns true if the screen may change without a key.
    pub fn work(&mut self) -> bool {
        let is_reading = self.facts().reading == Reading::Active;
        if let Some(task) = self.task {
            let is_done = match task {
                Task::Search { row, is_forward } => self.search_on(row, is_forward),
                Task::Time(ns) => self.go_to_time(ns),
                Task::Row(row) => self.go_to_row(row),
                Task::End => {
                    self.choose(self.facts().n_rows.saturating_sub(1));
                    self.facts().reading != Reading::Active
                }
            };
            if is_done {
                self.task = None;
            }
        }
        is_reading || self.task.is_some()
    }

    fn search_on(&mut self, mut row: u64, is_forward: bool) -> bool {
        let (Some(search), begun) = (self.search.clone(), Instant::now()) else { return true };
        loop {
            let Some(at) = self.reader.store().page_of(row) else {
                self.task = Some(Task::Search { row, is_forward });
                let is_complete = self.facts().reading != Reading::Active;
                if is_complete {
                    self.message = String::from("no match up to the end");
                }
                return is_complete;
            };
            let page = self.page(at);
            let skipped = (row - page.first_row) as usize;
            let is_match = |row: &Row| is_found(&search, row);
            let found = match is_forward {
                true => page.rows.iter().skip(skipped).position(is_match).map(|at| at + skipped),
                false => page.rows.iter().take(skipped + 1).rposition(is_match),
            };
            if let Some(found) = found {
                self.leave();
                self.choose(page.first_row + found as u64);
                return true;
            }
            match is_forward {
                true => row = page.first_row + page.rows.len().max(1) as u64,
                false if page.first_row == 0 => {
                    self.message = String::from("no match up to the start");
                    return true;
                }
                false => row = page.first_row - 1,
            }
            if begun.elapsed() > BUDGET {
                self.task = Some(Task::Search { row, is_forward });
                return false;
            }
        }
    }

    fn go_to_time(&mut self, ns: i64) -> bool {
        let is_complete = self.facts().reading != Reading::Active;
        let Some(at) = self.reader.store().page_at(ns) else {
            if is_complete {
                let facts = self.facts();
                self.choose(facts.n_rows.saturating_sub(1));
                let last =
                    facts.last_ns.map_or(String::from("has no times"), |ns| format!("ends at {} s", seconds(ns)));
                self.message = format!("the list {last}");
            }
            return is_complete;
        };
        let page = self.page(at);
        let found = page.rows.iter().position(|row| row.time_ns.is_some_and(|time| time >= ns)).unwrap_or(0);
        self.choose(page.first_row + found as u64);
        true
    }

    fn go_to_row(&mut self, row: u64) -> bool {
        let facts = self.facts();
        let is_there = row < facts.n_rows;
        if is_there || facts.reading != Reading::Active {
            self.choose(row.min(facts.n_rows.saturating_sub(1)));
            return true;
        }
        false
    }

    // Movement.

    /// Number of rows on the screen.
    fn height(&self) -> u64 {
        u64::from(self.list.height).max(1)
    }

    /// Chooses a row, and scrolls so that it is on the screen.
    fn choose(&mut self, row: u64) {
        self.chosen = row.min(self.facts().n_rows.saturating_sub(1));
        self.settle();
    }

    /// Scrolls so that the chosen row is on the screen.
    pub(crate) fn settle(&mut self) {
        let height = self.height();
        let last_top = self.facts().n_rows.saturating_sub(height);
        if self.chosen < self.top || self.chosen >= self.top + height {
            // A row that is far away appears in the middle, with its surroundings.
            let is_near = self.chosen + height >= self.top && self.chosen < self.top + 2 * height;
            self.top = match is_near {
                true if self.chosen < self.top => self.chosen,
                true => self.chosen + 1 - height,
                false => self.chosen.saturating_sub(height / 2),
            };
        }
        self.top = self.top.min(last_top);
    }

    fn scroll(&mut self, by: i64) {
        let last_top = self.facts().n_rows.saturating_sub(self.height());
        self.top = self.top.saturating_add_signed(by).min(last_top);
        self.chosen = self.chosen.clamp(self.top, (self.top + self.height() - 1).max(self.top));
        self.choose(self.chosen);
    }

    fn step(&mut self, by: i64) {
        self.choose(self.chosen.saturating_add_signed(by));
    }

    /// Moves by pages: the picture moves by as many rows as the choice.
    fn page_by(&mut self, by: i64) {
        let last_top = self.facts().n_rows.saturating_sub(self.height());
        self.top = self.top.saturating_add_signed(by).min(last_top);
        self.step(by);
    }

    /// Remembers the place before a jump, for `''`.
    fn leave(&mut self) {
        self.marks.insert('\'', self.chosen);
    }

    fn jump(&mut self, task: Task) {
        self.leave();
        self.task = Some(task);
        self.work();
    }

    fn next_match(&mut self, is_forward: bool) {
        if self.search.is_none() {
            self.message = String::from("nothing was searched yet: / searches");
            return;
        }
        let row = if is_forward { Some(self.chosen + 1) } else { self.chosen.checked_sub(1) };
        match row {
            Some(row) => {
                self.task = Some(Task::Search { row, is_forward });
                self.work();
            }
            None => self.message = String::from("no match up to the start"),
        }
    }

    fn next_damage(&mut self, is_forward: bool) {
        let start = self.reader.store().page_of(self.chosen);
        let mut at = start;
        while let Some(found) = at.and_then(|at| self.reader.store().damaged_page(at, is_forward)) {
            let page = self.page(found);
            let numbered = page.rows.iter().enumerate().map(|(at, row)| (page.first_row + at as u64, row));
            let mut rows = numbered.filter(|(_, row)| !row.is_event()).map(|(number, _)| number);
            let row = match is_forward {
                true => rows.find(|row| *row > self.chosen),
                false => rows.rfind(|row| *row < self.chosen),
            };
            if let Some(row) = row {
                self.leave();
                return self.choose(row);
            }
            at = if is_forward { Some(found + 1) } else { found.checked_sub(1) };
        }
        self.message =
            String::from(if is_forward { "no damage or gap after this" } else { "no damage or gap before this" });
    }

    // Filters.

    /// Reads the trace again with another filter.
    fn set_filter(&mut self, filter: &str) {
        let time = self.row().and_then(|row| row.time_ns);
        let opened = match (self.open)(filter) {
            Ok(opened) => opened,
            Err(message) => {
                self.message = message;
                return;
            }
        };
        match Reader::start(opened, self.settings.formats.clone(), self.settings.max_bytes) {
            Ok(reader) => self.reader = reader,
            Err(error) => {
                self.message = format!("cannot read the trace again: {error}");
                return;
            }
        }
        self.filter = filter.to_owned();
        self.pages.clear();
        self.marks.clear();
        (self.top, self.chosen, self.details) = (0, 0, None);
        self.task = time.map(Task::Time);
    }

    /// Adds a condition of the chosen event to the filter.
    fn narrow(&mut self, flag: impl Fn(&Row) -> Option<String>) {
        match self.row().filter(Row::is_event).and_then(|row| flag(&row)) {
            Some(flag) if self.filter.contains(&flag) => self.message = format!("the filter already has {flag}"),
            Some(flag) => {
                let filter = format!("{} {flag}", self.filter);
                self.set_filter(filter.trim());
            }
            None => self.message = String::from("the chosen row does not have this property"),
        }
    }

    // Keys.

    fn ask(&mut self, purpose: Purpose, text: &str) {
        let mut prompt = Prompt::new(purpose, text, Vec::new());
        let history = self.history.get(prompt.label()).cloned().unwrap_or_default();
        prompt = Prompt::new(purpose, text, history);
        self.prompt = Some(prompt);
    }

    /// Uses a pasted text.
    pub fn paste(&mut self, text: &str) {
        if let Some(prompt) = &mut self.prompt {
            prompt.paste(text);
        }
    }

    fn typed(&mut self, purpose: Purpose, label: &'static str, line: &str) {
        let line = line.trim();
        if !line.is_empty() {
            let history = self.history.entry(label).or_default();
            history.retain(|old| old != line);
            history.push(line.to_owned());
        }
        match purpose {
            Purpose::Search => {
                // An empty line repeats the last search, as in less.
                if !line.is_empty() {
                    match pattern(line) {
                        Ok(search) => self.search = Some(search),
                        Err(message) => {
                            self.message = message;
                            return;
                        }
                    }
                }
                self.next_match(true);
            }
            Purpose::Filter => self.set_filter(line),
            Purpose::Time => match line.trim_end_matches('s').trim().parse::<f64>() {
                Ok(time) if time.is_finite() => self.jump(Task::Time((time * 1e9).round() as i64)),
                _ if line.is_empty() => {}
                _ => self.message = format!("`{line}` is not a time: expected seconds such as 12.5"),
            },
            Purpose::Row => match line.parse::<u64>() {
                Ok(row) => self.jump(Task::Row(row.saturating_sub(1))),
                _ if matches!(line, "q" | "q!" | "quit") => self.action = Some(Action::Quit),
                _ if line.is_empty() => {}
                _ => self.message = format!("`{line}` is not a row: expected a number"),
            },
        }
    }

    /// Acts on a key.
    pub fn key(&mut self, key: KeyEvent) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        self.message.clear();
        if let Some(prompt) = &mut self.prompt {
            let (purpose, label) = (prompt.purpose, prompt.label());
            match prompt.key(key) {
                Typed::More => {}
                Typed::Nothing => self.prompt = None,
                Typed::Line(line) => {
                    self.prompt = None;
                    self.typed(purpose, label, &line);
                }
            }
            return;
        }
        // Any key ends what waits for rows.
        self.task = None;
        if let Some(pending) = self.pending.take() {
            return self.second_key(pending, key.code);
        }
        if self.shows_keys {
            self.shows_keys = false;
            return;
        }
        let count = self.count.take();
        let n = count.unwrap_or(1) as i64;
        let (height, half) = (self.height() as i64, (self.height() as i64 / 2).max(1));
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char(letter) if has_control => match letter {
                'c' => self.action = Some(Action::Quit),
                'z' => self.action = Some(Action::Suspend),
                'l' => self.action = Some(Action::Redraw),
                'f' | 'v' => self.page_by(n * height),
                'b' => self.page_by(-n * height),
                'd' => self.page_by(n * half),
                'u' => self.page_by(-n * half),
                'e' | 'n' => self.step(n),
                'y' | 'p' => self.step(-n),
                _ => {}
            },
            KeyCode::Char(digit @ '0'..='9') if count.is_some() || digit != '0' => {
                let digit = u64::from(digit) - u64::from('0');
                self.count = Some(count.unwrap_or(0).saturating_mul(10).saturating_add(digit).min(1 << 53));
            }
            KeyCode::Char('q' | 'Q') => self.action = Some(Action::Quit),
            KeyCode::Char('Z') => self.pending = Some(Pending::Z),
            KeyCode::Char('j') | KeyCode::Down => self.step(n),
            KeyCode::Char('k') | KeyCode::Up => self.step(-n),
            KeyCode::Char(' ' | 'f') | KeyCode::PageDown => self.page_by(n * height),
            KeyCode::Char('b') | KeyCode::PageUp => self.page_by(-n * height),
            KeyCode::Char('d') => self.page_by(n * half),
            KeyCode::Char('u') => self.page_by(-n * half),
            KeyCode::Char('g' | '<') | KeyCode::Home => self.jump(Task::Row(count.unwrap_or(1).saturating_sub(1))),
            KeyCode::Char('G' | '>') | KeyCode::End => match count {
                Some(row) => self.jump(Task::Row(row.saturating_sub(1))),
                None => self.jump(Task::End),
            },
            KeyCode::Char('%') => {
                let n_rows = self.facts().n_rows;
                self.jump(Task::Row(((u128::from(n_rows) * u128::from(count.unwrap_or(0).min(100))) / 100) as u64));
            }
            KeyCode::Char('h') | KeyCode::Left => self.left = self.left.saturating_sub(8),
            KeyCode::Char('l') | KeyCode::Right => self.left = (self.left + 8).min(1 << 16),
            KeyCode::Char('0' | '^') => self.left = 0,
            KeyCode::Char('/') => self.ask(Purpose::Search, ""),
            KeyCode::Char('n') => self.next_match(true),
            KeyCode::Char('N') => self.next_match(false),
            KeyCode::Char('&') => self.ask(Purpose::Filter, &self.filter.clone()),
            KeyCode::Char('t') => self.ask(Purpose::Time, ""),
            KeyCode::Char(':') => self.ask(Purpose::Row, ""),
            KeyCode::Char('i') => self.narrow(|row| Some(format!("--only {}", row.id_name()))),
            KeyCode::Char('p') => self.narrow(|row| row.pid.map(|pid| format!("--pid {pid}"))),
            KeyCode::Char('c') => self.narrow(|row| row.cpu.map(|cpu| format!("--cpu {cpu}"))),
            KeyCode::Char('x') => self.set_filter(""),
            KeyCode::Char(']') => self.next_damage(true),
            KeyCode::Char('[') => self.next_damage(false),
            KeyCode::Char('m') => self.pending = Some(Pending::Mark),
            KeyCode::Char('\'' | '`') => self.pending = Some(Pending::GoToMark),
            KeyCode::Char('y') => self.copy(|row| row.text.clone(), "text"),
            KeyCode::Char('Y') => self.copy(|row| hex(&row.bytes), "bytes"),
            KeyCode::Enter | KeyCode::Tab => {
                (self.shows_details, self.details_top) = (!self.shows_details, 0);
            }
            KeyCode::Esc => self.shows_details = false,
            KeyCode::Char('J') => self.details_top = self.details_top.saturating_add(n as u16),
            KeyCode::Char('K') => self.details_top = self.details_top.saturating_sub(n as u16),
            KeyCode::Char('?' | 'H') | KeyCode::F(1) => self.shows_keys = true,
            KeyCode::Char('r' | 'R') => self.action = Some(Action::Redraw),
            _ => {}
        }
    }

    fn second_key(&mut self, pending: Pending, key: KeyCode) {
        match (pending, key) {
            (Pending::Z, KeyCode::Char('Z' | 'Q')) => self.action = Some(Action::Quit),
            (Pending::Mark, KeyCode::Char(mark @ 'a'..='z')) => {
                self.marks.insert(mark, self.chosen);
                self.message = format!("mark {mark} is set");
            }
            (Pending::GoToMark, KeyCode::Char(mark)) => match self.marks.get(&if mark == '`' { '\'' } else { mark }) {
                Some(row) => self.jump(Task::Row(*row)),
                None => self.message = format!("there is no mark {mark}: m{mark} sets it"),
            },
            _ => {}
        }
    }

    fn copy(&mut self, text: impl Fn(&Row) -> String, what: &str) {
        let Some(row) = self.row() else { return };
        let mut text = text(&row);
        if text.len() > MAX_COPY {
            let end = (0..=MAX_COPY).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            text.truncate(end);
        }
        self.message = format!("copied the {what}: {} bytes", text.len());
        self.action = Some(Action::Copy(text));
    }

    /// Acts on the mouse.
    pub fn mouse(&mut self, mouse: MouseEvent) {
        let in_list = self.list.contains((mouse.column, mouse.row).into());
        match mouse.kind {
            MouseEventKind::ScrollDown if in_list => self.scroll(3),
            MouseEventKind::ScrollUp if in_list => self.scroll(-3),
            MouseEventKind::ScrollDown => self.details_top = self.details_top.saturating_add(3),
            MouseEventKind::ScrollUp => self.details_top = self.details_top.saturating_sub(3),
            MouseEventKind::Down(MouseButton::Left) if in_list && self.prompt.is_none() => {
                let row = self.top + u64::from(mouse.row - self.list.y);
                if row < self.facts().n_rows {
                    // A click on the chosen row shows its details.
                    self.shows_details ^= row == self.chosen;
                    self.choose(row);
                }
            }
            _ => {}
        }
    }
}

/// True if a search matches the text of a row, its process, id or label.
fn is_found(search: &Regex, row: &Row) -> bool {
    search.is_match(&row.text)
        || search.is_match(&row.process)
        || search.is_match(&row.label)
        || (row.is_event() && search.is_match(&row.id_name()))
}

/// Pattern of a search. Lower case matches both cases.
fn pattern(text: &str) -> Result<Regex, String> {
    let is_lower = !text.chars().any(char::is_uppercase);
    let built = RegexBuilder::new(text).case_insensitive(is_lower).build();
    built.map_err(|_| format!("`{text}` is not a regular expression"))
}
