//! Shared by the report targets of both systems: ways to read an input, templates, and properties of every output
//! format.

use crate::programs::{ProgramDraft, generate};
use serde::de::IgnoredAny;
use std::fs;
use std::io::{self, Cursor, Read};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::LazyLock;
use tfbc::testing::formats::{Catalog, FormatSet};
use tfbc::testing::input::Input;
use tfbc::{Compression, Form, Formats, Imbalance, LoadOptions, Notice, Pattern, ReportError};
use tfbc_snapshots::generate::Rng;
use tfbc_vm::{HookRow, Limits, Program, Space};

/// Limits of an event.
pub const LIMITS: Limits = Limits { turns: 500, steps: 1 << 20, text: 2000 };

/// Source of a report's bytes, and number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportMode {
    File,
    Pipe,
    Threads,
}

impl ReportMode {
    /// A second way to read an input; threads are rare because they cost the most.
    pub fn other(seed: u64) -> Option<Self> {
        match seed >> 40 & 15 {
            0 => Some(ReportMode::Threads),
            1..=4 => Some(ReportMode::Pipe),
            _ => None,
        }
    }

    /// Input with these bytes.
    pub fn input(self, bytes: &[u8]) -> Input {
        match self {
            // Bytes in memory are used in place; the kind of a file or pipe is detected while it is read.
            ReportMode::File | ReportMode::Threads if Compression::of(bytes).is_none() => {
                Input::from_bytes(bytes.to_vec())
            }
            _ => Input::from_read(Trickle { bytes: Cursor::new(bytes.to_vec()), n_reads: 0 })
                .expect("bytes in memory can be read"),
        }
    }

    /// Number of threads.
    pub fn threads(self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(if self == ReportMode::Threads { 2 } else { 1 })
    }
}

/// Pattern that matches the text of some events.
pub static PATTERN: LazyLock<Pattern> = LazyLock::new(|| Pattern::new("[13]|[a-c]|^more").expect("a pattern"));

/// Pipe that returns few bytes at a time.
struct Trickle {
    bytes: Cursor<Vec<u8>>,
    n_reads: usize,
}

impl Read for Trickle {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        const SIZES: [usize; 8] = [1, 900, 3, 64, 7, 333, 16, 4000];
        self.n_reads += 1;
        let n = into.len().min(SIZES[self.n_reads % SIZES.len()]);
        self.bytes.read(&mut into[..n])
    }
}

/// Result of a report.
#[derive(Debug, PartialEq, Eq)]
pub struct ReportResult<S> {
    pub text: String,
    pub notices: Vec<Notice>,
    /// Summary, or the reason why the report ended early.
    pub summary: Result<S, String>,
}

impl<S> ReportResult<S> {
    /// Runs a report in memory, where only the trace can end it. Every byte and event must be accounted for.
    pub fn new(
        text: Vec<u8>,
        notices: Vec<Notice>,
        summary: Result<S, ReportError>,
        imbalance: impl Fn(&S) -> Option<Imbalance>,
    ) -> Self {
        let lost = summary.as_ref().ok().and_then(imbalance);
        assert_eq!(lost, None, "what was read is formatted or named");
        if let Err(error @ (ReportError::Read(_) | ReportError::Write(_))) = &summary {
            panic!("{error}");
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        ReportResult { text, notices, summary: summary.map_err(|error| error.to_string()) }
    }
}

/// Loads the format file of a report once.
fn load(path: &Path) -> Catalog<'static> {
    let set = FormatSet::load(&[path.to_owned()], &LoadOptions::default()).expect("the fuzzed reports' formats load");
    let set: &'static FormatSet = Box::leak(Box::new(set));
    set.catalog().expect("what compiles verifies")
}

fn bundled(name: &str) -> Catalog<'static> {
    load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name))
}

/// Templates for everything that reports treat specially, and for the common cases.
pub static TEMPLATES: LazyLock<Catalog<'static>> = LazyLock::new(|| bundled("all.trcfmt"));

/// [`TEMPLATES`] for the events of the library.
pub static FORMATS: LazyLock<Formats> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/all.trcfmt");
    Formats::load([path]).expect("the fuzzed reports' formats load")
});

/// Event definitions.
pub static DEFINITIONS: LazyLock<Catalog<'static>> = LazyLock::new(|| bundled("all.xml"));

/// Programs that no compiler produces, for all ids in logs.
static HOSTILE: LazyLock<[Catalog<'static>; 4]> = LazyLock::new(|| [0, 1, 2, 3].map(generated_programs));

/// Templates for an input; in one of four cases, programs that no compiler produces.
pub fn catalog(usual: &'static Catalog<'static>, seed: u64) -> &'static Catalog<'static> {
    if seed >> 48 & 3 == 0 { &HOSTILE[(seed >> 50 & 3) as usize] } else { usual }
}

/// Small valid programs for AIX hooks, QNX records and their fields.
fn generated_programs(seed: u64) -> Catalog<'static> {
    let rng = &mut Rng::new(seed);
    let mut all = ProgramDraft::default();
    let hooks = (0x001..0x140).map(|id: u16| (Space::Hook, id << 4));
    let records = (0..32).flat_map(|class| (0..17).chain([65, 100, 101, 102, 111]).map(move |event| (class, event)));
    let records = records.map(|(class, event)| Space::record_id(class, event));
    let records = records.flat_map(|id| [Space::Record, Space::RecordFields].map(|space| (space, id)));
    let mut entries: Vec<_> = hooks.chain(records).collect();
    entries.sort_by_key(|(space, id)| (*space as u8, *id));
    let mut known: Vec<HookRow> = Vec::new();
    for (space, id) in entries {
        let in_space = |row: &&HookRow| row.flags >> 3 == space as u8;
        if rng.below(16) == 0 || !known.iter().any(|row| in_space(&row)) {
            all.add(&accepted(space, rng));
            known.extend(all.hooks.pop());
        }
        let of_space: Vec<_> = known.iter().filter(in_space).collect();
        all.hooks.push(HookRow { id, ..**rng.pick(&of_space) });
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("hostile.tfbc");
    fs::write(&path, all.write()).expect("a temporary file");
    load(&path)
}

/// Small valid program of one hook or record.
fn accepted(space: Space, rng: &mut Rng) -> ProgramDraft {
    loop {
        let mut program = generate(rng);
        let effects = if space == Space::Hook { program.hooks[0].flags & 4 } else { 0 };
        program.hooks.truncate(1);
        program.hooks[0].flags = (space as u8) << 3 | effects;
        if Program::open(&program.write()).is_ok() {
            return program;
        }
    }
}

/// Checks that a report in a machine-readable format is well-formed: no text of an event starts a row or value.
pub fn is_well_formed(form: Form, text: &str) {
    match form {
        Form::Text => {}
        Form::Ndjson => {
            for line in text.lines() {
                let is_json = serde_json::from_str::<IgnoredAny>(line).is_ok();
                assert!(is_json && line.starts_with('{'), "no object of JSON: {line:?}");
            }
        }
        Form::Tsv => is_rectangular(text.lines().map(|line| line.split('\t').count())),
        Form::Csv => is_rectangular(csv(text).into_iter()),
    }
    assert!(form == Form::Text || text.is_empty() || text.ends_with('\n'), "the last row ends");
}

/// Checks that the lines of a report are a subsequence of another's.
pub fn is_part_of(whole: &str, part: &str) {
    let mut others = whole.lines();
    for line in part.lines() {
        assert!(others.any(|other| other == line), "what is filtered out changes other events: {line:?}\n{whole}");
    }
}

/// Checks that each row has as many values as the first.
fn is_rectangular(mut rows: impl Iterator<Item = usize>) {
    let first = rows.next();
    assert!(rows.all(|n| Some(n) == first), "a row has more or fewer values than the first");
}

/// Number of values in each row of RFC 4180.
fn csv(text: &str) -> Vec<usize> {
    let (mut rows, mut n, mut quoted) = (Vec::new(), 1, false);
    for byte in text.bytes() {
        match byte {
            b'"' => quoted = !quoted,
            b',' if !quoted => n += 1,
            b'\n' if !quoted => rows.push(std::mem::replace(&mut n, 1)),
            _ => {}
        }
    }
    assert!(!quoted, "a quote is not closed");
    rows
}
