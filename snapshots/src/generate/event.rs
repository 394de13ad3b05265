use tfbc_vm::{Context, ProcessNames};

use super::Rng;

/// One event with its position and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedEvent {
    /// Hook word and data.
    pub bytes: Vec<u8>,
    /// True for a 64-bit hook.
    pub wide: bool,
    /// Time in ns.
    pub time_ns: u64,
    /// Offset in the file.
    pub offset: u64,
}

/// Data that a context borrows.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    numbers: [u64; 10],
    svc: Vec<u8>,
    exec_path: Vec<u8>,
    log_file: Vec<u8>,
    processes: ProcessNames,
}

impl Facts {
    /// Context of an event.
    pub fn context(&self) -> Context<'_> {
        let [env, total, traced, reported, large, buffering, address, pid, tid, priority] = self.numbers;
        Context {
            trace_env: if env % 2 == 0 { 32 } else { 64 },
            total_cpus: total as u32 % 300,
            traced_cpus: traced as u32 % 300,
            reported_cpus: reported as u32,
            large_data_types: (large % 2) as u8,
            buffering: (buffering % 3) as u8,
            ip_address: address as u32,
            pid,
            tid,
            cpu: total % 64,
            priority: priority % 256,
            svc: &self.svc,
            exec_path: &self.exec_path,
            log_file: &self.log_file,
            processes: &self.processes,
        }
    }
}

/// A random context.
pub fn facts(rng: &mut Rng) -> Facts {
    let word = |rng: &mut Rng| rng.pick(&["", "kwritev", "/usr/bin/ksh", " led by a blank", "x"]).as_bytes().to_vec();
    let mut numbers = [0; 10];
    for number in &mut numbers {
        *number = interesting(rng);
    }
    let pids = [1, 2, 3, 10, 31, 0x1234, 0xFFFF_FFFF];
    let processes = pids.iter().map(|pid| (*pid, word(rng))).collect();
    Facts { numbers, svc: word(rng), exec_path: word(rng), log_file: b"trace.raw".to_vec(), processes }
}

/// Typical number for templates: small, at a boundary, or random.
pub fn interesting(rng: &mut Rng) -> u64 {
    match rng.below(6) {
        0 => 0,
        1 => rng.below(10) as u64,
        2 => rng.below(300) as u64,
        3 => *rng.pick(&[0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, u64::MAX]),
        4 => rng.bits() >> rng.below(64),
        _ => rng.bits(),
    }
}

/// Random event of a hook; one in eight is cut short.
pub fn event(rng: &mut Rng, hook: u16) -> GeneratedEvent {
    let wide = !hook.is_multiple_of(16) || rng.chance(50);
    let generic = rng.chance(40);
    let stamped = rng.chance(70);
    let mut bytes = match (wide, generic) {
        (false, false) => words_32(rng, hook, stamped),
        (false, true) => generic_32(rng, hook, stamped),
        (true, false) => words_64(rng, hook, stamped),
        (true, true) => generic_64(rng, hook, stamped),
    };
    if rng.chance(12) {
        let least = if rng.chance(90) { if wide { 8 } else { 4 } } else { 0 };
        bytes.truncate(least + rng.below(bytes.len() - least + 1));
    }
    GeneratedEvent { bytes, wide, time_ns: interesting(rng) >> rng.below(30), offset: interesting(rng) >> 20 }
}

fn words_32(rng: &mut Rng, hook: u16, stamped: bool) -> Vec<u8> {
    let words = rng.below(6);
    let kind = if stamped { 8 } else { 0 } | (words as u32 + 1);
    let head = u32::from(hook) << 16 | kind << 16 | (interesting(rng) & 0xFFFF) as u32;
    [head.to_be_bytes().to_vec(), payload(rng, words * 4)].concat()
}

fn generic_32(rng: &mut Rng, hook: u16, stamped: bool) -> Vec<u8> {
    let len = length(rng);
    let kind = if stamped { 8 } else { 0 };
    let head = u32::from(hook) << 16 | kind << 16 | len as u32;
    [head.to_be_bytes().to_vec(), payload(rng, 4 + len)].concat()
}

fn words_64(rng: &mut Rng, hook: u16, stamped: bool) -> Vec<u8> {
    let words = rng.below(6);
    let flags = if stamped { 0x8000 } else { 0 } | if rng.chance(10) { 0x1000 } else { 0 };
    let head = flags << 48 | (words as u64 * 8) << 32 | u64::from(hook) << 16 | interesting(rng) & 0xFFFF;
    [head.to_be_bytes().to_vec(), payload(rng, words * 8)].concat()
}

fn generic_64(rng: &mut Rng, hook: u16, stamped: bool) -> Vec<u8> {
    let len = length(rng);
    let flags = if stamped { 0xC000 } else { 0x4000 };
    let head = flags << 48 | (len as u64) << 32 | u64::from(hook) << 16 | interesting(rng) & 0xFFFF;
    [head.to_be_bytes().to_vec(), payload(rng, 8 + len)].concat()
}

fn length(rng: &mut Rng) -> usize {
    match rng.below(10) {
        0 => 0,
        1..=7 => rng.below(50),
        8 => rng.below(300),
        _ => rng.below(1200),
    }
}

/// Bytes that suit the codes: small numbers of every width, texts, floats.
fn payload(rng: &mut Rng, len: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < len {
        match rng.below(9) {
            0 => bytes.extend(interesting(rng).to_be_bytes()),
            1 => bytes.extend((interesting(rng) as u32).to_be_bytes()),
            2 => bytes.extend((interesting(rng) as u16).to_be_bytes()),
            3 => bytes.push(interesting(rng) as u8),
            4 => bytes.extend((rng.below(1000) as f64 / 8.0 * if rng.chance(50) { -1.0 } else { 1.0 }).to_be_bytes()),
            5 => bytes.extend((rng.below(1 << 20) as f32 / 64.0).to_be_bytes()),
            _ => {
                let text =
                    rng.pick(&["hello", "a", "/bin/ksh", "\x05hello", "two words", "\x03xyz", "b\0c", "\u{e9}t\x7f"]);
                bytes.extend(text.as_bytes());
                if rng.chance(50) {
                    bytes.push(0);
                }
            }
        }
    }
    bytes.truncate(len);
    bytes
}
