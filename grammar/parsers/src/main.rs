//! Turns the grammars of `tfbc-grammar` into their parsers.
//!
//! Run `cargo run -p tfbc-parsers` after a change to a `.lalrpop` file. The parsers are committed, so that a build of
//! tfbc does not need the parser generator and its dependencies, which take a tenth of a first build. This package does
//! not use `tfbc-grammar`, so it runs even if that package does not compile. A test compares the committed parsers with
//! generated ones.
#![forbid(unsafe_code)]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// Grammars below `grammar/src` and the parsers below `grammar/src/generated`.
const PARSERS: [(&str, &str); 2] = [("trcfmt/grammar.lalrpop", "trcfmt.rs"), ("datakey/format.lalrpop", "datakey.rs")];

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../src")
}

/// Runs the generator. Returns the texts of the parsers in the order of [`PARSERS`].
fn generate() -> Result<Vec<String>, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    // Indentation and comments are half of the text.
    lalrpop::Configuration::new().emit_whitespace(false).set_in_dir(sources()).set_out_dir(folder.path()).process()?;
    let mut texts = Vec::new();
    for (grammar, _) in PARSERS {
        let parser = folder.path().join(grammar).with_extension("rs");
        texts.push(fs::read_to_string(&parser).map_err(|error| format!("{}: {error}", parser.display()))?);
    }
    Ok(texts)
}

fn main() -> Result<(), Box<dyn Error>> {
    for ((grammar, parser), text) in PARSERS.iter().zip(generate()?) {
        fs::write(sources().join("generated").join(parser), text)?;
        println!("grammar/src/generated/{parser} from {grammar}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_parsers_are_those_of_the_grammars() {
        for ((grammar, parser), text) in PARSERS.iter().zip(generate().unwrap()) {
            let committed = fs::read_to_string(sources().join("generated").join(parser)).unwrap_or_default();
            assert!(committed == text, "{grammar} has changed: run `cargo run -p tfbc-parsers`");
        }
    }
}
