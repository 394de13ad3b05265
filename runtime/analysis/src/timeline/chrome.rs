//! Timelines as JSON of Chrome's trace event format.

use super::HexDigits;
use super::sink::{Arg, FlowPoint, Sink, SliceStart, Track, TrackArgs, TrackKind};
use std::io::{self, Write};
use tfbc::Form;
use tfbc_vm::{TextBuf, num};

/// Largest size of the slices of a track that wait for the one that contains them.
const MAX_WAITING: usize = 1 << 14;
/// Size of the text at which it is written, in bytes.
const FULL: usize = 1 << 16;
/// Room for a [`SliceHead`], whose numbers have up to ten digits.
const MAX_HEAD: usize = 64;
/// Room for the text of a slice up to its body: the head, and two times of up to 24 bytes.
const MAX_LINE: usize = 128;

/// Writer of JSON.
pub struct Chrome<W> {
    out: W,
    error: Option<io::Error>,
    text: Vec<u8>,
    scratch: TextBuf,
    is_first: bool,
    /// Open slices and waiting text per track.
    waiting: Vec<Waiting>,
    n_overlapping: u64,
}

/// Start of the text of a whole slice of a track, with its keys and numbers up to the time.
#[derive(Clone, Copy)]
struct SliceHead {
    bytes: [u8; MAX_HEAD],
    len: usize,
}

/// Finished slices that begin when an open one does. Readers nest slices with equal begins in the order of the file, so
/// these are written after it.
#[derive(Default)]
struct Waiting {
    head: Option<Box<SliceHead>>,
    text: Vec<u8>,
    /// Begin per open slice, and length of `text` at that time.
    open: Vec<(u64, usize)>,
}

impl<W: Write> Chrome<W> {
    pub fn new(out: W) -> Self {
        Self {
            out,
            error: None,
            text: b"{\"traceEvents\":[\n".to_vec(),
            scratch: TextBuf::new(),
            is_first: true,
            waiting: Vec::new(),
            n_overlapping: 0,
        }
    }

    /// Begins an event: its phase, track and time.
    fn start(&mut self, phase: u8, track: Track, time: Option<u64>) {
        if !std::mem::take(&mut self.is_first) {
            self.text.extend_from_slice(b",\n");
        }
        self.text.extend_from_slice(b"{\"ph\":\"");
        self.text.push(phase);
        self.text.extend_from_slice(b"\",\"pid\":");
        push_number(track.group.into(), &mut self.text);
        self.text.extend_from_slice(b",\"tid\":");
        push_number(track.id.into(), &mut self.text);
        if let Some(time) = time {
            self.text.extend_from_slice(b",\"ts\":");
            push_microseconds(time, &mut self.text);
        }
    }

    fn close(&mut self) {
        self.text.push(b'}');
        if self.text.len() >= FULL {
            self.write();
        }
    }

    #[cold]
    fn write(&mut self) {
        if self.error.is_none() {
            self.error = self.out.write_all(&self.text).err();
        }
        self.text.clear();
    }

    fn metadata(&mut self, track: Track, what: &str, name: &[u8]) {
        self.start(b'M', track, None);
        let mut text = std::mem::take(&mut self.text);
        text.extend(format!(",\"name\":\"{what}\",\"args\":{{\"name\":").bytes());
        push_json(name, &mut self.scratch, &mut text);
        self.text = text;
        self.text.push(b'}');
        self.close();
    }
}

impl<W: Write> Sink for Chrome<W> {
    fn group(&mut self, group: u32, name: &[u8]) {
        self.metadata(Track { group, id: 0 }, "process_name", name);
    }

    fn track(&mut self, track: Track, _: TrackKind, name: &[u8]) {
        self.metadata(track, "thread_name", name);
    }

    fn encode(&mut self, name: &[u8], category: &str, args: &TrackArgs<'_>, out: &mut Vec<u8>) {
        self.encode_once(name, &[], out);
        self.encode_tail(category, args, out);
    }

    fn encode_once(&mut self, name: &[u8], tail: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"name\":");
        push_json(name, &mut self.scratch, out);
        out.extend_from_slice(tail);
    }

    fn encode_address(&mut self, address: u64, tail: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"name\":\"");
        out.extend_from_slice(HexDigits::new(address).as_bytes());
        out.push(b'"');
        out.extend_from_slice(tail);
    }

    fn encode_tail(&mut self, category: &str, args: &TrackArgs<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"cat\":");
        push_json(category.as_bytes(), &mut self.scratch, out);
        out.extend_from_slice(b",\"args\":{");
        push_args(args, &mut self.scratch, out);
        out.push(b'}');
    }

    fn append(&mut self, name: &str, value: u64, body: &mut Vec<u8>) {
        body.pop();
        body.push(b',');
        push_args(&[(name, Arg::Number(value.into()))], &mut self.scratch, body);
        body.push(b'}');
    }

    fn encode_more(&mut self, args: &TrackArgs<'_>, out: &mut Vec<u8>) {
        push_args(args, &mut self.scratch, out);
    }

    fn encode_result(&mut self, result: i64, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\"result\":");
        push_integer(result.into(), out);
    }

    fn begin(&mut self, track: Track, time: u64, _: &[u8]) {
        let at = track.id as usize;
        if self.waiting.len() <= at {
            self.waiting.resize_with(at + 1, Waiting::default);
        }
        let waiting = &mut self.waiting[at];
        waiting.open.push((time, waiting.text.len()));
    }

    fn end(&mut self, track: Track, slice: SliceStart<'_>, time: u64, more: &[u8]) {
        let SliceStart { time: begin, body } = slice;
        let Self { text, waiting, .. } = self;
        let waiting = &mut waiting[track.id as usize];
        let head = waiting.head.get_or_insert_with(|| Box::new(SliceHead::new(track)));
        let start = text.len();
        text.extend_from_slice(&[0; MAX_LINE]);
        let len = text[start..].first_chunk_mut().map_or(0, |line| write_line(line, head, begin, time - begin));
        text.truncate(start + len);
        match more {
            [] => text.extend_from_slice(body),
            more => {
                text.extend_from_slice(&body[..body.len() - 1]);
                if !body.ends_with(b"{}") {
                    text.push(b',');
                }
                text.extend_from_slice(more);
                text.push(b'}');
            }
        }
        text.push(b'}');
        let mark = waiting.open.pop().map_or(0, |(_, mark)| mark);
        let waits = waiting.open.last().is_some_and(|(parent, _)| *parent == begin);
        if waits && waiting.text.len() < MAX_WAITING {
            waiting.text.extend_from_slice(&text[start..]);
            waiting.text[mark..].rotate_right(text.len() - start);
            text.truncate(start);
            return;
        }
        if waiting.text.len() > mark {
            text.extend_from_slice(&waiting.text[mark..]);
            waiting.text.truncate(mark);
        }
        if text.len() >= FULL {
            self.write();
        }
    }

    fn keeps_bodies(&self) -> bool {
        true
    }

    fn overlapping(&mut self, track: Track, start: SliceStart<'_>, time: u64) {
        self.n_overlapping += 1;
        let id = self.n_overlapping;
        for (phase, time) in [(b'b', start.time), (b'e', time)] {
            self.start(phase, track, Some(time));
            self.text.extend(format!(",\"id\":{id}").bytes());
            self.text.extend_from_slice(start.body);
            self.close();
        }
    }

    fn instant(&mut self, track: Track, time: u64, body: &[u8]) {
        self.start(b'i', track, Some(time));
        self.text.extend_from_slice(b",\"s\":\"t\"");
        self.text.extend_from_slice(body);
        self.close();
    }

    fn counter(&mut self, track: Track, time: u64, name: &[u8], value: i128) {
        self.start(b'C', track, Some(time));
        let mut text = std::mem::take(&mut self.text);
        text.extend_from_slice(b",\"name\":");
        push_json(name, &mut self.scratch, &mut text);
        text.extend(format!(",\"args\":{{\"value\":{value}}}").bytes());
        self.text = text;
        self.close();
    }

    fn flow(&mut self, track: Track, time: u64, point: FlowPoint, id: u64, body: &[u8]) {
        // A point belongs to the slice around it, so it gets one.
        self.start(b'X', track, Some(time));
        self.text.extend_from_slice(b",\"dur\":0.000");
        self.text.extend_from_slice(body);
        self.close();
        let phase = match point {
            FlowPoint::Start => b's',
            FlowPoint::Step => b't',
            FlowPoint::End => b'f',
        };
        self.start(phase, track, Some(time));
        self.text.extend(format!(",\"bp\":\"e\",\"id\":{id}").bytes());
        self.text.extend_from_slice(body);
        self.close();
    }

    fn has_overlapping(&self) -> bool {
        true
    }

    fn finish(&mut self) -> io::Result<()> {
        self.text.extend_from_slice(b"\n]}\n");
        self.write();
        self.error.take().map_or_else(|| self.out.flush(), Err)
    }
}

/// Appends a text as JSON.
fn push_json(text: &[u8], scratch: &mut TextBuf, out: &mut Vec<u8>) {
    if is_plain(text) {
        out.push(b'"');
        out.extend_from_slice(text);
        return out.push(b'"');
    }
    scratch.clear();
    Form::Ndjson.value(text, scratch);
    out.extend_from_slice(scratch.as_bytes());
}

/// Appends arguments, without braces.
fn push_args(args: &TrackArgs<'_>, scratch: &mut TextBuf, out: &mut Vec<u8>) {
    for (at, (name, value)) in args.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push_json(name.as_bytes(), scratch, out);
        out.push(b':');
        match value {
            Arg::Number(number) => push_integer(*number, out),
            Arg::Float(number) if number.is_finite() => out.extend(number.to_string().bytes()),
            Arg::Float(number) => out.extend(format!("\"{number}\"").bytes()),
            Arg::Flag(flag) => out.extend_from_slice(if *flag { b"true" } else { b"false" }),
            Arg::Text(text) => push_json(text, scratch, out),
        }
    }
}

/// Appends a number that may be large or negative.
fn push_integer(number: i128, out: &mut Vec<u8>) {
    if number.unsigned_abs() > 1 << 53 {
        // Readers round larger numbers.
        return out.extend(format!("\"{number}\"").bytes());
    }
    if number < 0 {
        out.push(b'-');
    }
    push_number(number.unsigned_abs() as u64, out);
}

impl SliceHead {
    fn new(track: Track) -> Self {
        let text = format!(",\n{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":", track.group, track.id);
        let mut bytes = [0; MAX_HEAD];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Self { bytes, len: text.len() }
    }
}

/// Writes the text of a slice up to its body, and returns its length. Parts are copied with a constant size, and the
/// next part overwrites what is too much.
#[inline(always)]
fn write_line(line: &mut [u8; MAX_LINE], head: &SliceHead, begin: u64, duration: u64) -> usize {
    line[..MAX_HEAD].copy_from_slice(&head.bytes);
    let at = num::decimal::<3>(line, head.len, begin);
    if let Some(room) = line[at..].first_chunk_mut() {
        *room = *b",\"dur\":\0";
    }
    num::decimal::<3>(line, at + 7, duration)
}

/// Appends a number.
fn push_number(number: u64, out: &mut Vec<u8>) {
    let mut text = [0; 24];
    let len = num::dec(&mut text, 0, number);
    out.extend_from_slice(&text[..len]);
}

/// Appends nanoseconds as microseconds with three decimals, which are exact.
fn push_microseconds(ns: u64, out: &mut Vec<u8>) {
    let mut text = [0; 32];
    let len = num::decimal::<3>(&mut text, 0, ns);
    out.extend_from_slice(&text[..len]);
}

/// True if a text is printable ASCII that needs no escapes in JSON.
#[inline]
fn is_plain(text: &[u8]) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let mut words = text.chunks_exact(8);
    let are_plain = words.by_ref().all(|word| {
        let word = word.try_into().map_or(0, u64::from_le_bytes);
        // A byte is zero if its high bit is set here and not in itself; only bytes after such a one may be wrong.
        let has_zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
        let is_control = word.wrapping_sub(ONES << 5) & !word & HIGH;
        let escaped = [b'"', b'\\', 0x7F].map(|byte| has_zero(word ^ (ONES * u64::from(byte))));
        is_control | word & HIGH | escaped[0] | escaped[1] | escaped[2] == 0
    });
    are_plain && words.remainder().iter().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_exact() {
        let head = SliceHead::new(Track { group: u32::MAX, id: u32::MAX });
        let powers = (0..20).flat_map(|n| [10u64.pow(n) - 1, 10u64.pow(n), 10u64.pow(n) + 1]);
        for ns in powers.chain([1234, 50_607, 1_002_003_004, u64::MAX]) {
            let mut line = [0; MAX_LINE];
            let len = write_line(&mut line, &head, ns, ns);
            let text = std::str::from_utf8(&line[head.len..len]).unwrap();
            let expected = format!("{}.{:03}", ns / 1000, ns % 1000);
            assert_eq!(text, format!("{expected},\"dur\":{expected}"));
            let mut text = Vec::new();
            push_microseconds(ns, &mut text);
            assert_eq!(String::from_utf8(text).unwrap(), expected);
        }
    }

    #[test]
    fn plain_texts_are_those_without_escapes() {
        for (len, byte) in [0, 1, 7, 8, 15, 16, 20].into_iter().flat_map(|len| (0..=255).map(move |byte| (len, byte))) {
            for at in 0..len {
                for neighbour in [b'x', b'!', b'#', b'[', b']', b'~', b' '] {
                    let mut text = vec![neighbour; len];
                    text[at] = byte;
                    let is_printable = matches!(byte, b' '..=b'~') && !b"\"\\".contains(&byte);
                    assert_eq!(is_plain(&text), is_printable, "{text:?}");
                    let (mut scratch, mut out) = (TextBuf::new(), Vec::new());
                    push_json(&text, &mut scratch, &mut out);
                    scratch.clear();
                    Form::Ndjson.value(&text, &mut scratch);
                    assert_eq!(out, scratch.as_bytes());
                }
            }
        }
    }
}
