//! Timelines in memory, for programs that draw them.

use super::sink::{Arg, FlowPoint, Sink, SliceStart, Track, TrackArgs, TrackKind};
use foldhash::HashMap;
use std::io;

/// Timeline in memory.
#[derive(Debug, Clone, Default)]
pub struct TimelineTracks {
    /// Names, categories and arguments of slices, each once. The first one is empty.
    pub texts: Vec<String>,
    /// Tracks with at least one slice, by group.
    pub tracks: Vec<TimelineTrack>,
}

/// Track of a timeline.
#[derive(Debug, Clone, Default)]
pub struct TimelineTrack {
    /// Name of its group, such as `CPUs` or a process.
    pub group: String,
    /// Name, such as `CPU 0`.
    pub name: String,
    /// Slices and instants in the order of their starts; a slice comes before those inside it.
    pub slices: Vec<TimelineSlice>,
}

/// Slice of a track. Instants start when they end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineSlice {
    /// Start, in nanoseconds since the start of the trace.
    pub start_ns: u64,
    /// End, in nanoseconds since the start of the trace.
    pub end_ns: u64,
    /// Number of slices around it.
    pub depth: u16,
    /// Index of its name in [`TimelineTracks::texts`].
    pub name: u32,
    /// Index of its category.
    pub category: u32,
    /// Index of its arguments, such as `result=0, errno=2`.
    pub args: u32,
}

/// Sink that collects slices. Flows and counters are left out.
pub struct Collector<'t> {
    tracks: &'t mut TimelineTracks,
    /// Index in `texts`, by text.
    known: HashMap<String, u32>,
    groups: HashMap<u32, String>,
    /// Tracks, by number.
    found: Vec<FoundTrack>,
}

/// Track with its number of open slices.
#[derive(Default)]
struct FoundTrack {
    group: u32,
    depth: u16,
    track: TimelineTrack,
}

impl<'t> Collector<'t> {
    pub fn new(tracks: &'t mut TimelineTracks) -> Self {
        let mut new = Self { tracks, known: HashMap::default(), groups: HashMap::default(), found: Vec::new() };
        new.intern(&[]);
        new
    }

    /// Index of a text.
    fn intern(&mut self, text: &[u8]) -> u32 {
        let text = String::from_utf8_lossy(text);
        if let Some(at) = self.known.get(&*text) {
            return *at;
        }
        // The limit on slices bounds the number of texts.
        let at = self.tracks.texts.len() as u32;
        self.tracks.texts.push(text.clone().into_owned());
        self.known.insert(text.into_owned(), at);
        at
    }

    fn at(&mut self, track: Track) -> &mut FoundTrack {
        let at = track.id as usize;
        if self.found.len() <= at {
            self.found.resize_with(at + 1, Default::default);
        }
        &mut self.found[at]
    }

    fn add(&mut self, track: Track, start: SliceStart<'_>, end_ns: u64, more: &[u8]) {
        let (name, rest) = split(start.body);
        let (category, args) = split(rest);
        let (name, category) = (self.intern(name), self.intern(category));
        let args = match more {
            [] => self.intern(args),
            more => {
                let separator: &[u8] = if args.is_empty() { b"" } else { b", " };
                self.intern(&[args, separator, more].concat())
            }
        };
        let FoundTrack { depth, track, .. } = self.at(track);
        track.slices.push(TimelineSlice { start_ns: start.time, end_ns, depth: *depth, name, category, args });
    }
}

/// Splits a body into its first text and the rest.
fn split(body: &[u8]) -> (&[u8], &[u8]) {
    match body.split_first_chunk() {
        Some((length, rest)) => rest.split_at(rest.len().min(u32::from_le_bytes(*length) as usize)),
        None => (&[], &[]),
    }
}

/// Appends a text after its length.
fn push_text(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text);
}

fn push_args(args: &TrackArgs<'_>, out: &mut Vec<u8>) {
    for (name, value) in args {
        if !out.is_empty() {
            out.extend_from_slice(b", ");
        }
        out.extend_from_slice(name.as_bytes());
        out.push(b'=');
        match value {
            Arg::Number(number) => out.extend(number.to_string().bytes()),
            Arg::Float(number) => out.extend(number.to_string().bytes()),
            Arg::Flag(flag) => out.extend(flag.to_string().bytes()),
            Arg::Text(text) => out.extend_from_slice(text),
        }
    }
}

impl Sink for Collector<'_> {
    fn group(&mut self, group: u32, name: &[u8]) {
        self.groups.insert(group, String::from_utf8_lossy(name).into_owned());
    }

    fn track(&mut self, track: Track, _: TrackKind, name: &[u8]) {
        let found = self.at(track);
        found.group = track.group;
        found.track.name = String::from_utf8_lossy(name).into_owned();
    }

    fn encode(&mut self, name: &[u8], category: &str, args: &TrackArgs<'_>, out: &mut Vec<u8>) {
        push_text(name, out);
        self.encode_tail(category, args, out);
    }

    fn encode_tail(&mut self, category: &str, args: &TrackArgs<'_>, out: &mut Vec<u8>) {
        push_text(category.as_bytes(), out);
        let mut joined = Vec::new();
        push_args(args, &mut joined);
        out.extend_from_slice(&joined);
    }

    fn encode_once(&mut self, name: &[u8], tail: &[u8], out: &mut Vec<u8>) {
        push_text(name, out);
        out.extend_from_slice(tail);
    }

    fn append(&mut self, name: &str, value: u64, body: &mut Vec<u8>) {
        push_args(&[(name, Arg::Number(value.into()))], body);
    }

    fn encode_more(&mut self, args: &TrackArgs<'_>, out: &mut Vec<u8>) {
        push_args(args, out);
    }

    fn begin(&mut self, track: Track, _: u64, _: &[u8]) {
        self.at(track).depth += 1;
    }

    fn keeps_bodies(&self) -> bool {
        true
    }

    fn end(&mut self, track: Track, start: SliceStart<'_>, time: u64, more: &[u8]) {
        let found = self.at(track);
        found.depth = found.depth.saturating_sub(1);
        self.add(track, start, time, more);
    }

    fn overlapping(&mut self, track: Track, start: SliceStart<'_>, time: u64) {
        self.add(track, start, time, &[]);
    }

    fn instant(&mut self, track: Track, time: u64, body: &[u8]) {
        self.add(track, SliceStart { time, body }, time, &[]);
    }

    fn counter(&mut self, _: Track, _: u64, _: &[u8], _: i128) {}

    fn flow(&mut self, _: Track, _: u64, _: FlowPoint, _: u64, _: &[u8]) {}

    fn has_overlapping(&self) -> bool {
        false
    }

    fn finish(&mut self) -> io::Result<()> {
        let mut found = std::mem::take(&mut self.found);
        found.retain(|found| !found.track.slices.is_empty());
        found.sort_by_key(|found| found.group);
        for FoundTrack { group, mut track, .. } in found {
            track.group = self.groups.get(&group).cloned().unwrap_or_default();
            track.slices.sort_by_key(|slice| (slice.start_ns, slice.depth));
            self.tracks.tracks.push(track);
        }
        Ok(())
    }
}
