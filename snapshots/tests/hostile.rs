//! Blobs with changed bytes and a correct checksum: they are refused, or run within the machine's limits.

use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Source, Sources};
use tfbc_snapshots::generate::{Rng, event, template};
use tfbc_vm::{Context, Event, Job, Layout, Limits, Machine, Program, TextBuf, Timers};

/// Recomputes the checksum at offset 24.
fn update_checksum(blob: &mut [u8]) {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&blob[..24]);
    hasher.update(&blob[28..]);
    let crc = hasher.finalize();
    blob[24..28].copy_from_slice(&crc.to_le_bytes());
}

fn alter(blob: &mut [u8], rng: &mut Rng) {
    for _ in 0..=rng.below(4) {
        // Changes mostly bytes after the header, for the verifier; sometimes the section table.
        let at = if rng.below(8) == 0 { 12 } else { 176 } + rng.below(blob.len() - 176);
        blob[at] = match rng.below(3) {
            0 => rng.bits() as u8,
            1 => blob[at] ^ (1 << rng.below(8)),
            _ => 255,
        };
    }
    update_checksum(blob);
}

#[test]
fn altered_blobs_are_refused_or_run_within_limits() {
    let limits = Limits { turns: 1000, text: 10_000, ..Limits::default() };
    let (mut machine, mut refused, mut ran) = (Machine::new(limits), 0, 0);
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let template = template(&mut rng, 40);
        let mut sources = Sources::new();
        sources.add(Source::new("generated.trcfmt", template.source.as_str()));
        let blob = compile(&sources, &Options::default()).blob.expect("generated templates compile");
        for _ in 0..60 {
            let mut altered = blob.clone();
            alter(&mut altered, &mut rng);
            let Ok(program) = Program::open(&altered) else {
                refused += 1;
                continue;
            };
            ran += 1;
            let _ = program.disassemble(None);
            for hook in program.hooks() {
                let event = event(&mut rng, hook.id);
                let event = Event { bytes: &event.bytes, wide: event.wide, record: None, time_ns: 0, offset: 0 };
                let (mut timers, mut out) = (Timers::new(), TextBuf::new());
                let job = Job {
                    event: &event,
                    context: &Context::EMPTY,
                    timers: &mut timers,
                    layout: Layout::default(),
                    line: 0,
                    out: &mut out,
                };
                machine.run(&program, hook.index, job);
                assert!(out.len() <= limits.text as usize + 16, "seed {seed}: {} bytes", out.len());
            }
        }
    }
    assert!(refused > 100 && ran > 100, "{refused} refused, {ran} ran");
}
