//! Format file for a program's callsites.

use crate::callsites::Callsites;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};
use tracing_core::Metadata;

/// Format file of all callsites that the program has reached when the file is written.
#[derive(Debug, Clone)]
pub struct CallsiteFormats {
    id: u16,
    callsites: Arc<Callsites>,
}

impl CallsiteFormats {
    pub(crate) fn new(id: u16, callsites: Arc<Callsites>) -> Self {
        Self { id, callsites }
    }

    /// Writes the format file. A concurrent reader sees the old file or the new one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref();
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}", std::process::id()));
        let partial = path.with_file_name(name);
        let written = fs::write(&partial, self.text()).and_then(|()| fs::rename(&partial, path));
        if written.is_err() {
            let _ = fs::remove_file(&partial);
        }
        written
    }

    /// Writes the format file when the result is dropped, for example at the end of `main`. Errors are then ignored.
    pub fn at_end(self, path: impl Into<PathBuf>) -> AtEnd {
        AtEnd { formats: self, path: path.into() }
    }

    /// Text of the format file. Callsites are in source order, so the same callsites give the same text.
    pub fn text(&self) -> String {
        let sites: Vec<Site> =
            self.callsites.sorted().into_iter().map(|(number, callsite)| Site { number, callsite }).collect();
        let mut out = String::from(HEAD);
        let id = match self.id {
            id if id & 0xF == 0 => format!("{:03X}", id >> 4),
            id => format!("{id:04X}"),
        };
        let name = |what: &str| format!("tracing_{id}_{what}");
        _ = writeln!(out, "{id} 1.0 L=APPL \"@tracing\" \\");
        table(&mut out, &name("head"), "site", &sites, "{ \"callsite \" $site%X8 }", |site| Some(site.head()));
        table(&mut out, &name("span"), "site", &sites, "\"span\"", Site::span);
        table(&mut out, &name("place"), "site", &sites, "\"\"", |site| Some(site.place()));
        table(&mut out, &name("field"), "site, field", &sites, "{ \" \" $field%U1 \"=\" }", Site::fields);
        out.push_str(&BODY.replace("tracing_", &name("")));
        out
    }
}

/// Writes a format file on drop.
#[derive(Debug)]
pub struct AtEnd {
    formats: CallsiteFormats,
    path: PathBuf,
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        let _ = self.formats.write(&self.path);
    }
}

const HEAD: &str = "\
# Spans and events of a Rust program, by its callsites. Made by tfbc-tracing: changes are lost.
# tfbc report -t THIS_FILE LOG
";

/// Fixed part of the format file. The subhook is 0 for an event; for a span: 1 created, 2 entered, 3 left, 4 closed, 5
/// new values.
const BODY: &str = include_str!("body.trcfmt");

/// Function of the format language that returns the text of a callsite, or `unknown` for others.
fn table(
    out: &mut String,
    name: &str,
    params: &str,
    sites: &[Site],
    unknown: &str,
    text: impl Fn(&Site) -> Option<String>,
) {
    _ = writeln!(out, "    {{{{ {name}({params}) $site, \\");
    for site in sites {
        if let Some(text) = text(site) {
            _ = writeln!(out, "        {:016X} {text}, \\", site.number);
        }
    }
    _ = writeln!(out, "        \\* {unknown} \\\n    }}}} \\");
}

struct Site {
    number: u64,
    callsite: &'static Metadata<'static>,
}

impl Site {
    fn head(&self) -> String {
        quoted(&format!("{:5} {}", self.callsite.level().as_str(), self.callsite.target()))
    }

    fn span(&self) -> Option<String> {
        self.callsite.is_span().then(|| quoted(self.callsite.name()))
    }

    fn place(&self) -> String {
        let file = self.callsite.file().unwrap_or("?");
        quoted(&self.callsite.line().map_or(file.to_owned(), |line| format!("{file}:{line}")))
    }

    fn fields(&self) -> Option<String> {
        let name = |(index, field): (usize, tracing_core::Field)| match field.name() {
            "message" => format!("{index} \" \""),
            name => format!("{index} {}", quoted(&format!(" {name}="))),
        };
        let names: Vec<String> = self.callsite.fields().iter().enumerate().map(name).collect();
        (!names.is_empty()).then(|| format!("{{ $field%U1, {} }}", names.join(", ")))
    }
}

/// Text as a string of the format language, which allows no quotes and line ends.
fn quoted(text: &str) -> String {
    let plain = |c: char| match c {
        '"' => '\'',
        c if c.is_control() => '.',
        c => c,
    };
    format!("\"{}\"", text.chars().map(plain).collect::<String>())
}
