//! Tests of the language server through the messages of the protocol.

mod client;
mod protocol;
mod trcfmt;
mod whole;
mod xml;
