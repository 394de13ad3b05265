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
    /// Fields that are being encoded.
    more: Vec<u8>,
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

/// Number of bytes of a number.
#[inline(always)]
fn varint_len(value: u64) -> usize {
    (70 - (value | 1).leading_zeros() as usize) / 7
}

/// Key of a field with a number below 16: one byte.
const fn short_key(field: u32, wire: WireType) -> u8 {
    assert!(field < 16);
    (field << 3) as u8 | wire as u8
}

/// Start of a packet, before the parts of any length. It has at most 50 bytes: four numbers of up to ten, and ten others.
struct PacketStart {
    bytes: [u8; 64],
    len: usize,
}

impl PacketStart {
    fn new() -> Self {
        Self { bytes: [0; 64], len: 0 }
    }

    #[inline(always)]
    fn byte(&mut self, byte: u8) {
        self.bytes[self.len % 64] = byte;
        self.len += 1;
    }

    /// Appends it to packets. A copy of constant size is a few instructions.
    #[inline(always)]
    fn push_to(&self, packets: &mut Vec<u8>) {
        let end = packets.len() + self.len;
        packets.extend_from_slice(&self.bytes);
        packets.truncate(end);
    }

    #[inline(always)]
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }
}

impl<W: Write> Perfetto<W> {
    pub fn new(out: W) -> Self {
        Self {
            out,
            error: None,
            packets: Vec::new(),
            more: Vec::new(),
            annotation: Vec::new(),
            names: HashMap::default(),
            groups: BTreeMap::new(),
            has_begun: false,
        }
    }

    /// Writes a packet with one message.
    fn packet(&mut self, message: u32, body: &[u8]) {
        let flags = self.flags();
        let (message, len) = (u64::from(message) << 3 | WireType::LengthDelimited as u64, body.len() as u64);
        let packet_len = 4 + varint_len(message) as u64 + varint_len(len) as u64 + len;
        let mut start = PacketStart::new();
        start.byte(short_key(field::TRACE_PACKET, WireType::LengthDelimited));
        start.varint(packet_len);
        start.byte(short_key(field::packet::SEQUENCE, WireType::Varint));
        start.byte(1);
        start.byte(short_key(field::packet::SEQUENCE_FLAGS, WireType::Varint));
        start.byte(flags as u8);
        start.varint(message);
        start.varint(len);
        start.push_to(&mut self.packets);
        self.packets.extend_from_slice(body);
        if self.packets.len() >= FULL {
            self.write();
        }
    }

    /// Flags of the next packet.
    fn flags(&mut self) -> u64 {
        if std::mem::replace(&mut self.has_begun, true) { NEEDS_STATE } else { CLEARED }
    }

    /// Writes a track event with encoded fields. Nearly all packets are such events.
    #[inline]
    fn event(&mut self, kind: u64, track: Track, time: u64, body: &[u8], more: &[u8]) {
        let flags = self.flags();
        let track_id = u64::from(track.id);
        let event_len = (3 + varint_len(track_id) + body.len() + more.len()) as u64;
        let head_len = 6 + varint_len(time) + varint_len(event_len);
        let mut start = PacketStart::new();
        start.byte(short_key(field::TRACE_PACKET, WireType::LengthDelimited));
        start.varint(head_len as u64 + event_len);
        start.byte(short_key(field::packet::TIMESTAMP, WireType::Varint));
        start.varint(time);
        start.byte(short_key(field::packet::SEQUENCE, WireType::Varint));
        start.byte(1);
        start.byte(short_key(field::packet::SEQUENCE_FLAGS, WireType::Varint));
        start.byte(flags as u8);
        start.byte(short_key(field::packet::TRACK_EVENT, WireType::LengthDelimited));
        start.varint(event_len);
        start.byte(short_key(field::event::TYPE, WireType::Varint));
        start.byte(kind as u8);
        start.byte(short_key(field::event::TRACK, WireType::Varint));
        start.varint(track_id);
        start.push_to(&mut self.packets);
        self.packets.extend_from_slice(body);
        if !more.is_empty() {
            self.packets.extend_from_slice(more);
        }
        if self.packets.len() >= FULL {
            self.write();
        }
    }

    /// Writes a track event with one more number.
    fn event_with(&mut self, kind: u64, track: Track, time: u64, body: &[u8], field: u32, value: u64) {
        let mut more = std::mem::take(&mut self.more);
        more.clear();
        number(field, value, &mut more);
        self.event(kind, track, time, body, &more);
        self.more = more;
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
        let name = String::from_utf8_lossy(name);
        let entry_len = 2 + varint_len(new) + varint_len(name.len() as u64) + name.len();
        let mut data = std::mem::take(&mut self.more);
        data.clear();
        key(2, WireType::LengthDelimited, &mut data);
        varint(entry_len as u64, &mut data);
        number(1, new, &mut data);
        bytes(2, name.as_bytes(), &mut data);
        self.packet(field::packet::INTERNED_DATA, &data);
        self.more = data;
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
        self.packet(field::packet::TRACK_DESCRIPTOR, &descriptor);
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
        self.packet(field::packet::TRACK_DESCRIPTOR, &descriptor);
    }

    fn encode(&mut self, name: &[u8], category: &str, args: &TrackArgs<'_>, out: &mut Vec<u8>) {
        self.name(name, out);
        bytes(field::event::CATEGORY, category.as_bytes(), out);
        self.annotations(args, out);
    }

    fn begin(&mut self, track: Track, time: u64, body: &[u8]) {
        self.event(kind::BEGIN, track, time, body, &[]);
    }

    fn end(&mut self, track: Track, _: SliceStart<'_>, time: u64, more: &TrackArgs<'_>) {
        if more.is_empty() {
            return self.event(kind::END, track, time, &[], &[]);
        }
        let mut encoded = std::mem::take(&mut self.more);
        encoded.clear();
        self.annotations(more, &mut encoded);
        self.event(kind::END, track, time, &[], &encoded);
        self.more = encoded;
    }

    fn keeps_bodies(&self) -> bool {
        false
    }

    fn overlapping(&mut self, track: Track, start: SliceStart<'_>, time: u64) {
        self.begin(track, start.time, start.body);
        self.end(track, start, time, &[]);
    }

    fn instant(&mut self, track: Track, time: u64, body: &[u8]) {
        self.event(kind::INSTANT, track, time, body, &[]);
    }

    fn counter(&mut self, track: Track, time: u64, _: &[u8], value: i128) {
        let value = value.clamp(i64::MIN.into(), i64::MAX.into()) as i64 as u64;
        self.event_with(kind::COUNTER, track, time, &[], field::event::COUNTER_VALUE, value);
    }

    fn flow(&mut self, track: Track, time: u64, point: FlowPoint, id: u64, body: &[u8]) {
        let flow = if point == FlowPoint::End { field::event::LAST_FLOW } else { field::event::FLOW };
        self.event_with(kind::INSTANT, track, time, body, flow, id);
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
