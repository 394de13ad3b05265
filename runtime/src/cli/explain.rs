//! `tfbc explain`: the long text of a diagnostic's code.

use super::console::{Ending, Failure, Message};
use clap::Args;
use tfbc_vm::BlobError;

/// Flags of `tfbc explain`.
#[derive(Debug, Clone, Args)]
pub struct ExplainArgs {
    /// A code such as S07; without it, all codes are listed
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

/// A code, its title and its long text.
type Row = (&'static str, &'static str, &'static str);

impl ExplainArgs {
    /// Runs the command.
    pub fn run(&self) -> Ending {
        let Some(code) = &self.code else {
            let list = rows().map(|(code, title, _)| format!("{code}  {title}\n")).collect::<String>();
            return super::print(list, None);
        };
        let Some((code, title, text)) = rows().find(|(known, ..)| known.eq_ignore_ascii_case(code.trim())) else {
            let text = format!("no diagnostic has the code `{code}` (`tfbc explain` lists them)");
            return Err(Failure::Say(Message::Usage, text));
        };
        super::print(format!("{code}: {title}\n\n{}\n", unindent(text)), None)
    }
}

fn rows() -> impl Iterator<Item = Row> {
    sources().chain(BlobError::CODES.iter().copied())
}

#[cfg(feature = "compiler")]
fn sources() -> impl Iterator<Item = Row> {
    let codes = tfbc_grammar::CODES.iter().chain(tfbc_compiler::CODES);
    codes.map(|info| (info.code, info.title, info.explain))
}

#[cfg(not(feature = "compiler"))]
fn sources() -> impl Iterator<Item = Row> {
    std::iter::empty()
}

/// A doc comment's lines begin with the blank behind the slashes.
fn unindent(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    lines.join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_told_apart() {
        let mut codes: Vec<_> = rows().map(|(code, ..)| code).collect();
        let n = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), n);
    }

    #[test]
    fn long_texts_begin_at_the_margin() {
        assert_eq!(unindent(" a\n   b\n\n c\n"), "a\n  b\n\nc");
    }
}
