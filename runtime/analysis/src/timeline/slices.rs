//! Tracks with their open slices, clipped to the span.

use super::sink::{FlowPoint, Sink, SliceStart, Track, TrackKind};
use std::ops::Range;

/// Limit on nested slices of a track.
const MAX_DEPTH: usize = 128;

/// Tracks of a timeline.
pub struct Slices<'o> {
    /// Format of the timeline. It is a trait object, so that the code that draws is compiled once.
    pub sink: Box<dyn Sink + 'o>,
    /// Start of the span. Slices that end before it are left out.
    from: u64,
    keeps_bodies: bool,
    tracks: Vec<OpenSlices>,
    n_groups: u32,
    n_slices: u64,
    max_slices: u64,
    /// True if slices were left out because of the limit.
    pub is_full: bool,
    /// Number of pairs, events and values that were left out because there are too many tracks.
    pub n_left_out: u64,
}

/// Open slices of a track.
struct OpenSlices {
    track: Track,
    slices: Vec<OpenSlice>,
    /// Encoded bodies, one after the other.
    bodies: Vec<u8>,
    /// Time of the last begin or end. CPUs of QNX have their own order of times, but the slices of a thread must nest.
    last: u64,
}

impl OpenSlices {
    /// True if a slice that begins at this time is written at once.
    #[inline(always)]
    fn is_usual(&self, time: u64, from: u64) -> bool {
        let waits = self.slices.last().is_some_and(|slice| slice.state == Written::Later);
        time >= from && self.slices.len() < MAX_DEPTH && !waits
    }
}

struct OpenSlice {
    begin: u64,
    body: usize,
    state: Written,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    /// Not yet: it began before the span.
    Later,
    Yes,
    /// Left out, because of a limit.
    Never,
}

impl<'o> Slices<'o> {
    pub fn new(sink: Box<dyn Sink + 'o>, from: u64, max_slices: u64) -> Self {
        let keeps_bodies = sink.keeps_bodies();
        Self {
            sink,
            keeps_bodies,
            from,
            tracks: Vec::new(),
            n_groups: 0,
            n_slices: 0,
            max_slices,
            is_full: false,
            n_left_out: 0,
        }
    }

    /// Adds a group of tracks.
    pub fn new_group(&mut self, name: &[u8]) -> u32 {
        self.n_groups += 1;
        self.sink.group(self.n_groups, name);
        self.n_groups
    }

    /// Adds a track.
    pub fn new_track(&mut self, group: u32, kind: TrackKind, name: &[u8]) -> Track {
        let track = Track { group, id: self.tracks.len() as u32 + 1 };
        self.tracks.push(OpenSlices { track, slices: Vec::new(), bodies: Vec::new(), last: 0 });
        self.sink.track(track, kind, name);
        track
    }

    /// True if one more slice or instant may be written.
    fn admits(&mut self) -> bool {
        self.is_full |= self.n_slices >= self.max_slices;
        self.n_slices += u64::from(!self.is_full);
        !self.is_full
    }

    /// Begins a slice.
    #[inline]
    pub fn begin(&mut self, track: Track, time: u64, body: &[u8]) {
        let open = &mut self.tracks[track.id as usize - 1];
        let time = time.max(open.last);
        if !open.is_usual(time, self.from) || self.n_slices >= self.max_slices {
            return self.begin_any(track, time, body);
        }
        open.last = time;
        self.n_slices += 1;
        open.slices.push(OpenSlice { begin: time, body: open.bodies.len(), state: Written::Yes });
        if self.keeps_bodies {
            open.bodies.extend_from_slice(body);
        }
        self.sink.begin(track, time, body);
    }

    /// Begins a slice whose body `encode` appends to a buffer.
    #[inline]
    pub fn begin_encoded(&mut self, track: Track, time: u64, encode: impl FnOnce(&mut dyn Sink, &mut Vec<u8>)) {
        let Self { sink, tracks, from, keeps_bodies, n_slices, max_slices, .. } = self;
        let open = &mut tracks[track.id as usize - 1];
        let time = time.max(open.last);
        if !open.is_usual(time, *from) || *n_slices >= *max_slices {
            let mut body = Vec::new();
            encode(&mut **sink, &mut body);
            return self.begin_any(track, time, &body);
        }
        open.last = time;
        *n_slices += 1;
        let start = open.bodies.len();
        open.slices.push(OpenSlice { begin: time, body: start, state: Written::Yes });
        encode(&mut **sink, &mut open.bodies);
        sink.begin(track, time, &open.bodies[start..]);
        if !*keeps_bodies {
            open.bodies.truncate(start);
        }
    }

    /// Begins a slice before the span, in one that began there, or beyond a limit.
    #[cold]
    fn begin_any(&mut self, track: Track, time: u64, body: &[u8]) {
        let at = track.id as usize - 1;
        self.tracks[at].last = time;
        let is_now = time >= self.from;
        if is_now {
            self.begin_span(track);
        }
        let depth = self.tracks[at].slices.len();
        let admitted = depth < MAX_DEPTH && (!is_now || self.admits());
        let open = &mut self.tracks[at];
        let state = match (admitted, is_now) {
            (false, _) => Written::Never,
            (true, true) => Written::Yes,
            (true, false) => Written::Later,
        };
        open.slices.push(OpenSlice { begin: time, body: open.bodies.len(), state });
        if state == Written::Later || (state == Written::Yes && self.keeps_bodies) {
            open.bodies.extend_from_slice(body);
        }
        if state == Written::Yes {
            self.sink.begin(track, time, body);
        }
    }

    /// Writes the open slices of a track that began before the span.
    #[inline]
    fn begin_span(&mut self, track: Track) {
        if self.tracks[track.id as usize - 1].slices.last().is_some_and(|slice| slice.state == Written::Later) {
            self.begin_later(track);
        }
    }

    #[cold]
    fn begin_later(&mut self, track: Track) {
        let at = track.id as usize - 1;
        for depth in 0..self.tracks[at].slices.len() {
            if self.tracks[at].slices[depth].state != Written::Later {
                continue;
            }
            let admitted = self.admits();
            let open = &mut self.tracks[at];
            let end = open.slices.get(depth + 1).map_or(open.bodies.len(), |next| next.body);
            let slice = &mut open.slices[depth];
            slice.begin = self.from;
            slice.state = if admitted { Written::Yes } else { Written::Never };
            if admitted {
                self.sink.begin(track, self.from, &open.bodies[slice.body..end]);
            }
        }
    }

    /// Ends the innermost slice of a track, with more arguments, which are encoded.
    pub fn end(&mut self, track: Track, time: u64, more: &[u8]) {
        let at = track.id as usize - 1;
        let time = time.max(self.tracks[at].last);
        self.tracks[at].last = time;
        if time > self.from {
            self.begin_span(track);
        }
        let open = &mut self.tracks[at];
        let Some(slice) = open.slices.pop() else { return };
        if slice.state == Written::Yes {
            let body = &open.bodies[slice.body..];
            self.sink.end(track, SliceStart { time: slice.begin, body }, time.max(slice.begin), more);
        }
        open.bodies.truncate(slice.body);
    }

    /// Writes a whole slice of a track whose slices do not nest.
    pub fn slice(&mut self, track: Track, time: Range<u64>, body: &[u8]) {
        if time.end >= self.from && self.admits() {
            self.sink.overlapping(track, SliceStart { time: time.start.max(self.from), body }, time.end);
        }
    }

    /// Writes an instant.
    pub fn instant(&mut self, track: Track, time: u64, body: &[u8]) {
        if time >= self.from && self.admits() {
            self.sink.instant(track, time, body);
        }
    }

    /// Writes a value of a counter.
    pub fn counter(&mut self, track: Track, time: u64, name: &[u8], value: i128) {
        if time >= self.from && self.admits() {
            self.sink.counter(track, time, name, value);
        }
    }

    /// Writes a point of a flow.
    pub fn flow(&mut self, track: Track, time: u64, point: FlowPoint, id: u64, body: &[u8]) {
        if time >= self.from && self.admits() {
            self.begin_span(track);
            self.sink.flow(track, time, point, id, body);
        }
    }

    /// True if an event at a time is written.
    pub fn is_in_span(&self, time: u64) -> bool {
        time >= self.from && !self.is_full
    }

    /// Ends all slices of all tracks.
    pub fn end_all(&mut self, time: u64) {
        for at in 0..self.tracks.len() {
            while !self.tracks[at].slices.is_empty() {
                self.end(self.tracks[at].track, time, &[]);
            }
        }
    }
}
