//! The independent proof: a reference interpreter that walks the syntax tree, a reader of streams, a generator of
//! templates and events, and the corpus of cases.
//!
//! Nothing here shares code with the compiler or the machine but the errno table and the plain types that describe an
//! event and its context. Everything is written the naive way: what is compared with the machine must be easy to check
//! against the specification by eye.
#![forbid(unsafe_code)]

pub mod case;
pub mod datakey;
pub mod differential;
pub mod differential_qnx;
pub mod generate;
pub mod kev;
pub mod reader;
pub mod reference;
pub mod report;
pub mod runner;
