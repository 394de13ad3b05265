//! Random templates and events for comparing the machine with the reference.
//!
//! A seed always gives the same template and events, so a mismatch can be reproduced from its number.

mod comment;
pub mod datakey;
mod event;
pub mod kev;
mod rng;
mod template;

pub use comment::with_comments;
pub use event::{Facts, GeneratedEvent, event, facts};
pub use rng::Rng;
pub use template::{Template, template};

/// Seeds of a run: only `TFBC_SEED`, or `TFBC_CASES` many, or the default number.
pub fn seeds(ordinary: u64) -> std::ops::Range<u64> {
    let env = |name: &str| std::env::var(name).ok()?.parse().ok();
    match env("TFBC_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..env("TFBC_CASES").unwrap_or(ordinary),
    }
}
