//! Prose is plain English: comments, messages and documents contain none of the words in `.ci/prose/words.txt`.
//!
//! `.ci/prose/finished.txt` lists the parts of the repository that are checked. `TFBC_PROSE=PATH` checks one file or
//! folder instead, such as a package that is not finished yet.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Lines of a file in `.ci/prose`, without comments and empty lines.
fn rows(name: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(".ci/prose").join(name)).unwrap();
    let is_row = |line: &&str| !line.is_empty() && !line.starts_with('#');
    text.lines().map(str::trim).filter(is_row).map(str::to_owned).collect()
}

/// Pairs of an avoided word and a better one.
fn word_list(name: &str) -> Vec<(String, String)> {
    let pair = |row: String| {
        let (word, better) = row.split_once(" -> ").unwrap_or_else(|| panic!("{name}: no ` -> ` in `{row}`"));
        (word.to_owned(), better.to_owned())
    };
    rows(name).into_iter().map(pair).collect()
}

/// Kind of prose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ProseKind {
    Document,
    DocComment,
    Comment,
    Message,
}

/// One line of prose in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Prose {
    kind: ProseKind,
    /// Counted from 1.
    line: usize,
    text: String,
}

/// Start of a table that a test generates from texts in the code.
const GENERATED: &str = "<!-- codes -->";

/// Returns the lines of a document outside of fences and generated tables, without inline code.
fn document(text: &str) -> Vec<Prose> {
    let (mut in_fence, mut in_generated) = (false, false);
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        in_generated = line == GENERATED || in_generated && !line.is_empty();
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        } else if !in_fence && !in_generated {
            found.push(Prose { kind: ProseKind::Document, line: index + 1, text: without_code(line) });
        }
    }
    found
}

/// Replaces inline code by blanks.
fn without_code(line: &str) -> String {
    let mut in_code = false;
    let kept = |c: char| {
        if c == '`' {
            in_code = !in_code;
        }
        if in_code || c == '`' { ' ' } else { c }
    };
    line.chars().map(kept).collect()
}

/// Returns the comments and string literals of a Rust file, line by line.
fn rust(text: &str) -> Vec<Prose> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut line = 1;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let (length, kind) = token(rest, before);
        let (token, tail) = rest.split_at(length);
        if let Some(kind) = kind {
            for (index, text) in token.lines().enumerate() {
                let text = text.trim_start().trim_start_matches(['/', '!', '*']);
                found.push(Prose { kind, line: line + index, text: without_code(text) });
            }
        }
        line += token.matches('\n').count();
        before = token.chars().next_back().unwrap_or(c);
        rest = tail;
    }
    found
}

/// Returns the length of the token at the start of a text, and its kind if it is prose.
fn token(text: &str, before: char) -> (usize, Option<ProseKind>) {
    let first = text.chars().next().map_or(1, char::len_utf8);
    if text.starts_with("//") {
        let is_doc = text.starts_with("//!") || text.starts_with("///") && !text.starts_with("////");
        let kind = if is_doc { ProseKind::DocComment } else { ProseKind::Comment };
        return (text.find('\n').unwrap_or(text.len()), Some(kind));
    }
    if text.starts_with("/*") {
        return (text.find("*/").map_or(text.len(), |end| end + 2), Some(ProseKind::Comment));
    }
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    if text.starts_with('r') && !is_name(before) || text.starts_with("br") && !is_name(before) {
        let marks = text.trim_start_matches('b').trim_start_matches('r');
        let n_hashes = marks.len() - marks.trim_start_matches('#').len();
        if marks[n_hashes..].starts_with('"') {
            let start = text.len() - marks.len() + n_hashes + 1;
            let close = format!("\"{}", "#".repeat(n_hashes));
            return (
                text[start..].find(&close).map_or(text.len(), |end| start + end + close.len()),
                Some(ProseKind::Message),
            );
        }
    }
    if text.starts_with('"') {
        let mut escaped = false;
        let end = text.char_indices().skip(1).find(|&(_, c)| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        return (end.map_or(text.len(), |(at, _)| at + 1), Some(ProseKind::Message));
    }
    if text.starts_with('\'') {
        // A character such as '"' or '\''; a lifetime has no second quote there.
        let mut chars = text.char_indices().skip(1);
        let end = match chars.next() {
            Some((_, '\\')) => text[3.min(text.len() - 1)..].find('\'').map(|end| end + 3),
            _ => chars.next().filter(|&(_, c)| c == '\'').map(|(at, _)| at),
        };
        return (end.map_or(1, |end| end + 1), None);
    }
    (first, None)
}

/// True if a text contains the given words as whole words, in any letter case.
fn has_words(text: &str, words: &str) -> bool {
    let text = text.to_lowercase();
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(&words.to_lowercase())
        .any(|(at, found)| !text[..at].ends_with(is_letter) && !text[at + found.len()..].starts_with(is_letter))
}

/// Returns the files below a path that contain prose, without build products.
fn files(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let mut entries: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for entry in entries {
            let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !name.starts_with('.') && !matches!(&*name, "target" | "node_modules") {
                files(&entry, found);
            }
        }
    } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "md") {
        found.push(path.to_owned());
    }
}

/// Text of an exception for a whole file, such as a generated page.
const WHOLE_FILE: &str = "*";

/// A word that should be another one.
struct Finding {
    file: String,
    line: usize,
    source: String,
    word: String,
    better: String,
}

fn findings(file: &str, text: &str) -> Vec<Finding> {
    let (words, first_words) = (word_list("words.txt"), word_list("first_words.txt"));
    let is_document = file.ends_with(".md");
    let lines: Vec<&str> = text.lines().collect();
    let prose = if is_document { document(text) } else { rust(text) };
    let is_test = file.contains("/tests/") || file.contains("/fuzz/");
    let mut found = Vec::new();
    let mut last_doc_line = None;
    for part in prose {
        // Strings in tests are inputs and expected outputs.
        if part.kind == ProseKind::Message && is_test {
            continue;
        }
        let mut push = |(word, better): &(String, String)| {
            found.push(Finding {
                file: file.to_owned(),
                line: part.line,
                source: lines[part.line - 1].trim().to_owned(),
                word: word.clone(),
                better: better.clone(),
            });
        };
        words.iter().filter(|(word, _)| has_words(&part.text, word)).for_each(&mut push);
        if part.kind == ProseKind::DocComment {
            if last_doc_line != Some(part.line - 1) {
                let text = part.text.trim_start();
                let begins = |word: &str| text.strip_prefix(word).is_some_and(|rest| rest.starts_with(' '));
                first_words.iter().filter(|(word, _)| begins(word)).for_each(&mut push);
            }
            last_doc_line = Some(part.line);
        }
    }
    found
}

#[test]
fn finished_parts_are_in_plain_english() {
    let one = std::env::var("TFBC_PROSE").ok();
    let parts = one.clone().map_or_else(|| rows("finished.txt"), |path| vec![path]);
    let exceptions: Vec<(String, String)> = rows("exceptions.txt")
        .into_iter()
        .map(|row| {
            let (place, reason) = row.rsplit_once(" | ").expect("an exception has a reason");
            assert!(!reason.trim().is_empty(), "{row}");
            let (file, text) = place.split_once(": ").expect("an exception has a file and a text");
            (file.to_owned(), text.to_owned())
        })
        .collect();
    let mut used = HashSet::new();
    let mut wrong = Vec::new();
    for part in parts {
        let path = root().join(&part);
        assert!(path.exists(), "finished.txt names {part}, which does not exist");
        let mut paths = Vec::new();
        files(&path, &mut paths);
        for path in paths {
            let file = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
            for found in findings(&file, &fs::read_to_string(&path).unwrap()) {
                let excuses = |(file, text): &(String, String)| {
                    *file == found.file && (text == WHOLE_FILE || found.source.contains(text))
                };
                if let Some(index) = exceptions.iter().position(excuses) {
                    used.insert(index);
                    continue;
                }
                let Finding { file, line, word, better, .. } = found;
                wrong.push(format!("{file}:{line}: {word} -> {better}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} findings:\n{}", wrong.len(), wrong.join("\n"));
    if one.is_none() {
        let must_excuse = exceptions.iter().enumerate().filter(|(_, (_, text))| text != WHOLE_FILE);
        let unused = must_excuse.filter(|(index, _)| !used.contains(index));
        let unused: Vec<_> = unused.map(|(_, (file, text))| format!("{file}: {text}")).collect();
        assert!(unused.is_empty(), "exceptions that excuse nothing:\n{}", unused.join("\n"));
    }
}

#[test]
fn comments_and_strings_are_distinguished_from_code() {
    let source = "/// Doc `code`.\nfn f<'a>() { let c = '\"'; // note\n let s = \"a \\\" b\"; let r = r#\"x\"y\"#; }\n";
    let found = rust(source);
    let found: Vec<_> = found.iter().map(|prose| (prose.kind, prose.line, prose.text.trim())).collect();
    assert_eq!(
        found,
        [
            (ProseKind::DocComment, 1, "Doc       ."),
            (ProseKind::Comment, 2, "note"),
            (ProseKind::Message, 3, "\"a \\\" b\""),
            (ProseKind::Message, 3, "r#\"x\"y\"#"),
        ]
    );
    let found = document("one `two`\n```sh\nthree\n```\nfour\n");
    let found: Vec<_> = found.iter().map(|prose| (prose.line, prose.text.trim())).collect();
    assert_eq!(found, [(1, "one"), (5, "four")]);
}

#[test]
fn words_are_found_whole() {
    assert!(has_words("The rest stands here", "stands"));
    assert!(has_words("Behind it", "behind"));
    assert!(!has_words("understands", "stands"));
    let found =
        findings("x/src/a.rs", "/// What it is.\n/// What else.\nfn f() {}\n// What for\n/// True.\nfn g() {}\n");
    assert_eq!(found.iter().map(|found| found.line).collect::<Vec<_>>(), [1]);
}

#[test]
fn lines_of_markdown_have_at_most_120_characters() {
    let mut paths = Vec::new();
    files(&root(), &mut paths);
    let mut long = Vec::new();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let text = fs::read_to_string(path).unwrap();
        let mut is_fenced = false;
        for (n, line) in text.lines().enumerate() {
            is_fenced ^= line.trim_start().starts_with("```");
            if !is_fenced && !line.trim_start().starts_with('|') && line.chars().count() > 120 {
                long.push(format!("{}:{}", path.strip_prefix(root()).unwrap().display(), n + 1));
            }
        }
    }
    assert!(long.is_empty(), "wrap these lines:\n{}", long.join("\n"));
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert!(architecture.lines().count() <= 150, "ARCHITECTURE.md has more than 150 lines");
}
