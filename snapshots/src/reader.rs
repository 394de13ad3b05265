//! Simple reference reader for 32-bit and 64-bit streams.

use tfbc_vm::ProcessNames;

/// Magic number of a 64-bit stream.
pub const MAGIC_64: [u8; 4] = [0xEF, 0xDF, 0x11, 0x14];

/// Maximum variable part of a 32-bit generic event, in bytes: 4096, and the rest of a 64-bit header.
const MAX_GENERIC_32: usize = 4108;

/// One event of a stream, as its template sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamEvent {
    /// Hook word and data.
    pub bytes: Vec<u8>,
    /// True for a 64-bit hook.
    pub wide: bool,
    /// Time in ns; for an event without a time stamp, the last known time.
    pub time_ns: u64,
    /// Offset in the file.
    pub offset: u64,
    /// Thread id.
    pub tid: u64,
    /// CPU id; 0 if the stream does not contain it.
    pub cpu: u64,
}

impl StreamEvent {
    /// 16-bit hook id.
    pub fn hook(&self) -> u16 {
        match self.wide {
            true => u16::from_be_bytes([self.bytes[4], self.bytes[5]]),
            false => u16::from_be_bytes([self.bytes[0], self.bytes[1]]) & 0xFFF0,
        }
    }
}

/// Properties of the machine from the stream's own events.
#[derive(Debug, Clone, Default)]
pub struct MachineProperties {
    /// 32 or 64.
    pub trace_env: u8,
    /// `$IPADDR`
    pub ip_address: u32,
    /// `$BUFF`
    pub buffering: u8,
    /// `$TOTALCPUS`
    pub total_cpus: u32,
    /// `$TRACEDCPUS`
    pub traced_cpus: u32,
    /// `$LARGEDATATYPES`
    pub large_data_types: u8,
    /// Paths by process id.
    pub processes: ProcessNames,
}

/// A whole stream.
#[derive(Debug, Clone, Default)]
pub struct Stream {
    /// Events in order, without 003 and 00A.
    pub events: Vec<StreamEvent>,
    /// Machine that recorded it.
    pub machine: MachineProperties,
    /// Offset of the first malformed or cut event.
    pub damage: Option<u64>,
}

/// Time factors of a 25C event.
#[derive(Debug, Clone, Copy)]
struct Factors {
    multiplier: u64,
    divisor: u64,
    kind: u64,
}

/// Lengths of one event, from its hook word alone.
struct EventLengths {
    /// Bytes of hook word and data.
    data: usize,
    /// Bytes to the next event.
    step: usize,
}

/// Raw fields after the data.
struct Tail {
    tid: u64,
    stamp: Option<u64>,
    cpu: u64,
}

/// Reads a stream up to its end, or to the first malformed or cut event.
pub fn read(file: &[u8]) -> Stream {
    let wide = file.starts_with(&MAGIC_64);
    let mut reader = StreamReader { file, wide, stream: Stream::default(), clock: StampConverter::new(wide), at: 0 };
    reader.stream.machine.trace_env = if wide { 64 } else { 32 };
    reader.run();
    reader.stream
}

struct StreamReader<'f> {
    file: &'f [u8],
    /// True for a 64-bit stream.
    wide: bool,
    stream: Stream,
    clock: StampConverter,
    at: usize,
}

impl StreamReader<'_> {
    fn run(&mut self) {
        self.clock.factors = self.first_factors();
        self.at = self.start();
        while self.at < self.file.len() {
            let Some(extent) = self.extent(self.at) else {
                self.damaged();
                return;
            };
            self.event(&extent);
            self.at += extent.step;
        }
    }

    fn damaged(&mut self) {
        self.stream.damage = self.stream.damage.or(Some(self.at as u64));
    }

    fn start(&self) -> usize {
        if self.wide { 4 } else { 0 }
    }

    /// Lengths of the event at an offset; `None` if it is malformed or cut.
    fn extent(&self, at: usize) -> Option<EventLengths> {
        let extent = if self.wide { self.extent_64(at)? } else { self.extent_32(at)? };
        (at + extent.step <= self.file.len()).then_some(extent)
    }

    fn extent_32(&self, at: usize) -> Option<EventLengths> {
        let word = number(self.file.get(at..at + 4)?) as usize;
        let data = match word >> 16 & 7 {
            0 if word & 0xFFFF > MAX_GENERIC_32 => return None,
            0 => 8 + (word & 0xFFFF),
            7 => return None,
            n => 4 * n,
        };
        let stamp = if word & 0x8_0000 != 0 { 4 } else { 0 };
        Some(EventLengths { data, step: data.next_multiple_of(4) + 4 + stamp })
    }

    fn extent_64(&self, at: usize) -> Option<EventLengths> {
        let word = number(self.file.get(at..at + 8)?);
        let header = Header64::new(word);
        if !header.is_legal() {
            return None;
        }
        let data = header.len + if header.generic { 16 } else { 8 };
        let mut step = data.next_multiple_of(8) + 8;
        step += if header.stamped { 8 } else { 0 };
        step += 8 * header.registers;
        step += if header.cpu_id { 8 } else { 0 };
        Some(EventLengths { data, step })
    }

    fn tail(&self, extent: &EventLengths) -> Tail {
        let event = &self.file[self.at..self.at + extent.step];
        let (width, stamped) = match self.wide {
            true => (8, Header64::new(number(&event[..8])).stamped),
            false => (4, event[1] & 8 != 0),
        };
        let tid_at = extent.data.next_multiple_of(width);
        let stamp_at = tid_at + width;
        Tail {
            tid: number(&event[tid_at..stamp_at]),
            stamp: stamped.then(|| number(&event[stamp_at..stamp_at + width])),
            cpu: match self.wide && Header64::new(number(&event[..8])).cpu_id {
                true => number(&event[event.len() - 4..]),
                false => 0,
            },
        }
    }

    fn event(&mut self, extent: &EventLengths) {
        let tail = self.tail(extent);
        let raw = &self.file[self.at..self.at + extent.data];
        if let Some(factors) = time_factors(raw, self.wide) {
            self.clock.factors = factors;
        }
        let time_ns = self.clock.time(tail.stamp);
        let Some((bytes, wide)) = template_bytes(raw, self.wide) else {
            self.damaged();
            return;
        };
        let event = StreamEvent { bytes, wide, time_ns, offset: self.at as u64, tid: tail.tid, cpu: tail.cpu };
        match event.hook() {
            0x0030 => {}
            0x00A0 => utility(&mut self.stream.machine, raw, self.wide),
            _ => self.stream.events.push(event),
        }
    }

    /// Time factors of the first 25C event of the file.
    fn first_factors(&self) -> Factors {
        let mut at = self.start();
        while let Some(extent) = self.extent(at) {
            if let Some(factors) = time_factors(&self.file[at..at + extent.data], self.wide) {
                return factors;
            }
            at += extent.step;
        }
        Factors { multiplier: 1, divisor: 1, kind: 0 }
    }
}

/// Fields of a 64-bit hook word.
struct Header64 {
    flags: u64,
    len: usize,
    id: u64,
    subhook: u64,
    stamped: bool,
    generic: bool,
    narrow: bool,
    cpu_id: bool,
    /// Number of recorded registers.
    registers: usize,
}

impl Header64 {
    fn new(word: u64) -> Self {
        let flags = word >> 48;
        Header64 {
            flags,
            len: (word >> 32 & 0xFFFF) as usize,
            id: word >> 16 & 0xFFFF,
            subhook: word & 0xFFFF,
            stamped: flags & 0x8000 != 0,
            generic: flags & 0x4000 != 0,
            narrow: flags & 0x2000 != 0,
            cpu_id: flags & 0x1000 != 0,
            registers: if flags & 0x0800 != 0 { (flags & 7) as usize + 1 } else { 0 },
        }
    }

    fn is_legal(&self) -> bool {
        let len_is_legal = match (self.generic, self.narrow) {
            (true, _) => true,
            (false, true) => self.len <= 20 && self.len.is_multiple_of(4),
            (false, false) => self.len <= 40 && self.len.is_multiple_of(8),
        };
        let id_is_legal = !self.narrow || self.id.is_multiple_of(16);
        self.flags & 0x07F8 == 0 && len_is_legal && id_is_legal
    }
}

/// Bytes that a template sees; true for a 64-bit hook. `None` for a 00B event with inconsistent lengths.
fn template_bytes(raw: &[u8], wide: bool) -> Option<(Vec<u8>, bool)> {
    if wide {
        let header = Header64::new(number(&raw[..8]));
        return match header.narrow {
            true => Some((narrow_event(raw, &header), false)),
            false => Some((raw.to_vec(), true)),
        };
    }
    let word = number(&raw[..4]);
    if word >> 20 != 0x00B || word >> 16 & 7 != 0 {
        return Some((raw.to_vec(), false));
    }
    let inner = &raw[4..];
    let header = Header64::new(number(inner.get(..8)?));
    let announced = 8 + header.len + if header.generic { 8 } else { 0 };
    (inner.len() == announced && header.is_legal()).then(|| (inner.to_vec(), true))
}

/// Event of a 32-bit program in a 64-bit trace, converted to a 32-bit kernel's layout.
fn narrow_event(raw: &[u8], header: &Header64) -> Vec<u8> {
    let stamped = if header.stamped { 8 } else { 0 };
    let (kind, low, data) = match header.generic {
        true => (stamped, header.len as u64, &raw[12..]),
        false => (stamped + 1 + header.len as u64 / 4, header.subhook, &raw[8..]),
    };
    let word = (header.id >> 4 << 20 | kind << 16 | low) as u32;
    [&word.to_be_bytes(), data].concat()
}

/// Time factors in a 00A/25C event.
fn time_factors(raw: &[u8], wide: bool) -> Option<Factors> {
    let (kind, payload) = utility_parts(raw, wide)?;
    let field = |at: usize| payload.get(at * 8..at * 8 + 8).map(number);
    if kind != 0x25C {
        return None;
    }
    Some(Factors { multiplier: field(0)?, divisor: field(1)?, kind: field(2)? })
}

/// Kind and payload of a generic 00A event.
fn utility_parts(raw: &[u8], wide: bool) -> Option<(u64, &[u8])> {
    let word = number(&raw[..if wide { 8 } else { 4 }]);
    let (id, generic, data_word) = match wide {
        true => (word >> 16 & 0xFFFF, word >> 48 & 0x4000 != 0, 8..16),
        false => (word >> 20 << 4, word >> 16 & 7 == 0, 4..8),
    };
    let end = data_word.end;
    (id == 0x00A0 && generic).then(|| (number(&raw[data_word]), &raw[end..]))
}

/// Adds the contents of a 00A event to the machine's properties.
fn utility(machine: &mut MachineProperties, raw: &[u8], wide: bool) {
    let Some((kind, payload)) = utility_parts(raw, wide) else { return };
    let field = |at: usize| payload.get(at * 4..at * 4 + 4).map_or(0, number) as u32;
    match kind {
        0x01 | 0x16 => {
            let path = payload.get(16..).unwrap_or_default().split(|byte| *byte == 0).next().unwrap_or_default();
            if let Some(pid) = payload.get(..8) {
                machine.processes.insert(number(pid), path.to_vec());
            }
        }
        0x05 => machine.ip_address = field(0),
        0x06 => machine.buffering = field(0) as u8,
        0x12 => (machine.total_cpus, machine.traced_cpus) = (field(0), field(1)),
        0x13 => machine.large_data_types = field(0) as u8,
        _ => {}
    }
}

/// Converts time stamps to ns.
struct StampConverter {
    factors: Factors,
    /// True for 64-bit time stamps, which do not wrap.
    wide: bool,
    /// Last raw time stamp.
    previous: Option<u64>,
    ticks: u64,
}

impl StampConverter {
    fn new(wide: bool) -> Self {
        StampConverter { factors: Factors { multiplier: 1, divisor: 1, kind: 0 }, wide, previous: None, ticks: 0 }
    }

    /// Time of an event with a time stamp; otherwise the last known time.
    fn time(&mut self, stamp: Option<u64>) -> u64 {
        match stamp {
            None => {}
            Some(stamp) if self.wide => self.ticks = stamp,
            Some(stamp) => self.unwrap(stamp),
        }
        let Factors { multiplier, divisor, kind } = self.factors;
        if kind != 2 || divisor == 0 {
            return self.ticks;
        }
        let ns = u128::from(self.ticks) * u128::from(multiplier) / u128::from(divisor);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// Extends a 32-bit time stamp. A step of up to 15/16 of the period is forward. A larger one is a small step back,
    /// which is ignored.
    fn unwrap(&mut self, stamp: u64) {
        let period: i128 = if self.factors.kind == 1 { 1_000_000_000 } else { 1 << 32 };
        let Some(previous) = self.previous else {
            self.previous = Some(stamp);
            self.ticks = stamp;
            return;
        };
        let step = (i128::from(stamp) - i128::from(previous)).rem_euclid(period);
        if step * 16 <= period * 15 {
            self.ticks += step as u64;
            self.previous = Some(stamp);
        }
    }
}

/// Big-endian number of up to 8 bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
        digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
    }

    /// Reads one event of a 32-bit stream, or of a 64-bit one without its magic number.
    fn check(wide: bool, stream: &str, presented: &str, tid: u64) {
        let magic: &[u8] = if wide { &MAGIC_64 } else { b"" };
        let stream = read(&[magic, &bytes(stream)].concat());
        assert_eq!(stream.damage, None);
        let [event] = &stream.events[..] else { panic!("one event, not {}", stream.events.len()) };
        assert_eq!((&event.bytes, event.tid), (&bytes(presented), tid));
        assert_eq!(event.offset, magic.len() as u64);
    }

    #[test]
    fn narrow_program_in_a_wide_trace_looks_the_same() {
        let words = "00000001 00000002 00000003 00000004 00000005";
        let tail = "0000000000001a2b 000001230f00ba50";
        check(true, &format!("a000001450000005 {words} 00000000 {tail}"), &format!("500e0005 {words}"), 0x1a2b);
        let generic = format!("e000000650000005 0000000000000001 68656c6c6f00 0000 {tail}");
        check(true, &generic, "50080006 00000001 68656c6c6f00", 0x1a2b);
    }

    #[test]
    fn wide_program_in_a_narrow_trace_looks_the_same() {
        let words = "0000000000000001 0000000000000002 0000000000000003 0000000000000004 0000000000000005";
        let stream = format!("00b8002c 80000028 50000005 {words} 00001a2b 0f00ba50");
        check(false, &stream, &format!("80000028 50000005 {words}"), 0x1a2b);
        let generic = "40000006 50000005 0000000000000001 68656c6c6f00";
        check(false, &format!("00b00012 {generic} 0000 00001a2b"), generic, 0x1a2b);
    }

    #[test]
    fn a_rebuilt_event_whose_lengths_differ_is_stepped_over() {
        let stream = read(&bytes("00b0000c 40000006 50000005 00000000 00000001 00001a2b 0101 0007 00001a2b"));
        assert_eq!((stream.damage, stream.events.len()), (Some(0), 1));
    }
}
