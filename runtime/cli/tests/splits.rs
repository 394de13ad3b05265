//! `tfbc split` and `tfbc report --part`.

use crate::common::*;
use std::fs;
use std::path::Path;
use tempfile::TempDir;
use tfbc::testing::unix_compress::compress;

/// Directory with the samples, and with `cut.trc`, which is damaged.
fn directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in ["shell.trc", "copy.trc", "user.kev", "user.xml"] {
        fs::copy(root().join("runtime/samples").join(name), directory.path().join(name)).unwrap();
    }
    let mut bytes = fs::read(directory.path().join("shell.trc")).unwrap();
    bytes[6000..6100].fill(0xFF);
    fs::write(directory.path().join("cut.trc"), bytes).unwrap();
    directory
}

fn tfbc(directory: &Path, args: &str) -> (String, String, i32) {
    let mut command = command("tfbc");
    command.args(args.split_whitespace()).current_dir(directory).env("TFBC_CACHE", "off");
    run(&mut command)
}

/// Runs a command that succeeds without messages.
fn output(directory: &Path, args: &str) -> String {
    let (text, error, status) = tfbc(directory, args);
    assert_eq!((error.as_str(), status), ("", 0), "{args}");
    text
}

#[test]
fn parts_print_the_whole_report() {
    let world = directory();
    let world = world.path();
    for (trace, formats) in [("shell.trc", ""), ("copy.trc", ""), ("user.kev", "-t user.xml"), ("user.kev", "")] {
        for size in ["-n 1", "-n 2", "-n 7", "--bytes 1", "--bytes 1k"] {
            let (_, list, status) = tfbc(world, &format!("split {size} {formats} -o x.tfbs {trace}"));
            assert_eq!(status, 0, "{list}");
            let n_parts = list.lines().count() - 1;
            for flags in ["--quiet", "--quiet --to ndjson", "--quiet --to csv", "--quiet --no-heading"] {
                let whole = output(world, &format!("report {flags} {formats} {trace}"));
                let part = |n| output(world, &format!("report {flags} {formats} --part {n} x.tfbs"));
                // A part costs a process here.
                let n_read = n_parts.min(12);
                let parts: String = (1..=n_read).map(part).collect();
                assert!(
                    if n_read == n_parts { parts == whole } else { whole.starts_with(&parts) },
                    "{trace} {size} {flags}"
                );
            }
        }
    }
}

#[test]
fn an_index_gives_the_report_of_the_trace() {
    let world = directory();
    let world = world.path();
    for (trace, filters) in [
        (
            "shell.trc",
            ["", "--from 0.002 --until 0.003", "--only 134", "--cpu 0", "--only 0AB", "--grep kread", "--pid 6418"],
        ),
        (
            "user.kev",
            ["", "--from 1 --until 2 --time relative", "--only USER", "--cpu 1", "--only 9:1", "--grep a", "--pid 1"],
        ),
    ] {
        let (_, list, status) = tfbc(world, &format!("index --bytes 300 {trace}"));
        assert!(status == 0 && list.lines().count() > 4, "{list}");
        for filter in filters {
            for flags in ["", "--to ndjson", "--to csv", "--no-heading"] {
                let whole = tfbc(world, &format!("report {flags} {filter} {trace}"));
                assert_eq!(tfbc(world, &format!("report {flags} {filter} {trace}.tfbs")), whole, "{flags} {filter}");
            }
        }
    }
    let pages = tfbc(world, "report --pagesize 20 shell.trc");
    assert_eq!(tfbc(world, "report --pagesize 20 shell.trc.tfbs"), pages);
    refused(world, "report --stats shell.trc.tfbs", "counts and sorted rows");
}

#[test]
fn parts_of_a_damaged_trace_report_the_damage_once() {
    let world = directory();
    let world = world.path();
    let (_, _, status) = tfbc(world, "split -n 4 -o cut.tfbs cut.trc");
    assert_eq!(status, 0);
    let (whole, messages, status) = tfbc(world, "report cut.trc");
    assert_eq!(status, 2);
    let damage = messages.lines().next().unwrap();
    let runs: Vec<_> = (1..=4).map(|n| tfbc(world, &format!("report --part {n} cut.tfbs"))).collect();
    assert_eq!(runs.iter().map(|(text, ..)| text.as_str()).collect::<String>(), whole);
    assert_eq!(runs.iter().filter(|(_, messages, _)| messages.contains(damage)).count(), 1);
    assert_eq!(runs.iter().filter(|(.., status)| *status == 2).count(), 1);
}

/// Checks that a command fails with a message.
fn refused(world: &Path, args: &str, message: &str) {
    let (_, error, status) = tfbc(world, args);
    assert!(status == 1 && error.contains(message), "{args}: {status} {error}");
}

#[test]
fn what_cannot_be_split_is_refused_with_a_reason() {
    let world = directory();
    let world = world.path();
    refused(world, "split -o x.tfbs shell.trc", "--parts");
    refused(world, "split -n 0 -o x.tfbs shell.trc", "invalid value '0'");
    refused(world, "split --bytes 1x -o x.tfbs shell.trc", "a number of bytes such as");
    refused(world, "split -n 2 -o shell.trc shell.trc", "shell.trc");
    refused(world, "split -n 2 -o x.tfbs user.xml", "not a trace but");
    fs::write(world.join("shell.trc.gz"), pack(&world.join("shell.trc"))).unwrap();
    refused(world, "split -n 2 -o x.tfbs shell.trc.gz", "cannot read shell.trc.gz: a compressed trace cannot be split");
    refused(world, "split -n 2 -o x.tfbs shell.trc.gz", "--unpack DIR");
    refused(world, "split -n 2 -o x.tfbs shell.trc copy.trc", "give --merge");
    refused(world, "split -m -n 2 -o copy.trc shell.trc copy.trc", "copy.trc");
    refused(world, "split -m -n 2 -o x.tfbs shell.trc user.kev", "only AIX traces can be merged");
    assert!(!world.join("x.tfbs").exists());
}

/// Compresses a file.
fn pack(path: &Path) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, &fs::read(path).unwrap()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn compressed_traces_are_unpacked_first() {
    let world = directory();
    let world = world.path();
    let packed = pack(&world.join("shell.trc"));
    fs::write(world.join("shell.trc.gz"), &packed).unwrap();
    let whole = output(world, "report shell.trc");
    let (_, list, status) = tfbc(world, "split --unpack plain/here -n 3 -o x.tfbs shell.trc.gz");
    assert!(status == 0 && list.lines().count() == 4, "{list}");
    assert_eq!(fs::read(world.join("plain/here/shell.trc")).unwrap(), fs::read(world.join("shell.trc")).unwrap());
    let parts: String = (1..=3).map(|n| output(world, &format!("report --part {n} x.tfbs"))).collect();
    assert_eq!(parts, whole);
    assert_eq!(output(world, "report x.tfbs"), whole);
    // As AIX's compress leaves it.
    let of_compress = compress(&fs::read(world.join("shell.trc")).unwrap());
    fs::write(world.join("shell.trc.Z"), &of_compress).unwrap();
    refused(world, "split -n 2 -o z.tfbs shell.trc.Z", "a compressed trace cannot be split");
    assert_eq!(tfbc(world, "split --unpack old -n 3 -o old.tfbs shell.trc.Z").2, 0);
    let parts: String = (1..=3).map(|n| output(world, &format!("report --part {n} old.tfbs"))).collect();
    assert_eq!(parts, whole);
    // The format has no length: a cut is seen if at least a byte of a code is left, which one of 11 lengths leaves.
    let cut = (0..11).find_map(|n| {
        fs::write(world.join("cut.Z"), &of_compress[..of_compress.len() / 2 - n]).unwrap();
        let (_, messages, status) = tfbc(world, &format!("split --unpack old{n} -n 3 -o z.tfbs cut.Z"));
        (status == 2).then_some(messages)
    });
    assert!(cut.as_ref().is_some_and(|messages| messages.contains("cut.Z: compress (.Z)")), "{cut:?}");
    // A file that exists is not replaced, not even the trace itself.
    fs::write(world.join("plain/here/shell.trc"), "mine").unwrap();
    refused(world, "split --unpack plain/here -n 3 -o y.tfbs shell.trc.gz", "shell.trc: the file exists");
    refused(world, "index --unpack . -o y.tfbs shell.trc.gz", "shell.trc: the file exists");
    assert_eq!(fs::read(world.join("plain/here/shell.trc")).unwrap(), b"mine");
    // A trace that is not compressed stays where it is.
    let (_, _, status) = tfbc(world, "split --unpack none -n 3 -o y.tfbs shell.trc");
    assert!(status == 0 && !world.join("none").exists());
    // Everything before the damage is unpacked.
    fs::write(world.join("cut.gz"), &packed[..packed.len() / 2]).unwrap();
    let (_, messages, status) = tfbc(world, "split --unpack cut -n 3 -o z.tfbs cut.gz");
    assert!(status == 2 && messages.contains("cut.gz: gzip"), "{status} {messages}");
    let (text, ..) = tfbc(world, "report z.tfbs");
    assert!(text.len() > 100 && whole.starts_with(&text[..100]), "{text}");
    refused(world, "split --unpack new -n 3 -o z.tfbs missing.gz", "missing.gz");
    let mut command = command("tfbc");
    command.args("split --unpack pipe -n 3 -o p.tfbs -".split(' ')).current_dir(world).env("TFBC_CACHE", "off");
    let (_, messages, status) = run(command.write_stdin(packed));
    assert!(status == 0 && world.join("pipe/stdin").is_file(), "{messages}");
    assert_eq!(output(world, "report p.tfbs"), whole);
}

#[test]
fn merged_logs_and_files_of_cpus_are_split() {
    let world = directory();
    let world = world.path();
    assert_eq!(tfbc(world, "split -m -n 5 -o x.tfbs shell.trc copy.trc").2, 0);
    let whole = output(world, "report x.tfbs");
    let parts: String = (1..=5).map(|n| output(world, &format!("report --part {n} x.tfbs"))).collect();
    let n_lines = ["shell.trc", "copy.trc"].map(|trace| output(world, &format!("report {trace}")).lines().count());
    assert!(parts == whole && whole.lines().count() > n_lines[0].max(n_lines[1]) + 10);
    refused(world, "report -o copy.trc x.tfbs", "copy.trc");
    refused(world, "report --part 2 -o copy.trc x.tfbs", "copy.trc");
    let (_, _, status) = tfbc(world, "index --bytes 1k -m shell.trc copy.trc");
    assert!(status == 0 && world.join("shell.trc.tfbs").is_file());
    assert_eq!(output(world, "report shell.trc.tfbs"), whole);
}

#[test]
#[cfg(feature = "parquet")]
fn tables_of_a_split_file_are_those_of_the_trace() {
    let world = directory();
    let world = world.path();
    for (trace, formats) in [("shell.trc", ""), ("cut.trc", ""), ("user.kev", "-t user.xml")] {
        tfbc(world, &format!("index --bytes 300 {formats} {trace}"));
        for filter in ["", "--from 0.002 --until 0.003", "--cpu 0", "--until 0"] {
            for form in ["--to arrow", "--to parquet", "--to arrow --notices n.ndjson", "--to parquet --by-event"] {
                let read = |input: &str| {
                    let out = world.join("out");
                    let ended = tfbc(world, &format!("report {form} {formats} {filter} -o out {input}"));
                    let mut files = vec![fs::read(world.join("n.ndjson")).unwrap_or_default()];
                    if out.is_dir() {
                        let names = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
                        let names = names.collect::<std::collections::BTreeSet<_>>();
                        files.extend(names.into_iter().map(|path| fs::read(path).unwrap()));
                        fs::remove_dir_all(&out).unwrap();
                    } else {
                        files.push(fs::read(&out).unwrap());
                        fs::remove_file(&out).unwrap();
                    }
                    (ended, files)
                };
                let (whole, split) = (read(trace), read(&format!("{trace}.tfbs")));
                assert_eq!(split.0, whole.0, "{form} {filter} {trace}");
                assert!(split.1 == whole.1 && whole.1.len() > 1, "{form} {filter} {trace}");
            }
        }
    }
}

#[test]
fn threads_do_not_change_a_report() {
    let world = directory();
    let world = world.path();
    for (trace, formats) in [("shell.trc", ""), ("cut.trc", ""), ("user.kev", "-t user.xml")] {
        let made = tfbc(world, &format!("index --bytes 300 {formats} {trace}"));
        assert!(made.2 == 0 || made.2 == 2, "{}", made.1);
        for flags in ["", "--to ndjson", "--columns id --from 0.001"] {
            let whole = tfbc(world, &format!("report {flags} {formats} {trace}"));
            for threads in [1, 2, 3, 8] {
                let args = format!("report --threads {threads} {flags} {formats} {trace}.tfbs");
                assert_eq!(tfbc(world, &args), whole, "{args}");
            }
        }
    }
}

#[test]
fn a_split_file_has_the_name_of_its_trace() {
    let world = directory();
    let world = world.path();
    assert_eq!(tfbc(world, "split -n 2 -o x.tfbs cut.trc").2, 0);
    let (text, _, status) = tfbc(world, "report --to ndjson x.tfbs copy.trc");
    assert_eq!((text, status), (tfbc(world, "report --to ndjson cut.trc copy.trc").0, 2));
    if cfg!(feature = "arrow") {
        for input in ["cut.trc", "x.tfbs", "--part 2 x.tfbs"] {
            tfbc(world, &format!("report --to arrow -o out --notices n.ndjson {input}"));
            let notices = fs::read_to_string(world.join("n.ndjson")).unwrap();
            assert!(notices.contains(r#""file":"cut.trc""#) && !notices.contains("x.tfbs"), "{input}: {notices}");
        }
    }
}

#[test]
fn a_trace_is_read_as_it_was_split() {
    let world = directory();
    let world = world.path();
    assert_eq!(tfbc(world, "split -n 2 -o x.tfbs shell.trc").2, 0);
    for flag in ["--format log32", "--lenient", "--cpuid-word first", "--after-damage next-entry"] {
        refused(world, &format!("report {flag} x.tfbs"), "give them to `tfbc split`");
        refused(world, &format!("report {flag} --part 1 x.tfbs"), "give them to `tfbc split`");
    }
    refused(world, "report --salvage x.tfbs", "give them to `tfbc split`");
    refused(world, "report --follow x.tfbs", "--follow waits for more of a trace");
    let whole = output(world, "report --lenient --format log64 shell.trc");
    assert_eq!(tfbc(world, "split --lenient -n 2 -o y.tfbs shell.trc").2, 0);
    assert_eq!(output(world, "report y.tfbs"), whole);
    assert_eq!(output(world, "report --lenient --format log64 y.tfbs"), whole);
}

#[test]
fn parts_of_something_else_are_refused() {
    let world = directory();
    let world = world.path();
    assert_eq!(tfbc(world, "split -n 3 -o x.tfbs shell.trc").2, 0);
    refused(world, "report --part 4 x.tfbs", "there is no part 4: the parts are 1 to 3");
    refused(world, "report --part 0 x.tfbs", "invalid value '0' for '--part <K>': expected at least 1");
    refused(world, "info x.tfbs", "not a trace but a split file");
    refused(world, "report --part 1 shell.trc", "not a split file");
    refused(world, "report --part 1 x.tfbs x.tfbs", "exactly one split file");
    refused(world, "report --part 1 -o shell.trc x.tfbs", "shell.trc");
    refused(world, "report --part 1 --stats x.tfbs", "--stats");
    refused(world, "report --part 1 --pagesize 60 x.tfbs", "pages of a part");
    refused(world, "report --part 2 --from 1 x.tfbs", "leave out the column `delta`");
    fs::write(world.join("own.trcfmt"), "0A1 1.0 \"PUMP\" $D1\n").unwrap();
    refused(world, "report --part 2 -t own.trcfmt x.tfbs", "with the built-in one (BLAKE3 ");
    refused(world, "report --part 2 -t own.trcfmt x.tfbs", "), not with own.trcfmt (BLAKE3 ");
    // A changed byte of the split file, and a changed trace.
    let split = fs::read(world.join("x.tfbs")).unwrap();
    let mut flipped = split.clone();
    *flipped.last_mut().unwrap() ^= 1;
    fs::write(world.join("y.tfbs"), &flipped).unwrap();
    refused(world, "report --part 3 y.tfbs", "a damaged split file");
    refused(world, "report y.tfbs", "a damaged split file");
    // The other parts do not need the damaged section.
    output(world, "report --part 2 y.tfbs");
    let mut trace = fs::read(world.join("shell.trc")).unwrap();
    trace[0x60] ^= 1;
    fs::write(world.join("shell.trc"), &trace).unwrap();
    refused(world, "report --part 2 x.tfbs", "its first bytes differ");
    fs::remove_file(world.join("shell.trc")).unwrap();
    refused(world, "report --part 2 x.tfbs", "cannot read shell.trc, the trace of x.tfbs: No such file");
    refused(world, "report x.tfbs", "cannot read shell.trc, the trace of x.tfbs: No such file");
}
