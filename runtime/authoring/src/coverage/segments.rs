//! A format file cut at the beginnings and ends of its parts: each piece has the count of the innermost part that it is in.

use super::Hit;
use std::collections::BTreeMap;

/// A run of bytes with one count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Offset of its first byte.
    pub start: u32,
    /// Offset behind its last.
    pub end: u32,
    /// How often its innermost part was reached.
    pub n: u64,
}

/// The segments of a file, in order; what is in no part is in none.
pub fn of(hits: &[Hit]) -> Vec<Segment> {
    // Of two parts at one place, such as a condition that holds and that does not, the one that was reached less counts.
    let mut parts: BTreeMap<(u32, std::cmp::Reverse<u32>), u64> = BTreeMap::new();
    for hit in hits.iter().filter(|hit| hit.point.span.start < hit.point.span.end) {
        let place = (hit.point.span.start, std::cmp::Reverse(hit.point.span.end));
        parts.entry(place).and_modify(|n| *n = hit.n.min(*n)).or_insert(hit.n);
    }
    let mut segments = Segments::default();
    for ((start, std::cmp::Reverse(end)), n) in parts {
        segments.close(start);
        segments.push(start);
        // A part that reaches beyond the one around it ends with that.
        let end = segments.open.last().map_or(end, |(outer, _)| end.min(*outer));
        segments.open.push((end, n));
    }
    segments.close(u32::MAX);
    segments.done
}

#[derive(Default)]
struct Segments {
    /// Ends and counts of the parts that are open, the innermost last.
    open: Vec<(u32, u64)>,
    at: u32,
    done: Vec<Segment>,
}

impl Segments {
    /// Ends the parts that end at a place or before.
    fn close(&mut self, place: u32) {
        while let Some((end, _)) = self.open.last().copied().filter(|(end, _)| *end <= place) {
            self.push(end);
            self.open.pop();
        }
    }

    /// What stands up to a place is in the innermost open part.
    fn push(&mut self, end: u32) {
        let start = self.at;
        self.at = start.max(end);
        if let Some((_, n)) = self.open.last().copied().filter(|_| start < end) {
            self.done.push(Segment { start, end, n });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfbc_compiler::coverage::{Point, PointKind};
    use tfbc_grammar::{SourceId, Span};

    fn hit(start: u32, end: u32, n: u64) -> Hit {
        let (kind, name) = (PointKind::Case, String::new());
        Hit { point: Point { kind, source: SourceId(0), span: Span::new(start, end), name }, n }
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
