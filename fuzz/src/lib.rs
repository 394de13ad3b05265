//! What must hold for any bytes.
//!
//! Each target is a function that takes the bytes of one input and panics where a promise is broken. libFuzzer calls it
//! (`fuzz/run`), and `cargo test` replays it over the committed corpus and every past finding.
#![forbid(unsafe_code)]

mod aix;
mod blob;
mod command;
mod grammar;
mod kev;
mod oracle;
mod packed;
mod programs;
mod reference;
mod reports;
mod template;
mod xml;

pub use aix::aix;
pub use blob::blob;
pub use command::command;
pub use grammar::grammar;
pub use kev::kev;
pub use packed::packed;
pub use reference::reference;
pub use template::template;
pub use xml::xml;

/// A function that takes inputs.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, which is that of its directories.
    pub name: &'static str,
    /// Panics where a promise is broken for these bytes.
    pub body: fn(&[u8]),
}

/// All targets.
pub static TARGETS: [Target; 9] = [
    Target { name: "template", body: template },
    Target { name: "grammar", body: grammar },
    Target { name: "xml", body: xml },
    Target { name: "blob", body: blob },
    Target { name: "reference", body: reference },
    Target { name: "aix", body: aix },
    Target { name: "kev", body: kev },
    Target { name: "command", body: command },
    Target { name: "packed", body: packed },
];

/// The target with a name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// A number that these bytes give, for choices that no byte of an input makes.
fn seed_of(data: &[u8]) -> u64 {
    // FNV-1a.
    data.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
