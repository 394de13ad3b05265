//! The coloured words that a client has, so that a change costs what it changes.

use super::shapes::Json;
use lsp_types::SemanticToken;
use std::collections::BTreeMap;

/// The last words of each file, by its key, with the number that they were sent by.
#[derive(Debug, Default)]
pub struct Sent {
    files: BTreeMap<String, (u64, Vec<SemanticToken>)>,
    n_sent: u64,
}

impl Sent {
    /// What tells the client of these words: all of them, or what is not as it was in the result that it names.
    pub fn send(&mut self, key: String, since: Option<&str>, words: Vec<SemanticToken>) -> String {
        self.n_sent += 1;
        let number = self.n_sent;
        let since = since.and_then(|since| since.parse::<u64>().ok());
        let before = self.files.get(&key).filter(|(number, _)| Some(*number) == since);
        let mut json = Json::default();
        match before {
            Some((_, old)) => json.result(number, "edits", |json| edit(json, old, &words)),
            None => json.result(number, "data", |json| json.words(&words)),
        }
        self.files.insert(key, (number, words));
        json.finish()
    }

    pub fn forget(&mut self, key: &str) {
        self.files.remove(key);
    }
}

/// Writes what makes `new` of `old`; nothing where they are the same. Places and counts are of numbers.
fn edit(json: &mut Json, old: &[SemanticToken], new: &[SemanticToken]) {
    let n_first = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[n_first..], &new[n_first..]);
    let n_last = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (gone, come) = (old.len() - n_last, &new[..new.len() - n_last]);
    let is_other = gone > 0 || !come.is_empty();
    json.list(is_other.then_some(come), |json, come| json.words_edit(5 * n_first, 5 * gone, come));
}
