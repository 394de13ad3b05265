//! Random QNX logs: random header order, both byte orders, interleaved combine records, lost slots.

use super::Rng;
use super::datakey::GeneratedRecord;

/// Log with the given records, and clock and buffer records between them.
pub fn log(rng: &mut Rng, records: &[GeneratedRecord], big_endian: bool) -> Vec<u8> {
    let mut file = header(rng, big_endian);
    let damaged = rng.chance(50);
    let mut cpus: Vec<CpuQueue> = (0..1 + rng.below(4)).map(|at| CpuQueue::new(rng, at as u8 * 21)).collect();
    let mut records = records.iter().peekable();
    let mut buffer = rng.below(2048) as u32;
    loop {
        let ready = cpus.iter().any(|cpu| !cpu.waiting.is_empty());
        let at = rng.below(cpus.len());
        let cpu = &mut cpus[at];
        if cpu.waiting.is_empty() {
            match records.next() {
                Some(record) => cpu.record(rng, record),
                None if !ready => break,
                None => continue,
            }
        }
        if rng.chance(5) {
            cpu.high = cpu.high.wrapping_add(rng.below(3) as u32);
            slot(&mut file, big_endian, [head(0, 1, 1, cpu.number), cpu.stamp, cpu.high, cpu.stamp]);
        }
        if rng.chance(5) {
            buffer = buffer.wrapping_add(if damaged && rng.chance(30) { rng.below(3000) as u32 } else { 1 });
            let index = (rng.below(4) as u32) << 13;
            slot(&mut file, big_endian, [head(0, 1, 2, cpu.number), cpu.stamp, buffer & 0x7ff | index, 714]);
        }
        let [header, stamp, data @ ..] = cpu.waiting.remove(0);
        if !(damaged && rng.chance(6)) {
            let word = |word: u32| if big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
            file.extend([header, stamp].into_iter().flat_map(word));
            // The data consists of bytes already.
            file.extend(data.into_iter().flat_map(u32::to_le_bytes));
        }
    }
    if rng.chance(20) {
        file.extend((0..rng.below(16)).map(|_| rng.bits() as u8));
    }
    file
}

/// One CPU, and the slots that it has still to write.
struct CpuQueue {
    number: u8,
    stamp: u32,
    high: u32,
    waiting: Vec<[u32; 4]>,
}

impl CpuQueue {
    fn new(rng: &mut Rng, number: u8) -> Self {
        // All CPUs start with the same stamp, so that a reader that confuses them fails.
        CpuQueue { number, stamp: 0xffff_fff0, high: rng.below(3) as u32, waiting: Vec::new() }
    }

    /// Splits a record into slots.
    fn record(&mut self, rng: &mut Rng, record: &GeneratedRecord) {
        self.stamp = self.stamp.wrapping_add(if rng.chance(5) { 0 } else { 1 + rng.below(3) as u32 });
        let mut payload = record.payload.clone();
        let least = if record.wide { 16 } else { 8 };
        payload.resize(payload.len().next_multiple_of(8).max(least), 0);
        if !record.wide {
            payload.truncate(8);
        }
        let count = payload.len() / 8;
        for (at, data) in payload.chunks(8).enumerate() {
            let kind = match at {
                _ if !record.wide => 0,
                0 => 1,
                at if at + 1 == count => 3,
                _ => 2,
            };
            let word = |at: usize| u32::from_le_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]]);
            self.waiting.push([head(kind, record.class, record.id, self.number), self.stamp, word(0), word(4)]);
        }
    }
}

fn head(kind: u32, class: u8, event: u16, cpu: u8) -> u32 {
    kind << 30 | u32::from(cpu) << 24 | u32::from(class) << 10 | u32::from(event)
}

fn slot(file: &mut Vec<u8>, big_endian: bool, words: [u32; 4]) {
    file.extend(words.into_iter().flat_map(|word| if big_endian { word.to_be_bytes() } else { word.to_le_bytes() }));
}

fn header(rng: &mut Rng, big_endian: bool) -> Vec<u8> {
    let syspage = if rng.chance(70) { syspage(rng, big_endian) } else { Vec::new() };
    let endian = if big_endian { "BIG_ENDIAN" } else { "LITTLE_ENDIAN" };
    let mut keys = vec![
        ("FILE_NAME", "/dev/shmem/tracebuffer.kev".to_string()),
        ("DATE", "Wed Jun 24 10:52:58 2009".into()),
        ("VER_MAJOR", "1".into()),
        ("VER_MINOR", "01".into()),
        (endian, "TRUE".into()),
        ("ENCODING", "16 byte events".into()),
        ("CYCLES_PER_SEC", "736629000".into()),
        ("CPU_NUM", "64".into()),
        ("SYS_RELEASE", (*rng.pick(&["6.4.1", "7.1.0", "8.0.0"])).into()),
        ("TITLE", (*rng.pick(&["TTTT", "TRACE", "", "TRACE_x::", ":: a: b"])).into()),
        ("TRACELOGGER_ARGS", "tracelogger -d1 ".repeat(1 + rng.below(20))),
        ("SYSPAGE_LEN", syspage.len().to_string()),
    ];
    if syspage.is_empty() && rng.chance(50) {
        keys.pop();
    }
    if !syspage.is_empty() && rng.chance(10) {
        keys.push((if big_endian { "LITTLE_ENDIAN" } else { "BIG_ENDIAN" }, "TRUE".into()));
    }
    let mut file: Vec<u8> = (0..rng.below(100) * usize::from(rng.chance(20))).map(|_| b'#').collect();
    file.extend(b"TRACE_HEADER_BEGIN::");
    while !keys.is_empty() {
        let at = if rng.chance(50) { 0 } else { rng.below(keys.len()) };
        let (key, value) = keys.remove(at);
        file.extend(format!("TRACE_{key}::{value}").bytes());
    }
    file.extend(b"TRACE_HEADER_END::");
    file.extend(syspage);
    file
}

/// System page with only size, type and qtime filled in. Some have a version, as 8.0 writes them.
fn syspage(rng: &mut Rng, big_endian: bool) -> Vec<u8> {
    let mut page = vec![0; 260];
    let mut put = |at: usize, half: u16| {
        let bytes = if big_endian { half.to_be_bytes() } else { half.to_le_bytes() };
        page[at..at + 2].copy_from_slice(&bytes);
    };
    let is_versioned = rng.chance(30);
    for (at, half) in [(0, 260), (2, 260), (6, 4)] {
        put(at, half);
    }
    let (start, flags_at) = if is_versioned {
        for (at, half) in [(4, 0x1104), (12, *rng.pick(&[2, 2, 3])), (20, 160), (22, 80)] {
            put(at, half);
        }
        (160, 48)
    } else {
        for (at, half) in [(32, 64), (34, 64)] {
            put(at, half);
        }
        (64, 60)
    };
    let flags: u32 = *rng.pick(&[0, 7, 8, 0xf]);
    let flags = if big_endian { flags.to_be_bytes() } else { flags.to_le_bytes() };
    page[start + flags_at..][..4].copy_from_slice(&flags);
    page
}
