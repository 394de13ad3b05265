//! Inputs of any size, valid and hostile, each with an operation on it. Doubling the size may at most double the work,
//! plus a little. `benches/doubling.sh` checks all of them.

use crate::Rng;
use std::io::{self, Cursor};
use std::num::NonZeroUsize;
use tfbc::aix::{AixReportOptions, ReadOptions, Timestamp};
use tfbc::qnx::QnxReportOptions;
use tfbc::testing::aix::{Logs, Trace, report};
use tfbc::testing::formats::{Catalog, FormatSet};
use tfbc::testing::input::{Input, Unpacker};
use tfbc::testing::qnx;
use tfbc::testing::qnx::{KevLog, KevOptions};
use tfbc::{Column, Columns, Compression, EventFilter, Formats, LoadOptions, ReportOptions};
use tfbc_compiler::Options;
use tfbc_grammar::{Source, SourceLimits, Sources};
use tfbc_vm::{Program, write_checksum};

/// Operation on the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    /// Compile them, and render all diagnostics.
    Compile,
    /// Open and verify them as a blob.
    Open,
    /// Report them as an AIX trace, with templates that print and run timers.
    Aix,
    /// Report them as a QNX log.
    Kev,
    /// Unpack them.
    Unpack(Compression),
    /// Check them as conditions of `--where` for a QNX log.
    Conditions,
}

/// A kind of input.
pub struct InputShape {
    /// Name of the kind.
    pub name: &'static str,
    operation: Operation,
    make: fn(usize) -> Vec<u8>,
    /// Size in bytes up to which it has no errors; larger inputs may exceed a limit.
    sound_to: usize,
}

/// Result of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Checksum of the result.
    pub sum: usize,
    /// True if there was no error: it compiled, or was read without damage.
    pub is_sound: bool,
}

impl std::fmt::Debug for InputShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InputShape")
            .field("name", &self.name)
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}

impl InputShape {
    /// Creates an input of about `size` bytes.
    pub fn make(&self, size: usize) -> Vec<u8> {
        (self.make)(size)
    }

    /// True if an input of this size must have no errors; `None` if it may exceed a limit.
    pub fn should_be_sound(&self, size: usize) -> Option<bool> {
        match self.sound_to {
            0 => Some(false),
            most => (size <= most).then_some(true),
        }
    }

    /// Runs the operation on one thread. `benches/doubling.sh` counts the functions with `measured` in their names,
    /// which contain only work that depends on the size.
    pub fn run(&self, bytes: Vec<u8>) -> Done {
        match self.operation {
            Operation::Compile => compile(bytes),
            Operation::Open => measured_open(&bytes),
            Operation::Aix => report_aix(bytes),
            Operation::Kev => report_kev(bytes),
            Operation::Unpack(compression) => measured_unpacking(Unpacker::new(compression, Cursor::new(bytes), None)),
            Operation::Conditions => check_conditions(&bytes),
        }
    }
}

fn check_conditions(bytes: &[u8]) -> Done {
    let text = String::from_utf8_lossy(bytes);
    let conditions: Vec<&str> = text.split_terminator("&&").collect();
    // Four expressions, because one has at most 64 KiB.
    let filters = conditions.chunks(conditions.len() / 4 + 1);
    let filters: Vec<EventFilter> =
        filters.map(|some| EventFilter { conditions: Some(some.join("&&")), ..EventFilter::default() }).collect();
    measured_conditions(&filters, &Formats::builtin())
}

#[inline(never)]
fn measured_conditions(filters: &[EventFilter], formats: &Formats) -> Done {
    let is_accepted =
        |filter: &&EventFilter| ReportOptions::default().with_filter_of(filter, Some(None), formats).is_ok();
    let sum = filters.iter().filter(is_accepted).count();
    Done { is_sound: sum == filters.len(), sum }
}

#[inline(never)]
fn measured_unpacking(mut unpacker: Unpacker) -> Done {
    let n = io::copy(&mut unpacker, &mut io::sink());
    Done { is_sound: n.is_ok() && unpacker.fault().is_none(), sum: n.map_or(0, |n| n as usize) }
}

fn compile(bytes: Vec<u8>) -> Done {
    let mut sources = Sources::new();
    sources.add(Source::new("shape", bytes));
    // The limits are raised, because the growth of the work is measured, not the refusal.
    let limits = SourceLimits { templates: 1 << 24, xml: 64 << 20, ..SourceLimits::default() };
    measured_compile(&sources, &Options { limits, ..Options::default() })
}

#[inline(never)]
fn measured_compile(sources: &Sources, options: &Options) -> Done {
    let compiled = tfbc_compiler::compile(sources, options);
    let shown: usize =
        compiled.diagnostics.iter().map(|found| tfbc_authoring::render::human(sources, found, false).len()).sum();
    Done { is_sound: compiled.blob.is_some(), sum: shown + compiled.blob.map_or(0, |blob| blob.len()) }
}

#[inline(never)]
fn measured_open(bytes: &[u8]) -> Done {
    let n_routines = Program::open(bytes).map(|program| program.routines().count());
    Done { is_sound: n_routines.is_ok(), sum: n_routines.unwrap_or(0) }
}

/// Result for a log that cannot be read at all.
const NOTHING: Done = Done { sum: 0, is_sound: false };

const FORMATS: &str = r#"
010 1.0 L=APPL "@PLAIN" "hook = " $D1%U4
011 1.0 L=KERN "@START" starttimer($D1,1) "start"
012 1.0 L=KERN "@END" "took " endtimer($D1,1)
"#;

fn report_aix(bytes: Vec<u8>) -> Done {
    let directory = std::env::temp_dir().join(format!("tfbc-shapes-{}", std::process::id()));
    let path = directory.join("formats.trcfmt");
    let put = std::fs::create_dir_all(&directory).and_then(|()| std::fs::write(&path, FORMATS));
    let set = FormatSet::load(&[path], &LoadOptions::default());
    let _ = std::fs::remove_dir_all(directory);
    put.expect("a temporary directory");
    let set = set.expect("the formats compile");
    let catalog = set.catalog().expect("they are sound");
    let columns =
        Columns::new(&[Column::Id, Column::Exec, Column::Cpu, Column::Pid, Column::Tid], Timestamp::default());
    let options = AixReportOptions { columns, threads: Some(NonZeroUsize::MIN), ..AixReportOptions::default() };
    measured_aix(bytes, &catalog, &options)
}

#[inline(never)]
fn measured_aix(bytes: Vec<u8>, catalog: &Catalog<'_>, options: &AixReportOptions) -> Done {
    let Ok(trace) = Trace::from_input("shape", Input::from_bytes(bytes), &ReadOptions::default()) else {
        return NOTHING;
    };
    let mut n_notices = 0;
    let summary = report(&mut Logs::from(trace), catalog, options, &mut io::sink(), &mut |_: &_| n_notices += 1);
    summary.map_or(NOTHING, |summary| Done {
        sum: summary.n_events as usize + n_notices,
        is_sound: summary.n_events > 0 && summary.n_damaged == 0,
    })
}

fn report_kev(bytes: Vec<u8>) -> Done {
    let set = FormatSet::load(&[], &LoadOptions::default()).expect("the built-in formats load");
    let catalog = set.catalog().expect("they are sound");
    let options = QnxReportOptions { threads: Some(NonZeroUsize::MIN), ..QnxReportOptions::default() };
    measured_kev(bytes, &catalog, &options)
}

#[inline(never)]
fn measured_kev(bytes: Vec<u8>, catalog: &Catalog<'_>, options: &QnxReportOptions) -> Done {
    let input = Input::from_bytes(bytes);
    let Ok(mut log) = KevLog::from_input("shape", input, &KevOptions::default()) else { return NOTHING };
    let mut n_notices = 0;
    let summary = qnx::report(&mut log, catalog, options, &mut io::sink(), &mut |_: &_| n_notices += 1);
    summary.map_or(NOTHING, |summary| Done {
        sum: summary.n_reported as usize + n_notices,
        is_sound: summary.n_reported > 0 && summary.n_damaged == 0,
    })
}

/// Concatenates numbered pieces up to a size.
fn pieces(size: usize, mut piece: impl FnMut(usize) -> String) -> Vec<u8> {
    let mut text = String::with_capacity(size + 1000);
    (0..)
        .take_while(|n| {
            text.push_str(&piece(*n));
            text.len() < size
        })
        .count();
    text.into_bytes()
}

/// One stanza with a growing middle.
fn stanza(size: usize, before: &str, piece: impl FnMut(usize) -> String, suffix: &str) -> Vec<u8> {
    let middle = pieces(size, piece);
    [format!("010 1.0 L=APPL \"A\" {before}").as_bytes(), &middle, suffix.as_bytes(), b"\n"].concat()
}

fn repeated(size: usize, text: &str) -> Vec<u8> {
    pieces(size, |_| text.to_owned())
}

/// Four-digit hook id; different for each of 61,440 numbers.
fn id(n: usize) -> String {
    format!("{:04X}", 0x1000 + n % 0xF000)
}

fn templates(size: usize) -> Vec<u8> {
    pieces(size, |n| {
        format!(
            "{} 1.0 L=KERN \"TEMPLATE NUMBER {n}\" \"some fixed text that is long enough to be the larger part of it, \
             then a number and a flag or two: pid=\" D4 \"flags=\" X2, 1 \"one\", 2 \"two\", \\* \"other\" \\\n  \\n \
             \"and a second line with more of the same\" X4 U2\n\n",
            id(n)
        )
    })
}

/// Elements in an event definition file.
fn definitions(size: usize, piece: impl FnMut(usize) -> String) -> Vec<u8> {
    [b"<eventdefinitions>\n", &pieces(size, piece)[..], b"</eventdefinitions>\n"].concat()
}

/// Elements in a datakey of one event.
fn datakey(size: usize, piece: impl FnMut(usize) -> String) -> Vec<u8> {
    let head = b"<eventdefinitions>\n<datakey format=\"%4u1x state\">\n<event class=\"6\" id=\"65\"/>\n";
    [head, &pieces(size, piece)[..], b"</datakey>\n</eventdefinitions>\n"].concat()
}

fn event64(id: u16, words: &[u64], tid: u64, ticks: u64) -> Vec<u8> {
    let head = 0x8000_0000_0000_0000 | (words.len() as u64 * 8) << 32 | u64::from(id) << 16;
    [&[head], words, &[tid, ticks]].concat().iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn stream64(size: usize, mut event: impl FnMut(u64) -> Vec<u8>) -> Vec<u8> {
    let mut bytes = vec![0xEF, 0xDF, 0x11, 0x14];
    (0..)
        .take_while(|n| {
            bytes.extend(event(*n));
            bytes.len() < size
        })
        .count();
    bytes
}

fn plain_stream(size: usize) -> Vec<u8> {
    stream64(size, |n| event64(0x0100, &[n, n + 1], n % 50, 100 * n))
}

/// Log of buffers with a few events each.
fn log32(size: usize, n_entries: usize) -> Vec<u8> {
    let word = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
    let n_events = (size / n_entries / 16).max(1);
    let mut head = word(&[0xEFDF_1112, n_entries as u32, 0, 0, 1, 0xDEAD, 0xBEEF, 0, 0]);
    let base = head.len() + 8 * n_entries;
    for entry in 0..n_entries {
        head.extend(word(&[(base + entry * n_events * 16) as u32, n_events as u32 * 16]));
    }
    for n in 0..(n_entries * n_events) as u32 {
        head.extend(word(&[0x010A_0000, n, 0x1a2b, 10 * n]));
    }
    head
}

/// Log of four CPUs.
fn kev(size: usize, slot: impl FnMut(u32) -> [u32; 4]) -> Vec<u8> {
    kev_of(size, "TRACE_CPU_NUM::4", slot)
}

/// Log with additional header attributes.
fn kev_of(size: usize, attributes: &str, mut slot: impl FnMut(u32) -> [u32; 4]) -> Vec<u8> {
    let mut bytes = format!("TRACE_HEADER_BEGIN::TRACE_LITTLE_ENDIAN::TRUE{attributes}TRACE_HEADER_END::").into_bytes();
    for n in 0..(size / 16) as u32 {
        slot(n).iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    }
    bytes
}

/// Events of two and four slots, with simple ones between them.
fn combines(size: usize) -> Vec<u8> {
    kev(size, |n| [0x1807 | [1, 3, 0, 0, 1, 2, 2, 3][n as usize % 8] << 30, 16 * (n / 4), n, n])
}

fn noise(size: usize, mut bytes: Vec<u8>, every: usize) -> Vec<u8> {
    let mut rng = Rng::new(7);
    for _ in 0..size / every {
        let at = 128 + rng.below(bytes.len() as u32 - 128) as usize;
        bytes[at] ^= 1 << rng.below(8);
    }
    bytes
}

fn random(size: usize, extra: &[u8]) -> Vec<u8> {
    let mut bytes = extra.to_vec();
    let mut rng = Rng::new(3);
    bytes.extend((0..size).map(|_| rng.next_u32() as u8));
    bytes
}

fn blob(size: usize) -> Vec<u8> {
    let mut sources = Sources::new();
    sources.add(Source::new("shape", templates(size / 4)));
    tfbc_compiler::compile(&sources, &Options::default()).blob.expect("templates that compile")
}

/// All kinds.
pub fn input_shapes() -> Vec<InputShape> {
    let shape = |name, operation, make| InputShape { name, operation, make, sound_to: usize::MAX };
    // Larger blobs or routines exceed an instruction limit.
    let limited = |name, sound_to, make| InputShape { name, operation: Operation::Compile, make, sound_to };
    let refused = |name, operation, make| InputShape { name, operation, make, sound_to: 0 };
    vec![
        limited("trcfmt/templates", 4 << 20, templates),
        shape("trcfmt/comments", Operation::Compile, |size| repeated(size, "# nothing to see here, go on please\n")),
        shape("trcfmt/joined-comment", Operation::Compile, |size| repeated(size, "# a \\\n")),
        shape("trcfmt/blank-lines", Operation::Compile, |size| repeated(size, "\n")),
        limited("trcfmt/words-of-one-line", 64 << 10, |size| stanza(size, "", |_| "X4 word ".to_owned(), "")),
        limited("trcfmt/continued-line", 64 << 10, |size| stanza(size, "", |_| "X4 \\\n ".to_owned(), "")),
        shape("trcfmt/one-text", Operation::Compile, |size| stanza(size, "\"", |_| "some text ".to_owned(), "\"")),
        refused("trcfmt/unclosed-text", Operation::Compile, |size| stanza(size, "\"", |_| "some text ".to_owned(), "")),
        refused("trcfmt/unclosed-texts", Operation::Compile, |size| {
            pieces(size, |n| format!("{} 1.0 \"A\" \"x\n", id(n)))
        }),
        refused("trcfmt/errors", Operation::Compile, |size| pieces(size, |n| format!("{} 1.0 \"A\" X17\n", id(n)))),
        refused("trcfmt/no-template-at-all", Operation::Compile, |size| repeated(size, "garbage ] ) } {{ \" '\n")),
        refused("trcfmt/garbage-of-one-line", Operation::Compile, |size| repeated(size, "garbage ] ) } {{ ' ")),
        shape("trcfmt/warnings", Operation::Compile, |size| pieces(size, |n| format!("{} 1.0 \"A\" Loop x4\n", id(n)))),
        shape("trcfmt/one-stanza-again", Operation::Compile, |size| repeated(size, "010 1.0 L=APPL \"A\" \"b\" X4\n")),
        limited("trcfmt/cases", 64 << 10, |size| stanza(size, "X4, ", |n| format!("{n} \"c{n}\", "), "\\* \"x\"")),
        shape("trcfmt/same-cases", Operation::Compile, |size| {
            stanza(size, "X4, ", |_| "1 \"one\", ".into(), "\\* \"x\"")
        }),
        limited("trcfmt/text-cases", 64 << 10, |size| stanza(size, "A8, ", |n| format!("\"c{n}\" \"d\", "), "\\* x")),
        limited("trcfmt/nested-loops", 1 << 20, |size| {
            pieces(size, |n| format!("{} 1.0 \"A\" {} X1 {}\n", id(n), "LOOP X1 { ".repeat(64), "}".repeat(64)))
        }),
        shape("trcfmt/parentheses", Operation::Compile, |size| {
            pieces(size, |n| format!("{} 1.0 \"A\" {{{{ $x = {}1{} }}}} $x\n", id(n), "(".repeat(60), ")".repeat(60)))
        }),
        refused("trcfmt/open-parentheses", Operation::Compile, |size| stanza(size, "{{ $x = ", |_| "(".to_owned(), "")),
        refused("trcfmt/open-braces", Operation::Compile, |size| stanza(size, "", |_| "{ ".to_owned(), "")),
        limited("trcfmt/macros", 4 << 20, |size| {
            pieces(size, |n| {
                let macros: String = (0..200).map(|k| format!("{{{{ $v{k} = $v{} + X1 }}}} ", k / 2)).collect();
                format!("{} 1.0 \"A\" {macros}\n", id(n))
            })
        }),
        refused("trcfmt/too-many-macros", Operation::Compile, |size| {
            stanza(size, "", |n| format!("{{{{ $v{n} = 1 }}}} "), "")
        }),
        limited("trcfmt/functions", 4 << 20, |size| {
            pieces(size, |n| format!("{} 1.0 \"A\" {{{{ f{n}(a) $a X1 }}}} f{n}(X2) f{n}(7)\n", id(n)))
        }),
        shape("trcfmt/calls-of-calls", Operation::Compile, |size| {
            pieces(size, |n| match n % 10 {
                0 => format!("{} 1.0 \"A\" {{{{ f{n}() X1 }}}}\n", id(n)),
                _ => format!("{} 1.0 \"A\" {{{{ f{n}() f{}() f{}() }}}}\n", id(n), n - 1, n - 1),
            })
        }),
        refused("trcfmt/circle", Operation::Compile, |size| {
            pieces(size, |n| format!("{} 1.0 \"A\" {{{{ f{n}() f{}() }}}}\n", id(n), if n == 0 { 1 } else { n - 1 }))
        }),
        refused("trcfmt/circles", Operation::Compile, |size| {
            pieces(size, |n| format!("{} 1.0 \"A\" {{{{ f{n}() f{}() }}}}\n", id(n), n ^ 1))
        }),
        shape("trcfmt/subroutines", Operation::Compile, |size| {
            pieces(size, |n| match n % 8 {
                0 => format!("{} 1.0 \"A\" X4\n", id(n)),
                _ => format!("{} 1.0 \"A\" ${} X4\n", id(n), id(n - 1)),
            })
        }),
        refused("trcfmt/unknown-names", Operation::Compile, |size| {
            pieces(size, |n| format!("{} 1.0 \"A\" {{{{ function{n}() X1 }}}} functoin{n}()\n", id(n)))
        }),
        shape("trcfmt/allowed", Operation::Compile, |size| {
            pieces(size, |n| format!("# tfbc: allow=S47\n{} 1.0 \"A\" x4\n", id(n)))
        }),
        limited("trcfmt/operators", 1 << 20, |size| {
            pieces(size, |n| format!("{} 1.0 \"A\" {{{{ $x = 1{} }}}} $x\n", id(n), "+X1".repeat(300)))
        }),
        limited("xml/datakeys", 4 << 20, |size| {
            definitions(size, |n| {
                let (class, event) = (6 + n / 1000 % 20, n % 1000);
                format!(
                    "<datakey format=\"%4u1x pid %2u1d code\">\n<event class=\"{class}\" id=\"{event}\"/>\n\
                     <enum name=\"code\" value=\"1\" string=\"one\"/>\n</datakey>\n"
                )
            })
        }),
        limited("xml/datakeys-of-one-event", 1 << 20, |size| {
            definitions(size, |n| format!("<datakey format=\"%4u1x k{n}\"><event class=\"6\" id=\"65\"/></datakey>\n"))
        }),
        limited("xml/eventclasses", 4 << 20, |size| {
            definitions(size, |n| {
                format!(
                    "<eventclass id=\"{}\"><event id=\"{}\" sformat=\"%x a\"/></eventclass>\n",
                    6 + n % 20,
                    n % 1000
                )
            })
        }),
        shape("xml/enums", Operation::Compile, |size| {
            datakey(size, |n| format!("<enum value=\"{n}\" string=\"e{n}\"/>\n"))
        }),
        shape("xml/same-enums", Operation::Compile, |size| {
            datakey(size, |_| "<enum value=\"1\" string=\"e\"/>\n".into())
        }),
        shape("xml/masked-enums", Operation::Compile, |size| {
            datakey(size, |n| format!("<enum mask=\"{}\" string=\"e{n}\"/>\n", n + 1))
        }),
        limited("xml/values-and-masks", 16 << 10, |size| {
            datakey(size, |n| format!("<enum {}=\"{}\" string=\"e\"/>\n", ["value", "mask"][n % 2], n / 2 + 1))
        }),
        limited("xml/bitmasks", 4 << 20, |size| {
            definitions(size, |n| {
                let fields: String = (0..32).map(|k| format!("%4u1x b{k} ")).collect();
                let masks: String = (0..32)
                    .map(|k| {
                        format!(
                            "<bitmask name=\"b{k}\" value=\"{}\"/>\n<enum name=\"b{k}\" value=\"1\" string=\"e\"/>\n",
                            1u32 << k
                        )
                    })
                    .collect();
                format!("<datakey format=\"{fields}\"><event class=\"6\" id=\"{}\"/>\n{masks}</datakey>\n", n % 1000)
            })
        }),
        shape("xml/bitmasks-of-one-field", Operation::Compile, |size| {
            datakey(size, |n| format!("<bitmask value=\"{}\"/>\n", 1u32 << (n % 32)))
        }),
        shape("xml/conditions", Operation::Compile, |size| {
            datakey(size, |n| format!("<condition name=\"c{n}\" value=\"{n}\"/>\n"))
        }),
        limited("xml/fields", 64 << 10, |size| {
            let fields = String::from_utf8_lossy(&pieces(size, |n| format!("%1u1x f{n} "))).into_owned();
            format!("<eventdefinitions><datakey format=\"{fields}\"><event class=\"6\" id=\"65\"/></datakey></eventdefinitions>")
                .into_bytes()
        }),
        refused("xml/attributes", Operation::Compile, |size| {
            let attributes = String::from_utf8_lossy(&pieces(size, |n| format!(" a{n}=\"x\""))).into_owned();
            format!("<eventdefinitions{attributes}/>").into_bytes()
        }),
        shape("xml/long-attribute", Operation::Compile, |size| {
            let value = String::from_utf8_lossy(&repeated(size, "some text &amp; ")).into_owned();
            format!("<eventdefinitions a=\"{value}\"/>").into_bytes()
        }),
        refused("xml/long-name", Operation::Compile, |size| [b"<", &repeated(size, "name")[..], b"/>"].concat()),
        shape("xml/siblings", Operation::Compile, |size| definitions(size, |_| "<other/>".to_owned())),
        shape("xml/nested", Operation::Compile, |size| {
            definitions(size, |_| format!("{}{}", "<a>".repeat(60), "</a>".repeat(60)))
        }),
        refused("xml/too-deep", Operation::Compile, |size| repeated(size, "<eventdefinitions>")),
        shape("xml/comments", Operation::Compile, |size| definitions(size, |_| "<!-- - - > -->".to_owned())),
        shape("xml/text", Operation::Compile, |size| definitions(size, |_| "text &lt; &#65; ".to_owned())),
        refused("xml/entities", Operation::Compile, |size| {
            let all = pieces(size, |n| format!("<!ENTITY e{} \"&e{n};&e{n};\">\n", n + 1));
            [b"<!DOCTYPE a [\n", &all[..], b"]>\n<a>&e1;</a>"].concat()
        }),
        shape("blob/templates", Operation::Open, blob),
        refused("blob/damaged", Operation::Open, |size| {
            let mut bytes = blob(size);
            // The section table has the end of the code. Makes the last instruction invalid.
            let number = |at: usize| bytes[at..at + 4].iter().rfold(0, |n, byte| n << 8 | usize::from(*byte));
            let end = number(36) + number(40);
            bytes[end - 32..end].fill(0xFF);
            write_checksum(&mut bytes);
            bytes
        }),
        shape("aix/stream", Operation::Aix, plain_stream),
        // From 1,000 seconds on, which 80 KiB reach, elapsed times fill their column.
        shape("aix/slow", Operation::Aix, |size| stream64(size, |n| event64(0x0100, &[n, n], n % 50, 500_000_000 * n))),
        shape("aix/no-template", Operation::Aix, |size| stream64(size, |n| event64(0x2220, &[n; 5], n % 9, 100 * n))),
        shape("aix/log", Operation::Aix, |size| log32(size, 64)),
        shape("aix/log-of-small-buffers", Operation::Aix, |size| log32(size, size / 64)),
        shape("aix/one-buffer", Operation::Aix, |size| log32(size, 1)),
        shape("aix/timers", Operation::Aix, |size| stream64(size, |n| event64(0x0110, &[n], 7, 100 * n))),
        shape("aix/timers-ended", Operation::Aix, |size| {
            stream64(size, |n| event64(if n % 2 == 0 { 0x0110 } else { 0x0120 }, &[n / 2], 7, 100 * n))
        }),
        shape("aix/processes", Operation::Aix, |size| stream64(size, |n| event64(0x1390, &[n, n], n, 100 * n))),
        shape("aix/threads", Operation::Aix, |size| stream64(size, |n| event64(0x1060, &[n, n, n], n, 100 * n))),
        refused("aix/damaged", Operation::Aix, |size| noise(size, plain_stream(size), 500)),
        refused("aix/nothing-sound", Operation::Aix, |size| [vec![0xEF, 0xDF, 0x11, 0x14], vec![0xFF; size]].concat()),
        refused("aix/noise", Operation::Aix, |size| random(size, &[0xEF, 0xDF, 0x11, 0x14])),
        shape("aix/zeros", Operation::Aix, |size| [vec![0xEF, 0xDF, 0x11, 0x14], vec![0; size]].concat()),
        refused("aix/damaged-log", Operation::Aix, |size| noise(size, log32(size, 64), 500)),
        shape("kev/events", Operation::Kev, |size| kev(size, |n| [0x1807 | (n % 4) << 24, 16 * n, n, n])),
        shape("kev/combines", Operation::Kev, combines),
        refused("kev/open-combines", Operation::Kev, |size| {
            // Each with a different key.
            kev_of(size, "TRACE_CPU_NUM::64", |n| {
                [1 << 30 | (n % 64) << 24 | (n / 64 % 32) << 10 | (n / 2048 % 1024), 16 * n, n, n]
            })
        }),
        refused("kev/one-long-combine", Operation::Kev, |size| {
            kev(size, |n| [0x1807 | if n == 0 { 1 } else { 2 } << 30, 16, n, n])
        }),
        refused("kev/ends-of-nothing", Operation::Kev, |size| {
            kev(size, |n| [0x1807 | 3 << 30 | (n % 4) << 24, 16 * n, n, n])
        }),
        refused("kev/damaged", Operation::Kev, |size| noise(size, combines(size), 500)),
        refused("kev/out-of-step", Operation::Kev, |size| {
            // Five extra bytes after every twelve slots.
            kev(size, |n| [0x1807, 16 * n, n, n])
                .chunks(12 * 16)
                .flat_map(|slots| [slots, &[0xFF; 5]].concat())
                .collect()
        }),
        refused("kev/noise", Operation::Kev, |size| {
            random(size, b"TRACE_HEADER_BEGIN::TRACE_LITTLE_ENDIAN::TRUETRACE_HEADER_END::")
        }),
        shape("kev/long-header", Operation::Kev, |size| {
            // Long values: a header has at most 4,096 attributes and 2 MiB.
            let attribute = |n| format!("TRACE_KEY{n}::{}", "value".repeat(200));
            let text = String::from_utf8_lossy(&pieces(size.min(3 << 19), attribute)).into_owned();
            kev_of(16, &text, |n| [0x1807, 16 * n, n, n])
        }),
        shape("packed/compress", Operation::Unpack(Compression::Compress), |size| {
            tfbc::testing::unix_compress::compress(&plain_stream(4 * size))
        }),
        shape("packed/compress-noise", Operation::Unpack(Compression::Compress), |size| {
            tfbc::testing::unix_compress::compress(&random(size / 4 * 3, &[]))
        }),
        shape("packed/members", Operation::Unpack(Compression::Gzip), |size| {
            // Each member is empty.
            let member = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            member.repeat(size / member.len())
        }),
        InputShape {
            name: "where/conditions",
            operation: Operation::Conditions,
            make: |size| repeated(size, "words=1&&"),
            sound_to: 128 << 10,
        },
        shape("packed/frames", Operation::Unpack(Compression::Zstd), |size| {
            // Skippable frames of four bytes.
            let frame = [0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0, 1, 2, 3, 4];
            frame.repeat(size / frame.len())
        }),
    ]
}

/// Kind of input with a name.
pub fn input_shape(name: &str) -> Option<InputShape> {
    input_shapes().into_iter().find(|shape| shape.name == name)
}
