//! Tests of both parsers, their diagnostics and their layout.

mod datakey_diagnostics;
mod datakey_robust;
mod datakey_tree;
mod fixes;
mod trcfmt_diagnostics;
mod trcfmt_robust;
mod trcfmt_tree;
