//! Files of `built_in/`: the compiled built-in format file, and the compiled events of QNX.
//!
//! They are in the repository, so that the library can be built without running the compiler. To update them, run
//! `TFBC_BUILT_IN=update cargo test -p tfbc built_in`.
#![cfg(feature = "compile")]

use std::fs;
use std::path::{Path, PathBuf};
use tfbc_compiler::Options;
use tfbc_compiler::events::{
    EventLayout, EventSpelling, Release, class_names, class_spellings, compile, event_spellings, listing, lists,
};
use tfbc_grammar::{Source, Sources};

/// Blobs for the layouts of traceprinter 1.02.
const BLOBS: [(&str, EventLayout); 3] = [
    ("compat.tfbc", EventLayout::Compat),
    ("compat_one_line.tfbc", EventLayout::CompatOneLine),
    ("compat_heading.tfbc", EventLayout::CompatHeading),
];

/// Tables for the default layout.
const TABLES: [(&str, Release); 3] =
    [("events_6_4.rs", Release::Qnx6_4), ("events_7_1.rs", Release::Qnx7_1), ("events_8_0.rs", Release::Qnx8_0)];

#[test]
fn built_in_files_are_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("built_in");
    let update = std::env::var_os("TFBC_BUILT_IN").is_some_and(|value| value == "update");
    for (name, expected) in files() {
        let path = folder.join(name);
        if update {
            fs::write(path, expected).unwrap();
        } else {
            let is_same = fs::read(&path).is_ok_and(|kept| kept == expected);
            assert!(is_same, "{} is out of date: TFBC_BUILT_IN=update cargo test -p tfbc built_in", path.display());
        }
    }
}

fn files() -> Vec<(&'static str, Vec<u8>)> {
    let mut files = vec![("default.tfbc", default_formats()), ("events.txt", listing().into_bytes())];
    files.extend(BLOBS.map(|(name, layout)| (name, compile(layout))));
    files.extend(TABLES.map(|(name, release)| (name, lists(release).into_bytes())));
    let names: Vec<_> = class_names().collect();
    files.push(("class_names.rs", format!("&{names:?}\n").into_bytes()));
    let classes: Vec<_> =
        class_spellings().map(|(name, class, part)| format!("({name:?}, {class}, ClassPart::{part:?})")).collect();
    files.push(("class_spellings.rs", format!("&[{}]\n", classes.join(", ")).into_bytes()));
    let events: Vec<_> = event_spellings()
        .into_iter()
        .map(|EventSpelling { name, class, first, last, releases }| (name, class, first, last, releases))
        .collect();
    files.push(("event_spellings.rs", format!("&{events:?}\n").into_bytes()));
    files
}

/// Compiles the built-in format file under the name that `-t` accepts.
fn default_formats() -> Vec<u8> {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("formats/default.trcfmt");
    let mut sources = Sources::new();
    sources.add(Source::new("default", fs::read(path).unwrap()));
    let compiled = tfbc_compiler::compile(&sources, &Options::default());
    assert!(compiled.diagnostics.is_empty(), "{:?}", compiled.diagnostics);
    compiled.blob.unwrap()
}
