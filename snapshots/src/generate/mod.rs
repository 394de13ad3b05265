//! Random templates and events for comparing the machine with the reference.
//!
//! A seed gives the same template and events forever, so a mismatch can be repeated from its number.

pub mod datakey;
mod event;
pub mod kev;
mod rng;
mod template;

pub use event::{Facts, GeneratedEvent, event, facts};
pub use rng::Rng;
pub use template::{Template, template};
