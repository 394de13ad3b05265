//! Tests of summaries and latencies.

mod curt;
mod examples;
mod latency;
mod properties;
mod timeline;
mod traces;
