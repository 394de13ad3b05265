//! Interface of the formats of timelines.

use super::HexDigits;
use std::io;

/// Value of an argument of a slice or instant.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg<'a> {
    Number(i128),
    Float(f64),
    Flag(bool),
    Text(&'a [u8]),
}

/// Arguments with their names.
pub type TrackArgs<'a> = [(&'a str, Arg<'a>)];

/// Kind of a track's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrackKind {
    /// Slices that nest, and instants.
    Slices,
    /// Slices that may overlap; only for formats that can write them.
    Overlapping,
    /// Values over time.
    Counter,
}

/// Begin of a slice, and its encoded name, category and arguments.
#[derive(Debug, Clone, Copy)]
pub struct SliceStart<'b> {
    pub time: u64,
    pub body: &'b [u8],
}

/// Part of a message from one thread to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowPoint {
    Start,
    Step,
    End,
}

/// Format of a timeline. Times are nanoseconds; tracks and their groups are numbered from 1.
pub trait Sink {
    /// Describes a group of tracks. It may be described again with another name.
    fn group(&mut self, group: u32, name: &[u8]);

    /// Describes a track, before its first slice. It may be described again with another name.
    fn track(&mut self, track: Track, kind: TrackKind, name: &[u8]);

    /// Appends an encoded category and arguments to `out`: what follows the name in a body.
    fn encode_tail(&mut self, category: &str, args: &TrackArgs<'_>, out: &mut Vec<u8>);

    /// Appends a body to `out`: an encoded name and a tail. A name that occurs once in the timeline is not looked up.
    fn encode_once(&mut self, name: &[u8], tail: &[u8], out: &mut Vec<u8>);

    /// Like [`Sink::encode_once`] for the hex digits of an address, which may occur again.
    fn encode_address(&mut self, address: u64, tail: &[u8], out: &mut Vec<u8>) {
        self.encode_once(HexDigits::new(address).as_bytes(), tail, out);
    }

    /// Appends one more argument to an encoded body that has arguments.
    fn append(&mut self, name: &str, value: u64, body: &mut Vec<u8>);

    /// Appends encoded arguments for the end of a slice to `out`, which is empty.
    fn encode_more(&mut self, args: &TrackArgs<'_>, out: &mut Vec<u8>);

    /// Like [`Sink::encode_more`] with the result of a call, which nearly all ends of calls have.
    fn encode_result(&mut self, result: i64, out: &mut Vec<u8>) {
        self.encode_more(&[("result", Arg::Number(result.into()))], out);
    }

    /// Appends the encoded name, category and arguments of slices and instants to `out`.
    fn encode(&mut self, name: &[u8], category: &str, args: &TrackArgs<'_>, out: &mut Vec<u8>);

    /// Begins a slice.
    fn begin(&mut self, track: Track, time: u64, body: &[u8]);

    /// True if the end of a slice needs its body.
    fn keeps_bodies(&self) -> bool;

    /// Ends the innermost slice of a track at `time`, with more arguments, which are encoded.
    fn end(&mut self, track: Track, start: SliceStart<'_>, time: u64, more: &[u8]);

    /// Writes a slice that ends at `time`, on a track whose slices may overlap.
    fn overlapping(&mut self, track: Track, start: SliceStart<'_>, time: u64);

    /// Writes an instant.
    fn instant(&mut self, track: Track, time: u64, body: &[u8]);

    /// Writes a value of a counter.
    fn counter(&mut self, track: Track, time: u64, name: &[u8], value: i128);

    /// Writes a point of a flow between slices.
    fn flow(&mut self, track: Track, time: u64, point: FlowPoint, id: u64, body: &[u8]);

    /// True if slices of a track may overlap.
    fn has_overlapping(&self) -> bool;

    /// Ends the file, and returns the first error of writing.
    fn finish(&mut self) -> io::Result<()>;
}

/// Track and its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Track {
    pub group: u32,
    pub id: u32,
}
