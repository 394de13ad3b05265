//! Built-in QNX events: their names, their arguments, and the programs that format them.
//!
//! The programs are compiled ahead into `built_in/`. Each is verified at its first use.

mod arguments;
mod built_in;
mod class;
mod columns;
mod flat;
mod printer;
mod programs;
#[cfg(test)]
pub(crate) mod samples;
pub mod spelling;
mod table;

pub use arguments::{Argument, ArgumentName, ArgumentPrinter, ArgumentValue, Arguments, text_of_words};
pub(crate) use built_in::is_interrupt;
pub use built_in::{BuiltInEvents, label};
pub use class::{class_name, display_id};
pub(crate) use columns::{EventColumns, WORDS};
pub(crate) use flat::{FlatArguments, ListIndex, fields_key};
pub use printer::EventPrinter;
pub use programs::LayoutPart;
pub(crate) use table::{N_IDS, argument_names};

/// Listing of all events and kernel calls, one per line: event, label, IDE label, releases, and the arguments of simple
/// and wide records.
pub static LISTING: &str = include_str!("../../built_in/events.txt");
