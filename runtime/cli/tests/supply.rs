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
        assert!(text.contains("\n#![forbid(unsafe_code)]\n"), "{}", root.display());
        n_roots += 1;
    }
    assert!(n_roots >= 15, "{n_roots} roots");
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
