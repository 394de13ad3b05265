//! Compares the product with the reference on random event definitions, records and QNX logs.
//!
//! `TFBC_CASES=100000` runs that many seeds, `TFBC_SEED=17` only that one.

use tfbc_snapshots::datakey::Definitions;
use tfbc_snapshots::differential_qnx::{RECORDS, RecordCase, as_record, compare_case, compare_findings, compare_log};
use tfbc_snapshots::generate::datakey::{GeneratedRecord, definitions, record};
use tfbc_snapshots::generate::kev::log;
use tfbc_snapshots::generate::{Rng, seeds};

/// Default number of seeds.
const CASES: u64 = 2000;

/// Checks several seeds, and shows the shortest difference.
fn check_all(seeds: std::ops::Range<u64>, check: impl Fn(u64) -> Result<(), String> + Sync) {
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    let worker = |from: usize| {
        let own = seeds.clone().skip(from).step_by(workers);
        own.filter_map(|seed| check(seed).err().map(|difference| format!("seed {seed}: {difference}")))
            .collect::<Vec<_>>()
    };
    let differences: Vec<String> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..workers)
            .map(|from| {
                let worker = &worker;
                scope.spawn(move || worker(from))
            })
            .collect();
        running.into_iter().flat_map(|worker| worker.join().expect("a worker that does not panic")).collect()
    });
    if let Some(shortest) = differences.iter().min_by_key(|text| text.len()) {
        let others: Vec<&str> = differences.iter().filter_map(|text| text.lines().next()).collect();
        panic!("{} seeds differ:\n{}\nthe shortest of them:\n{shortest}", differences.len(), others.join("\n"));
    }
}

fn case(seed: u64) -> RecordCase {
    RecordCase::new(&mut Rng::new(seed))
}

fn compare(seed: u64) -> Result<(), String> {
    let case = case(seed);
    let (reference, sources, compiled) = compare_case(&case)?;
    compare_findings(&case, &reference, &sources, &compiled)
}

#[test]
fn the_product_refuses_and_prints_what_the_reference_does() {
    check_all(seeds(CASES), compare);
}

/// Text pieces that matter to XML, formats and numbers.
const PIECES: [&str; 44] = [
    "<",
    ">",
    "/>",
    "</",
    "&",
    ";",
    "&lt;",
    "&#65;",
    "&#x41;",
    "&#0;",
    "&#xD800;",
    "&nope;",
    "\"",
    "'",
    "=",
    " ",
    "\n",
    "\t",
    "\r",
    "--",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<?pi",
    "?>",
    "<!DOCTYPE d>",
    "xml",
    ":",
    "-",
    ".",
    "0",
    "9",
    "%",
    "%1s0 ",
    "%2u1x ",
    "%c q",
    "!",
    "é",
    "\u{b}",
    "\u{fffe}",
    "\u{1f600}",
    "x",
    "<b/>",
];

/// Inserts, removes or duplicates a piece of a file.
fn mutate(rng: &mut Rng, file: &str) -> String {
    let mut chars: Vec<char> = file.chars().collect();
    let at = rng.below(chars.len() + 1);
    let end = (at + 1 + rng.below(4)).min(chars.len());
    match rng.below(4) {
        0 => _ = chars.drain(at.min(end)..end),
        1 => {
            let copy: Vec<char> = chars[at.min(end)..end].to_vec();
            chars.splice(at..at, copy);
        }
        _ => _ = chars.splice(at..at, rng.pick(&PIECES).chars()),
    }
    chars.into_iter().collect()
}

fn compare_mutated(seed: u64) -> Result<(), String> {
    let mut case = case(seed);
    for file in &mut case.files {
        // The reference does not check `fields` comments.
        *file = String::from_utf8_lossy(file).replace("tfbc: fields", "fields").into_bytes();
    }
    let mut rng = Rng::new(seed ^ 0x6d75_7400_0000_0000);
    for _ in 0..8 {
        let at = rng.below(case.files.len());
        let file = mutate(&mut rng, &String::from_utf8_lossy(&case.files[at]));
        let before = std::mem::replace(&mut case.files[at], file.into_bytes());
        compare_case(&case)?;
        case.files[at] = before;
    }
    Ok(())
}

#[test]
fn altered_definitions_mean_the_same_to_both() {
    let seeds = seeds(CASES);
    check_all(seeds.start..seeds.end.min(seeds.start + seeds.end.div_ceil(16)), compare_mutated);
}

fn compare_logs(seed: u64) -> Result<(), String> {
    let mut rng = Rng::new(seed ^ 0x6b65_7600_0000_0000);
    let definitions = definitions(&mut rng);
    let big_endian = rng.chance(50);
    let records: Vec<GeneratedRecord> =
        (0..rng.below(60)).map(|_| record(&mut rng, &definitions, big_endian)).collect();
    let file = log(&mut rng, &records, big_endian);
    compare_log(&file)
}

#[test]
fn the_reader_reads_what_the_reference_reads() {
    check_all(seeds(CASES), compare_logs);
}

#[test]
fn generated_definitions_reach_every_feature() {
    let (mut shown, mut truncated, mut refused, mut texts) = (0, 0, 0, 0);
    let seeds = seeds(CASES).take(500);
    let cases = seeds.clone().count();
    for seed in seeds {
        let case = case(seed);
        let definitions = Definitions::read(&case.files);
        refused += usize::from(definitions.keys().iter().any(|key| key.refused));
        for record in &case.records {
            let Some(found) = definitions.show(&as_record(record)) else { continue };
            shown += 1;
            truncated += usize::from(found.truncated);
            texts += usize::from(found.text.windows(8).any(|window| window == b"_default"));
        }
    }
    if cases >= 500 {
        let all =
            format!("{shown} shown, {truncated} truncated, {texts} with a default, {refused} sets with a refusal");
        assert!(shown > cases * RECORDS / 2 && truncated > shown / 20 && texts > shown / 50, "{all}");
        assert!(cases / 20 < refused && refused < cases / 2, "{all}");
    }
}
