//! Data of a page: JSON, compressed and in base64, so that no text in it is parsed as HTML.

use super::harmless;
use base64::prelude::BASE64_STANDARD;
use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};
use tfbc_analysis::timeline::{TimelineSlice, TimelineTracks};

/// Largest number that a script reads exactly.
const MAX_EXACT: u64 = (1 << 53) - 1;

/// Writes an element with the JSON that `write` writes.
pub fn write_block(
    id: &str,
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    write!(out, "<script type=\"application/gzip\" id=\"{id}\">")?;
    let mut packed = GzEncoder::new(EncoderWriter::new(&mut *out, &BASE64_STANDARD), Compression::default());
    write(&mut packed)?;
    packed.finish()?.finish()?;
    out.write_all(b"</script>\n")
}

/// Appends a string.
pub fn push_text(text: &str, out: &mut Vec<u8>) {
    // Writing to memory and encoding a string do not fail.
    let _ = serde_json::to_writer(out, &*harmless(text));
}

/// Appends a number, or a string if scripts would round the number.
pub fn push_number(number: Option<u64>, out: &mut Vec<u8>) {
    match number {
        None => out.extend_from_slice(b"null"),
        Some(number @ 0..=MAX_EXACT) => out.extend(number.to_string().bytes()),
        Some(number) => out.extend(format!("\"{number}\"").bytes()),
    }
}

/// Writes strings as an array.
pub fn write_texts<'t>(texts: impl IntoIterator<Item = &'t str>, out: &mut dyn Write) -> io::Result<()> {
    let mut array = Vec::new();
    for text in texts {
        array.push(if array.is_empty() { b'[' } else { b',' });
        push_text(text, &mut array);
    }
    if array.is_empty() {
        array.push(b'[');
    }
    array.push(b']');
    out.write_all(&array)
}

/// Property of a slice as a number.
type SliceValue = fn(&TimelineSlice) -> u64;

/// Writes the tracks of a timeline: the texts, and per track an array for each property of its slices.
pub fn write_tracks(timeline: &TimelineTracks, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"texts\":")?;
    write_texts(timeline.texts.iter().map(String::as_str), out)?;
    out.write_all(b",\"tracks\":[")?;
    for (at, track) in timeline.tracks.iter().enumerate() {
        let mut json = Vec::new();
        json.extend_from_slice(if at > 0 { b",\n{\"group\":" } else { b"\n{\"group\":" });
        push_text(&track.group, &mut json);
        json.extend_from_slice(b",\"name\":");
        push_text(&track.name, &mut json);
        let properties: [(&str, SliceValue); 6] = [
            ("start", |slice| slice.start_ns),
            ("length", |slice| slice.end_ns - slice.start_ns),
            ("depth", |slice| slice.depth.into()),
            ("text", |slice| slice.name.into()),
            ("category", |slice| slice.category.into()),
            ("args", |slice| slice.args.into()),
        ];
        for (name, value) in properties {
            let numbers: Vec<String> =
                track.slices.iter().map(|slice| value(slice).min(MAX_EXACT).to_string()).collect();
            json.extend(format!(",\"{name}\":[{}]", numbers.join(",")).bytes());
        }
        json.push(b'}');
        out.write_all(&json)?;
    }
    out.write_all(b"]}")
}
