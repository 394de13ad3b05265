//! Blobs of every released format version, in `blobs/v*/`. Blobs of supported versions load and contain the same
//! instructions; all others are refused.
//!
//! `TFBC_BLOBS=update cargo test -p tfbc-snapshots --test kept kept_blobs` rewrites the current version. After a release
//! they must not change: raise `tfbc_vm::VERSION` instead.

use std::fs;
use std::path::{Path, PathBuf};

use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Source, Sources};
use tfbc_vm::{BlobError, OLDEST_VERSION, Program, VERSION, write_checksum};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("blobs")
}

/// Compiles the kept sources into the directory of the current version.
fn update() {
    let to = folder().join(format!("v{VERSION}"));
    fs::create_dir_all(&to).unwrap();
    for name in ["aix.trcfmt", "qnx.xml"] {
        let mut sources = Sources::new();
        sources.add(Source::new(name, fs::read(folder().join(name)).unwrap()));
        let compiled = compile(&sources, &Options::default());
        let blob = compiled.blob.unwrap_or_else(|| panic!("{name}: {:?}", compiled.diagnostics));
        let path = to.join(name);
        fs::write(path.with_extension("listing"), Program::open(&blob).unwrap().disassemble(None)).unwrap();
        fs::write(path.with_extension("tfbc"), blob).unwrap();
    }
}

/// Kept blobs with path and version.
fn kept() -> Vec<(PathBuf, u16, Vec<u8>)> {
    let mut found = Vec::new();
    for version in 1..=VERSION {
        let Ok(files) = fs::read_dir(folder().join(format!("v{version}"))) else { continue };
        let paths =
            files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "tfbc"));
        found.extend(paths.map(|path| (path.clone(), version, fs::read(path).unwrap())));
    }
    found
}

#[test]
fn blobs_of_this_version_load_and_others_are_refused() {
    if std::env::var("TFBC_BLOBS").is_ok_and(|value| value == "update") {
        update();
    }
    let kept = kept();
    for (path, version, blob) in &kept {
        match Program::open(blob) {
            Ok(program) if *version >= OLDEST_VERSION => {
                assert_eq!(program.has_fields(), *version > 5);
                assert_eq!(program.has_record_fields(), *version > 6);
                let listing = fs::read_to_string(path.with_extension("listing")).unwrap();
                assert!(program.disassemble(None) == listing, "{} lists other instructions", path.display());
            }
            found => assert_eq!(found.err(), Some(BlobError::Version { found: *version }), "{}", path.display()),
        }
    }
    assert!(kept.iter().any(|(_, version, _)| *version == VERSION), "no blob of version {VERSION} is kept");
}

#[test]
fn blobs_of_other_versions_are_refused_by_number() {
    for (_, _, mut blob) in kept() {
        for version in [0, OLDEST_VERSION - 1, VERSION + 1, u16::MAX] {
            blob[8..10].copy_from_slice(&version.to_le_bytes());
            write_checksum(&mut blob);
            let expected = Some(BlobError::Version { found: version });
            assert_eq!(Program::open(&blob).err(), expected);
            assert_eq!(Program::open_lazily(&blob).err(), expected);
        }
    }
}
