//! QNX event definitions: from the syntax trees of XML files to IR.

mod enums;
mod lower;
mod model;

pub(crate) use lower::lower;
