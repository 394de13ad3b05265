//! Independent checks of the product: a reference interpreter that walks the syntax tree, simple readers, a generator
//! of templates and events, and the corpus of cases.
//!
//! Only the errno table and the plain types for events and contexts are shared with the compiler and the machine.
//! Everything is written in the simplest way, so that it can be checked against the specification by eye.
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
