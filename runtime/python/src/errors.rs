//! Exceptions. Their classes are in `python/tfbc/_errors.py`.

use pyo3::prelude::*;
use std::io;
use tfbc::aix::OpenError as AixError;
use tfbc::qnx::KevRefusalKind;
use tfbc::{ReportError, SplitError, TraceError};

pyo3::import_exception!(tfbc._errors, DamageError);
pyo3::import_exception!(tfbc._errors, DamageWarning);
pyo3::import_exception!(tfbc._errors, Error);
pyo3::import_exception!(tfbc._errors, FormatError);
pyo3::import_exception!(tfbc._errors, FormatWarning);
pyo3::import_exception!(tfbc._errors, LimitError);
pyo3::import_exception!(tfbc._errors, OpenError);
pyo3::import_exception!(tfbc._errors, PartError);
pyo3::import_exception!(tfbc._errors, SpentError);

/// `errno` for an input that can be read but is not a trace: EINVAL.
const NOT_A_TRACE: i32 = 22;

/// Exception for a file that cannot be read.
pub fn unreadable(name: &str, error: &dyn std::fmt::Display, errno: Option<i32>) -> PyErr {
    let message = format!("cannot read {name}: {error}");
    OpenError::new_err((errno.unwrap_or(NOT_A_TRACE), message, name.to_owned()))
}

/// Exception for an input that cannot be opened as a trace.
pub fn not_opened(name: &str, error: &TraceError) -> PyErr {
    let cause = match error {
        TraceError::Aix(AixError::Io(error)) => Some(error),
        TraceError::Kev(refusal) => match &refusal.kind {
            KevRefusalKind::Io(error) => Some(error),
            _ => None,
        },
        TraceError::Aix(_) => None,
    };
    unreadable(name, error, cause.and_then(io::Error::raw_os_error))
}

/// Exception for an error that ended a pass.
pub fn pass_error(name: &str, error: &ReportError) -> PyErr {
    match error {
        ReportError::Read(cause) => unreadable(name, cause, cause.raw_os_error()),
        other => Error::new_err(format!("{name}: {other}")),
    }
}

/// Exception for a trace that cannot be split, or a part that cannot be opened.
pub fn part_error(name: &str, error: &SplitError) -> PyErr {
    match error {
        SplitError::Io(cause) => unreadable(name, cause, cause.raw_os_error()),
        SplitError::Trace(cause) => not_opened(name, cause),
        SplitError::Report(cause) => pass_error(name, cause),
        other => PartError::new_err(other.to_string()),
    }
}

/// Warns of damage or, with `strict`, raises an exception.
pub fn warn_of_damage(py: Python<'_>, message: String, strict: bool) -> PyResult<()> {
    if strict {
        return Err(DamageError::new_err(message));
    }
    let category = py.get_type::<DamageWarning>();
    py.import("warnings")?.call_method1("warn", (message, category))?;
    Ok(())
}
