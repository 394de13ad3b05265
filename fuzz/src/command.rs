//! Whole commands.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use tempfile::TempDir;
use tfbc::cli;

/// A command: `A` and `B` are input files, `OUT` is an output file.
struct Line {
    run: fn(Vec<OsString>) -> ExitCode,
    line: &'static str,
}

const fn line(run: fn(Vec<OsString>) -> ExitCode, line: &'static str) -> Line {
    Line { run, line }
}

/// The commands that inputs choose from.
static LINES: [Line; 40] = [
    line(cli::tfbc, "tfbc report -t A -o OUT B"),
    line(cli::tfbc, "tfbc report -o OUT A"),
    line(cli::tfbc, "tfbc report -o OUT A B"),
    line(cli::tfbc, "tfbc report -t A --defined --to ndjson -o OUT B"),
    line(cli::tfbc, "tfbc report --to csv --columns id,pid,exec,delta,text -o OUT A"),
    line(cli::tfbc, "tfbc report --stats --to tsv -o OUT A"),
    line(cli::tfbc, "tfbc report --grep e.*a --pagesize 5 --timestamp 1 -o OUT A"),
    line(cli::tfbc, "tfbc report --format log64 --lenient -o OUT A"),
    line(cli::tfbc, "tfbc report --format stream32 --cpuid-word first -o OUT A"),
    line(cli::tfbc, "tfbc report --format kev --only USER,KER_CALL:11 --cpu 0 -o OUT A"),
    line(cli::tfbc, "tfbc report --names A --context B -o OUT A"),
    line(cli::tfbc, "tfbc report --context A -o OUT B"),
    line(cli::tfbc, "tfbc report --threads 2 --pid 1,2 --exec x --from 1 --to 5 -o OUT A"),
    line(cli::tfbc, "tfbc report -t A -t B -o OUT A"),
    line(cli::tfbc, "tfbc compile A -o OUT"),
    line(cli::tfbc, "tfbc compile A B -o OUT"),
    line(cli::tfbc, "tfbc compile A --emit bytecode -o OUT"),
    line(cli::tfbc, "tfbc check A"),
    line(cli::tfbc, "tfbc check --message-format json --strict A B"),
    line(cli::tfbc, "tfbc check --message-format short A"),
    line(cli::tfbc, "tfbc event -t A --env 32 010a00000000000a --trace"),
    line(cli::tfbc, "tfbc event -t A --env 64 8000000801000005 000000000000002a"),
    line(cli::tfbc, "tfbc event -t A --class USER --id 65 00030400 --wide"),
    line(cli::tfbc, "tfbc list -t A"),
    line(cli::tfbc, "tfbc info A"),
    line(cli::tfbc, "tfbc info -t A B"),
    line(cli::tfbc, "tfbc disasm A"),
    line(cli::tfbc, "tfbc verify A B"),
    line(cli::trcrpt, "trcrpt -t A -o OUT B"),
    line(cli::trcrpt, "trcrpt -O exec=on,pid=on,svc=on,timestamp=1 -x -o OUT A"),
    line(cli::trcrpt, "trcrpt -m -o OUT A B"),
    line(cli::trcrpt, "trcrpt -r -d 010,011 -o OUT A"),
    line(cli::trcrpt, "trcrpt -t A -j"),
    line(cli::trcrpt, "trcrpt -C all -vv -n B -o OUT A"),
    line(cli::trcupdate, "trcupdate -t A B"),
    line(cli::trcevgrp, "trcevgrp --file A -l"),
    line(cli::trcevgrp, "trcevgrp --file A -a -d text -h 010,011 name"),
    line(cli::traceprinter, "traceprinter -o OUT -f A"),
    line(cli::traceprinter, "traceprinter --compat=1.02 -n -v -o OUT -f A"),
    line(cli::traceprinter, "traceprinter -t A -o OUT -f B"),
];

/// The directory that commands run over, one a thread.
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

    /// Removes what the command before has left.
    fn clear(&self) {
        for entry in fs::read_dir(self.directory.path()).expect("a directory of our own").flatten() {
            fs::remove_file(entry.path()).expect("a file of our own");
        }
    }
}

/// Runs a command over files: its exit status is 0, 1 or 2, or 255 where traceprinter 1.02 fails; it leaves no file but
/// its product, and no product where it failed.
///
/// The first byte chooses the command, the next two say how many of the others are the first file.
pub fn command(data: &[u8]) {
    let Some((&[which, low, high], files)) = data.split_first_chunk() else { return };
    let Line { run, line } = &LINES[usize::from(which) % LINES.len()];
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
        check(room, line, status, [first, second]);
    });
}

fn check(room: &Room, line: &str, status: ExitCode, inputs: [&[u8]; 2]) {
    let is = |number: u8| status == ExitCode::from(number);
    let failed = is(1) || is(255) && line.contains("--compat");
    assert!(is(0) || is(2) || failed, "{line}: {status:?}");
    let mut names: Vec<_> = fs::read_dir(room.directory.path())
        .expect("a directory of our own")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let writes_input = line.starts_with("trcupdate") || line.starts_with("trcevgrp");
    let expected: &[&str] = if writes_input { &["b.undo.trc"] } else { &["out"] };
    let other = names.iter().find(|name| !["a", "b.trc"].contains(&&***name) && !expected.contains(&&***name));
    assert_eq!(other, None, "{line}: a file is left behind");
    // A failed command leaves what was there as it was.
    if !writes_input || failed {
        assert_eq!(fs::read(room.path("a")).ok().as_deref(), Some(inputs[0]), "{line}: the first file");
        assert_eq!(fs::read(room.path("b.trc")).ok().as_deref(), Some(inputs[1]), "{line}: the second file");
    }
}
