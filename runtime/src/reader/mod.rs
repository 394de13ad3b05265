//! Trace readers: bytes pushed in, events taken out.

pub mod aix;
mod any;
mod follow;
pub mod kev;
mod notice;
mod packed;
mod window;

pub use any::{AnyTrace, System, TraceError, TraceKind};
pub use follow::Follower;
pub use notice::{Imbalance, Notice, Tally};
pub use packed::{Compression, MaxRatio, Unpacker};
pub(crate) use window::Taken;
pub use window::{Input, Packing, ReadSeek};
