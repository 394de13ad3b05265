//! Semantic tokens that the client has, so that an edit sends only the tokens that changed.

use super::json::Json;
use super::protocol::SemanticToken;
use std::collections::BTreeMap;

/// Last tokens sent per file, by key, with their result id.
#[derive(Debug, Default)]
pub struct Sent {
    files: BTreeMap<String, (u64, Vec<SemanticToken>)>,
    n_sent: u64,
}

impl Sent {
    /// JSON of the new tokens: all of them, or the difference to the result that the client names.
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

/// Writes the edit from `old` to `new`; nothing if they are equal. Positions and lengths count numbers, five per token.
fn edit(json: &mut Json, old: &[SemanticToken], new: &[SemanticToken]) {
    let n_first = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[n_first..], &new[n_first..]);
    let n_last = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (gone, come) = (old.len() - n_last, &new[..new.len() - n_last]);
    let is_other = gone > 0 || !come.is_empty();
    json.list(is_other.then_some(come), |json, come| json.words_edit(5 * n_first, 5 * gone, come));
}
