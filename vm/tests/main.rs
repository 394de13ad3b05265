//! Tests of the machine, the verifier and blobs.

mod building;
mod common;
mod events;
mod exhaustive;
mod hostile;
mod lazy;
mod lines;
mod metering;
mod numbers;
mod records;
mod rules;
mod runs;
mod text_limit;
mod texts;
mod windows;
