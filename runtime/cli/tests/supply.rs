//! Limits of trusted code: where `unsafe` may appear, and the dependencies of the machine.

use std::fs;
use std::path::{Path, PathBuf};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Packages that may use `unsafe`: the machine, and the code for shared memory and C programs. The C library has one file
/// with it.
const TRUSTED: [&str; 4] = ["vm", "runtime/recorder", "runtime/recorder/rts", "runtime/capi"];

/// Root files of a package's library, commands and build script.
fn roots(package: &str) -> Vec<PathBuf> {
    let package = workspace().join(package);
    let commands = fs::read_dir(package.join("src/bin")).into_iter().flatten().map(|entry| entry.unwrap().path());
    let fixed = ["src/lib.rs", "build.rs"].map(|file| package.join(file)).into_iter().filter(|path| path.exists());
    fixed.chain(commands).collect()
}

/// Sources of a folder and the folders in it.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] }).collect()
}

#[test]
fn unsafe_code_is_where_it_may_be() {
    let manifest = fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let members = manifest["workspace"]["members"].as_array().unwrap();
    let others: Vec<_> =
        members.iter().filter_map(|member| member.as_str()).filter(|member| !TRUSTED.contains(member)).collect();
    assert_eq!(others.len() + TRUSTED.len(), members.len());
    let mut n_roots = 0;
    for root in others.iter().flat_map(|package| roots(package)) {
        let text = fs::read_to_string(&root).unwrap();
        n_roots += 1;
        if root.ends_with("benches/src/lib.rs") {
            continue;
        }
        assert!(text.contains("\n#![forbid(unsafe_code)]\n"), "{}", root.display());
    }
    assert!(n_roots >= 15, "{n_roots} roots");
    // Benches read no input from outside, and they are not shipped. The code that the machine is compared with is
    // the fastest that can be written, so that it has no bounds checks; each such module says why in its first lines.
    for file in rust_files(&workspace().join("benches/src")) {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.file_stem().unwrap().to_str().unwrap();
        let is_baseline = name.starts_with("native");
        assert!(is_baseline || !text.contains("unsafe {"), "{}", file.display());
        let reason = "\n#![expect(unsafe_code, reason = \"the limit that ";
        assert_eq!(is_baseline, text.contains(reason), "{}", file.display());
    }
    let files = fs::read_dir(workspace().join("runtime/capi/src")).unwrap().map(|file| file.unwrap().path());
    let unsafe_files: Vec<_> = files.filter(|file| fs::read_to_string(file).unwrap().contains("unsafe {")).collect();
    assert!(matches!(&unsafe_files[..], [file] if file.ends_with("abi.rs")), "{unsafe_files:?}");
}

#[test]
fn the_machine_brings_three_packages_at_most() {
    let manifest: toml::Table = fs::read_to_string(workspace().join("vm/Cargo.toml")).unwrap().parse().unwrap();
    let direct = manifest["dependencies"].as_table().unwrap();
    assert!((1..=3).contains(&direct.len()), "{direct:?}");
    assert!(!manifest.contains_key("build-dependencies") && !manifest.contains_key("target"));
}
