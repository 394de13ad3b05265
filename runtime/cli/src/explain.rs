//! `tfbc explain`: prints the explanation of a diagnostic code.

use super::console::{CommandResult, Console, Failure, Message};
use clap::Args;
use tfbc_authoring::explanation::explanation;
use tfbc_vm::BlobError;

/// Flags of `tfbc explain`.
#[derive(Debug, Clone, Args)]
pub struct ExplainArgs {
    /// Code such as S07; without it, all codes are listed
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

/// Code, title and explanation.
type CodeRow = (&'static str, &'static str, &'static str);

impl ExplainArgs {
    /// Runs the command.
    pub fn run(&self, console: &Console) -> CommandResult {
        let Some(code) = &self.code else {
            let list = rows().map(|(code, title, _)| format!("{code}  {title}\n")).collect::<String>();
            return super::print(console, list, None);
        };
        let Some((code, title, text)) = rows().find(|(known, ..)| known.eq_ignore_ascii_case(code.trim())) else {
            let known: Vec<_> = rows().map(|(known, ..)| known).collect();
            let hint = tfbc_grammar::closest(&code.trim().to_ascii_uppercase(), &known);
            let hint = hint.map_or(String::new(), |known| format!("; did you mean `{known}`?"));
            let text = format!("no diagnostic has the code `{code}`{hint} (`tfbc explain` lists them)");
            return Err(Failure::Error(Message::Usage, text));
        };
        super::print(console, format!("{code}: {title}\n\n{}\n", explanation(text)), None)
    }
}

/// All codes.
pub fn codes() -> Vec<&'static str> {
    rows().map(|(code, ..)| code).collect()
}

fn rows() -> impl Iterator<Item = CodeRow> {
    sources().chain(BlobError::CODES.iter().copied())
}

fn sources() -> impl Iterator<Item = CodeRow> {
    let codes = tfbc_grammar::CODES.iter().chain(tfbc_compiler::CODES).chain(tfbc_authoring::cases::CODES);
    codes.map(|info| (info.code, info.title, info.explain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinguished() {
        let mut codes: Vec<_> = rows().map(|(code, ..)| code).collect();
        let n = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), n);
    }

    #[test]
    fn no_long_text_shows_its_markup() {
        for (code, title, text) in rows() {
            let text = explanation(text);
            assert!(!text.is_empty() && !title.is_empty(), "{code}");
            assert!(!text.contains("```") && !text.starts_with(' '), "{code}: {text}");
            let longest = text.lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(80), "{code}: {text}");
        }
    }
}
