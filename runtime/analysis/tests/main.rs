//! Tests of summaries and latencies.

mod curt;
mod equivalence;
mod examples;
mod latency;
mod properties;
mod record_rules;
mod timeline;
mod traces;
