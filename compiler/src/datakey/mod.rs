//! QNX event definitions: from the syntax trees of XML files to IR.

#[expect(dead_code, reason = "the contract between checking and lowering")]
mod model;
