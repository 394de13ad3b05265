//! Switch from the fast paths of reports to the general ones, for the test that compares them.
//!
//! Nearly all events take fast paths: common encodings are read where they are, lines are written by prepared entries,
//! routines are flattened. Each fast path asks [`is_required`] where it begins, which only the library's own tests can
//! set, for their thread. In other builds the answer is a constant, so the switch costs nothing.

use tfbc_vm::{PreparedEntry, Program};

/// True if this thread must leave everything to the general paths.
#[inline(always)]
pub(crate) fn is_required() -> bool {
    #[cfg(all(test, feature = "compile"))]
    return paths::get() != Paths::Fast;
    #[cfg(not(all(test, feature = "compile")))]
    false
}

/// True if this thread must also format each event where it is read, like one whose text depends on earlier events. Its
/// routine is then not prepared, but looked up for the event.
#[inline(always)]
pub(crate) fn is_in_order() -> bool {
    #[cfg(all(test, feature = "compile"))]
    return paths::get() == Paths::InOrder;
    #[cfg(not(all(test, feature = "compile")))]
    false
}

/// Prepares the routine of an entry, as [`Program::prepare`]. Where general paths are required, the routine checks each
/// access, as for an event that is too short.
pub(crate) fn prepare<'p>(program: &'p Program<'p>, hook: u32, env: usize) -> Option<PreparedEntry<'p>> {
    let prepared = program.prepare(hook, env)?;
    Some(if is_required() { prepared.checked() } else { prepared })
}

/// Paths of a thread.
#[cfg(all(test, feature = "compile"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Paths {
    Fast,
    General,
    /// General, and each event is formatted where it is read, by a run without a prepared entry.
    InOrder,
}

#[cfg(all(test, feature = "compile"))]
mod paths {
    use super::Paths;
    use std::cell::Cell;

    thread_local! {
        static PATHS: Cell<Paths> = const { Cell::new(Paths::Fast) };
    }

    pub(super) fn get() -> Paths {
        PATHS.get()
    }

    /// Runs a function with other paths.
    pub(super) fn with<T>(paths: Paths, run: impl FnOnce() -> T) -> T {
        PATHS.set(paths);
        let result = run();
        PATHS.set(Paths::Fast);
        result
    }
}

#[cfg(all(test, feature = "compile"))]
mod tests;
