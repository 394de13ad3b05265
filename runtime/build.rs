//! Compiles the built-in events of QNX into the blobs that `src/events.rs` holds, so that they are there without the
//! compiler, too.

use std::path::Path;
use tfbc_compiler::events::{Layout, Release, class_names, compile, listing};

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
    let folder = std::env::var_os("OUT_DIR").expect("cargo names a folder");
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(Path::new(&folder).join(name), bytes).expect("cargo's folder is writable");
    };
    for (name, layout, release) in BLOBS {
        write(&format!("{name}.tfbc"), &compile(layout, release));
    }
    write("events.txt", listing().as_bytes());
    let names: Vec<_> = class_names().collect();
    write("class_names.rs", format!("&{names:?}").as_bytes());
}
