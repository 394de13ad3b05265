//! The language server, asked as editors ask.
#![cfg(feature = "compiler")]

mod client;
mod protocol;
mod trcfmt;
mod whole;
mod xml;
