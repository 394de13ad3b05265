//! Event definitions and QNX logs: the product against the reference, on random definitions, records and logs.
//!
//! `TFBC_CASES=100000` tries that many seeds, `TFBC_SEED=17` only that one.

use std::fmt::Write;

use tfbc::reader::kev::{KevItem, KevLog, KevOptions};
use tfbc::render;
use tfbc_compiler::{Compiled, Options, compile};
use tfbc_grammar::{Source, Sources};
use tfbc_snapshots::datakey::xml::Place;
use tfbc_snapshots::datakey::{Definitions, Finding, Record, Severity, ShownField, told};
use tfbc_snapshots::generate::datakey::{GeneratedDefinitions, GeneratedRecord, definitions, record};
use tfbc_snapshots::generate::kev::log;
use tfbc_snapshots::generate::{Rng, seeds};
use tfbc_snapshots::kev::{self, Log, LogRecord};
use tfbc_snapshots::runner::Runner;
use tfbc_vm::{Limits, Machine};

/// Seeds of an ordinary run.
const CASES: u64 = 2000;

/// Records for each set of definitions.
const RECORDS: usize = 8;

/// Checks all of some seeds, and shows the shortest difference.
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

    fn compile(&self) -> (Sources, Compiled) {
        let mut sources = Sources::new();
        for (at, file) in self.definitions.files.iter().enumerate() {
            sources.add(Source::new(format!("generated{at}.xml"), file.as_str()));
        }
        let compiled = compile(&sources, &Options::default());
        (sources, compiled)
    }

    fn describe(&self) -> String {
        let mut text = String::new();
        for (at, file) in self.definitions.files.iter().enumerate() {
            let _ = writeln!(text, "---- file {at}\n{file}");
        }
        text
    }
}

fn as_record((big_endian, record): &(bool, GeneratedRecord)) -> Record<'_> {
    let GeneratedRecord { class, id, wide, payload } = record;
    Record { class: *class, id: *id, wide: *wide, big_endian: *big_endian, payload }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn show(shown: Option<&(Vec<u8>, bool)>) -> String {
    shown.map_or("(none)".into(), |(text, truncated)| {
        format!("{}|{}", text.escape_ascii(), if *truncated { " truncated" } else { "" })
    })
}

/// A field as the machine lists it.
fn spelt(field: &ShownField) -> [Vec<u8>; 3] {
    [field.label.clone().into(), field.value.spelt().into(), field.text.clone()]
}

fn compare(seed: u64) -> Result<(), String> {
    let case = Case::new(seed);
    let (reference, sources, compiled) = compare_case(&case)?;
    compare_findings(&case, &reference, &sources, &compiled)
}

fn compare_case(case: &Case) -> Result<(Definitions, Sources, Compiled), String> {
    let reference = Definitions::read(&case.definitions.files);
    let (sources, compiled) = case.compile();
    let lines = || compiled.diagnostics.iter().map(|found| render::short(&sources, found)).collect::<String>();
    let blob = match (&compiled.blob, reference.refused_a_file()) {
        (None, true) => return Ok((reference, sources, compiled)),
        (Some(blob), false) => blob,
        (None, false) => return Err(format!("only the product refuses a file: {}{}", lines(), case.describe())),
        (Some(_), true) => {
            let whole = |found: &&Finding| {
                !reference.keys().iter().any(|key| key.file == found.file) && found.severity == Severity::Error
            };
            let found = reference.findings.iter().rfind(whole).expect("a reason");
            let lines: Vec<&str> = case.definitions.files[found.file].split('\n').collect();
            let line = lines.get(found.place.0 as usize - 1).copied().unwrap_or_default();
            return Err(format!("only the reference refuses a file: {found:?}: {line:?}\n{}", case.describe()));
        }
    };
    let open = |machine| Runner::new(blob, machine).map_err(|error| format!("{error}\n{}", case.describe()));
    let mut runners = [("fast", open(Machine::default())?), ("checked", open(Machine::checked(Limits::default()))?)];
    for record in &case.records {
        let record = as_record(record);
        let shown = reference.show(&record);
        let fields: Option<Vec<[Vec<u8>; 3]>> = shown.as_ref().map(|shown| shown.fields.iter().map(spelt).collect());
        let wanted = shown.map(|shown| (shown.text, shown.truncated));
        for (name, runner) in &mut runners {
            let got = runner.fields(&record);
            if got != fields {
                let show = |fields: Option<Vec<[Vec<u8>; 3]>>| -> String {
                    let fields = fields.into_iter().flatten();
                    fields.map(|field| format!("{} ", field.join(&b'|').escape_ascii())).collect()
                };
                let (got, wanted) = (show(got), show(fields));
                return Err(format!("fields {wanted}\n{name} {got}\n{record:?}\n{}{}", lines(), case.describe()));
            }
            let got = runner.show(&record);
            if got != wanted {
                let Record { class, id, wide, big_endian, payload } = record;
                return Err(format!(
                    "class {class} id {id} wide {wide} big-endian {big_endian} data {}\nreference {}\n{name} {}\n{}{}",
                    hex(payload),
                    show(wanted.as_ref()),
                    show(got.as_ref()),
                    lines(),
                    case.describe(),
                ));
            }
        }
    }
    Ok((reference, sources, compiled))
}

#[test]
fn the_product_refuses_and_prints_what_the_reference_does() {
    check_all(seeds(CASES), compare);
}

/// Whether a place is in an entry that is refused, of any file.
fn refused_around(reference: &Definitions, place: Place) -> bool {
    let around = |file| reference.keys().iter().rfind(|key| key.file == file && key.place <= place);
    (0..3).filter_map(around).any(|key| key.refused)
}

/// What the reference refuses, the product refuses by the same tags, and nothing else; where nothing is, what the
/// reference warns of, the product does.
fn compare_findings(
    case: &Case,
    reference: &Definitions,
    sources: &Sources,
    compiled: &Compiled,
) -> Result<(), String> {
    let lines = || compiled.diagnostics.iter().map(|found| render::short(sources, found)).collect::<String>();
    let product = told(reference, sources, &compiled.diagnostics);
    let is = |severity, place: &Place, found: &(Severity, Vec<Place>)| found.0 == severity && found.1.contains(place);
    let refuses = reference.findings.iter().any(|found| found.severity == Severity::Error);
    for found in reference.findings.iter().filter(|found| !refuses || found.severity == Severity::Error) {
        if !product.iter().any(|other| is(found.severity, &found.place, other)) {
            return Err(format!("only the reference tells {found:?}\n{}{}", lines(), case.describe()));
        }
    }
    for found in product.iter().filter(|found| found.0 == Severity::Error) {
        let same = reference.findings.iter().any(|other| is(other.severity, &other.place, found));
        // A further error of what is refused already is one that only some readers find.
        let further = found.1.iter().any(|place| refused_around(reference, *place));
        if !same && !further {
            return Err(format!("only the product tells {found:?}\n{}{}", lines(), case.describe()));
        }
    }
    Ok(())
}

/// Pieces that matter to XML, to formats and to numbers.
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

/// A file with a piece put in, taken out or doubled.
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
    let mut case = Case::new(seed);
    let mut rng = Rng::new(seed ^ 0x6d75_7400_0000_0000);
    for _ in 0..8 {
        let at = rng.below(case.definitions.files.len());
        let file = mutate(&mut rng, &case.definitions.files[at]);
        let before = std::mem::replace(&mut case.definitions.files[at], file);
        compare_case(&case)?;
        case.definitions.files[at] = before;
    }
    Ok(())
}

#[test]
fn altered_definitions_mean_the_same_to_both() {
    let seeds = seeds(CASES);
    check_all(seeds.start..seeds.end.min(seeds.start + seeds.end.div_ceil(16)), compare_mutated);
}

/// What a log holds, as the product's reader reads it.
fn read_by_product(file: &[u8]) -> Result<Log, String> {
    let input = std::io::Cursor::new(file.to_vec());
    let mut log = KevLog::from_read(input, "generated.kev", None, &KevOptions::default())
        .map_err(|refusal| format!("refused: {refusal:?}"))?;
    let mut read = Log { big_endian: log.header().big_endian, ..Log::default() };
    while let Some(item) = log.next().map_err(|error| error.to_string())? {
        let KevItem::Record(record) = item else { continue };
        read.records.push(LogRecord {
            class: record.class,
            event: record.event,
            cpu: record.cpu,
            wide: record.wide,
            stamp: record.stamp,
            high: record.msb,
            payload: record.bytes.to_vec(),
        });
    }
    let counts = log.counts();
    read.incomplete = counts.dropped_begins + counts.open_at_end;
    read.stray = counts.continuations_without_begin + counts.ends_without_begin;
    read.lost_buffers = counts.lost_buffers;
    let attributes = log.header().attributes.iter();
    read.header = attributes.map(|(key, value)| (String::from_utf8_lossy(key).into(), value.clone())).collect();
    Ok(read)
}

fn compare_logs(seed: u64) -> Result<(), String> {
    let mut rng = Rng::new(seed ^ 0x6b65_7600_0000_0000);
    let definitions = definitions(&mut rng);
    let big_endian = rng.chance(50);
    let records: Vec<GeneratedRecord> =
        (0..rng.below(60)).map(|_| record(&mut rng, &definitions, big_endian)).collect();
    let file = log(&mut rng, &records, big_endian);
    let reference = kev::read(&file).map_err(|refusal| format!("the reference refuses it: {refusal}"))?;
    let product = read_by_product(&file)?;
    if product == reference {
        return Ok(());
    }
    let at = (0..).find(|at| product.records.get(*at) != reference.records.get(*at)).unwrap_or_default();
    let at = at.min(reference.records.len());
    let brief = |log: &Log| {
        let record = log.records.get(at);
        format!(
            "{} {} {} {} {:?}\nrecord {at} of {}: {record:?}",
            log.big_endian,
            log.incomplete,
            log.stray,
            log.lost_buffers,
            log.header,
            log.records.len()
        )
    };
    Err(format!("reference {}\nproduct {}\n", brief(&reference), brief(&product)))
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
    if cases >= 500 {
        let all =
            format!("{shown} shown, {truncated} truncated, {texts} with a default, {refused} sets with a refusal");
        assert!(shown > cases * RECORDS / 2 && truncated > shown / 20 && texts > shown / 50, "{all}");
        assert!(cases / 20 < refused && refused < cases / 2, "{all}");
    }
}
