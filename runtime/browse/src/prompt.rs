//! Line in which a search, a filter, a time or a number is typed.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Meaning of a typed line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Regular expression to search forward.
    Search,
    /// Flags of `tfbc report` that select events, or a pattern.
    Filter,
    /// Seconds since the start of the trace.
    Time,
    /// Number of a row.
    Row,
}

/// Line that is being typed.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// Meaning.
    pub purpose: Purpose,
    letters: Vec<char>,
    cursor: usize,
    /// Lines that were typed before, and the one of them that is shown.
    history: Vec<String>,
    recalled: usize,
}

/// Result of a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    /// The line is not complete.
    More,
    /// The line is complete.
    Line(String),
    /// The line was given up.
    Nothing,
}

impl Prompt {
    /// Begins a line with some text.
    pub fn new(purpose: Purpose, text: &str, history: Vec<String>) -> Self {
        let letters: Vec<char> = text.chars().collect();
        Self { purpose, cursor: letters.len(), letters, recalled: history.len(), history }
    }

    /// Text before the line.
    pub fn label(&self) -> &'static str {
        match self.purpose {
            Purpose::Search => "/",
            Purpose::Filter => "filter: ",
            Purpose::Time => "time in seconds: ",
            Purpose::Row => ":",
        }
    }

    /// Line so far.
    pub fn text(&self) -> String {
        self.letters.iter().collect()
    }

    /// Text before the cursor.
    pub fn before_cursor(&self) -> String {
        self.letters[..self.cursor].iter().collect()
    }

    /// Inserts a pasted text.
    pub fn paste(&mut self, text: &str) {
        text.chars().filter(|letter| !letter.is_control()).for_each(|letter| self.insert(letter));
    }

    fn insert(&mut self, letter: char) {
        self.letters.insert(self.cursor, letter);
        self.cursor += 1;
    }

    fn recall(&mut self, at: usize) {
        self.recalled = at.min(self.history.len());
        self.letters = self.history.get(self.recalled).map_or(Vec::new(), |line| line.chars().collect());
        self.cursor = self.letters.len();
    }

    /// Edits the line by a key.
    pub fn key(&mut self, key: KeyEvent) -> Typed {
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Enter => return Typed::Line(self.text()),
            KeyCode::Esc => return Typed::Nothing,
            KeyCode::Char('c' | 'g') if has_control => return Typed::Nothing,
            KeyCode::Char('u') if has_control => drop(self.letters.drain(..std::mem::take(&mut self.cursor))),
            KeyCode::Char('k') if has_control => self.letters.truncate(self.cursor),
            KeyCode::Char('a') if has_control => self.cursor = 0,
            KeyCode::Char('e') if has_control => self.cursor = self.letters.len(),
            KeyCode::Char('w') if has_control => {
                let before = &self.letters[..self.cursor];
                let end = before.iter().rposition(|letter| *letter != ' ').map_or(0, |at| at + 1);
                let start = before[..end].iter().rposition(|letter| *letter == ' ').map_or(0, |at| at + 1);
                self.letters.drain(start..self.cursor);
                self.cursor = start;
            }
            KeyCode::Char(letter) if !has_control => self.insert(letter),
            // An empty line ends the prompt, as in less.
            KeyCode::Backspace if self.letters.is_empty() => return Typed::Nothing,
            KeyCode::Backspace if self.cursor > 0 => {
                self.cursor -= 1;
                self.letters.remove(self.cursor);
            }
            KeyCode::Delete if self.cursor < self.letters.len() => drop(self.letters.remove(self.cursor)),
            KeyCode::Left => self.cursor = self.cursor.saturating_sub(1),
            KeyCode::Right => self.cursor = (self.cursor + 1).min(self.letters.len()),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.letters.len(),
            KeyCode::Up => self.recall(self.recalled.saturating_sub(1)),
            KeyCode::Down => self.recall(self.recalled + 1),
            _ => {}
        }
        Typed::More
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(prompt: &mut Prompt, keys: &[(KeyCode, KeyModifiers)]) {
        for (code, modifiers) in keys {
            assert_eq!(prompt.key(KeyEvent::new(*code, *modifiers)), Typed::More);
        }
    }

    #[test]
    fn a_line_is_edited() {
        let (plain, control) = (KeyModifiers::NONE, KeyModifiers::CONTROL);
        let mut prompt = Prompt::new(Purpose::Filter, "one two", vec![String::from("old")]);
        typed(&mut prompt, &[(KeyCode::Char('w'), control), (KeyCode::Char('é'), plain), (KeyCode::Left, plain)]);
        typed(&mut prompt, &[(KeyCode::Backspace, plain), (KeyCode::Char('-'), plain)]);
        assert_eq!((prompt.text().as_str(), prompt.before_cursor().as_str()), ("one-é", "one-"));
        typed(&mut prompt, &[(KeyCode::Up, plain)]);
        assert_eq!(prompt.text(), "old");
        typed(&mut prompt, &[(KeyCode::Char('u'), control)]);
        assert_eq!(prompt.key(KeyEvent::new(KeyCode::Backspace, plain)), Typed::Nothing);
        prompt.paste("a\x1bb\n");
        assert_eq!(prompt.key(KeyEvent::new(KeyCode::Enter, plain)), Typed::Line(String::from("ab")));
    }
}
