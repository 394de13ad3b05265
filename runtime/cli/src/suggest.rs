//! Suggestions for misspelled names in messages, as the library's own errors have them.

pub use tfbc::internal::{closest, hint};
