//! Interactive review: shows each changed text next to the accepted one, and asks for a decision.

use super::run::{CaseResult, Results, Verdict};
use super::snapshot;
use std::io::{self, BufRead, Write};
use tfbc::internal::terminal::visible;

/// The reviewer's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Accept,
    Reject,
    Skip,
    Quit,
}

/// Number of cases per decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reviewed {
    /// Accepted texts.
    pub accepted: usize,
    /// Rejected texts; their pending snapshots are removed.
    pub rejected: usize,
    /// Texts without a decision; they stay pending.
    pub skipped: usize,
}

/// Output style of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReviewStyle {
    /// True if the output has colours.
    pub colour: bool,
    /// True if answers are printed: they come from a file or pipe, so the terminal does not show them.
    pub echo: bool,
}

/// Asks about every case whose text is not accepted. If `answers` ends, the remaining cases stay pending.
///
/// # Errors
/// A snapshot cannot be written, or the answers cannot be read.
pub fn review(
    results: &mut Results,
    answers: &mut impl BufRead,
    out: &mut impl Write,
    look: ReviewStyle,
) -> io::Result<Reviewed> {
    let mut reviewed = Reviewed::default();
    let open = |case: &&mut CaseResult| matches!(case.verdict, Verdict::Changed | Verdict::New);
    let n = results.cases.iter_mut().filter(open).count();
    let mut ended = false;
    for (at, case) in results.cases.iter_mut().filter(open).enumerate() {
        if ended {
            reviewed.skipped += 1;
            continue;
        }
        writeln!(
            out,
            "{} of {n}: {} ({})\n{}",
            at + 1,
            case.path.display(),
            case.verdict.word(),
            case.diff(look.colour)
        )?;
        match ask(answers, out, look)? {
            Answer::Accept => {
                case.accept()?;
                reviewed.accepted += 1;
            }
            Answer::Reject => {
                snapshot::remove(&case.places.pending)?;
                reviewed.rejected += 1;
            }
            Answer::Skip => {
                case.write_pending()?;
                reviewed.skipped += 1;
            }
            Answer::Quit => {
                ended = true;
                reviewed.skipped += 1;
            }
        }
    }
    Ok(reviewed)
}

/// Asks until the answer is valid.
fn ask(answers: &mut impl BufRead, out: &mut impl Write, look: ReviewStyle) -> io::Result<Answer> {
    loop {
        write!(out, "(a)ccept, (r)eject, (s)kip or (q)uit? ")?;
        out.flush()?;
        let mut line = String::new();
        // Limits the memory that one answer can take.
        let n = io::Read::take(&mut *answers, 1 << 16).read_line(&mut line)?;
        if n == 0 {
            writeln!(out)?;
            return Ok(Answer::Quit);
        }
        if look.echo {
            writeln!(out, "{}", visible(line.trim()))?;
        }
        match line.trim() {
            "a" | "accept" => return Ok(Answer::Accept),
            "r" | "reject" => return Ok(Answer::Reject),
            "s" | "skip" => return Ok(Answer::Skip),
            "q" | "quit" => return Ok(Answer::Quit),
            _ => {}
        }
    }
}
