//! Coverage: the parts of format files that the events of case files reach.
//!
//! The format files are compiled a second time with probes ([`tfbc_compiler::coverage`]). Every event is then formatted
//! by those programs under an observer that counts the probes.
//!
//! ```text
//! format files ─instrument─> programs with probes ─events, observed─> hits ─┬─> table of counts
//!                            points ───────────────────────────────────────┴─> marked source, lcov
//! ```

mod lcov;
mod marked;
mod segments;
mod table;

pub use lcov::lcov;
pub use marked::marked;
pub use table::table;

use crate::cases::{ProgramObserver, RunOptions, Suite, run_case_observed};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use tfbc::Formats;
use tfbc_compiler::coverage::{CoveragePoint, PointKind, probe};
use tfbc_grammar::Source;
use tfbc_vm::{Observer, Program, Step};

/// A part of a format file and its count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The part.
    pub point: CoveragePoint,
    /// Number of times that events reached it.
    pub n: u64,
}

/// One format file.
#[derive(Debug)]
pub struct Covered {
    /// Source of the file.
    pub source: Source,
    /// Its parts, sorted by position.
    pub hits: Vec<Hit>,
}

/// Coverage of a suite.
#[derive(Debug, Default)]
pub struct Coverage {
    /// Format files, sorted by name. If several sets contain a file, the counts of equal points are added.
    pub files: Vec<Covered>,
    /// Files without coverage: blobs, and files that do not compile.
    pub left_out: Vec<String>,
}

/// Runs all events of a suite again and counts the parts that they reach.
pub fn measure(suite: &Suite, options: &RunOptions) -> Coverage {
    let mut options = options.clone();
    options.load.instrument = true;
    let sets = suite.load(&options);
    let mut coverage = Coverage::default();
    let mut files: BTreeMap<String, (Source, BTreeMap<PointKey, Hit>)> = BTreeMap::new();
    for (at, set) in sets.iter().enumerate() {
        let Ok(loaded) = &set.loaded else {
            coverage.left_out.extend(set.formats.iter().map(|path| path.display().to_string()));
            continue;
        };
        let blobs = loaded.files().into_iter().filter(|file| file.is_blob);
        coverage.left_out.extend(blobs.map(|file| file.name));
        let counts = count(suite, at, loaded, &options);
        for (point, n) in loaded.points().iter().zip(counts) {
            // Nobody tests the built-in format file, so it is left out.
            let source =
                loaded.findings().sources.get(point.source).filter(|source| source.name() != Formats::BUILT_IN);
            let Some(source) = source else { continue };
            let file = files.entry(source.name().to_owned()).or_insert_with(|| (source.clone(), BTreeMap::new()));
            let key = (point.span.start, point.span.end, point.kind, point.name.clone());
            file.1.entry(key).or_insert_with(|| Hit { point: point.clone(), n: 0 }).n += n;
        }
    }
    let covered =
        |(source, hits): (Source, BTreeMap<PointKey, Hit>)| Covered { source, hits: hits.into_values().collect() };
    coverage.files = files.into_values().map(covered).collect();
    coverage.left_out.sort_unstable();
    coverage.left_out.dedup();
    coverage
}

/// Identity of a point in its file. The order is the order of positions.
type PointKey = (u32, u32, PointKind, String);

/// Counts of all points of a set.
fn count(suite: &Suite, set: usize, loaded: &Formats, options: &RunOptions) -> Vec<u64> {
    let counts: Vec<AtomicU64> = loaded.points().iter().map(|_| AtomicU64::new(0)).collect();
    let catalog = loaded.catalog();
    // The program with the probes is compiled last.
    let probed = catalog.programs().last();
    crate::cases::side_by_side(
        &suite.of_set(set),
        options.threads,
        || (),
        |(), file| {
            run_case_observed(file, catalog, options, &mut Counting { probed, counts: &counts });
        },
    );
    counts.into_iter().map(AtomicU64::into_inner).collect()
}

/// Observer that counts probes.
struct Counting<'c, 'p> {
    probed: Option<&'c Program<'p>>,
    counts: &'c [AtomicU64],
}

impl ProgramObserver for Counting<'_, '_> {
    fn observer(&mut self, program: &Program<'_>) -> impl Observer {
        let is_probed = self.probed.is_some_and(|probed| is_same_program(probed, program));
        let counts = self.counts;
        move |step: Step<'_>| {
            if let Some(count) = probe(step.instr).filter(|_| is_probed).and_then(|point| counts.get(point)) {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// True if both are the same program.
fn is_same_program(one: &Program<'_>, other: &Program<'_>) -> bool {
    std::ptr::eq(std::ptr::from_ref(one).cast::<u8>(), std::ptr::from_ref(other).cast::<u8>())
}

impl Covered {
    /// Parts that count by themselves. The code after an item that may end the event belongs to another part.
    pub fn counted(&self) -> impl Iterator<Item = &Hit> {
        self.hits.iter().filter(|hit| hit.point.kind != PointKind::Rest)
    }

    /// Number of reached parts of the given kinds, and number of all such parts.
    pub fn reached(&self, kinds: &[PointKind]) -> (usize, usize) {
        let of_kind = || self.hits.iter().filter(|hit| kinds.contains(&hit.point.kind));
        (of_kind().filter(|hit| hit.n > 0).count(), of_kind().count())
    }

    /// Count per line: the count of the innermost part at the start of the line, or of a part that begins on it. `None`
    /// for lines without parts, such as comments.
    pub fn line_counts(&self) -> Vec<Option<u64>> {
        lines::counts(self)
    }
}

/// Counts per line.
mod lines {
    use super::{Covered, Hit};
    use tfbc_compiler::coverage::PointKind;

    /// True if the part is a missing branch, which contains no text of its own.
    fn is_branch_only(kind: PointKind) -> bool {
        matches!(kind, PointKind::ConditionFalse | PointKind::FlagClear)
    }

    pub fn counts(covered: &Covered) -> Vec<Option<u64>> {
        let bytes = covered.source.bytes();
        let mut regions: Vec<&Hit> = covered.hits.iter().filter(|hit| !is_branch_only(hit.point.kind)).collect();
        // Outer parts first, so that inner ones overwrite them.
        regions.sort_by_key(|hit| (hit.point.span.start, std::cmp::Reverse(hit.point.span.end)));
        let mut counts = Vec::new();
        let mut open: Vec<&Hit> = Vec::new();
        let mut next = regions.into_iter().peekable();
        let mut start = 0u32;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let end = start + line.len() as u32;
            let blanks = line.iter().take_while(|byte| byte.is_ascii_whitespace()).count() as u32;
            let text = start + blanks;
            let mut on_line = None;
            let close = |open: &mut Vec<&Hit>, at: u32| open.retain(|hit| hit.point.span.end > at);
            while let Some(hit) = next.next_if(|hit| hit.point.span.start <= text) {
                close(&mut open, hit.point.span.start);
                open.push(hit);
            }
            close(&mut open, text);
            if text < end {
                on_line = open.last().map(|hit| hit.n);
            }
            while let Some(hit) = next.next_if(|hit| hit.point.span.start < end) {
                // If several parts begin on a line, the highest count is shown.
                on_line = Some(on_line.unwrap_or(0).max(hit.n));
                close(&mut open, hit.point.span.start);
                open.push(hit);
            }
            counts.push(on_line);
            start = end;
        }
        counts
    }
}
