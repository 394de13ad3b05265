//! Event definitions: the product against the reference, on random definitions and records.
//!
//! `TFBC_CASES=100000` tries that many sets of definitions, `TFBC_SEED=17` only that one.

use tfbc_snapshots::datakey::{Definitions, Record};
use tfbc_snapshots::generate::Rng;
use tfbc_snapshots::generate::datakey::{GeneratedDefinitions, GeneratedRecord, definitions, record};

/// Sets of definitions of an ordinary run.
const CASES: u64 = 2000;

/// Records for each.
const RECORDS: usize = 8;

fn env(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn seeds() -> std::ops::Range<u64> {
    match env("TFBC_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..env("TFBC_CASES").unwrap_or(CASES),
    }
}

/// One seed's definitions and records.
struct Case {
    definitions: GeneratedDefinitions,
    records: Vec<(bool, GeneratedRecord)>,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let definitions = definitions(&mut rng);
        let one = |_| {
            let big_endian = rng.chance(50);
            (big_endian, record(&mut rng, &definitions, big_endian))
        };
        let records = (0..RECORDS).map(one).collect();
        Case { definitions, records }
    }
}

fn as_record((big_endian, record): &(bool, GeneratedRecord)) -> Record<'_> {
    let GeneratedRecord { class, id, wide, payload } = record;
    Record { class: *class, id: *id, wide: *wide, big_endian: *big_endian, payload }
}

#[test]
fn generated_definitions_reach_every_feature() {
    let (mut shown, mut truncated, mut refused, mut texts) = (0, 0, 0, 0);
    let seeds = seeds().take(500);
    let cases = seeds.clone().count();
    for seed in seeds {
        let case = Case::new(seed);
        let definitions = Definitions::read(&case.definitions.files);
        refused += usize::from(definitions.keys().iter().any(|key| key.refused));
        for record in &case.records {
            let Some(found) = definitions.show(&as_record(record)) else { continue };
            shown += 1;
            truncated += usize::from(found.truncated);
            texts += usize::from(found.text.windows(8).any(|window| window == b"_default"));
        }
    }
    println!("{shown} shown, {truncated} truncated, {texts} with a default, {refused} with something refused");
    if cases >= 500 {
        assert!(shown > cases * RECORDS / 2 && truncated > shown / 20 && texts > shown / 50 && refused > cases / 50);
        assert!(refused < cases / 2);
    }
}
