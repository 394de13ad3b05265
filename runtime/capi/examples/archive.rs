//! The library as an archive, for the programs in C of the tests.

#[path = "../src/lib.rs"]
mod library;
