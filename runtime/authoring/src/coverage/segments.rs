//! Splits a format file at the borders of its parts. Each segment has the count of its innermost part.

use super::Hit;
use std::collections::BTreeMap;

/// A byte range with one count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedRange {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
    /// Count of the innermost part.
    pub n: u64,
}

/// Segments of a file, in order. Bytes outside all parts have no segment.
pub fn of(hits: &[Hit]) -> Vec<CountedRange> {
    // Two parts can have the same range, such as the two outcomes of a condition; the lower count is shown.
    let mut parts: BTreeMap<(u32, std::cmp::Reverse<u32>), u64> = BTreeMap::new();
    for hit in hits.iter().filter(|hit| hit.point.span.start < hit.point.span.end) {
        let place = (hit.point.span.start, std::cmp::Reverse(hit.point.span.end));
        parts.entry(place).and_modify(|n| *n = hit.n.min(*n)).or_insert(hit.n);
    }
    let mut segments = Segments::default();
    for ((start, std::cmp::Reverse(end)), n) in parts {
        segments.close(start);
        segments.push(start);
        // A part that extends past its parent is cut there.
        let end = segments.open.last().map_or(end, |(outer, _)| end.min(*outer));
        segments.open.push((end, n));
    }
    segments.close(u32::MAX);
    segments.done
}

#[derive(Default)]
struct Segments {
    /// End and count per open part, innermost last.
    open: Vec<(u32, u64)>,
    at: u32,
    done: Vec<CountedRange>,
}

impl Segments {
    /// Closes the parts that end at or before an offset.
    fn close(&mut self, place: u32) {
        while let Some((end, _)) = self.open.last().copied().filter(|(end, _)| *end <= place) {
            self.push(end);
            self.open.pop();
        }
    }

    /// Adds the segment from the last border to `end`, with the count of the innermost open part.
    fn push(&mut self, end: u32) {
        let start = self.at;
        self.at = start.max(end);
        if let Some((_, n)) = self.open.last().copied().filter(|_| start < end) {
            self.done.push(CountedRange { start, end, n });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfbc_compiler::coverage::{CoveragePoint, PointKind};
    use tfbc_grammar::{SourceId, Span};

    fn hit(start: u32, end: u32, n: u64) -> Hit {
        let (kind, name) = (PointKind::Case, String::new());
        Hit { point: CoveragePoint { kind, source: SourceId(0), span: Span::new(start, end), name }, n }
    }

    #[test]
    fn the_innermost_part_counts() {
        let hits = [
            hit(0, 20, 0),
            hit(5, 10, 3),
            hit(7, 8, 0),
            hit(10, 12, 1),
            hit(30, 40, 2),
            hit(30, 40, 1),
            hit(50, 50, 9),
        ];
        let segments: Vec<_> = of(&hits).into_iter().map(|segment| (segment.start, segment.end, segment.n)).collect();
        let expected = [(0, 5, 0), (5, 7, 3), (7, 8, 0), (8, 10, 3), (10, 12, 1), (12, 20, 0), (30, 40, 1)];
        assert_eq!(segments, expected);
    }
}
