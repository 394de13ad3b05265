//! Fuzz target for whole commands.

use crate::reports::is_well_formed;
use std::cell::RefCell;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use tempfile::TempDir;
use tfbc::aix::ReadOptions;
use tfbc::testing::aix::LogItem;
use tfbc::testing::input::AnyTrace;
use tfbc::testing::qnx::KevItem;
use tfbc::{Compression, Form};
use tfbc_vm::Program;

/// Command line: `A` and `B` are input files, `OUT` is an output file.
struct CommandLine {
    run: fn(Vec<OsString>) -> ExitCode,
    line: &'static str,
}

const fn line(run: fn(Vec<OsString>) -> ExitCode, line: &'static str) -> CommandLine {
    CommandLine { run, line }
}

/// Commands to choose from.
static LINES: [CommandLine; 40] = [
    line(tfbc_cli::tfbc, "tfbc report -t A -o OUT B"),
    line(tfbc_cli::tfbc, "tfbc report -o OUT A"),
    line(tfbc_cli::tfbc, "tfbc report -o OUT A B"),
    line(tfbc_cli::tfbc, "tfbc report -t A --defined --to ndjson -o OUT B"),
    line(tfbc_cli::tfbc, "tfbc report --to csv --columns id,pid,exec,delta,text -o OUT A"),
    line(tfbc_cli::tfbc, "tfbc report --stats --to tsv -o OUT A"),
    line(tfbc_cli::tfbc, "tfbc report --grep e.*a --pagesize 5 --timestamp 1 -o OUT A"),
    line(tfbc_cli::tfbc, "tfbc report --format log64 --lenient -o OUT A"),
    line(tfbc_cli::tfbc, "tfbc report --format stream32 --cpuid-word first -o OUT A"),
    line(tfbc_cli::tfbc, "tfbc report --format kev --only USER,KER_CALL:11 --cpu 0 -o OUT A"),
    line(tfbc_cli::tfbc, "tfbc report --names A --context B -o OUT A"),
    line(tfbc_cli::tfbc, "tfbc report --context A -o OUT B"),
    line(tfbc_cli::tfbc, "tfbc report --threads 2 --pid 1,2 --exec x --from 1 --until 5 -o OUT A"),
    line(tfbc_cli::tfbc, "tfbc report -t A -t B -o OUT A"),
    line(tfbc_cli::tfbc, "tfbc compile A -o OUT"),
    line(tfbc_cli::tfbc, "tfbc compile A B -o OUT"),
    line(tfbc_cli::tfbc, "tfbc compile A --emit bytecode -o OUT"),
    line(tfbc_cli::tfbc, "tfbc check A"),
    line(tfbc_cli::tfbc, "tfbc check --message-format json --strict A B"),
    line(tfbc_cli::tfbc, "tfbc check --message-format short A"),
    line(tfbc_cli::tfbc, "tfbc event -t A --env 32 010a00000000000a --trace"),
    line(tfbc_cli::tfbc, "tfbc event -t A --env 64 8000000801000005 000000000000002a"),
    line(tfbc_cli::tfbc, "tfbc event -t A --class USER --id 65 00030400 --wide"),
    line(tfbc_cli::tfbc, "tfbc list -t A"),
    line(tfbc_cli::tfbc, "tfbc info A"),
    line(tfbc_cli::tfbc, "tfbc info -t A B"),
    line(tfbc_cli::tfbc, "tfbc disasm A"),
    line(tfbc_cli::tfbc, "tfbc verify A B"),
    line(tfbc_cli::trcrpt, "trcrpt -t A -o OUT B"),
    line(tfbc_cli::trcrpt, "trcrpt -O exec=on,pid=on,svc=on,timestamp=1 -x -o OUT A"),
    line(tfbc_cli::trcrpt, "trcrpt -m -o OUT A B"),
    line(tfbc_cli::trcrpt, "trcrpt -r -d 010,011 -o OUT A"),
    line(tfbc_cli::trcrpt, "trcrpt -t A -j"),
    line(tfbc_cli::trcrpt, "trcrpt -C all -vv -n B -o OUT A"),
    line(tfbc_cli::trcupdate, "trcupdate -t A B"),
    line(tfbc_cli::trcevgrp, "trcevgrp --file A -l"),
    line(tfbc_cli::trcevgrp, "trcevgrp --file A -a -d text -h 010,011 name"),
    line(tfbc_cli::traceprinter, "traceprinter -o OUT -f A"),
    line(tfbc_cli::traceprinter, "traceprinter --compat=1.02 -n -v -o OUT -f A"),
    line(tfbc_cli::traceprinter, "traceprinter -t A -o OUT -f B"),
];

/// Working directory of commands, one per thread.
struct Room {
    directory: TempDir,
}

thread_local! {
    static ROOM: RefCell<Option<Room>> = const { RefCell::new(None) };
}

impl Room {
    fn new() -> Self {
        let shared_memory = Path::new("/dev/shm");
        let directory = if shared_memory.is_dir() { TempDir::new_in(shared_memory) } else { TempDir::new() };
        Room { directory: directory.expect("a temporary directory") }
    }

    fn path(&self, name: &str) -> OsString {
        self.directory.path().join(name).into_os_string()
    }

    /// Removes the files of the previous command.
    fn clear(&self) {
        for entry in fs::read_dir(self.directory.path()).expect("a directory of our own").flatten() {
            fs::remove_file(entry.path()).expect("a file of our own");
        }
    }
}

/// Runs a command over files. Its exit status is 0, 1 or 2, or 255 if traceprinter 1.02 fails. It creates no file
/// except its output, and none if it failed. Inputs are unchanged, unless the command is meant to change them.
///
/// The first byte chooses the command. The next two say how many of the remaining bytes form the first file.
pub fn command(data: &[u8]) {
    let Some((&[which, low, high], files)) = data.split_first_chunk() else { return };
    let CommandLine { run, line } = &LINES[usize::from(which) % LINES.len()];
    let (first, second) = files.split_at(usize::from(u16::from_le_bytes([low, high])).min(files.len()));
    ROOM.with_borrow_mut(|room| {
        let room = room.get_or_insert_with(Room::new);
        room.clear();
        fs::write(room.path("a"), first).expect("a file of our own");
        fs::write(room.path("b.trc"), second).expect("a file of our own");
        let is_update = line.starts_with("trcupdate");
        let argument = |word: &str| match word {
            "A" => room.path("a"),
            "B" if is_update => room.path("b"),
            "B" => room.path("b.trc"),
            "OUT" => room.path("out"),
            word => word.into(),
        };
        let status = run(line.split(' ').map(argument).collect());
        let number = [0, 1, 2, 255].into_iter().find(|number| status == ExitCode::from(*number));
        let number = number.unwrap_or_else(|| panic!("{line}: {status:?}"));
        check_files(room, line, number, [first, second]);
        check_status(room, line, number);
    });
}

fn check_files(room: &Room, line: &str, status: u8, inputs: [&[u8]; 2]) {
    let failed = status == 1 || status == 255;
    assert!(status != 255 || line.contains("--compat"), "{line}: status 255 is that of traceprinter 1.02");
    let mut names: Vec<_> = fs::read_dir(room.directory.path())
        .expect("a directory of our own")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let writes_input = line.starts_with("trcupdate") || line.starts_with("trcevgrp");
    let expected: &[&str] = if writes_input { &["b.undo.trc"] } else { &["out"] };
    let other = names.iter().find(|name| !["a", "b.trc"].contains(&&***name) && !expected.contains(&&***name));
    assert_eq!(other, None, "{line}: an unexpected file is left");
    let has_product = names.iter().any(|name| name == "out");
    // These commands produce output despite errors: a compiler stage of invalid sources, and a report of several
    // traces.
    let in_part = line.contains("--emit") || line.ends_with("A B");
    assert!(status != 1 || in_part || !has_product, "{line}: a command that failed has a product");
    assert!(failed || has_product || !line.contains("OUT"), "{line}: a command that did not fail has no product");
    if !writes_input || failed {
        assert_eq!(fs::read(room.path("a")).ok().as_deref(), Some(inputs[0]), "{line}: the first file");
        assert_eq!(fs::read(room.path("b.trc")).ok().as_deref(), Some(inputs[1]), "{line}: the second file");
    }
}

/// Checks that the exit status agrees with the library, and that the product is well-formed.
fn check_status(room: &Room, line: &str, status: u8) {
    let product = || fs::read(room.path("out")).expect("a product");
    match line {
        "tfbc verify A B" => {
            let files = ["a", "b.trc"].map(|name| fs::read(room.path(name)).expect("a file of our own"));
            let is_sound = files.iter().all(|bytes| Program::open(bytes).is_ok());
            let is_packed = files.iter().any(|bytes| Compression::of(bytes).is_some());
            assert!(is_packed || status == u8::from(!is_sound), "{line}: {status}");
        }
        "tfbc compile A -o OUT" | "tfbc compile A B -o OUT" if status == 0 => {
            Program::open(&product()).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
        _ if line.starts_with("tfbc report") && status != 1 => {
            let form = |(name, form)| line.contains(name).then_some(form);
            let forms = [("--to ndjson", Form::Ndjson), ("--to csv", Form::Csv), ("--to tsv", Form::Tsv)];
            let form = forms.into_iter().find_map(form).unwrap_or_default();
            is_well_formed(form, &String::from_utf8_lossy(&product()));
        }
        _ => {}
    }
    // Reports of one whole trace with the built-in templates.
    let is_whole = ["tfbc report -o OUT A", "tfbc report --stats --to tsv -o OUT A"].contains(&line)
        || line.starts_with("tfbc report --to csv") && line.ends_with("-o OUT A")
        || line.starts_with("tfbc report --grep");
    if is_whole {
        let expected = match is_damaged(Path::new(&room.path("a"))) {
            None => 1,
            Some(true) => 2,
            Some(false) => 0,
        };
        assert_eq!(status, expected, "{line}");
    }
}

/// True if a trace has damaged places; `None` if the bytes are not a trace.
fn is_damaged(path: &Path) -> Option<bool> {
    let mut is_damaged = false;
    match AnyTrace::open(path, &ReadOptions::default()).ok()? {
        AnyTrace::Aix(mut logs) => {
            while let Some(item) = logs.next().ok()? {
                is_damaged |= matches!(item, LogItem::Notice { notice, .. } if notice.damage);
            }
        }
        AnyTrace::Kev(mut log) => {
            while let Some(item) = log.next().ok()? {
                is_damaged |= matches!(item, KevItem::Notice(notice) if notice.damage);
            }
        }
    }
    Some(is_damaged)
}
