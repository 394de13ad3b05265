//! Tests of inputs: compressed files, detected by content, complete and damaged.

use crate::common::*;
use assert_cmd::Command;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::fs;
use std::io::{Cursor, Read, Write};
use tempfile::TempDir;
use tfbc::Compression;
use tfbc::aix::{AfterDamage, ReadOptions};
use tfbc::testing::aix::{AixItem, Trace};
use tfbc::testing::input::{Input, Unpacker};
use tfbc::testing::qnx::{KevLog, KevOptions};
use tfbc::testing::unix_compress;

const USER: &str = "010 1.0 L=APPL \"\" \"hook = \" $D1%U4\n";

/// Name of a compression, and the function that compresses.
type Packer = (&'static str, fn(&[u8]) -> Vec<u8>);

const PACKERS: [Packer; 3] = [("gzip", gzip), ("zstd", zstd), ("compress (.Z)", unix_compress::compress)];

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

fn tfbc(args: &[&str]) -> Command {
    let mut command = command("tfbc");
    command.args(args);
    command
}

/// Directory with the format file `user.trcfmt` and the given files.
fn directory(files: &[(&str, &[u8])]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("user.trcfmt"), USER).unwrap();
    for (name, bytes) in files {
        fs::write(directory.path().join(name), bytes).unwrap();
    }
    directory
}

/// Events of hook 010 with words that compress badly.
fn events(n: u64) -> Vec<u8> {
    let mut word = 1u64;
    let events = (0..n).flat_map(|at| {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        event64(word >> 32, 1000 * at)
    });
    events.collect()
}

fn stream(n: u64) -> Vec<u8> {
    [words32(&[0xEFDF_1114]), factors64(1, 1, 1), events(n)].concat()
}

fn log(n: u64) -> Vec<u8> {
    LogBuilder { wide: true, current: 1, ic: factors64(1, 1, 1), entries: vec![events(n)], ..LogBuilder::default() }
        .bytes()
}

/// True if the lines of `part`, without its damaged end, are the first lines of `whole`.
fn is_beginning(part: &str, whole: &str) -> bool {
    whole.starts_with(part) && part.len() < whole.len()
}

#[test]
fn compressed_traces_read_as_plain_ones() {
    let kev = fs::read(data("qnx/user_le.kev")).unwrap();
    let stream32 = fs::read(data("aix/sample32.stream")).unwrap();
    for plain in [stream(5000), log(3000), kev, stream32] {
        let directory = directory(&[("plain", &plain)]);
        let report = |name: &str| {
            let args = ["report", "--quiet", "-t", "user.trcfmt", name];
            run(tfbc(&args).current_dir(&directory))
        };
        let expected = report("plain");
        assert!(!expected.0.is_empty() && expected.2 == 0, "{}", expected.1);
        for (kind, pack) in PACKERS {
            fs::write(directory.path().join("packed"), pack(&plain)).unwrap();
            assert!(report("packed") == expected, "{kind}");
            let mut piped = tfbc(&["report", "-t", "user.trcfmt", "-"]);
            let (out, err, status) = run(piped.current_dir(&directory).write_stdin(pack(&plain)));
            assert!((&out, status) == (&expected.0, 0), "{kind}: {err}");
        }
    }
}

#[test]
fn traceprinter_and_trcrpt_unpack_too() {
    let kev = fs::read(data("qnx/user_le.kev")).unwrap();
    let directory = directory(&[
        ("t.kev", &kev),
        ("t.kev.gz", &gzip(&kev)),
        ("s", &stream(9)),
        ("s.Z", &unix_compress::compress(&stream(9))),
    ]);
    for (program, args, plain, packed) in
        [("traceprinter", &["-f"][..], "t.kev", "t.kev.gz"), ("trcrpt", &["-t", "user.trcfmt"], "s", "s.Z")]
    {
        let report = |name: &str| {
            let mut command = command(program);
            run(command.args(args).arg(name).current_dir(&directory))
        };
        assert_eq!(report(packed), report(plain), "{program}");
        assert_eq!(report(plain).2, 0);
    }
}

#[test]
fn members_and_frames_follow_one_another() {
    let plain = stream(4000);
    let (head, tail) = plain.split_at(plain.len() / 3);
    let skippable = [&[0x53, 0x2A, 0x4D, 0x18, 5, 0, 0, 0][..], b"skip!"].concat();
    // Zeros pad the last block of a tape.
    let members = [gzip(head), gzip(b""), gzip(tail), vec![0; 700]].concat();
    let frames = [skippable.clone(), zstd(head), skippable, zstd(tail)].concat();
    let directory = directory(&[("plain", &plain), ("members", &members), ("frames", &frames)]);
    let report = |name: &str| run(tfbc(&["report", "-t", "user.trcfmt", name]).current_dir(&directory));
    let expected = report("plain");
    assert!(report("members") == expected);
    assert!(report("frames") == expected);
}

#[test]
fn cut_inputs_are_formatted_as_far_as_they_go() {
    for plain in [stream(20_000), log(20_000)] {
        for (kind, pack) in PACKERS {
            let packed = pack(&plain);
            let cut = &packed[..packed.len() * 2 / 3];
            let directory = directory(&[("plain", &plain), ("cut", cut)]);
            let report = |name: &str| run(tfbc(&["report", "-t", "user.trcfmt", name]).current_dir(&directory));
            let (whole, ..) = report("plain");
            let (out, err, status) = report("cut");

            assert_eq!(status, 2, "{kind}: {err}");
            assert!(is_beginning(&out, &whole), "{kind}");
            assert!(out.lines().count() > 10_000, "{kind}: {}", out.lines().count());
            if kind.starts_with("compress") {
                // The format has no end marker, so only an incomplete last event shows the cut.
                assert!(err.contains("cut: truncated at offset"), "{err}");
            } else {
                let message =
                    format!("error: cut: {kind}: cut short at offset {:#x} of the compressed file", cut.len());
                assert!(err.contains(&message), "{err}");
            }
        }
    }
}

#[test]
fn damaged_inputs_are_formatted_up_to_the_damage() {
    let plain = stream(20_000);
    for (kind, pack) in PACKERS {
        let mut packed = pack(&plain);
        let middle = packed.len() / 2;
        packed[middle..middle + 64].fill(0xFF);
        let directory = directory(&[("plain", &plain), ("damaged", &packed)]);
        let report = |name: &str| run(tfbc(&["report", "-t", "user.trcfmt", name]).current_dir(&directory));
        let (whole, ..) = report("plain");
        let (out, err, status) = report("damaged");
        assert_eq!(status, 2, "{kind}: {err}");
        let n_same = out.lines().zip(whole.lines()).take_while(|(one, other)| one == other).count();
        assert!(n_same > 5_000, "{kind}: {n_same}");
        if !kind.starts_with("compress") {
            let place = err.split(" of the compressed file").next().unwrap().rsplit("0x").next().unwrap();
            let place = usize::from_str_radix(place, 16).unwrap();
            assert!(place <= packed.len() && place + (200 << 10) > middle, "{kind}: {place} {err}");
            assert!(err.contains(&format!("error: damaged: {kind}: damaged at offset")), "{err}");
        }
    }
}

#[test]
fn wrong_checksums_are_reported_after_the_report() {
    let plain = stream(200);
    for (kind, pack) in &PACKERS[..2] {
        let mut packed = pack(&plain);
        let at = packed.len() - if *kind == "gzip" { 8 } else { 4 };
        packed[at] ^= 1;
        let directory = directory(&[("plain", &plain), ("damaged", &packed)]);
        let report = |name: &str| run(tfbc(&["report", "-t", "user.trcfmt", name]).current_dir(&directory));
        let (out, err, status) = report("damaged");
        assert!((out, status) == (report("plain").0, 2), "{kind}: {err}");
        assert!(err.contains(&format!("damaged at offset {at:#x}")) && err.contains("expected"), "{err}");
    }
}

#[test]
fn what_follows_a_member_must_be_one() {
    let packed = [gzip(&stream(5)), b"more".to_vec()].concat();
    let directory = directory(&[("x.gz", &packed)]);
    let (out, err, status) =
        run(tfbc(&["report", "--no-heading", "-t", "user.trcfmt", "x.gz"]).current_dir(&directory));
    assert_eq!((out.lines().count(), status), (5, 2));
    assert!(err.contains("expected a gzip member") || err.contains("cut short"), "{err}");
}

#[test]
fn file_errors_are_reported_even_after_trace_end() {
    let mut packed = gzip(&[stream(3), vec![0xFF; 8], events(3)].concat());
    let n = packed.len();
    packed[n - 5] ^= 1; // in the checksum
    let directory = directory(&[("x.gz", &packed), ("log.gz", &gzip(&log(3)))]);
    let options = ReadOptions { after_damage: AfterDamage::NextEntry, ..ReadOptions::default() };
    let mut trace = Trace::open(&directory.path().join("x.gz"), &options).unwrap();
    let mut told = Vec::new();
    while let Some(item) = trace.next().unwrap() {
        if let AixItem::Notice(notice) = item {
            told.push(notice.message);
        }
    }
    assert_eq!((told.len(), trace.n_whole()), (2, 4), "{told:?}");
    assert!(told[0].contains("the rest of the stream is skipped") && told[1].contains("have checksum"), "{told:?}");
    // A log is unpacked completely, so its compression is known.
    let trace = Trace::open(&directory.path().join("log.gz"), &options).unwrap();
    let packing = trace.packing().unwrap();
    assert_eq!((packing.compression, packing.fault), (Compression::Gzip, None));
}

#[test]
fn a_damaged_input_has_ended_for_good() {
    let packed = gzip(b"what counts");
    let damaged = [&packed[..packed.len() - 8], &[0; 8], &packed].concat();
    let mut unpacker = Unpacker::new(Compression::Gzip, Cursor::new(damaged), None);
    let mut bytes = Vec::new();
    for _ in 0..3 {
        unpacker.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, b"what counts");
        assert!(unpacker.fault().unwrap().contains("expected 00000000 and 0"), "{:?}", unpacker.fault());
    }
}

#[test]
fn what_follows_a_frame_must_be_one() {
    let packed = [zstd(b"frame"), b"no frame at all".to_vec()].concat();
    let mut unpacker = Unpacker::new(Compression::Zstd, Cursor::new(packed), None);
    let mut bytes = Vec::new();
    unpacker.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes, b"frame");
    assert!(
        unpacker.fault().unwrap().ends_with("expected a zstd frame or the end of the file"),
        "{:?}",
        unpacker.fault()
    );
}

#[test]
fn optional_gzip_header_fields_are_ignored() {
    let plain = gzip(b"what counts");
    let fields: [(u8, &[u8]); 4] = [(4, &[3, 0, 1, 0, 9]), (8, b"name\0"), (16, b"a comment\0"), (2, &[0x55, 0xAA])];
    for chosen in 0..16 {
        let mut packed = plain[..10].to_vec();
        for (_, (flag, field)) in fields.iter().enumerate().filter(|(at, _)| chosen >> at & 1 != 0) {
            packed[3] |= flag;
            packed.extend(*field);
        }
        packed.extend(&plain[10..]);
        let mut unpacker = Unpacker::new(Compression::Gzip, Cursor::new(packed), None);
        let mut bytes = Vec::new();
        unpacker.read_to_end(&mut bytes).unwrap();
        assert_eq!((bytes.as_slice(), unpacker.fault()), (&b"what counts"[..], None), "fields {chosen:04b}");
    }
}

#[test]
fn headers_that_are_damaged_are_unreadable() {
    for (bytes, part) in [
        (&[0x1F, 0x8B][..], "cut short at offset 0x2"),
        (&[0x1F, 0x8B, 7, 0, 0, 0, 0, 0, 0, 0], "damaged at offset 0x2 of the compressed file: found method 7"),
        (&[0x28, 0xB5, 0x2F, 0xFD], "cut short at offset 0x4"),
        (&[0x28, 0xB5, 0x2F, 0xFD, 0, 0xF8, 0, 0, 0], "a window of 2199023255552 bytes"),
        (&[0x28, 0xB5, 0x2F, 0xFD, 1, 0x58, 77, 0, 0, 0], "dictionary 77"),
        (
            &[0x50, 0x2A, 0x4D, 0x18, 5, 0, 0, 0, 1, 2],
            "cut short at offset 0xa of the compressed file: expected a skippable frame of 5",
        ),
    ] {
        let directory = directory(&[("x", bytes)]);
        let (out, err, status) = run(tfbc(&["report", "x"]).current_dir(&directory));
        assert_eq!((out.as_str(), status), ("", 1), "{err}");
        assert!(err.contains("cannot read x: ") && err.contains(part), "{err}");
    }
    // The notice for a log that ends in its header says why its bytes end.
    let packed = gzip(&fs::read(data("qnx/user_le.kev")).unwrap()[..200]);
    let cut = &packed[..packed.len() - 1];
    let opened = KevLog::from_input("x", Input::from_read(Cursor::new(cut.to_vec())).unwrap(), &KevOptions::default());
    let message = opened.err().unwrap().to_string();
    assert!(message.starts_with("truncated at offset 0xc8: ") && message.contains("; gzip: cut short at"), "{message}");
}

#[test]
fn format_files_may_be_compressed() {
    let directory = directory(&[("s", &stream(3))]);
    let path = |name: &str| directory.path().join(name);
    run(tfbc(&["compile", "user.trcfmt", "-o", "user.tfbc"]).current_dir(&directory));
    let xml = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/user.xml")).unwrap();
    fs::write(path("user.xml"), &xml).unwrap();
    fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/user.kev"), path("user.kev")).unwrap();
    for (plain, trace) in [("user.trcfmt", "s"), ("user.tfbc", "s"), ("user.xml", "user.kev")] {
        let report = |name: &str| run(tfbc(&["report", "-t", name, trace]).current_dir(&directory));
        let expected = report(plain);
        assert!(expected.2 == 0 && !expected.0.is_empty(), "{}", expected.1);
        let bytes = fs::read(path(plain)).unwrap();
        for (kind, pack) in PACKERS {
            fs::write(path("packed"), pack(&bytes)).unwrap();
            assert_eq!(report("packed"), expected, "{plain}: {kind}");
        }
        // A damaged format file would silently change every report.
        let packed = gzip(&bytes);
        fs::write(path("packed"), &packed[..packed.len() - 9]).unwrap();
        let (out, err, status) = report("packed");
        assert_eq!((out.as_str(), status), ("", 1), "{plain}");
        assert!(err.contains("packed") && err.contains("cut short at offset"), "{err}");
    }
    let mut piped = tfbc(&["report", "-t", "-", "s"]);
    let (out, err, status) = run(piped.current_dir(&directory).write_stdin(zstd(USER.as_bytes())));
    assert!(status == 0 && out.contains("hook = "), "{err}");
    // Other files that a report may read.
    fs::write(path("names.gz"), gzip(b"kwrite 00001000\n")).unwrap();
    fs::write(path("context.Z"), unix_compress::compress(b"# no entries\n")).unwrap();
    let args = ["report", "-t", "user.trcfmt", "--names", "names.gz", "--context", "context.Z", "s"];
    let (_, err, status) = run(tfbc(&args).current_dir(&directory));
    assert_eq!((err.as_str(), status), ("", 0));
    fs::write(path("packed"), gzip(&fs::read(path("user.tfbc")).unwrap())).unwrap();
    let (out, _, status) = run(tfbc(&["verify", "packed"]).current_dir(&directory));
    assert!(status == 0 && out.contains("verified"), "{out}");
}

#[test]
fn info_names_the_compression() {
    let kev = fs::read(data("qnx/user_le.kev")).unwrap();
    let stream = stream(50);
    let directory = directory(&[]);
    for bytes in [kev, stream] {
        for (kind, pack) in PACKERS {
            let packed = pack(&bytes);
            fs::write(directory.path().join("x"), &packed).unwrap();
            let (out, err, status) = run(tfbc(&["info", "x"]).current_dir(&directory));
            assert_eq!(status, 0, "{err}");
            assert!(out.contains(&format!("{kind}, {} bytes", packed.len())), "{out}");
        }
    }
}

#[test]
fn no_bytes_upset_the_unpackers() {
    let plain: Vec<u8> = (0..900u32).flat_map(|n| (n * n / 7).to_le_bytes()).collect();
    for (kind, pack) in PACKERS {
        let packed = pack(&plain);
        for at in 0..packed.len() {
            for flip in [1, 0x80, 0xFF] {
                let mut bytes = packed.clone();
                bytes[at] ^= flip;
                let Some(compression) = Compression::of(&bytes) else { continue };
                for bytes in [bytes.clone(), bytes[..at].to_vec()] {
                    let mut unpacker = Unpacker::new(compression, std::io::Cursor::new(bytes), None);
                    let mut out = Vec::new();
                    (&mut unpacker).take(1 << 22).read_to_end(&mut out).unwrap();
                    assert!(out.len() < 1 << 22, "{kind} at {at}");
                }
            }
        }
    }
}

#[test]
fn a_directory_means_its_traces_by_name() {
    let kev = fs::read(data("qnx/user_le.kev")).unwrap();
    let directory = directory(&[]);
    let traces = directory.path().join("traces");
    fs::create_dir_all(traces.join("deeper")).unwrap();
    for (name, bytes) in [
        ("b", stream(2)),
        ("a.gz", gzip(&stream(1))),
        ("c.kev", kev),
        ("notes.txt", b"some text".to_vec()),
        ("deeper/d", stream(9)),
    ] {
        fs::write(traces.join(name), bytes).unwrap();
    }
    let (out, err, status) = run(tfbc(&["report", "-t", "user.trcfmt", "traces"]).current_dir(&directory));
    assert_eq!(status, 0, "{err}");
    // Traces of two systems are labelled.
    let names = |out: &str| out.lines().filter(|line| line.starts_with("==> ")).map(str::to_owned).collect::<Vec<_>>();
    let expected = [
        "==> traces/a.gz (AIX 64-bit trace stream) <==",
        "==> traces/b (AIX 64-bit trace stream) <==",
        "==> traces/c.kev (QNX kernel log) <==",
    ];
    assert_eq!(names(&out), expected);
    let (one_system, ..) = run(tfbc(&["report", "traces/a.gz", "traces/b"]).current_dir(&directory));
    assert_eq!(names(&one_system), ["==> traces/a.gz <==", "==> traces/b <=="]);
    assert!(err.contains("traces: skipped because they are not traces: notes.txt"), "{err}");
    let table: Vec<Vec<&str>> = err.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(table.contains(&vec!["2", "1", "0", "stream64", "traces/a.gz"]), "{err}");
    assert!(table.contains(&vec!["3", "2", "0", "stream64", "traces/b"]), "{err}");
    assert!(table.last().unwrap().ends_with(&["total", "of", "3", "traces"]), "{err}");
    let (_, err, status) = run(tfbc(&["report", "traces/deeper/.."]).current_dir(&directory));
    assert_eq!(status, 0, "{err}");
    fs::create_dir(directory.path().join("empty")).unwrap();
    let (out, err, status) = run(tfbc(&["report", "empty"]).current_dir(&directory));
    assert_eq!((out.as_str(), status), ("", 1));
    assert!(err.contains("cannot read empty: no file in this directory is a trace"), "{err}");
}

#[test]
fn unreadable_trace_does_not_stop_the_others() {
    let cut = stream(4)[..stream(4).len() - 3].to_vec();
    let directory = directory(&[("a", &stream(2)), ("b", b"no trace"), ("c", &cut)]);
    let args = ["report", "--no-heading", "-t", "user.trcfmt", "a", "b", "none", "c"];
    let (out, err, status) = run(tfbc(&args).current_dir(&directory));
    assert_eq!((out.lines().count(), status), (5, 1), "{err}");
    for part in ["cannot read b: ", "cannot read none: ", "c: truncated at", "b (cannot be read)", "total of 4 traces"]
    {
        assert!(err.contains(part), "{part}: {err}");
    }
    // The output file gets the same text.
    let to_file = [&args[..], &["-o", "out"]].concat();
    let (printed, _, status) = run(tfbc(&to_file).current_dir(&directory));
    assert_eq!((printed.as_str(), status), ("", 1));
    assert_eq!(fs::read_to_string(directory.path().join("out")).unwrap(), out);
    // No summary for a single trace, or with --quiet.
    for args in [&["report", "a"][..], &["report", "--quiet", "a", "a"]] {
        let (_, err, status) = run(tfbc(args).current_dir(&directory));
        assert_eq!((err.as_str(), status), ("", 0));
    }
    let (out, err, status) = run(tfbc(&["info", "a", "b", "c"]).current_dir(&directory));
    assert!(out.contains("a: AIX") && out.contains("c: AIX") && err.contains("cannot read b"), "{out}{err}");
    assert_eq!(status, 1);
}

#[test]
fn a_mistake_on_the_command_line_ends_all() {
    let directory = directory(&[("a", &stream(2)), ("b", &stream(2))]);
    let (out, _, status) = run(tfbc(&["report", "--columns", "idd", "a", "b"]).current_dir(&directory));
    assert_eq!((out.as_str(), status), ("", 1));
}

#[test]
fn tables_of_several_logs_name_each_rows_file() {
    let kev = fs::read(data("qnx/user_le.kev")).unwrap();
    let directory = directory(&[("a.kev", &kev), ("b.kev", &kev)]);
    for form in ["tsv", "csv"] {
        let report = |names: &[&str]| {
            let args = [&["report", "--quiet", "--to", form], names].concat();
            run(tfbc(&args).current_dir(&directory)).0
        };
        let one = report(&["a.kev"]);
        let separator = if form == "tsv" { '\t' } else { ',' };
        let (head, rows) = one.split_once('\n').unwrap();
        // A quoted value may contain line ends.
        let of = |name: &str| {
            let (mut table, mut n_quotes) = (String::new(), 0);
            for line in rows.split_inclusive('\n') {
                if n_quotes % 2 == 0 {
                    table += &format!("{name}{separator}");
                }
                n_quotes += if form == "csv" { line.matches('"').count() } else { 0 };
                table += line;
            }
            table
        };
        let expected = format!("file{separator}{head}\n{}{}", of("a.kev"), of("b.kev"));
        assert_eq!(report(&["a.kev", "b.kev"]), expected);
        let without = report(&["--no-heading", "a.kev", "b.kev"]);
        assert_eq!(without, expected.split_once('\n').unwrap().1);
    }
}

#[test]
fn objects_and_counts_name_their_file() {
    let kev = fs::read(data("qnx/user_le.kev")).unwrap();
    let directory = directory(&[("a", &stream(2)), ("b.kev", &kev)]);
    let report = |args: &[&str]| run(tfbc(&[&["report", "--quiet"], args].concat()).current_dir(&directory));
    let (out, err, status) = report(&["--to", "ndjson", "a", "b.kev"]);
    assert_eq!((err.as_str(), status), ("", 0));
    let files: Vec<String> = out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["file"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(files.iter().filter(|name| *name == "a").count(), 2);
    assert_eq!(files.iter().filter(|name| *name == "b.kev").count(), files.len() - 2);
    assert!(!report(&["--to", "ndjson", "a"]).0.contains("\"file\""));
    let (counts, ..) = report(&["--stats", "--to", "csv", "a", "b.kev"]);
    assert!(counts.starts_with("file,count,id,label\na,2,010,") && counts.contains("\nb.kev,"), "{counts}");
    assert_eq!(counts.matches("count").count(), 1);
    // Rows of the two systems have different columns.
    for form in ["tsv", "csv"] {
        let (out, err, status) = report(&["--to", form, "a", "b.kev"]);
        assert_eq!((out.as_str(), status), ("", 1), "{form}");
        assert!(err.contains("different columns") && err.contains("--to ndjson"), "{err}");
    }
}

#[test]
fn files_of_processors_belong_to_their_base() {
    let mut base = LogBuilder { wide: true, ic: factors64(1, 1, 1), ..LogBuilder::default() }.bytes();
    base[15] = 4;
    let member = log(3);
    let directory = directory(&[]);
    let path = |name: &str| directory.path().join("traces").join(name);
    fs::create_dir(path("")).unwrap();
    for (name, bytes) in [("base", &base), ("base-0", &member), ("plain", &member), ("plain-1", &member)] {
        fs::write(path(name), bytes).unwrap();
    }
    let (_, err, _) = run(tfbc(&["report", "-t", "user.trcfmt", "traces"]).current_dir(&directory));
    assert!(err.contains("total of 3 traces") && !err.contains("  traces/base-0"), "{err}");
}
