//! Readers, which turn the bytes of a trace into events.

pub mod aix;
mod any;
pub mod files;
mod follow;
pub mod kev;
mod kind;
mod notice;
mod packed;
mod window;

pub use any::{AnyTrace, TraceError};
pub use kind::{System, TraceKind};
pub use notice::{Imbalance, Notice, RecordingGap, Tally};
pub(crate) use packed::unix_compress;
pub use packed::{Compression, MaxRatio, Unpacker};
pub(crate) use window::SharedBuf;
pub use window::{Input, ReadSeek};
