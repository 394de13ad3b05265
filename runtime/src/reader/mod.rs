//! Trace readers: bytes pushed in, events taken out.

pub mod aix;
pub mod kev;
mod notice;
mod window;

pub use notice::{Notice, Tally};
pub use window::Input;
