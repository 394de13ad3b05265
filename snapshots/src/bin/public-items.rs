//! Compares the public items of the library `tfbc` with the accepted list, `snapshots/public-items.txt`.
//!
//! ```text
//! cargo doc -p tfbc --no-deps && cargo run -p tfbc-snapshots --bin public-items            fails if they differ
//! cargo doc -p tfbc --no-deps && cargo run -p tfbc-snapshots --bin public-items -- update  accepts them
//! ```
//!
//! The list comes from rustdoc's pages, so it contains what users see: declarations with their fields and variants, and
//! inherent methods. The hidden module `internal` and implementations of traits are left out.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let accepted_path = root.join("snapshots/public-items.txt");
    let found = match list(&target.join("doc/tfbc")) {
        Ok(found) => found,
        Err(error) => {
            eprintln!("cannot read rustdoc's pages ({error}); run `cargo doc -p tfbc --no-deps` first");
            return ExitCode::from(2);
        }
    };
    if std::env::args().nth(1).as_deref() == Some("update") {
        return match fs::write(&accepted_path, found) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("cannot write {}: {error}", accepted_path.display());
                ExitCode::from(2)
            }
        };
    }
    let accepted = fs::read_to_string(&accepted_path).unwrap_or_default();
    if accepted == found {
        println!("{} public items", found.lines().count());
        return ExitCode::SUCCESS;
    }
    let missing = |of: &str, from: &str, mark: char| {
        for line in of.lines().filter(|line| !from.lines().any(|other| other == *line)) {
            println!("{mark} {line}");
        }
    };
    missing(&accepted, &found, '-');
    missing(&found, &accepted, '+');
    println!("the public items of tfbc changed; the argument `update` accepts them");
    ExitCode::FAILURE
}

/// Public items, one per line: `path kind declaration`.
fn list(docs: &Path) -> std::io::Result<String> {
    let mut lines = Vec::new();
    for module in ["", "aix", "qnx", "traceprinter"] {
        for entry in fs::read_dir(docs.join(module))? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if let [_, item, "html"] = name.split('.').collect::<Vec<_>>()[..] {
                let prefix = [module, item].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("::");
                items(&fs::read_to_string(&path)?, &prefix, &mut lines);
            }
        }
    }
    lines.sort();
    lines.dedup();
    Ok(lines.join("\n") + "\n")
}

/// Adds the declaration, its fields and variants, and the inherent methods of one page.
fn items(page: &str, prefix: &str, lines: &mut Vec<String>) {
    let own = page.split("<h2 id=\"trait-implementations\"").next().unwrap_or_default();
    let own = own.split("<h2 id=\"synthetic-implementations\"").next().unwrap_or_default();
    if let Some(declaration) = between(own, "<pre class=\"rust item-decl\">", "</pre>") {
        let declaration = text(declaration);
        let first = declaration.split('{').next().unwrap_or_default();
        lines.push(format!("{prefix}: {}", first.trim()));
    }
    for section in own.split("id=\"").skip(1) {
        let Some((id, body)) = section.split_once('"') else { continue };
        let end = match id.split_once('.') {
            Some(("structfield", _)) => "</code>",
            Some(("variant", rest)) => {
                if rest.contains(".field.") {
                    "</code>"
                } else {
                    "</h3>"
                }
            }
            Some(("method" | "tymethod", _)) => "</h4>",
            _ => continue,
        };
        let body = body.split_once('>').map_or("", |(_, body)| body).split(end).next().unwrap_or_default();
        let body = text(body.rsplit("Source</a>").next().unwrap_or_default());
        lines.push(format!("{prefix}: {}", body.trim_matches(['§', 'ⓘ', ' '])));
    }
}

fn between<'p>(page: &'p str, start: &str, end: &str) -> Option<&'p str> {
    page.split_once(start)?.1.split(end).next()
}

/// Text of a piece of HTML, on one line.
fn text(html: &str) -> String {
    let mut out = String::new();
    for (at, piece) in html.split('<').enumerate() {
        out += if at == 0 { piece } else { piece.split_once('>').map_or("", |(_, text)| text) };
    }
    for (entity, character) in
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " "), ("&amp;", "&")]
    {
        out = out.replace(entity, character);
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}
