//! Tests of what the benches run on.

mod datakeys;
mod formats;
mod formatting;
mod kev;
mod native;
mod native_datakeys;
mod shapes;
mod trace_loads;
mod traces;
