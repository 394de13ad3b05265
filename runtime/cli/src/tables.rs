//! `tfbc report --to arrow` and `--to parquet`: tables for other programs.

use super::console::{CommandResult, Console, Failure, Message, Status};
use super::files::{Output, UnfinishedDirectory};
use super::inputs::{self, Inputs};
use super::trace::{self, InputIndex, PlannedReport, Reporter, SystemOptions};
use super::trace_args::TraceArgs;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use clap::{Args, ValueEnum};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, IsTerminal};
use std::iter::Enumerate;
use std::path::{Path, PathBuf};
use std::slice;
use tfbc::{Formats, Monitor, Notice, ReportError, ReportOptions, TraceInfo};
#[cfg(feature = "parquet")]
use tfbc_data::ParquetFile;
use tfbc_data::{
    BatchSink, EventColumn, EventTable, EventTables, IpcStream, MAX_BATCH_ROWS, NoticeLog, NoticeTable, OpenTables,
    Summary, TableMetadata, TableOptions, Tables, TextForm, TextTable, kind_name, parse_time,
};

/// Rows of a batch without `--batch-rows`.
const BATCH_ROWS: u64 = 8192;

/// Form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableForm {
    Arrow,
    Parquet,
}

/// Flags of tables.
#[derive(Debug, Clone, Default, Args)]
pub struct TableFlags {
    /// A table for each event id, with the event's fields as columns. Several ids need `-o DIR`, a new or empty
    /// directory (arrow, parquet)
    #[arg(long)]
    pub by_event: bool,
    /// File for the table of damaged places and warnings: .arrows, .parquet, .ndjson or .tsv (arrow, parquet)
    #[arg(long, value_name = "FILE")]
    pub notices: Option<PathBuf>,
    /// Rows of a batch, at most 1048576 (arrow)
    #[arg(long, value_name = "N", default_value_t = BATCH_ROWS, value_parser = clap::value_parser!(u64).range(1..=MAX_BATCH_ROWS as u64))]
    pub batch_rows: u64,
    /// Start of the trace instead of the trace's own: a date such as 2026-01-31T12:00:00Z, or nanoseconds since 1970, UTC
    /// (arrow, parquet)
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = time_zero)]
    pub time_zero: Option<i128>,
    /// Compression: none, the default of arrow; snappy, the default of parquet; lz4; or zstd (parquet, in builds with
    /// this feature)
    #[arg(long, value_name = "NAME")]
    pub compress: Option<Compression>,
}

impl TableFlags {
    /// The first flag that was given, `None` if there is none.
    pub fn given(&self) -> Option<&'static str> {
        let flags = [
            (self.by_event, "--by-event"),
            (self.notices.is_some(), "--notices"),
            (self.batch_rows != BATCH_ROWS, "--batch-rows"),
            (self.time_zero.is_some(), "--time-zero"),
            (self.compress.is_some(), "--compress"),
        ];
        flags.into_iter().find_map(|(given, flag)| given.then_some(flag))
    }
}

/// Compression of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Compression {
    None,
    Snappy,
    Lz4,
    Zstd,
}

/// Parses the start of a trace: a date of ISO 8601, or nanoseconds since 1970.
fn time_zero(text: &str) -> Result<i128, String> {
    let number = text.parse::<i64>().ok().map(i128::from);
    let known = number.or_else(|| parse_time(text));
    known.ok_or_else(|| String::from("expected a date such as 2026-01-31T12:00:00Z, or nanoseconds since 1970"))
}

/// A run that writes tables.
pub struct TableRun<'r> {
    pub console: &'r Console,
    pub formats: &'r Formats,
    pub traces: &'r [PathBuf],
    pub args: &'r TraceArgs,
    pub wanted: &'r SystemOptions<'r>,
    pub form: TableForm,
    pub flags: &'r TableFlags,
    pub columns: Option<&'r str>,
    pub output: Option<&'r Path>,
    /// Settings of the dialect that differ from the defaults.
    pub dialect: Vec<(String, String)>,
}

/// Output file of a table.
enum TableFile {
    Arrow(Box<IpcStream<Output>>),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetFile<Output>>),
    Text(TextTable<Output>),
}

impl TableFile {
    /// Creates the table of notices. The suffix of the file decides its form; `None` if it is unknown.
    fn of_notices(path: &Path) -> Option<io::Result<Self>> {
        let form = match path.extension().and_then(|end| end.to_str())? {
            "arrows" => return Some(Self::open(TableForm::Arrow, None, Some(path))),
            #[cfg(feature = "parquet")]
            "parquet" => return Some(Self::open(TableForm::Parquet, None, Some(path))),
            "ndjson" => TextForm::Ndjson,
            "tsv" => TextForm::Tsv,
            _ => return None,
        };
        Some(Output::open(Some(path)).map(|out| TableFile::Text(TextTable::new(out, form))))
    }

    fn open(form: TableForm, compression: Option<Compression>, path: Option<&Path>) -> io::Result<Self> {
        Self::create(form, compression, Output::open_binary(path)?)
    }

    fn create(form: TableForm, compression: Option<Compression>, out: Output) -> io::Result<Self> {
        Ok(match (form, compression) {
            #[cfg(feature = "parquet")]
            (TableForm::Parquet, compression) => {
                let file = ParquetFile::new(out);
                TableFile::Parquet(Box::new(match compression {
                    None | Some(Compression::Snappy) => file,
                    Some(Compression::None) => file.uncompressed(),
                    Some(Compression::Lz4) => file.with_lz4(),
                    #[cfg(feature = "zstd")]
                    Some(Compression::Zstd) => file.with_zstd(),
                    #[cfg(not(feature = "zstd"))]
                    Some(Compression::Zstd) => return Err(io::ErrorKind::Unsupported.into()),
                }))
            }
            (_, Some(Compression::Lz4)) => TableFile::Arrow(Box::new(IpcStream::compressed(out)?)),
            _ => TableFile::Arrow(Box::new(IpcStream::new(out))),
        })
    }

    /// Ends the file, which appears now.
    fn finish(self, summary: &Summary) -> io::Result<()> {
        match self {
            TableFile::Arrow(stream) => stream.finish(&summary.to_json())?.commit(),
            #[cfg(feature = "parquet")]
            TableFile::Parquet(file) => file.finish()?.commit(),
            TableFile::Text(table) => table.finish()?.commit(),
        }
    }

    fn sink(&mut self) -> &mut dyn BatchSink {
        match self {
            TableFile::Arrow(stream) => &mut **stream,
            #[cfg(feature = "parquet")]
            TableFile::Parquet(file) => &mut **file,
            TableFile::Text(table) => table,
        }
    }
}

impl BatchSink for TableFile {
    fn begin(&mut self, schema: &SchemaRef) -> io::Result<()> {
        self.sink().begin(schema)
    }

    fn batch(&mut self, batch: RecordBatch) -> io::Result<()> {
        self.sink().batch(batch)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink().flush()
    }
}

impl TableForm {
    /// End of a file's name.
    fn extension(self) -> &'static str {
        match self {
            TableForm::Arrow => "arrows",
            TableForm::Parquet => "parquet",
        }
    }
}

/// Passes messages to standard error and to the table of notices.
struct Messages<'m, 'c, 's> {
    reporter: Reporter<'c>,
    notices: Option<&'m NoticeLog<'s>>,
    written: io::Result<()>,
}

impl Monitor for Messages<'_, '_, '_> {
    fn notice(&mut self, notice: &Notice) {
        if !notice.is_quiet() {
            self.reporter.notice(notice);
        }
        if let Some(log) = self.notices
            && self.written.is_ok()
        {
            self.written = log.with(|table| table.notice(notice));
        }
    }

    fn guessed_layouts(&mut self, hooks: &tfbc::aix::IdSet) {
        self.reporter.guessed_layouts(hooks);
    }

    fn progress(&mut self, offset: u64, n_events: u64) {
        self.reporter.progress(offset, n_events);
    }

    fn slow(&mut self, template: &str) {
        self.reporter.slow(template);
    }
}

/// New directory, which gets its final name when all its files are complete.
struct NewDirectory {
    unfinished: UnfinishedDirectory,
    path: PathBuf,
}

impl NewDirectory {
    fn create(path: &Path) -> io::Result<Self> {
        if let Ok(mut files) = fs::read_dir(path)
            && files.next().is_some()
        {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the directory is not empty"));
        }
        if path.exists() && !path.is_dir() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it is a file, not a directory"));
        }
        Ok(Self { unfinished: UnfinishedDirectory::beside(path)?, path: path.to_owned() })
    }

    fn commit(self) -> io::Result<()> {
        self.unfinished.persist(&self.path)
    }
}

/// Opens a file for each event, or standard output for a single one.
struct EventFiles<'d> {
    form: TableForm,
    compression: Option<Compression>,
    directory: Option<PathBuf>,
    output: Option<&'d Path>,
    /// Files and their rows.
    n_rows: BTreeMap<String, u64>,
    is_open: bool,
}

/// Table that is completed when it is closed.
struct OwnTable(TableFile);

impl BatchSink for OwnTable {
    fn begin(&mut self, schema: &SchemaRef) -> io::Result<()> {
        self.0.begin(schema)
    }

    fn batch(&mut self, batch: RecordBatch) -> io::Result<()> {
        self.0.batch(batch)
    }

    fn end(self: Box<Self>, n_rows: u64) -> io::Result<()> {
        self.0.finish(&Summary { rows: n_rows, ..Summary::default() })
    }
}

impl OpenTables for EventFiles<'_> {
    fn open(&mut self, id: &str) -> io::Result<Box<dyn BatchSink>> {
        let out = match &self.directory {
            Some(directory) => Output::create_in_new_directory(&directory.join(self.name(id)))?,
            None if std::mem::replace(&mut self.is_open, true) => {
                let text = "the trace has several events: choose one with --only, or give a new directory with -o";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
            None => Output::open_binary(self.output)?,
        };
        Ok(Box::new(OwnTable(TableFile::create(self.form, self.compression, out)?)))
    }

    fn close(&mut self, id: &str, table: Box<dyn BatchSink>, n_rows: u64) -> io::Result<()> {
        self.n_rows.insert(self.name(id), n_rows);
        table.end(n_rows)
    }
}

impl EventFiles<'_> {
    fn name(&self, id: &str) -> String {
        format!("{}.{}", id.replace(':', "."), self.form.extension())
    }

    /// Contents of `_tfbc.json`: the metadata, and the number of rows per file.
    fn describe(&self, metadata: &[(String, String)]) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let metadata: Vec<String> =
            metadata.iter().map(|(key, value)| format!("{}:{}", quoted(key), quoted(value))).collect();
        let files: Vec<String> = self.n_rows.iter().map(|(name, n)| format!("{}:{n}", quoted(name))).collect();
        format!("{{\"metadata\":{{{}}},\n\"rows\":{{{}}}}}\n", metadata.join(","), files.join(","))
    }
}

impl TableRun<'_> {
    /// Writes the tables of all traces, in order.
    pub fn run(&self) -> CommandResult {
        let usage = |text: String| Failure::Error(Message::Usage, text);
        let inputs = inputs::find(self.console, self.traces, self.args)?;
        let notices = self.flags.notices.as_deref();
        for output in [self.output, notices] {
            inputs::refuse_output(output, &inputs.traces, self.args)?;
        }
        if notices.is_some() && notices == self.output {
            return Err(usage(String::from("-o and --notices name one file: give each its own")));
        }
        let is_stdout = self.output.is_none_or(|path| path == Path::new("-"));
        let to = self.form.extension();
        if is_stdout && self.form == TableForm::Parquet {
            return Err(usage(String::from("--to parquet needs a file: give -o FILE")));
        }
        match (self.flags.compress, self.form) {
            (Some(name @ (Compression::Snappy | Compression::Zstd)), TableForm::Arrow) => {
                let name = format!("{name:?}").to_lowercase();
                return Err(usage(format!("--compress {name}: an Arrow stream is compressed by lz4 or not at all")));
            }
            (Some(Compression::Zstd), TableForm::Parquet) if cfg!(not(feature = "zstd")) => {
                let text = "--compress zstd: this tfbc was built without it; `cargo build --release -p tfbc-cli \
                            --features zstd` builds one that has it";
                return Err(usage(String::from(text)));
            }
            _ => {}
        }
        if is_stdout && io::stdout().is_terminal() {
            let text = format!(
                "--to {}: a table is not for a terminal: write it to a file with -o, or into a pipe",
                if to == "arrows" { "arrow" } else { to }
            );
            return Err(usage(text));
        }
        let columns = self.columns.map(EventColumn::parse).transpose();
        let columns = columns.map_err(|error| usage(format!("--columns: {error}")))?;
        let what = self.output.map_or(String::from("standard output"), |path| path.display().to_string());
        let failed = |error: io::Error| Failure::write(&error, &what);
        let mut status = inputs.status;
        // Only one trace is open at a time: a dataset may have more files than a process can open.
        let mut rest = inputs.traces.iter().enumerate();
        let mut opened = self.open_next(&inputs, &mut rest, &mut status)?;
        let kind = opened.as_ref().map_or("", |trace| kind_name(trace.plan.info.kind.name()));
        let filter = self.wanted.filters.iter().map(|flag| ((*flag).to_owned(), String::new())).collect();
        let dialect = self.dialect.clone();
        let metadata = TableMetadata { kind, filter, dialect, ..TableMetadata::default() }.with_formats(self.formats);
        let options = TableOptions {
            columns,
            batch_rows: self.flags.batch_rows as usize,
            has_file: inputs.names_files(),
            time_zero: self.flags.time_zero,
            follow: self.args.follow,
            metadata: metadata.clone(),
            ..TableOptions::default()
        };
        let directory = match self.output {
            Some(path) if self.flags.by_event && !is_stdout => Some(NewDirectory::create(path).map_err(failed)?),
            _ => None,
        };
        let in_directory = |name: String| directory.as_ref().map(|directory| directory.unfinished.path().join(name));
        let path_of_notices = self.flags.notices.clone().or_else(|| in_directory(format!("notices.{to}")));
        let mut notice_file = match &path_of_notices {
            Some(path) => {
                let expected = || {
                    let forms =
                        if cfg!(feature = "parquet") { ".arrows, .parquet, .ndjson" } else { ".arrows, .ndjson" };
                    usage(format!("--notices {}: expected a name that ends in {forms} or .tsv", path.display()))
                };
                Some(TableFile::of_notices(path).ok_or_else(expected)?.map_err(failed)?)
            }
            None => None,
        };
        let notices = notice_file.as_mut().map(|file| {
            let mut table = NoticeTable::new(&metadata, file);
            table.set_time_zero(options.time_zero);
            NoticeLog::new(table)
        });

        let mut files = EventFiles {
            form: self.form,
            compression: self.flags.compress,
            directory: directory.as_ref().map(|directory| directory.unfinished.path().to_owned()),
            output: self.output,
            n_rows: BTreeMap::new(),
            is_open: false,
        };
        let mut file = match self.flags.by_event {
            true => None,
            false => Some(TableFile::open(self.form, self.flags.compress, self.output).map_err(failed)?),
        };
        let mut tables = match &mut file {
            Some(file) => Tables::Events(Box::new(EventTable::new(options.clone(), file))),
            None => Tables::ByEvent(Box::new(EventTables::new(options.clone(), &mut files))),
        };
        let mut all = Summary::default();
        let is_unreadable = opened.is_none();
        while let Some(OpenedTrace { at, path, mut plan }) = opened {
            let name = plan.path(path).display().to_string();
            if let Some(log) = &notices {
                log.with(|table| table.set_file(&name)).map_err(failed)?;
            }
            tables.set_files(vec![name.clone()], has_offsets(&plan.info));
            let before = tables.n_rows();
            let place = InputIndex { at: at + 1, n: inputs.traces.len(), grows: self.args.follow };
            let mut messages = Messages {
                reporter: Reporter::new(self.console, &plan.info).place(place),
                notices: notices.as_ref(),
                written: Ok(()),
            };
            let ran = plan.fill(self.formats, &mut tables, notices.as_ref(), &mut messages);
            messages.reporter.end();
            messages.written.map_err(failed)?;
            let summary = ran.map_err(|error| match error {
                ReportError::Write(error) if error.kind() == io::ErrorKind::InvalidInput => usage(error.to_string()),
                error => trace::failure(&name, &what, error),
            })?;
            if directory.is_none() {
                plan.open_only(self.formats, &mut tables).map_err(failed)?;
            }
            let n_faults = plan.report_counts(self.console, &summary);
            status = status.max(if n_faults > 0 { Status::Damaged } else { Status::Well });
            let counts = Summary::of(&summary, tables.n_rows() - before);
            if let Some(log) = &notices {
                let removed = self.removed_by_flag(path, &plan, &counts);
                let mut flags = self.wanted.filters.iter().zip(removed);
                log.with(|table| flags.try_for_each(|(flag, count)| table.filtered(flag, count))).map_err(failed)?;
            }
            all.add(&counts);
            drop(plan);
            opened = self.open_next(&inputs, &mut rest, &mut status)?;
        }
        match tables {
            Tables::Events(mut table) => {
                table.finish().map_err(failed)?;
                if let (Some(seq), Some(log)) = (table.first_replaced(), &notices) {
                    let text = "the text is not UTF-8: other bytes became U+FFFD";
                    log.with(|notices| notices.warning(Some(seq), None, text)).map_err(failed)?;
                }
            }
            Tables::ByEvent(tables) => tables.finish().map_err(failed)?,
        }
        if let Some(log) = &notices {
            log.with(|table| table.finish(&all)).map_err(failed)?;
        }
        drop(notices);
        if let Some(file) = file {
            file.finish(&all).map_err(failed)?;
        }
        if let Some(file) = notice_file {
            file.finish(&all).map_err(failed)?;
        }
        if let Some(directory) = directory {
            let text = files.describe(&options.metadata.pairs());
            fs::write(directory.unfinished.path().join("_tfbc.json"), text).map_err(failed)?;
            directory.commit().map_err(failed)?;
        }
        trace::report_no_match(self.console, &self.wanted.filters, all.rows + all.filtered, all.rows);
        Ok(if is_unreadable { Status::Failed } else { status })
    }
}

/// Trace with its index among the inputs.
struct OpenedTrace<'i> {
    at: usize,
    path: &'i Path,
    plan: PlannedReport,
}

impl TableRun<'_> {
    /// Opens the next trace that can be read. If there are several, the others are reported and skipped.
    fn open_next<'i>(
        &self,
        inputs: &Inputs,
        rest: &mut Enumerate<slice::Iter<'i, PathBuf>>,
        status: &mut Status,
    ) -> Result<Option<OpenedTrace<'i>>, Failure> {
        for (at, path) in rest {
            match PlannedReport::open_whole(path, self.args, self.wanted) {
                Ok(plan) => return Ok(Some(OpenedTrace { at, path, plan })),
                Err(Failure::Error(Message::Unreadable, text)) if inputs.names_files() => {
                    self.console.error(Message::Unreadable, text);
                    *status = (*status).max(inputs.status_of_unreadable(path));
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(None)
    }

    /// Number of events that each flag removed: those that all flags before it admit. `None` if the input cannot be read
    /// again, which several flags need.
    fn removed_by_flag(&self, path: &Path, plan: &PlannedReport, counts: &Summary) -> Vec<Option<u64>> {
        let flags = &self.wanted.filters;
        let is_repeatable = !self.args.follow && plan.info.files.iter().all(|file| file.size.is_some());
        let mut n_left = counts.rows + counts.filtered;
        let mut removed = Vec::new();
        for n in 1..=flags.len() {
            let n_admitted = match n == flags.len() {
                true => Some(counts.rows),
                false if is_repeatable => self.count_rows(path, &flags[..n]),
                false => None,
            };
            let Some(n_admitted) = n_admitted else { return vec![None; flags.len()] };
            removed.push(Some(n_left.saturating_sub(n_admitted)));
            n_left = n_left.min(n_admitted);
        }
        removed
    }

    /// Counts the events of an input that some of the flags admit; `None` if it cannot be read.
    fn count_rows(&self, path: &Path, flags: &[&str]) -> Option<u64> {
        let mut plan = PlannedReport::open_whole(path, self.args, self.wanted).ok()?;
        keep_filters(&mut plan.options, flags);
        plan.count_rows(self.formats)
    }
}

/// Removes the filters of all flags but some. On AIX, `--pid` and `--exec` are one filter.
fn keep_filters(options: &mut ReportOptions, flags: &[&str]) {
    let lacks = |names: &[&str]| !names.iter().any(|name| flags.contains(name));
    let (aix, qnx) = (&mut options.aix, &mut options.qnx);
    if lacks(&["--only"]) {
        (aix.filter.only, qnx.filter.only) = (None, None);
    }
    if lacks(&["--except"]) {
        (aix.filter.except, qnx.filter.except) = (tfbc::aix::IdSet::default(), None);
    }
    if lacks(&["--defined"]) {
        (aix.defined, qnx.defined) = (false, false);
    }
    if lacks(&["--pid", "--exec", "--process"]) {
        aix.filter.processes = None;
    }
    if lacks(&["--pid"]) {
        qnx.filter.pids = None;
    }
    if lacks(&["--exec", "--process"]) {
        qnx.filter.names = None;
    }
    if lacks(&["--tid"]) {
        (aix.filter.threads, qnx.filter.threads) = (None, None);
    }
    if lacks(&["--cpu"]) {
        (aix.filter.cpus, qnx.filter.cpus) = (None, None);
    }
    if lacks(&["--from"]) {
        (aix.filter.from_ns, aix.filter.from_date, qnx.filter.from_ns) = (None, None, None);
    }
    if lacks(&["--until"]) {
        (aix.filter.to_ns, aix.filter.to_date, qnx.filter.to_ns) = (None, None, None);
    }
    if lacks(&["--grep"]) {
        (aix.grep, qnx.grep) = (None, None);
    }
    if lacks(&["--where"]) {
        (aix.conditions, qnx.conditions) = (None, None);
    }
}

/// True if offsets count bytes of the files: none is compressed or a pipe.
fn has_offsets(info: &TraceInfo) -> bool {
    info.files.iter().all(|file| file.compression.is_none() && file.size.is_some())
}
