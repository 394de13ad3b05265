use std::fs;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use tfbc::aix::{AixReportOptions, ReadOptions};
use tfbc::testing::aix::{Logs, Trace, report};
use tfbc::testing::formats::{Catalog, FormatSet};
use tfbc::testing::input::Input;
use tfbc::{LoadOptions, Notice};

/// Runs reports of streams in memory, with one format file and without a heading.
#[derive(Debug)]
pub struct ReportRun {
    catalog: Catalog<'static>,
    options: AixReportOptions,
}

impl ReportRun {
    /// Compiles a format file.
    ///
    /// # Panics
    /// If the format file has errors, or the directory for temporary files cannot be written.
    pub fn new(format_file: &str) -> Self {
        Self::with(format_file, AixReportOptions::default())
    }

    /// Compiles a format file for reports with these options.
    ///
    /// # Panics
    /// See [`ReportRun::new`].
    pub fn with(format_file: &str, options: AixReportOptions) -> Self {
        let options = AixReportOptions { no_heading: true, threads: NonZeroUsize::new(1), ..options };
        Self { catalog: catalog("trcfmt", format_file), options }
    }

    /// Sets the number of formatting threads; the default is one.
    pub fn set_threads(&mut self, n_threads: usize) {
        self.options.threads = NonZeroUsize::new(n_threads);
    }

    /// Writes the report of a stream in memory; returns the bytes of its text.
    ///
    /// # Panics
    /// If the stream is not a trace, or is damaged.
    pub fn run(&mut self, stream: &'static [u8], out: &mut (impl Write + Send)) -> usize {
        self.report(logs(stream), out)
    }

    /// Writes the report of several streams, merged by time; returns the bytes of its text.
    ///
    /// # Panics
    /// See [`ReportRun::run`].
    pub fn run_merged(&mut self, streams: &[&'static [u8]], out: &mut (impl Write + Send)) -> usize {
        let logs = streams.iter().map(|stream| logs(stream)).collect();
        self.report(Logs::merged(logs, false).expect("memory can be read"), out)
    }

    /// Writes the report of a file; returns the bytes of its text.
    ///
    /// # Panics
    /// See [`ReportRun::run`].
    pub fn run_file(&mut self, path: &Path, out: &mut (impl Write + Send)) -> usize {
        self.report(Logs::open(path, &ReadOptions::default()).expect("the load is a trace"), out)
    }

    fn report(&self, mut logs: Logs, out: &mut (impl Write + Send)) -> usize {
        let mut out = ByteCounter { out, n_bytes: 0 };
        let mut hear = |notice: &Notice| panic!("{}", notice.message);
        report(&mut logs, &self.catalog, &self.options, &mut out, &mut hear).expect("memory can be read and written");
        out.n_bytes
    }
}

fn logs(stream: &'static [u8]) -> Logs {
    let trace = Trace::from_input("load", Input::from_bytes(stream), &ReadOptions::default());
    Logs::from(trace.expect("the load is a trace"))
}

/// Compiles a format file or event definitions.
///
/// # Panics
/// See [`ReportRun::new`].
pub(crate) fn catalog(suffix: &str, format_file: &str) -> Catalog<'static> {
    let path = temporary(suffix);
    fs::write(&path, format_file).expect("temporary files can be written");
    let set = FormatSet::load(std::slice::from_ref(&path), &LoadOptions::default());
    fs::remove_file(&path).expect("the file was written");
    // Leaked on purpose, because a bench uses its format files until it ends.
    let set: &'static FormatSet = Box::leak(Box::new(set.expect("the load compiles")));
    set.catalog().expect("a blob of the compiler verifies")
}

/// Path for a temporary file of this process.
pub(crate) fn temporary(suffix: &str) -> PathBuf {
    std::env::temp_dir().join(format!("tfbc-benches-{}.{suffix}", std::process::id()))
}

/// Counts the written bytes.
struct ByteCounter<'w, W> {
    out: &'w mut W,
    n_bytes: usize,
}

impl<W: Write> Write for ByteCounter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.n_bytes += n;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
