//! Writes a first case file from a trace. It contains the first event of every kind, so that every template runs.

use super::event::Slice;
use super::fields::quoted;
use super::file::SUFFIX;
use super::pick::{Picked, pick};
use super::slice::SliceOptions;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use tfbc::Formats;

/// Input of a first case file.
#[derive(Debug, Clone, Default)]
pub struct FirstCase {
    /// Path of the trace.
    pub trace: PathBuf,
    /// Paths of the format files, as the user gave them.
    pub formats: Vec<PathBuf>,
    /// Dialect settings: names and values.
    pub dialect: Vec<(String, String)>,
    /// Ids to include; `None` for all.
    pub only: Option<String>,
    /// Number of events; `None` for the first of every kind.
    pub first: Option<u64>,
}

/// Maximum number of events in a first case file.
const MAX_EVENTS: usize = 1000;

impl FirstCase {
    /// Path of the new case file: the name of the trace, in `directory`.
    pub fn path(&self, directory: &Path) -> PathBuf {
        let stem = self.trace.file_stem().map_or_else(|| "first".into(), |stem| stem.to_string_lossy().into_owned());
        directory.join(format!("{stem}{SUFFIX}"))
    }

    /// Text of a case file in `directory`; `None` if the filter selects no event.
    ///
    /// # Errors
    /// The trace cannot be read, or the filter is invalid.
    pub fn text(&self, directory: &Path, formats: &Formats, options: &SliceOptions) -> Result<Option<String>, String> {
        let slice = Slice { trace: self.trace.clone(), only: self.only.clone(), ..Slice::default() };
        let max = self.first.map_or(MAX_EVENTS, |first| usize::try_from(first).unwrap_or(MAX_EVENTS).min(MAX_EVENTS));
        let picked = pick(&slice, formats, options, max, self.first.is_none())?;
        if picked.is_empty() {
            return Ok(None);
        }
        let mut text =
            String::from("# Run by `tfbc test`; the accepted text of the events is in a file next to this one.\n");
        if !self.formats.is_empty() {
            let formats: Vec<_> = self.formats.iter().map(|path| quoted(&relative(path, directory))).collect();
            let _ = writeln!(text, "formats = [{}]", formats.join(", "));
        }
        if !self.dialect.is_empty() {
            let settings: Vec<_> =
                self.dialect.iter().map(|(name, value)| format!("{name} = {}", quoted(value))).collect();
            let _ = writeln!(text, "dialect = {{ {} }}", settings.join(", "));
        }
        let _ = writeln!(text, "\n# From {}.", self.trace.display());
        picked.iter().for_each(|event| write_event(event, &mut text));
        Ok(Some(text))
    }
}

fn write_event(event: &Picked, text: &mut String) {
    let _ = writeln!(text, "\n[[event]]\nname = {}", quoted(&event.name));
    for (key, value) in &event.keys {
        let _ = writeln!(text, "{key} = {value}");
    }
    let _ = writeln!(text, "hex = {}", quoted(&hex(&event.bytes, event.group)));
}

/// Bytes in hex, with a blank between groups.
fn hex(bytes: &[u8], group: usize) -> String {
    let words: Vec<String> = bytes
        .chunks(group.max(1))
        .map(|word| word.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        .collect();
    words.join(" ")
}

/// Path relative to a directory, or unchanged if there is no relative form.
fn relative(path: &Path, directory: &Path) -> String {
    let (Ok(full), Ok(base)) = (path.canonicalize(), canonical(directory)) else {
        return path.to_string_lossy().into_owned();
    };
    let shared = full.components().zip(base.components()).take_while(|(one, other)| one == other).count();
    let up = base.components().count() - shared;
    let mut relative: PathBuf = std::iter::repeat_n("..", up).collect();
    relative.extend(full.components().skip(shared));
    relative.to_string_lossy().into_owned()
}

fn canonical(directory: &Path) -> std::io::Result<PathBuf> {
    if directory.as_os_str().is_empty() { Path::new(".").canonicalize() } else { directory.canonicalize() }
}
