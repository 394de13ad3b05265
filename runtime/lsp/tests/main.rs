//! The language server, asked as editors ask.

mod client;
mod protocol;
mod trcfmt;
mod whole;
mod xml;
