//! Review: each text that is not accepted is shown with what was, and someone decides.

use super::run::{CaseResult, Results, Verdict};
use super::snapshot;
use std::io::{self, BufRead, Write};
use tfbc::screen::visible;

/// What someone decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Accept,
    Reject,
    Skip,
    Quit,
}

/// How a review went, in cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reviewed {
    /// Texts that are accepted.
    pub accepted: usize,
    /// Texts that are not, and do not wait any more.
    pub rejected: usize,
    /// Texts that wait on.
    pub skipped: usize,
}

/// How a review looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReviewStyle {
    /// Whether there is colour.
    pub colour: bool,
    /// Whether answers are repeated: they come from a file or pipe, and are seen nowhere else.
    pub echo: bool,
}

/// Asks about every case whose text is not accepted. The end of `answers` leaves the rest undecided.
///
/// # Errors
/// A snapshot cannot be written, or nobody is there to ask.
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

/// Asks until there is an answer.
fn ask(answers: &mut impl BufRead, out: &mut impl Write, look: ReviewStyle) -> io::Result<Answer> {
    loop {
        write!(out, "(a)ccept, (r)eject, (s)kip or (q)uit? ")?;
        out.flush()?;
        let mut line = String::new();
        // Nobody answers with more.
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
