//! Timelines as Perfetto's protobuf: a `Trace` of `TracePacket`s.
//!
//! Every packet belongs to one sequence. Names are interned: a packet of its own gives a name its number before the first
//! use.

use super::HexDigits;
use super::sink::{Arg, FlowPoint, Sink, SliceStart, Track, TrackArgs, TrackKind};
use foldhash::HashMap;
use prost::encoding::WireType;
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::io::{self, Write};

/// Limit on interned names; further ones are written in full.
const MAX_NAMES: usize = 1 << 16;
/// Number of names above which those that occur once are interned like the others.
const MAX_NUMBERS: u64 = 1 << 17;
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

    pub mod interned {
        pub const EVENT_NAME: u32 = 2;
        pub const NUMBER: u32 = 1;
        pub const NAME: u32 = 2;
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
    pub const BEGIN: u8 = 1;
    pub const END: u8 = 2;
    pub const INSTANT: u8 = 3;
    pub const COUNTER: u8 = 4;
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
    names: HashMap<Box<[u8]>, u64>,
    n_names: u64,
    /// Numbers of the names of calls at addresses.
    addresses: HashMap<u64, u64>,
    /// Encoded numbers of the tracks, in their order.
    tracks: Vec<ShortVarint>,
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

/// Appends arguments.
fn annotations(args: &TrackArgs<'_>, out: &mut Vec<u8>) {
    for (name, value) in args {
        match value {
            Arg::Flag(flag) => annotation(name, field::annotation::FLAG, u64::from(*flag), out),
            Arg::Number(value) => match (i64::try_from(*value), u64::try_from(*value)) {
                (Ok(value), _) => annotation(name, field::annotation::SIGNED, value as u64, out),
                (_, Ok(value)) => annotation(name, field::annotation::UNSIGNED, value, out),
                _ => text_annotation(name, value.to_string().as_bytes(), out),
            },
            Arg::Float(float) => {
                start_annotation(name, 9, out);
                key(field::annotation::FLOAT, WireType::SixtyFourBit, out);
                out.extend(float.to_le_bytes());
            }
            Arg::Text(value) if value.is_ascii() => text_annotation(name, value, out),
            Arg::Text(value) => text_annotation(name, String::from_utf8_lossy(value).as_bytes(), out),
        }
    }
}

/// Appends an argument that is a number of a field.
#[inline]
fn annotation(name: &str, field: u32, value: u64, out: &mut Vec<u8>) {
    start_annotation(name, 1 + varint_len(value), out);
    number(field, value, out);
}

fn text_annotation(name: &str, value: &[u8], out: &mut Vec<u8>) {
    start_annotation(name, 1 + varint_len(value.len() as u64) + value.len(), out);
    bytes(field::annotation::TEXT, value, out);
}

/// Appends the start of an argument, whose value has `value_len` bytes.
#[inline]
fn start_annotation(name: &str, value_len: usize, out: &mut Vec<u8>) {
    let len = 1 + varint_len(name.len() as u64) + name.len() + value_len;
    key(field::event::ANNOTATION, WireType::LengthDelimited, out);
    varint(len as u64, out);
    bytes(field::annotation::NAME, name.as_bytes(), out);
}

/// Key of a field with a number below 16: one byte.
const fn short_key(field: u32, wire: WireType) -> u8 {
    assert!(field < 16);
    (field << 3) as u8 | wire as u8
}

/// Encoded number below 2^56, and zeros after it.
#[derive(Clone, Copy)]
struct ShortVarint {
    bytes: [u8; 8],
    len: usize,
}

impl ShortVarint {
    const LIMIT: u64 = 1 << 56;

    /// Encodes a number without a loop: moves its groups of seven bits to bytes.
    #[inline(always)]
    fn new(value: u64) -> Self {
        let len = varint_len(value);
        let halves = (value & 0x0FFF_FFFF) | (value & 0x00FF_FFFF_F000_0000) << 4;
        let quarters = (halves & 0x0000_3FFF_0000_3FFF) | (halves & 0x0FFF_C000_0FFF_C000) << 2;
        let groups = (quarters & 0x007F_007F_007F_007F) | (quarters & 0x3F80_3F80_3F80_3F80) << 1;
        // All bytes but the last one say that another follows.
        let more = 0x8080_8080_8080_8080u64 & ((1 << (8 * (len - 1) % 64)) - 1);
        Self { bytes: (groups | more).to_le_bytes(), len }
    }
}

/// Largest size of an event's packet that has lengths of one byte.
const MAX_SHORT: usize = 127;
/// Size of the start of such a packet, with room for copies of eight bytes.
const SHORT_START: usize = 32;

impl<W: Write> Perfetto<W> {
    pub fn new(out: W) -> Self {
        Self {
            out,
            error: None,
            packets: Vec::new(),
            more: Vec::new(),
            names: HashMap::default(),
            n_names: 0,
            addresses: HashMap::default(),
            tracks: Vec::new(),
            groups: BTreeMap::new(),
            has_begun: false,
        }
    }

    /// Writes a packet with one message.
    fn packet(&mut self, message: u32, body: &[u8]) {
        let flags = self.flags();
        let message = u64::from(message) << 3 | WireType::LengthDelimited as u64;
        let packet_len = 4 + varint_len(message) + varint_len(body.len() as u64) + body.len();
        self.start(packet_len, flags, None);
        varint(message, &mut self.packets);
        varint(body.len() as u64, &mut self.packets);
        self.packets.extend_from_slice(body);
        if self.packets.len() >= FULL {
            self.write();
        }
    }

    /// Writes the start of a packet.
    fn start(&mut self, packet_len: usize, flags: u64, time: Option<u64>) {
        let packets = &mut self.packets;
        key(field::TRACE_PACKET, WireType::LengthDelimited, packets);
        varint(packet_len as u64, packets);
        if let Some(time) = time {
            number(field::packet::TIMESTAMP, time, packets);
        }
        number(field::packet::SEQUENCE, 1, packets);
        number(field::packet::SEQUENCE_FLAGS, flags, packets);
    }

    /// Flags of the next packet.
    fn flags(&mut self) -> u64 {
        if std::mem::replace(&mut self.has_begun, true) { NEEDS_STATE } else { CLEARED }
    }

    /// Writes a track event with encoded fields. Nearly all packets are such events, and nearly all of them are short:
    /// their start is combined from parts of constant size. The packet that describes the track comes before, so that
    /// this one is never the first.
    #[inline(always)]
    fn event(&mut self, kind: u8, track: Track, time: u64, body: &[u8], more: &[u8]) {
        let id = match self.tracks.get(track.id as usize - 1) {
            Some(id) => *id,
            None => ShortVarint::new(track.id.into()),
        };
        let event_len = 3 + id.len + body.len() + more.len();
        let packet_len = 6 + varint_len(time) + 1 + event_len;
        if packet_len > MAX_SHORT || time >= ShortVarint::LIMIT {
            return self.long_event(kind, track, time, body, more);
        }
        let stamp = ShortVarint::new(time);
        let mut start = [0; SHORT_START];
        start[0] = short_key(field::TRACE_PACKET, WireType::LengthDelimited);
        start[1] = packet_len as u8;
        start[2] = short_key(field::packet::TIMESTAMP, WireType::Varint);
        start[3..11].copy_from_slice(&stamp.bytes);
        start[3 + stamp.len..11 + stamp.len].copy_from_slice(&[
            short_key(field::packet::SEQUENCE, WireType::Varint),
            1,
            short_key(field::packet::SEQUENCE_FLAGS, WireType::Varint),
            NEEDS_STATE as u8,
            short_key(field::packet::TRACK_EVENT, WireType::LengthDelimited),
            event_len as u8,
            short_key(field::event::TYPE, WireType::Varint),
            kind,
        ]);
        start[11 + stamp.len] = short_key(field::event::TRACK, WireType::Varint);
        start[12 + stamp.len..20 + stamp.len].copy_from_slice(&id.bytes);
        let end = self.packets.len() + 12 + stamp.len + id.len;
        self.packets.extend_from_slice(&start);
        self.packets.truncate(end);
        if !body.is_empty() {
            self.packets.extend_from_slice(body);
        }
        if !more.is_empty() {
            self.packets.extend_from_slice(more);
        }
        if self.packets.len() >= FULL {
            self.write();
        }
    }

    /// Writes a track event of any length.
    #[inline(never)]
    fn long_event(&mut self, kind: u8, track: Track, time: u64, body: &[u8], more: &[u8]) {
        let event_len = 3 + varint_len(track.id.into()) + body.len() + more.len();
        let packet_len = 6 + varint_len(time) + varint_len(event_len as u64) + event_len;
        self.start(packet_len, NEEDS_STATE, Some(time));
        key(field::packet::TRACK_EVENT, WireType::LengthDelimited, &mut self.packets);
        varint(event_len as u64, &mut self.packets);
        number(field::event::TYPE, kind.into(), &mut self.packets);
        number(field::event::TRACK, track.id.into(), &mut self.packets);
        self.packets.extend_from_slice(body);
        self.packets.extend_from_slice(more);
        if self.packets.len() >= FULL {
            self.write();
        }
    }

    /// Writes a track event with one more number.
    fn event_with(&mut self, kind: u8, track: Track, time: u64, body: &[u8], field: u32, value: u64) {
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

    /// Appends a name as its number.
    fn name(&mut self, name: &[u8], out: &mut Vec<u8>) {
        if let Some(found) = self.names.get(name) {
            return number(field::event::NAME_IID, *found, out);
        }
        if self.names.len() >= MAX_NAMES {
            return text(field::event::NAME, name, out);
        }
        let new = self.intern(name);
        self.names.insert(name.into(), new);
        number(field::event::NAME_IID, new, out);
    }

    /// Gives a name a number.
    fn intern(&mut self, name: &[u8]) -> u64 {
        self.n_names += 1;
        // Names are rarely anything else.
        if name.is_ascii() {
            self.intern_text(name);
        } else {
            self.intern_text(String::from_utf8_lossy(name).as_bytes());
        }
        self.n_names
    }

    /// Gives a text the last number.
    fn intern_text(&mut self, name: &[u8]) {
        let (number, flags) = (ShortVarint::new(self.n_names), self.flags());
        let entry_len = 2 + number.len + varint_len(name.len() as u64) + name.len();
        let data_len = 1 + varint_len(entry_len as u64) + entry_len;
        let packet_len = 5 + varint_len(data_len as u64) + data_len;
        if packet_len > MAX_SHORT {
            self.start(packet_len, flags, None);
            let packets = &mut self.packets;
            key(field::packet::INTERNED_DATA, WireType::LengthDelimited, packets);
            varint(data_len as u64, packets);
            key(field::interned::EVENT_NAME, WireType::LengthDelimited, packets);
            varint(entry_len as u64, packets);
            self::number(field::interned::NUMBER, self.n_names, packets);
            bytes(field::interned::NAME, name, packets);
        } else {
            let mut start = [0; SHORT_START];
            start[..11].copy_from_slice(&[
                short_key(field::TRACE_PACKET, WireType::LengthDelimited),
                packet_len as u8,
                short_key(field::packet::SEQUENCE, WireType::Varint),
                1,
                short_key(field::packet::SEQUENCE_FLAGS, WireType::Varint),
                flags as u8,
                short_key(field::packet::INTERNED_DATA, WireType::LengthDelimited),
                data_len as u8,
                short_key(field::interned::EVENT_NAME, WireType::LengthDelimited),
                entry_len as u8,
                short_key(field::interned::NUMBER, WireType::Varint),
            ]);
            start[11..19].copy_from_slice(&number.bytes);
            start[11 + number.len] = short_key(field::interned::NAME, WireType::LengthDelimited);
            start[12 + number.len] = name.len() as u8;
            self.packets.extend_from_slice(&start[..13 + number.len]);
            self.packets.extend_from_slice(name);
        }
        if self.packets.len() >= FULL {
            self.write();
        }
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
        if self.tracks.len() + 1 == track.id as usize {
            self.tracks.push(ShortVarint::new(track.id.into()));
        }
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
        self.encode_tail(category, args, out);
    }

    fn encode_tail(&mut self, category: &str, args: &TrackArgs<'_>, out: &mut Vec<u8>) {
        bytes(field::event::CATEGORY, category.as_bytes(), out);
        annotations(args, out);
    }

    fn encode_once(&mut self, name: &[u8], tail: &[u8], out: &mut Vec<u8>) {
        // Readers keep all numbers of names in memory.
        if self.n_names >= MAX_NUMBERS {
            self.name(name, out);
        } else {
            let new = self.intern(name);
            number(field::event::NAME_IID, new, out);
        }
        out.extend_from_slice(tail);
    }

    fn encode_address(&mut self, address: u64, tail: &[u8], out: &mut Vec<u8>) {
        let (n_known, new) = (self.addresses.len(), self.n_names + 1);
        match self.addresses.entry(address) {
            Entry::Occupied(found) => number(field::event::NAME_IID, *found.get(), out),
            Entry::Vacant(_) if n_known >= MAX_NAMES => {
                text(field::event::NAME, HexDigits::new(address).as_bytes(), out);
            }
            Entry::Vacant(entry) => {
                entry.insert(new);
                self.intern(HexDigits::new(address).as_bytes());
                number(field::event::NAME_IID, new, out);
            }
        }
        out.extend_from_slice(tail);
    }

    fn append(&mut self, name: &str, value: u64, body: &mut Vec<u8>) {
        annotations(&[(name, Arg::Number(value.into()))], body);
    }

    fn encode_more(&mut self, args: &TrackArgs<'_>, out: &mut Vec<u8>) {
        annotations(args, out);
    }

    fn encode_result(&mut self, result: i64, out: &mut Vec<u8>) {
        const NAME: &[u8; 6] = b"result";
        // The bits of a negative number are those of a large one, which is not short.
        if result as u64 >= ShortVarint::LIMIT {
            return annotation("result", field::annotation::SIGNED, result as u64, out);
        }
        let value = ShortVarint::new(result as u64);
        let mut argument = [0; 19];
        argument[0] = short_key(field::event::ANNOTATION, WireType::LengthDelimited);
        argument[1] = (3 + NAME.len() + value.len) as u8;
        argument[2] = short_key(field::annotation::NAME, WireType::LengthDelimited);
        argument[3] = NAME.len() as u8;
        argument[4..10].copy_from_slice(NAME);
        argument[10] = short_key(field::annotation::SIGNED, WireType::Varint);
        argument[11..].copy_from_slice(&value.bytes);
        out.extend_from_slice(&argument);
        out.truncate(out.len() - (8 - value.len));
    }

    fn begin(&mut self, track: Track, time: u64, body: &[u8]) {
        self.event(kind::BEGIN, track, time, body, &[]);
    }

    fn end(&mut self, track: Track, _: SliceStart<'_>, time: u64, more: &[u8]) {
        self.event(kind::END, track, time, &[], more);
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

    fn finish(&mut self) -> io::Result<()> {
        for (group, name) in std::mem::take(&mut self.groups) {
            self.process(group, Some(&name));
        }
        self.write();
        self.error.take().map_or_else(|| self.out.flush(), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_varints_are_varints() {
        let numbers = (0..56).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for value in numbers.chain([ShortVarint::LIMIT - 1, 0x00A5_3C96_F00F_1234]) {
            let mut expected = Vec::new();
            varint(value, &mut expected);
            let ShortVarint { bytes, len } = ShortVarint::new(value);
            assert_eq!(&bytes[..len], expected, "{value:x}");
            assert!(bytes[len..].iter().all(|byte| *byte == 0), "{value:x}");
        }
    }

    #[test]
    fn results_are_arguments() {
        let numbers = [0, 1, -1, 127, 128, 300, i64::MAX, i64::MIN, (1 << 56) - 1, 1 << 56];
        for result in numbers {
            let (mut out, mut short, mut expected) = (Perfetto::new(Vec::new()), Vec::new(), Vec::new());
            out.encode_result(result, &mut short);
            out.encode_more(&[("result", Arg::Number(result.into()))], &mut expected);
            assert_eq!(short, expected, "{result}");
        }
    }

    #[test]
    fn short_packets_are_those_of_any_length() {
        for (id, time) in [(1, 0), (127, 127), (128, 1 << 20), (u32::MAX, (1 << 56) - 1)] {
            for len in [0, 1, 60] {
                let (body, track) = (vec![7; len], Track { group: 1, id });
                let written = |long: bool| {
                    let mut out = Perfetto::new(Vec::new());
                    if long {
                        out.long_event(kind::END, track, time, &body, b"more");
                    } else {
                        out.event(kind::END, track, time, &body, b"more");
                    }
                    out.packets
                };
                assert_eq!(written(false), written(true), "{id} {time} {len}");
            }
        }
    }

    #[test]
    fn names_of_any_length_are_interned() {
        for len in [0, 1, 90, 127, 128, 20_000] {
            let mut out = Perfetto::new(Vec::new());
            out.intern_text(&vec![b'x'; len]);
            let packet = &out.packets;
            let mut number = vec![1 << 3, 0, 2 << 3 | 2];
            varint(len as u64, &mut number);
            assert!(packet.ends_with(&[&number[..], &vec![b'x'; len]].concat()), "{len}: {packet:?}");
            let mut start = vec![1 << 3 | 2];
            let rest_len = |start_len: usize| (packet.len() - start_len) as u64;
            let packet_len = if packet.len() < 130 {
                rest_len(2)
            } else if packet.len() < 16_387 {
                rest_len(3)
            } else {
                rest_len(4)
            };
            varint(packet_len, &mut start);
            assert!(packet.starts_with(&start), "{len}: {:?}", &packet[..8]);
        }
    }
}
