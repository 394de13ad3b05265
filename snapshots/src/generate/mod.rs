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

/// Seeds of a run: `TFBC_CASES` many, or the default number, from 0. With `TFBC_SEED`, only that one, or `TFBC_CASES`
/// many from it on.
pub fn seeds(ordinary: u64) -> std::ops::Range<u64> {
    let env = |name: &str| std::env::var(name).ok()?.parse().ok();
    let (first, n_cases) = (env("TFBC_SEED"), env("TFBC_CASES"));
    match first {
        Some(seed) => seed..seed + n_cases.unwrap_or(1),
        None => 0..n_cases.unwrap_or(ordinary),
    }
}
