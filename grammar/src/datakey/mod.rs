//! QNX's event definitions: XML that says how the payloads of events are shown.
//!
//! ```text
//! bytes ─xml→ elements ─parse→ File, and of each format: text ─lexer→ tokens ─grammar→ fields
//! ```

pub mod ast;
