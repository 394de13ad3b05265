//! What the reports of both systems share: the ways to read one input, and what is compared of them.

use std::io::{self, Cursor, Read};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::LazyLock;
use tfbc::catalog::{Catalog, FormatSet, LoadOptions};
use tfbc::reader::{Compression, Imbalance, Input, Notice};
use tfbc::report::ReportError;
use tfbc_vm::Limits;

/// What an event may cost.
pub const LIMITS: Limits = Limits { turns: 500, steps: 1 << 20, text: 2000 };

/// Where a report's bytes come from, and how many threads format them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    File,
    Pipe,
    Threads,
}

impl Way {
    /// The way, beside that of a file and one thread, that an input is read: threads cost the most.
    pub fn other(seed: u64) -> Option<Self> {
        match seed >> 40 & 7 {
            0 => Some(Way::Threads),
            1..=3 => Some(Way::Pipe),
            _ => None,
        }
    }

    /// The bytes to be read.
    pub fn input(self, bytes: &[u8]) -> Input {
        match self {
            // Bytes in memory are taken as they stand, where a file's are looked at as those of a pipe.
            Way::File | Way::Threads if Compression::of(bytes).is_none() => Input::from_bytes(bytes.to_vec()),
            _ => Input::from_read(Trickle { bytes: Cursor::new(bytes.to_vec()), n_reads: 0 })
                .expect("bytes in memory can be read"),
        }
    }

    /// The threads.
    pub fn threads(self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(if self == Way::Threads { 2 } else { 1 })
    }
}

/// A pipe that gives few bytes at a time.
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

/// How a report came out.
#[derive(Debug, PartialEq, Eq)]
pub struct Ran<S> {
    pub text: String,
    pub notices: Vec<Notice>,
    /// What was counted, or why the report ended before its trace.
    pub summary: Result<S, String>,
}

impl<S> Ran<S> {
    /// Bytes in memory and text in memory: nothing but the trace can end a report. Every byte and event of it went
    /// somewhere.
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
        Ran { text, notices, summary: summary.map_err(|error| error.to_string()) }
    }
}

/// The format files of a report, loaded once.
fn load(path: &str) -> Catalog<'static> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let set = FormatSet::load(&[path], &LoadOptions::default()).expect("the fuzzed reports' format file compiles");
    let set: &'static FormatSet = Box::leak(Box::new(set));
    set.catalog().expect("what compiles verifies")
}

/// Templates of everything that reports treat alike or not.
pub static TEMPLATES: LazyLock<Catalog<'static>> = LazyLock::new(|| load("data/all.trcfmt"));

/// Event definitions.
pub static DEFINITIONS: LazyLock<Catalog<'static>> = LazyLock::new(|| load("data/all.xml"));
