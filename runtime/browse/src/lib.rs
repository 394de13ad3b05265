//! Reports as a list on a terminal.
//!
//! ```text
//! trace ─Reader, in a thread─> Store: pages in a temporary file ─> App ─draw─> screen
//!                                                     keys, mouse ─┘
//! ```
//!
//! The list appears with the first events, while the rest is read. Rows are kept in compressed pages of a temporary
//! file, so memory does not grow with the trace, and scrolling back is a look-up. A filter reads the trace again.
#![forbid(unsafe_code)]

mod app;
mod draw;
mod prompt;
mod reader;
mod row;
mod screen;
mod store;

pub use reader::Opened;
pub use row::{Row, RowKind, dump};
pub use store::{Facts, Reading};

use app::App;
use screen::Screen;
use std::io;
use std::sync::Arc;
use tfbc::Formats;

/// Opens the trace with a filter: the flags of `tfbc report`, or empty for the one of the command line. The error is a
/// message.
pub type Open<'a> = dyn Fn(&str) -> Result<Opened, String> + 'a;
/// Describes the chosen event: bytes, fields and template.
pub type Describe<'a> = dyn Fn(&Row) -> String + 'a;

/// Settings of a list.
#[derive(Debug)]
pub struct Settings {
    /// Name of the trace.
    pub title: String,
    /// Format files.
    pub formats: Arc<Formats>,
    /// Limit on the temporary file, in bytes.
    pub max_bytes: u64,
    /// True if the screen has colours.
    pub has_colour: bool,
}

/// Result of a list.
#[derive(Debug)]
pub struct Ended {
    /// Facts about the last reading.
    pub facts: Facts,
    /// Signal that ended the program.
    pub signal: Option<i32>,
}

/// Shows a trace on the terminal until the user ends it. The terminal is restored, also after a panic.
///
/// # Errors
/// The terminal or the temporary file cannot be used.
pub fn browse(settings: Settings, first: Opened, open: &Open<'_>, describe: &Describe<'_>) -> io::Result<Ended> {
    let mut app = App::new(settings, first, open, describe)?;
    let mut screen = Screen::enter()?;
    let signal = screen.run(&mut app)?;
    Ok(Ended { facts: app.facts(), signal })
}
