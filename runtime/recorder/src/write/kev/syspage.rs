//! System page: the parts that readers use, which are processors and clock.

use super::super::setup::Setup;
use super::buffer::ByteOrder;

/// Number of CPUs that fit into a slot's header.
pub(super) const N_CPUS: usize = 64;

const HEAD: usize = 64;
const CPU: usize = 32;
const QTIME: usize = 64;
const STRINGS: usize = 16;
/// The clock does not stop, is the same on all CPUs (8), and its rate was checked to be stable (2).
const QTIME_FLAGS: u32 = 8 | 2;
/// Maximum number of processors with an entry.
const MAX_CPUS: u32 = N_CPUS as u32;

/// System page in the byte order of the target.
///
/// ```text
/// u16 size, total_size, type, num_cpu   pairs (u16 offset, u16 size) from byte 8 on   processors   qtime   strings
/// ```
pub(super) fn image(setup: &Setup, target: ByteOrder) -> Vec<u8> {
    let n_cpus = setup.machine.n_cpus.clamp(1, MAX_CPUS) as usize;
    let cpus = HEAD;
    let qtime = cpus + CPU * n_cpus;
    let strings = qtime + QTIME;
    let total = strings + STRINGS;
    let mut page = vec![0; total];
    let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
    let half = |number: usize| target.half(number as u16);
    put(0, &half(HEAD));
    put(2, &half(total));
    put(4, &half(machine_type(&setup.machine.machine)));
    put(6, &half(n_cpus));
    for (entry, start, size) in [(24, cpus, CPU * n_cpus), (32, qtime, QTIME), (48, strings, STRINGS)] {
        put(entry, &half(start));
        put(entry + 2, &half(size));
    }
    let mhz = u32::try_from(setup.clock.hertz / 1_000_000).unwrap_or(u32::MAX);
    for at in (0..n_cpus).map(|cpu| cpus + CPU * cpu) {
        put(at + 4, &target.word(mhz));
    }
    let boot = u32::try_from(setup.machine.boot_seconds).unwrap_or(u32::MAX);
    put(qtime, &target.double(setup.clock.hertz));
    put(qtime + 28, &target.word(boot));
    put(qtime + 60, &target.word(QTIME_FLAGS));
    let name = setup.machine.machine.as_bytes();
    let n = name.len().min(STRINGS - 1);
    put(strings, &name[..n]);
    page
}

/// Processor family: 0 X86, 1 PPC, 2 MIPS, 4 ARM, 5 SH. The page always has the layout of a 32-bit target.
fn machine_type(machine: &str) -> usize {
    match machine {
        name if name.starts_with("powerpc") => 1,
        name if name.starts_with("mips") => 2,
        name if name.starts_with("arm") || name.starts_with("aarch64") => 4,
        _ => 0,
    }
}
