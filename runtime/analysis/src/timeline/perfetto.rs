//! Timelines as Perfetto's protobuf: a `Trace` of `TracePacket`s.
//!
//! Every packet belongs to one sequence. Names are interned: a packet of its own gives a name its number before the first
//! use.

use super::sink::{Arg, FlowPoint, Sink, SliceStart, Track, TrackArgs, TrackKind};
use foldhash::HashMap;
use prost::encoding::WireType;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Limit on interned names; further ones are written in full.
const MAX_NAMES: usize = 1 << 16;
/// Size of the packets at which they are written, in bytes.
const FULL: usize = 1 << 16;
/// Bit of a track's identity that distinguishes groups from tracks.
const GROUP: u64 = 1 << 32;

/// Numbers of the fields, as `trace.proto` and the files it includes have them.
mod field {
    pub const TRACE_PACKET: u32 = 1;

    pub mod packet {
        pub const TIMESTAMP: u32 = 8;
        pub const SEQUENCE: u32 = 10;
        pub const TRACK_EVENT: u32 = 11;
        pub const INTERNED_DATA: u32 = 12;
        pub const SEQUENCE_FLAGS: u32 = 13;
        pub const TRACK_DESCRIPTOR: u32 = 60;
    }

    pub mod event {
        pub const ANNOTATION: u32 = 4;
        pub const TYPE: u32 = 9;
        pub const NAME_IID: u32 = 10;
        pub const TRACK: u32 = 11;
        pub const CATEGORY: u32 = 22;
        pub const NAME: u32 = 23;
        pub const COUNTER_VALUE: u32 = 30;
        pub const FLOW: u32 = 36;
        pub const LAST_FLOW: u32 = 42;
    }

    pub mod annotation {
        pub const FLAG: u32 = 2;
        pub const UNSIGNED: u32 = 3;
        pub const SIGNED: u32 = 4;
        pub const FLOAT: u32 = 5;
        pub const TEXT: u32 = 6;
        pub const NAME: u32 = 10;
    }

    pub mod descriptor {
        pub const UUID: u32 = 1;
        pub const NAME: u32 = 2;
        pub const PROCESS: u32 = 3;
        pub const PARENT: u32 = 5;
        pub const COUNTER: u32 = 8;
    }
}

/// Types of track events.
mod kind {
    pub const BEGIN: u64 = 1;
    pub const END: u64 = 2;
    pub const INSTANT: u64 = 3;
    pub const COUNTER: u64 = 4;
}

/// The first packet clears the state of the sequence; the others depend on it.
const CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;

/// Writer of protobuf.
pub struct Perfetto<W> {
    out: W,
    error: Option<io::Error>,
    packets: Vec<u8>,
    event: Vec<u8>,
    head: Vec<u8>,
    annotations: Vec<u8>,
    annotation: Vec<u8>,
    names: HashMap<Box<[u8]>, u64>,
    /// Names of the groups. Readers keep the first name of a process, but the last one is right, so names come at the end.
    groups: BTreeMap<u32, Vec<u8>>,
    has_begun: bool,
}

/// Appends a number. prost calls a function for each byte, which would take a fifth of the instructions of a timeline.
#[inline]
fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[inline]
fn key(field: u32, wire: WireType, out: &mut Vec<u8>) {
    varint(u64::from(field) << 3 | wire as u64, out);
}

#[inline]
fn number(field: u32, value: u64, out: &mut Vec<u8>) {
    key(field, WireType::Varint, out);
    varint(value, out);
}

#[inline]
fn bytes(field: u32, value: &[u8], out: &mut Vec<u8>) {
    key(field, WireType::LengthDelimited, out);
    varint(value.len() as u64, out);
    out.extend_from_slice(value);
}

/// Text as UTF-8.
fn text(field: u32, value: &[u8], out: &mut Vec<u8>) {
    bytes(field, String::from_utf8_lossy(value).as_bytes(), out);
}

impl<W: Write> Perfetto<W> {
    pub fn new(out: W) -> Self {
        Self {
            out,
            error: None,
            packets: Vec::new(),
            event: Vec::new(),
            head: Vec::new(),
            annotations: Vec::new(),
            annotation: Vec::new(),
            names: HashMap::default(),
            groups: BTreeMap::new(),
            has_begun: false,
        }
    }

    /// Writes a packet with one message.
    fn packet(&mut self, time: Option<u64>, message: u32, body: &[u8]) {
        let head = &mut self.head;
        head.clear();
        if let Some(time) = time {
            number(field::packet::TIMESTAMP, time, head);
        }
        number(field::packet::SEQUENCE, 1, head);
        let flags = if std::mem::replace(&mut self.has_begun, true) { NEEDS_STATE } else { CLEARED };
        number(field::packet::SEQUENCE_FLAGS, flags, head);
        key(message, WireType::LengthDelimited, head);
        varint(body.len() as u64, head);
        key(field::TRACE_PACKET, WireType::LengthDelimited, &mut self.packets);
        varint((head.len() + body.len()) as u64, &mut self.packets);
        self.packets.extend_from_slice(head);
        self.packets.extend_from_slice(body);
        if self.packets.len() >= FULL {
            self.write();
        }
    }

    #[cold]
    fn write(&mut self) {
        if self.error.is_none() {
            self.error = self.out.write_all(&self.packets).err();
        }
        self.packets.clear();
    }

    /// Appends arguments.
    fn annotations(&mut self, args: &TrackArgs<'_>, out: &mut Vec<u8>) {
        let annotation = &mut self.annotation;
        for (name, value) in args {
            annotation.clear();
            bytes(field::annotation::NAME, name.as_bytes(), annotation);
            match value {
                Arg::Flag(flag) => number(field::annotation::FLAG, u64::from(*flag), annotation),
                Arg::Float(float) => {
                    key(field::annotation::FLOAT, WireType::SixtyFourBit, annotation);
                    annotation.extend(float.to_le_bytes());
                }
                Arg::Text(value) => text(field::annotation::TEXT, value, annotation),
                Arg::Number(value) => match (u64::try_from(*value), i64::try_from(*value)) {
                    (_, Ok(value)) => number(field::annotation::SIGNED, value as u64, annotation),
                    (Ok(value), _) => number(field::annotation::UNSIGNED, value, annotation),
                    _ => text(field::annotation::TEXT, value.to_string().as_bytes(), annotation),
                },
            }
            bytes(field::event::ANNOTATION, annotation, out);
        }
    }

    /// Writes a track event. `body` is encoded, and `add` appends more.
    fn event(&mut self, kind: u64, track: Track, time: u64, body: &[u8], add: impl FnOnce(&mut Vec<u8>)) {
        let mut event = std::mem::take(&mut self.event);
        event.clear();
        number(field::event::TYPE, kind, &mut event);
        number(field::event::TRACK, track.id.into(), &mut event);
        event.extend_from_slice(body);
        add(&mut event);
        self.packet(Some(time), field::packet::TRACK_EVENT, &event);
        self.event = event;
    }

    /// Appends a name as its number.
    fn name(&mut self, name: &[u8], out: &mut Vec<u8>) {
        if let Some(found) = self.names.get(name) {
            return number(field::event::NAME_IID, *found, out);
        }
        if self.names.len() >= MAX_NAMES {
            return text(field::event::NAME, name, out);
        }
        let new = self.names.len() as u64 + 1;
        self.names.insert(name.into(), new);
        let (mut entry, mut data) = (Vec::new(), Vec::new());
        number(1, new, &mut entry);
        text(2, name, &mut entry);
        bytes(2, &entry, &mut data);
        self.packet(None, field::packet::INTERNED_DATA, &data);
        number(field::event::NAME_IID, new, out);
    }

    /// Describes a group as a process.
    fn process(&mut self, group: u32, name: Option<&[u8]>) {
        let (mut process, mut descriptor) = (Vec::new(), Vec::new());
        number(1, group.into(), &mut process);
        if let Some(name) = name {
            text(6, name, &mut process);
        }
        number(field::descriptor::UUID, GROUP | u64::from(group), &mut descriptor);
        bytes(field::descriptor::PROCESS, &process, &mut descriptor);
        self.packet(None, field::packet::TRACK_DESCRIPTOR, &descriptor);
    }
}

impl<W: Write> Sink for Perfetto<W> {
    fn group(&mut self, group: u32, name: &[u8]) {
        if self.groups.insert(group, name.to_vec()).is_none() {
            self.process(group, None);
        }
    }

    fn track(&mut self, track: Track, kind: TrackKind, name: &[u8]) {
        let mut descriptor = Vec::new();
        number(field::descriptor::UUID, track.id.into(), &mut descriptor);
        text(field::descriptor::NAME, name, &mut descriptor);
        number(field::descriptor::PARENT, GROUP | u64::from(track.group), &mut descriptor);
        if kind == TrackKind::Counter {
            bytes(field::descriptor::COUNTER, &[], &mut descriptor);
        }
        self.packet(None, field::packet::TRACK_DESCRIPTOR, &descriptor);
    }

    fn encode(&mut self, name: &[u8], category: &str, args: &TrackArgs<'_>, out: &mut Vec<u8>) {
        self.name(name, out);
        bytes(field::event::CATEGORY, category.as_bytes(), out);
        self.annotations(args, out);
    }

    fn begin(&mut self, track: Track, time: u64, body: &[u8]) {
        self.event(kind::BEGIN, track, time, body, |_| {});
    }

    fn end(&mut self, track: Track, _: SliceStart<'_>, time: u64, more: &TrackArgs<'_>) {
        let mut encoded = std::mem::take(&mut self.annotations);
        encoded.clear();
        self.annotations(more, &mut encoded);
        self.event(kind::END, track, time, &encoded, |_| {});
        self.annotations = encoded;
    }

    fn overlapping(&mut self, track: Track, start: SliceStart<'_>, time: u64) {
        self.begin(track, start.time, start.body);
        self.end(track, start, time, &[]);
    }

    fn instant(&mut self, track: Track, time: u64, body: &[u8]) {
        self.event(kind::INSTANT, track, time, body, |_| {});
    }

    fn counter(&mut self, track: Track, time: u64, _: &[u8], value: i128) {
        let value = value.clamp(i64::MIN.into(), i64::MAX.into()) as i64 as u64;
        self.event(kind::COUNTER, track, time, &[], |event| number(field::event::COUNTER_VALUE, value, event));
    }

    fn flow(&mut self, track: Track, time: u64, point: FlowPoint, id: u64, body: &[u8]) {
        let flow = if point == FlowPoint::End { field::event::LAST_FLOW } else { field::event::FLOW };
        self.event(kind::INSTANT, track, time, body, |event| number(flow, id, event));
    }

    fn has_overlapping(&self) -> bool {
        false
    }

    fn finish(mut self) -> io::Result<()> {
        for (group, name) in std::mem::take(&mut self.groups) {
            self.process(group, Some(&name));
        }
        self.write();
        self.error.map_or_else(|| self.out.flush(), Err)
    }
}
