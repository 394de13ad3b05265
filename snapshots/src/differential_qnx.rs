//! Compares the product with the reference: event definitions with records, and QNX logs.

use std::fmt::Write;

use tfbc::testing::qnx::{KevItem, KevLog, KevOptions};
use tfbc_authoring::render;
use tfbc_compiler::{Compiled, Options, compile};
use tfbc_grammar::{Source, Sources};
use tfbc_vm::{Limits, Machine};

use crate::datakey::xml::LineColumn;
use crate::datakey::{Definitions, Finding, ReferenceField, ReferenceRecord, ReferenceValue, Severity, diagnostics_of};
use crate::generate::Rng;
use crate::generate::datakey::{GeneratedRecord, definitions, record};
use crate::kev::{self, Log, LogRecord};
use crate::reference::fields::json_text;
use crate::runner::Runner;

/// Records per set of definitions.
pub const RECORDS: usize = 8;

/// Definition files and records.
#[derive(Debug, Clone)]
pub struct RecordCase {
    /// The files in order.
    pub files: Vec<Vec<u8>>,
    /// The records.
    pub records: Vec<GeneratedRecord>,
}

impl RecordCase {
    /// Creates random files, and records that reach their parts.
    pub fn new(rng: &mut Rng) -> Self {
        let definitions = definitions(rng);
        let one = |_| {
            let big_endian = rng.chance(50);
            record(rng, &definitions, big_endian)
        };
        let records = (0..RECORDS).map(one).collect();
        RecordCase { files: definitions.files.into_iter().map(String::into_bytes).collect(), records }
    }

    fn compile(&self) -> (Sources, Compiled) {
        let mut sources = Sources::new();
        for (at, file) in self.files.iter().enumerate() {
            sources.add(Source::new(format!("generated{at}.xml"), file.as_slice()));
        }
        let compiled = compile(&sources, &Options::default());
        (sources, compiled)
    }

    fn describe(&self) -> String {
        let mut text = String::new();
        for (at, file) in self.files.iter().enumerate() {
            let _ = writeln!(text, "---- file {at}\n{}", String::from_utf8_lossy(file));
        }
        text
    }
}

/// Generated record as the reference's type.
pub fn as_record(record: &GeneratedRecord) -> ReferenceRecord<'_> {
    let GeneratedRecord { class, id, wide, big_endian, ref payload } = *record;
    ReferenceRecord { class, id, wide, big_endian, payload }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn show(shown: Option<&(Vec<u8>, bool)>) -> String {
    shown.map_or("(none)".into(), |(text, truncated)| {
        format!("{}|{}", text.escape_ascii(), if *truncated { " truncated" } else { "" })
    })
}

/// Fields as an array of JSON objects.
pub fn objects(fields: &[ReferenceField]) -> String {
    let object = |field: &ReferenceField| {
        let raw = match &field.value {
            ReferenceValue::Number(value) => value.to_string(),
            ReferenceValue::Numbers(values) => format!("{values:?}"),
            ReferenceValue::Text(_) => json_text(&field.text),
            ReferenceValue::Cut => "null".into(),
        };
        let (name, text) = (json_text(field.label.as_bytes()), json_text(&field.text));
        format!("{{\"name\":{name},\"raw\":{raw},\"text\":{text}}}")
    };
    fields.iter().map(object).collect::<Vec<_>>().join(",")
}

/// Compares the problems found by product and reference, and the text that each prints per record.
///
/// # Errors
/// The first difference.
pub fn compare_case(case: &RecordCase) -> Result<(Definitions, Sources, Compiled), String> {
    let reference = Definitions::read(&case.files);
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
            let text = String::from_utf8_lossy(&case.files[found.file]);
            let lines: Vec<&str> = text.split('\n').collect();
            let line = lines.get(found.place.0 as usize - 1).copied().unwrap_or_default();
            return Err(format!("only the reference refuses a file: {found:?}: {line:?}\n{}", case.describe()));
        }
    };
    let open = |machine| Runner::new(blob, machine).map_err(|error| format!("{error}\n{}", case.describe()));
    let (mut fast, mut checked) = (open(Machine::default())?, open(Machine::checked(Limits::default()))?);
    for (class, event) in reference.events() {
        let (expected, got) = (reference.columns(class, event), fast.columns(class, event));
        if expected != got {
            return Err(format!(
                "columns of ({class}, {event})\nexpected {expected:?}\ngot      {got:?}\n{}",
                case.describe()
            ));
        }
    }
    let mut runners = [("fast", fast.begin()), ("checked", checked.begin())];
    for record in &case.records {
        let record = as_record(record);
        let shown = reference.show(&record);
        let text = shown.as_ref().map(|shown| json_text(&shown.text));
        let fields = [shown.as_ref().map(|shown| objects(&shown.fields)), reference.row(&record), text];
        let wanted = shown.map(|shown| (shown.text, shown.truncated));
        for (name, runner) in &mut runners {
            let got = [runner.objects(&record), runner.row(&record), runner.text_by_row(&record)];
            if got != fields {
                let text = format!("expected {fields:?}\n{name} {got:?}\n{record:?}\n{}", lines());
                return Err(text + &case.describe());
            }
            let got = runner.show(&record);
            if got != wanted {
                let ReferenceRecord { class, id, wide, big_endian, payload } = record;
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

/// True if a position is inside a refused entry of any file.
fn refused_around(reference: &Definitions, place: LineColumn) -> bool {
    let around = |file| reference.keys().iter().rfind(|key| key.file == file && key.place <= place);
    (0..3).filter_map(around).any(|key| key.refused)
}

/// Compares findings. The product must report an error at exactly the tags that the reference refuses. If there is
/// none, it must also give the reference's warnings.
///
/// # Errors
/// The first difference.
pub fn compare_findings(
    case: &RecordCase,
    reference: &Definitions,
    sources: &Sources,
    compiled: &Compiled,
) -> Result<(), String> {
    let lines = || compiled.diagnostics.iter().map(|found| render::short(sources, found)).collect::<String>();
    let product = diagnostics_of(reference, sources, &compiled.diagnostics);
    let is = |severity, place: &LineColumn, found: &(Severity, Vec<LineColumn>)| {
        found.0 == severity && found.1.contains(place)
    };
    let refuses = reference.findings.iter().any(|found| found.severity == Severity::Error);
    for found in reference.findings.iter().filter(|found| !refuses || found.severity == Severity::Error) {
        if !product.iter().any(|other| is(found.severity, &found.place, other)) {
            return Err(format!("only the reference reports {found:?}\n{}{}", lines(), case.describe()));
        }
    }
    for found in product.iter().filter(|found| found.0 == Severity::Error) {
        let same = reference.findings.iter().any(|other| is(other.severity, &other.place, found));
        // A second error in a refused entry is optional.
        let further = found.1.iter().any(|place| refused_around(reference, *place));
        if !same && !further {
            return Err(format!("only the product reports {found:?}\n{}{}", lines(), case.describe()));
        }
    }
    Ok(())
}

/// Contents of a log according to the product's reader.
///
/// # Errors
/// The log cannot be read at all.
pub fn read_by_product(file: &[u8]) -> Result<Log, String> {
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

/// Compares how product and reference read a log.
///
/// # Errors
/// The first difference.
pub fn compare_log(file: &[u8]) -> Result<(), String> {
    let reference = kev::read(file).map_err(|refusal| format!("the reference refuses it: {refusal}"))?;
    let product = read_by_product(file)?;
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
