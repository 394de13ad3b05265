//! Every limit has a default, a flag and a message as in docs/limits.md, and hostile inputs are refused in bounded
//! memory.

#![cfg(unix)]

use crate::common::*;
use assert_cmd::Command;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

fn tfbc(directory: &Path, args: &str) -> (String, String, i32) {
    let mut command = command("tfbc");
    command.args(args.split_whitespace()).current_dir(directory).env("TFBC_CACHE", "off");
    run(&mut command)
}

/// Directory with some files.
fn test_directory(files: &[(&str, &[u8])]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(directory.path().join(name), bytes).unwrap();
    }
    directory
}

/// Checks that a command fails with this message, and succeeds with a raised limit.
fn refused(world: &TempDir, args: &str, message: &str, flag: &str, raised: &str) {
    let (_, error, status) = tfbc(world.path(), args);
    assert_eq!(status, 1, "{args}: {error}");
    assert!(error.contains(message), "{args}: {error}");
    assert!(error.contains(flag), "{args} names {flag}: {error}");
    let (_, error, status) = tfbc(world.path(), &format!("{args} {flag} {raised}"));
    assert_eq!(status, 0, "{args} {flag} {raised}: {error}");
}

/// Flags of the table with their defaults.
fn documented() -> BTreeMap<String, u64> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/limits.md");
    let text = fs::read_to_string(path).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `--max-"));
    rows.map(|row| {
        let mut cells = row.split('|');
        let name = cells.next().unwrap().trim().trim_end_matches('`');
        (format!("--max-{name}"), cells.next().unwrap().trim().parse().unwrap())
    })
    .collect()
}

#[test]
fn the_documented_defaults_are_those_of_the_commands() {
    let documented = documented();
    assert_eq!(documented.len(), 17);
    let mut found = BTreeMap::new();
    for command in commands() {
        let (help, ..) = run(crate::common::command("tfbc").args([&*command, "--help"]));
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in help.split(" --max-").skip(1) {
            let flag = format!("--max-{}", part.split(' ').next().unwrap());
            let default = part.split("[default: ").nth(1).unwrap().split(']').next().unwrap();
            let default: u64 = default.parse().unwrap_or_else(|_| panic!("{command} {flag}: {part}"));
            assert_eq!(*found.entry(flag).or_insert(default), default);
        }
    }
    assert_eq!(found, documented);
}

#[test]
fn nesting_has_a_limit() {
    let trcfmt = format!("010 1.0 \"A\" {}X1 {}\n", "LOOP X1 { ".repeat(65), "} ".repeat(65));
    let xml = format!("<eventdefinitions>{}{}</eventdefinitions>", "<a>".repeat(64), "</a>".repeat(64));
    let world = test_directory(&[("a.trcfmt", trcfmt.as_bytes()), ("a.xml", xml.as_bytes())]);
    refused(&world, "check a.trcfmt", "braces and parentheses are nested deeper than 64", "--max-nesting", "65");
    refused(&world, "check a.xml", "elements are nested deeper than 64", "--max-nesting", "65");
    let (_, error, status) = tfbc(world.path(), "check a.trcfmt --max-nesting 201");
    assert_eq!(status, 1);
    assert!(error.contains("200"), "{error}");
}

#[test]
fn templates_have_a_limit() {
    let stanzas: String = (0..0x10001).map(|n| format!("{:04X} 1.0 \"\"\n", 0x1000 + n % 0xF000)).collect();
    let xml = "<eventdefinitions><datakey format=\"%1u1x a\"><event class=\"6\" id=\"1\"/></datakey>\
               <eventclass id=\"7\"><event id=\"0\" sformat=\"%1u1x a\"/></eventclass></eventdefinitions>";
    let world = test_directory(&[
        ("a.trcfmt", stanzas.as_bytes()),
        ("b.trcfmt", b"010 1.0 \"A\"\n"),
        ("a.xml", xml.as_bytes()),
    ]);
    let (_, error, status) = tfbc(world.path(), "check --message-format short a.trcfmt");
    assert_eq!(status, 1);
    assert!(error.contains("a.trcfmt:65537:1: error[S23]: source has more than 65536 templates"), "{error}");
    let message = "with this source, the files have 3 templates, more than 2";
    for args in ["check b.trcfmt a.xml", "check a.xml b.trcfmt"] {
        let (_, error, status) = tfbc(world.path(), &format!("{args} --max-templates 2"));
        assert_eq!(status, 1);
        assert!(error.contains(message) && error.contains("raise the limit with `--max-templates`"), "{error}");
        assert_eq!(tfbc(world.path(), &format!("{args} --max-templates 3")).2, 0);
    }
}

#[test]
fn sources_have_a_limit() {
    let world = test_directory(&[
        ("a.trcfmt", b"010 1.0 \"A\" X4\n"),
        ("a.xml", b"<eventdefinitions></eventdefinitions>"),
        ("large.xml", format!("<eventdefinitions>{}</eventdefinitions>", " ".repeat(16 << 20)).as_bytes()),
    ]);
    let file = fs::File::create(world.path().join("large")).unwrap();
    file.set_len((64 << 20) + 1).unwrap();
    for command in ["check", "compile --emit tokens", "list -t", "disasm"] {
        let (_, error, status) = tfbc(world.path(), &format!("{command} large"));
        assert_eq!(status, 1, "{error}");
        assert!(error.contains("large has more than 67108864 bytes (--max-source raises the limit)"), "{error}");
    }
    refused(&world, "check large.xml", "event definitions are larger than 16 MiB", "--max-xml", "20000000");
    let small =
        |flag: &str, file: &str| tfbc(world.path(), &format!("check {file} --max-source 10 --max-xml 20 {flag}"));
    assert!(small("", "a.trcfmt").1.contains("source is larger than 10 bytes"));
    let (_, error, status) = small("", "a.xml");
    assert!(status == 1 && error.contains("a.xml has more than 20 bytes"), "{error}");
}

/// Runs a command with too little memory to read a large file completely.
fn in_little_memory(directory: &Path, name: &str, args: &str) -> (String, i32) {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 600000; exec \"$0\" \"$@\""]).arg(program(name));
    command.args(args.split_whitespace()).current_dir(directory).env("TFBC_CACHE", "off");
    let (out, error, status) = run(&mut command);
    (out + &error, status)
}

#[test]
fn endless_and_huge_inputs_are_refused_early() {
    let world = test_directory(&[
        ("t.trc", &STREAM64),
        ("case.case.toml", b""),
        ("b.case.toml", b"[[event]]\nname = \"a\"\nhex = \"8000000801000000 01\"\n"),
    ]);
    let sparse = |name: &str, begin: &[u8], len: u64| {
        fs::write(world.path().join(name), begin).unwrap();
        fs::File::options().write(true).open(world.path().join(name)).unwrap().set_len(len).unwrap();
    };
    sparse("zeros", b"", 3 << 30);
    sparse("elf", b"\x7FELF", 3 << 30);
    sparse("blob", &tfbc_vm::LABEL, 3 << 30);
    sparse("names", b"", (256 << 20) + 1);
    sparse("large.xml", b"<?xml version=\"1.0\"?>", 3 << 30);
    sparse("large.case.toml", b"", (16 << 20) + 1);
    sparse("b.case.snap", b"", (64 << 20) + 1);
    let cases = [
        ("trcnm", "zeros", "cannot read zeros: it is not an ELF file"),
        ("trcnm", "-a zeros", "cannot read zeros: it is not an ELF file"),
        ("trcnm", "/dev/zero", "cannot read /dev/zero: it is not an ELF file"),
        ("trcnm", "elf", "cannot read elf: it has more than 1073741824 bytes"),
        ("tfbc", "verify zeros", "zeros: not a .tfbc blob: the first 8 bytes are not its label"),
        ("tfbc", "verify /dev/zero", "/dev/zero: not a .tfbc blob: the first 8 bytes are not its label"),
        ("tfbc", "verify blob", "cannot read blob: it has more than 1073741824 bytes"),
        ("tfbc", "disasm blob", "blob has more than 1073741824 bytes"),
        ("tfbc", "disasm /dev/zero", "/dev/zero has more than 67108864 bytes (--max-source raises the limit)"),
        ("tfbc", "report -t /dev/zero t.trc", "/dev/zero has more than 67108864 bytes (--max-source raises the limit)"),
        ("tfbc", "compile /dev/zero -o x", "/dev/zero has more than 67108864 bytes (--max-source raises the limit)"),
        ("tfbc", "check zeros", "zeros has more than 67108864 bytes (--max-source raises the limit)"),
        ("tfbc", "fmt zeros", "it has more than 67108864 bytes (--max-source raises the limit)"),
        ("tfbc", "check large.xml", "large.xml has more than 16777216 bytes (--max-xml raises the limit)"),
        ("tfbc", "report -t large.xml t.trc", "large.xml has more than 16777216 bytes (--max-xml raises the limit)"),
        ("tfbc", "fmt large.xml", "it has more than 16777216 bytes (--max-xml raises the limit)"),
        ("trcupdate", "-t large.xml x", "it is a file of XML event definitions, which has no stanzas"),
        ("tfbc", "report --names names t.trc", "cannot read names: it has more than 268435456 bytes"),
        ("tfbc", "test large.case.toml", "cannot read large.case.toml: it has more than 16777216 bytes"),
        ("tfbc", "test b.case.toml", "it has more than 67108864 bytes"),
    ];
    for (name, args, message) in cases {
        let (said, status) = in_little_memory(world.path(), name, args);
        assert!(status == 1 && said.contains(message), "{name} {args}: {said}");
    }
}

/// ELF file with many functions that share one name.
fn functions(n: usize, name_len: usize) -> Vec<u8> {
    let name = [b"\0", &b"n".repeat(name_len)[..], b"\0"].concat();
    let symbol = [&1u32.to_le_bytes()[..], &[0x12, 0, 1, 0], &0x1000u64.to_le_bytes(), &[0; 8]].concat();
    let symbols = [vec![0; 24], symbol.repeat(n)].concat();
    let (symbols_at, names_at) = (64 + 4 * 64, 64 + 4 * 64 + symbols.len());
    let section = |kind: u32, at: usize, len: usize, link: u32, entry: u64| {
        let mut row = vec![0; 64];
        row[4..8].copy_from_slice(&kind.to_le_bytes());
        row[24..32].copy_from_slice(&(at as u64).to_le_bytes());
        row[32..40].copy_from_slice(&(len as u64).to_le_bytes());
        row[40..44].copy_from_slice(&link.to_le_bytes());
        row[56..64].copy_from_slice(&entry.to_le_bytes());
        row
    };
    let mut head = b"\x7FELF\x02\x01\x01".to_vec();
    head.resize(64, 0);
    head[16..20].copy_from_slice(&[2, 0, 62, 0]);
    head[20] = 1;
    head[40] = 64;
    head[52..64].copy_from_slice(&[64, 0, 0, 0, 0, 0, 64, 0, 4, 0, 3, 0]);
    let sections = [
        vec![0; 64],
        section(1, 64, 0, 0, 0),
        section(2, symbols_at, symbols.len(), 3, 24),
        section(3, names_at, name.len(), 0, 0),
    ];
    [head, sections.concat(), symbols, name].concat()
}

#[test]
fn total_length_of_elf_names_is_limited() {
    let world = test_directory(&[("few", &functions(3, 5)), ("many", &functions(100_000, 1 << 20))]);
    let (out, error, status) = run(Command::new(program("trcnm")).arg("few").current_dir(world.path()));
    assert_eq!((out.as_str(), status), ("nnnnn 0000000000001000\n", 0), "{error}");
    let (said, status) = in_little_memory(world.path(), "trcnm", "many");
    assert_eq!(status, 1);
    assert!(said.contains("cannot read many: the names of its symbols have more than 268435456 bytes"), "{said}");
}

/// zstd frame whose 128 KiB blocks take four bytes each.
fn bomb(n_blocks: usize, byte: u8) -> Vec<u8> {
    let block = |last: u32| (last | 1 << 1 | (128 << 10) << 3).to_le_bytes()[..3].to_vec();
    let mut bytes = vec![0x28, 0xB5, 0x2F, 0xFD, 0, 0x58];
    for n in 0..n_blocks {
        bytes.extend(block(u32::from(n + 1 == n_blocks)));
        bytes.push(byte);
    }
    bytes
}

#[test]
fn compressed_files_may_not_come_to_too_much() {
    let trace = [vec![0x28, 0xB5, 0x2F, 0xFD, 0x20, 4], vec![0x21, 0, 0], STREAM64.to_vec()].concat();
    let world = test_directory(&[("a.trcfmt.zst", &bomb(140, b'#')), ("log.zst", &[trace, bomb(140, 0)].concat())]);
    let message = "more than 1100 times as many; reading stops (--max-ratio raises the limit)";
    let (_, error, status) = tfbc(world.path(), "check a.trcfmt.zst");
    assert_eq!(status, 1);
    assert!(error.contains(message), "{error}");
    assert_eq!(tfbc(world.path(), "check a.trcfmt.zst --max-ratio 40000").2, 0);
    for command in ["report", "info"] {
        let (out, error, status) = tfbc(world.path(), &format!("{command} log.zst"));
        assert_eq!(status, 2, "{error}");
        assert!(error.contains(message) || out.contains(message), "{out}{error}");
    }
}

#[test]
fn turns_and_text_have_limits() {
    let world = test_directory(&[("a.trcfmt", b"010 1.0 \"@A\" {{ $n = 1000 }} LOOP $n { \"x\" }\n")]);
    let event = |flags: &str| tfbc(world.path(), &format!("event -t a.trcfmt --env 32 010a0000 {flags}"));
    assert_eq!(event("").0.trim_end(), "x".repeat(1000));
    for flags in ["--max-turns 10", "--max-text 10"] {
        let (out, error, status) = event(flags);
        assert_eq!((out.trim_end(), status), ("xxxxxxxxxx [limit]", 0));
        assert!(error.contains("the event reached a limit (--max-turns, --max-steps, --max-text)"), "{error}");
    }
    // An iteration of this loop is one or two instructions.
    let (out, _, status) = event("--max-steps 100");
    let n = out.trim_end_matches(" [limit]\n").len();
    assert!(out.ends_with("x [limit]\n") && (50..=101).contains(&n) && status == 0, "{out}");
    fs::write(world.path().join("log"), [STREAM64.to_vec(), plain64(0x0100, 0, &[1], 7, 9)].concat()).unwrap();
    for command in ["report -t a.trcfmt log", "trcrpt -t a.trcfmt log"] {
        let (out, error, _) = tfbc(world.path(), &command.replacen(" -t", " --max-turns 10 -t", 1));
        assert!(out.contains("xxxxxxxxxx [limit]"), "{out}");
        let reached = "a limit cut the text of 1 event: 10 iterations (--max-turns), 67108864 steps (--max-steps) \
                       or 1048576 bytes of text (--max-text)";
        assert!(error.contains(reached), "{error}");
    }
}

#[test]
fn tables_that_live_through_a_report_have_limits() {
    let formats = "010 1.0 \"A\" starttimer($D1,1) \"start\"\n011 1.0 \"B\" \"took \" endtimer($D1,1)\n";
    let timers = |n: u64| [plain64(0x0100, 0, &[n], 7, n), plain64(0x0110, 0, &[0], 7, n + 50)].concat();
    let processes = |n: u64| generic_by64(0x00A0, 1, &process(n, n + 100, "/bin/a"), n, n);
    let log = |event: &dyn Fn(u64) -> Vec<u8>| [STREAM64.to_vec(), (0..5).flat_map(event).collect()].concat();
    let world =
        test_directory(&[("a.trcfmt", formats.as_bytes()), ("timers", &log(&timers)), ("processes", &log(&processes))]);
    let says = |args: &str, message: Option<&str>| {
        let (_, error, _) = tfbc(world.path(), args);
        assert_eq!(error.contains(" at once: "), message.is_some(), "{args}: {error}");
        assert!(message.is_none_or(|message| error.contains(message)), "{args}: {error}");
    };
    let timers = "report -t a.trcfmt timers";
    says(timers, None);
    says(&format!("{timers} --max-timers 4"), None);
    let message = "timers: more than 3 timers at once: 1 dropped (--max-timers raises the limit)";
    says(&format!("{timers} --max-timers 3"), Some(message));
    let processes = "report --columns pid,text processes";
    says(processes, None);
    says(&format!("{processes} --max-processes 5"), None);
    let message = "more than 3 processes or threads at once: ";
    says(&format!("{processes} --max-processes 3"), Some(message));
}

/// Runs a command with limited memory and time.
fn bounded(directory: &Path, line: &str) -> (String, i32) {
    let mut command = Command::new("bash");
    let line = format!("ulimit -v 1500000; timeout 600 \"$tfbc\" {line} 2>&1 | tail -c 3000; exit ${{PIPESTATUS[0]}}");
    command.args(["-c", &line]).current_dir(directory).env("tfbc", program("tfbc"));
    let (out, _, status) = run(&mut command);
    (out, status)
}

#[test]
fn hostile_format_files_are_refused_by_name() {
    let xml = |inside: &str| format!("<eventdefinitions>{inside}</eventdefinitions>");
    let attributes: String = (0..80_000).map(|n| format!(" a{n}=\"x\"")).collect();
    let entities: String = (0..20).map(|n| format!("<!ENTITY e{} \"&e{n};&e{n};\">", n + 1)).collect();
    let cases: String = (0..100_000).map(|n| format!("{n} \"c{n}\", ")).collect();
    let functions: String = (1..40).map(|n| format!("{{{{ f{n}() f{0}() f{0}() }}}} ", n - 1)).collect();
    let files = [
        ("attributes.xml", xml(&format!("<a{attributes}/>")), "element has more than 64 attributes"),
        ("deep.xml", xml(&"<a>".repeat(100_000)), "elements are nested deeper than 64"),
        ("entities.xml", format!("<!DOCTYPE a [{entities}]><a>&e20;</a>"), "DOCTYPE declares entities"),
        ("name.xml", format!("<{}", "a".repeat(1 << 20)), "error[X"),
        ("siblings.xml", xml(&"<a/>".repeat(100_000)), "warning"),
        ("open.trcfmt", format!("010 1.0 \"A\" {{{{ $x = {}", "(".repeat(100_000)), "nested deeper than 64"),
        ("cases.trcfmt", format!("010 1.0 \"A\" X4, {cases}\\* x\n"), ""),
        ("text.trcfmt", format!("010 1.0 \"A\" \"{}", "x".repeat(4 << 20)), "error[S06]"),
        ("errors.trcfmt", "010 1.0 \"A\" X17\n".repeat(100_000), "error[S07]"),
        ("calls.trcfmt", format!("010 1.0 \"A\" {{{{ f0() X1 }}}} {functions} f39()\n"), "error[C05]"),
        (
            "loops.trcfmt",
            format!("010 1.0 \"A\" {{{{ $n = 1000000000 }}}} {}{}\n", "LOOP $n { ".repeat(60), "} ".repeat(60)),
            "",
        ),
    ];
    for (name, text, message) in files {
        let world = test_directory(&[(name, text.as_bytes())]);
        let (out, status) = bounded(world.path(), &format!("check {name}"));
        assert!(status == 0 || status == 1, "{name}: status {status}: {out}");
        assert!(out.contains(message), "{name}: {out}");
    }
}

#[test]
fn loops_without_end_end() {
    let deep = format!("010 1.0 \"A\" {{{{ $n = 1000000000 }}}} {}{}\n", "LOOP $n { ".repeat(60), "} ".repeat(60));
    let calls: String = (1..10).map(|n| format!("{{{{ f{n}(a) LOOP $a {{ f{}($a) }} }}}} ", n - 1)).collect();
    let calls = format!("010 1.0 \"A\" {{{{ f0(a) $a }}}} {calls} f9(100)\n");
    for text in [deep, calls] {
        let world = test_directory(&[("a.trcfmt", text.as_bytes())]);
        let (out, status) = bounded(world.path(), "event -t a.trcfmt --env 32 010a0000");
        assert_eq!(status, 0, "{out}");
        assert!(out.contains("[limit]"), "{out}");
    }
}
