//! Properties that must be true for any input.
//!
//! Each target is a function that takes the bytes of an input and panics if a property is violated. libFuzzer calls it
//! (`fuzz/run`), and `cargo test` replays it on the committed corpus and all past findings.
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
mod seed;
mod split;
mod template;
mod xml;

pub use aix::aix;
pub use blob::blob;
pub use command::command;
pub use grammar::grammar;
pub use kev::kev;
pub use packed::packed;
pub use reference::reference;
pub use split::split;
pub use template::template;
pub use xml::xml;

/// A fuzz target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Name, which is also the name of its directories.
    pub name: &'static str,
    /// Panics if a property is violated for these bytes.
    pub body: fn(&[u8]),
}

/// All targets.
pub static TARGETS: [Target; 10] = [
    Target { name: "template", body: template },
    Target { name: "grammar", body: grammar },
    Target { name: "xml", body: xml },
    Target { name: "blob", body: blob },
    Target { name: "reference", body: reference },
    Target { name: "aix", body: aix },
    Target { name: "kev", body: kev },
    Target { name: "command", body: command },
    Target { name: "packed", body: packed },
    Target { name: "split", body: split },
];

/// Target with a name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
