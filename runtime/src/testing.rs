//! Readers and formatting code that the tests, fuzz targets and benches of this repository call directly.

/// Logs of AIX, event by event.
pub mod aix {
    pub use crate::aix_report::report;
    pub use crate::reader::aix::{AixItem, Kernel, LogItem, Logs, RawEvent, Step, StepRules, Trace, present};
}

/// Typed fields of events.
pub mod fields {
    pub use crate::fields::{PreparedFields, list_json, write_row};
    pub use crate::qnx_report::{write_objects, write_record_text};
}

/// Format files before they are verified.
pub mod formats {
    pub use crate::catalog::Catalog;
    pub use crate::format_files::FormatSet;
}

/// Opening inputs whose kind is not known yet.
pub mod input {
    pub use crate::reader::{AnyTrace, Input, ReadSeek, Unpacker};
}

/// Logs of QNX, record by record.
pub mod qnx {
    pub use crate::qnx_report::report;
    pub use crate::reader::kev::{
        KevHeader, KevItem, KevLog, KevOptions, KevRecord, MAX_EVENT_BYTES, MAX_HEADER_BYTES, PageSection, classes,
        is_kev,
    };
}

/// States in split files.
pub mod splits {
    pub use crate::split::{split_state, with_split_state};
}

/// The layouts of QNX's `traceprinter`.
pub mod traceprinter {
    use crate::catalog::Catalog;
    use crate::monitor::{Monitor, ReportError};
    use crate::qnx_report::QnxSummary;
    use crate::reader::kev::KevLog;
    use crate::traceprinter::PrintOptions;
    use std::io::Write;

    /// Like [`crate::traceprinter::print`], for an opened log.
    ///
    /// # Errors
    /// Reading the log failed, or writing the text failed.
    pub fn print(
        log: &mut KevLog,
        catalog: Option<&Catalog<'_>>,
        options: &PrintOptions,
        out: &mut (dyn Write + Send),
        monitor: &mut (dyn Monitor + Send),
    ) -> Result<QnxSummary, ReportError> {
        crate::traceprinter::print_log(log, catalog, options, out, monitor)
    }
}

/// The format of `compress` (`.Z`).
pub mod unix_compress {
    pub use crate::reader::unix_compress::{Reader, compress, compress_to};
}
