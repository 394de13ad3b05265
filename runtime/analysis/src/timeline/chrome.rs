//! Timelines as JSON of Chrome's trace event format.

use super::sink::{Arg, FlowPoint, Sink, SliceStart, Track, TrackArgs, TrackKind};
use std::io::{self, Write};
use tfbc::Form;
use tfbc_vm::TextBuf;

/// Largest size of the slices of a track that wait for the one that contains them.
const MAX_WAITING: usize = 1 << 14;
/// Size of the text at which it is written, in bytes.
const FULL: usize = 1 << 16;

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

/// Finished slices that begin when an open one does. Readers nest slices with equal begins in the order of the file, so
/// these are written after it.
#[derive(Default)]
struct Waiting {
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

    fn json(&mut self, text: &[u8], out: &mut Vec<u8>) {
        self.scratch.clear();
        Form::Ndjson.value(text, &mut self.scratch);
        out.extend_from_slice(self.scratch.as_bytes());
    }

    fn args(&mut self, args: &TrackArgs<'_>, out: &mut Vec<u8>) {
        for (at, (name, value)) in args.iter().enumerate() {
            out.extend_from_slice(if at > 0 { b"," } else { b"" });
            self.json(name.as_bytes(), out);
            out.push(b':');
            match value {
                // Readers round larger numbers.
                Arg::Number(number @ 0..0x20_0000_0000_0000) => push_number(*number as u64, out),
                Arg::Number(number) if number.unsigned_abs() > 1 << 53 => out.extend(format!("\"{number}\"").bytes()),
                Arg::Number(number) => out.extend(number.to_string().bytes()),
                Arg::Float(number) if number.is_finite() => out.extend(number.to_string().bytes()),
                Arg::Float(number) => out.extend(format!("\"{number}\"").bytes()),
                Arg::Flag(flag) => out.extend(flag.to_string().bytes()),
                Arg::Text(text) => self.json(text, out),
            }
        }
    }

    fn metadata(&mut self, track: Track, what: &str, name: &[u8]) {
        self.start(b'M', track, None);
        let mut text = std::mem::take(&mut self.text);
        text.extend(format!(",\"name\":\"{what}\",\"args\":{{\"name\":").bytes());
        self.json(name, &mut text);
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
        out.extend_from_slice(b",\"name\":");
        self.json(name, out);
        out.extend_from_slice(b",\"cat\":");
        self.json(category.as_bytes(), out);
        out.extend_from_slice(b",\"args\":{");
        self.args(args, out);
        out.push(b'}');
    }

    fn begin(&mut self, track: Track, time: u64, _: &[u8]) {
        let at = track.id as usize;
        if self.waiting.len() <= at {
            self.waiting.resize_with(at + 1, Waiting::default);
        }
        let waiting = &mut self.waiting[at];
        waiting.open.push((time, waiting.text.len()));
    }

    fn end(&mut self, track: Track, start: SliceStart<'_>, time: u64, more: &TrackArgs<'_>) {
        let SliceStart { time: begin, body } = start;
        let start = self.text.len();
        let was_first = self.is_first;
        self.start(b'X', track, Some(begin));
        self.text.extend_from_slice(b",\"dur\":");
        push_microseconds(time - begin, &mut self.text);
        match more {
            [] => self.text.extend_from_slice(body),
            more => {
                let mut text = std::mem::take(&mut self.text);
                text.extend_from_slice(&body[..body.len() - 1]);
                text.extend_from_slice(if body.ends_with(b"{}") { b"" } else { b"," });
                self.args(more, &mut text);
                text.push(b'}');
                self.text = text;
            }
        }
        self.text.push(b'}');
        let waiting = &mut self.waiting[track.id as usize];
        let mark = waiting.open.pop().map_or(0, |(_, mark)| mark);
        let waits = waiting.open.last().is_some_and(|(parent, _)| *parent == begin);
        if waits && waiting.text.len() < MAX_WAITING && !was_first {
            waiting.text.splice(mark..mark, self.text.drain(start..));
            return;
        }
        self.text.extend(waiting.text.drain(mark..));
        if self.text.len() >= FULL {
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
        self.json(name, &mut text);
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

    fn finish(mut self) -> io::Result<()> {
        self.text.extend_from_slice(b"\n]}\n");
        self.write();
        self.error.map_or_else(|| self.out.flush(), Err)
    }
}

/// Appends a number.
fn push_number(mut number: u64, out: &mut Vec<u8>) {
    let mut text = [0; 20];
    let mut at = text.len();
    loop {
        at -= 1;
        text[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return out.extend_from_slice(&text[at..]);
        }
    }
}

/// Appends microseconds with three decimals, which are exact.
fn push_microseconds(ns: u64, out: &mut Vec<u8>) {
    push_number(ns / 1000, out);
    let rest = (ns % 1000) as u32;
    out.extend_from_slice(&[b'.', digit(rest / 100), digit(rest / 10 % 10), digit(rest % 10)]);
}

fn digit(number: u32) -> u8 {
    b'0' + number as u8
}
