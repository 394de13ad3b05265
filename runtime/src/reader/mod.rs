//! Trace readers: bytes pushed in, events taken out.

pub mod aix;
