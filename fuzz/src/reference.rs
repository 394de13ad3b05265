//! Fuzz target that compares machine and readers with the reference.

use tfbc_snapshots::differential::{self, LimitKind};
use tfbc_snapshots::differential_qnx::{self, compare_case, compare_findings, compare_log};
use tfbc_snapshots::generate::Rng;
use tfbc_snapshots::generate::datakey::{definitions, record};
use tfbc_snapshots::generate::kev::log;

/// Generates, from the bytes, a format file with events, event definitions with records, or a QNX log, and compares
/// product and reference.
pub fn reference(data: &[u8]) {
    let mut rng = Rng::of_choices(1, data);
    let difference = match rng.below(8) {
        0 => compare_definitions(&mut rng),
        1 => compare_logs(&mut rng),
        2 => {
            let size = rng.below(24);
            differential::TemplateCase::new(&mut rng, size, LimitKind::Text).compare()
        }
        _ => {
            let size = rng.below(40);
            differential::TemplateCase::new(&mut rng, size, LimitKind::Turns).compare()
        }
    };
    if let Err(difference) = difference {
        panic!("{difference}");
    }
}

fn compare_definitions(rng: &mut Rng) -> Result<(), String> {
    let case = differential_qnx::RecordCase::new(rng);
    let (reference, sources, compiled) = compare_case(&case)?;
    compare_findings(&case, &reference, &sources, &compiled)
}

fn compare_logs(rng: &mut Rng) -> Result<(), String> {
    let (definitions, big_endian) = (definitions(rng), rng.chance(50));
    let records: Vec<_> = (0..rng.below(60)).map(|_| record(rng, &definitions, big_endian)).collect();
    compare_log(&log(rng, &records, big_endian))
}
