//! Tests of summaries and latencies.

mod examples;
mod latency;
mod properties;
mod timeline;
mod traces;
