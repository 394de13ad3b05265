//! Fuzz target for XML.

use crate::seed::seed_of;
use crate::template::check_compilation;
use tfbc_snapshots::datakey::Definitions;
use tfbc_snapshots::differential_qnx::{RecordCase, compare_case};
use tfbc_snapshots::generate::Rng;
use tfbc_snapshots::generate::datakey::GeneratedRecord;

/// Records per file.
const RECORDS: usize = 4;

/// Compiles event definitions. They are refused with an error, or run within limits, and the reference agrees.
pub fn xml(data: &[u8]) {
    check_compilation("fuzzed.xml", data);
    // Input that does not look like XML is compiled as an AIX format file.
    if !tfbc_grammar::datakey::looks_like_xml(data) {
        return;
    }
    let rng = &mut Rng::new(seed_of(data));
    let events = Definitions::read(&[data]).events();
    let one = |_| {
        let (class, id) = events.get(rng.below(events.len())).copied().unwrap_or((6, 65));
        let payload = (0..rng.below(40)).map(|_| rng.below(256) as u8).collect();
        GeneratedRecord { class, id, big_endian: rng.chance(50), wide: rng.chance(50), payload }
    };
    let records = (0..RECORDS).map(one).collect();
    if let Err(difference) = compare_case(&RecordCase { files: vec![data.to_vec()], records }) {
        panic!("{difference}");
    }
}
