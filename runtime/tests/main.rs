//! Tests of readers and reports through the library.

mod built_in;
mod common;
mod damage_reports;
mod damage_sweeps;
mod event_fields;
mod face;
mod fields;
mod kev;
mod splits;
mod unix_compress;
