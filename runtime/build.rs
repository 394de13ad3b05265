//! Compiles the built-in events of QNX and the built-in format file into the blobs that `src/events.rs` and
//! `src/catalog.rs` hold, so that they are there at once, and without the compiler, too.
#![forbid(unsafe_code)]

use std::path::Path;
use tfbc_compiler::Options;
use tfbc_compiler::events::{Layout, Release, class_names, compile, listing};
use tfbc_grammar::{Source, Sources};

/// The built-in format file, by the name that `-t` takes.
const FORMATS: (&str, &str) = ("default", "formats/default.trcfmt");

/// The blobs: file name, layout and release.
const BLOBS: [(&str, Layout, Release); 6] = [
    ("compat", Layout::Compat, Release::Qnx6_4),
    ("compat_one_line", Layout::CompatOneLine, Release::Qnx6_4),
    ("compat_heading", Layout::CompatHeading, Release::Qnx6_4),
    ("arguments_6_4", Layout::Arguments, Release::Qnx6_4),
    ("arguments_7_1", Layout::Arguments, Release::Qnx7_1),
    ("arguments_8_0", Layout::Arguments, Release::Qnx8_0),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", FORMATS.1);
    let folder = std::env::var_os("OUT_DIR").expect("cargo names a folder");
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(Path::new(&folder).join(name), bytes).expect("cargo's folder is writable");
    };
    for (name, layout, release) in BLOBS {
        write(&format!("{name}.tfbc"), &compile(layout, release));
    }
    write("default.tfbc", &formats());
    write("events.txt", listing().as_bytes());
    let names: Vec<_> = class_names().collect();
    write("class_names.rs", format!("&{names:?}").as_bytes());
}

/// The blob of the built-in format file.
fn formats() -> Vec<u8> {
    let (name, path) = FORMATS;
    let mut sources = Sources::new();
    sources.add(Source::new(name, std::fs::read(path).expect("the built-in format file is readable")));
    let compiled = tfbc_compiler::compile(&sources, &Options::default());
    assert!(compiled.diagnostics.is_empty(), "the built-in format file compiles: {:?}", compiled.diagnostics);
    compiled.blob.expect("a file without errors gives a blob")
}
