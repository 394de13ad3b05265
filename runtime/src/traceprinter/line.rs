//! Text before the arguments in the default layout. Parts that depend only on class, event or CPU are formatted once.

use super::format::{Conversion, ConversionSpec, Elapsed, Line, LineFormat, Piece};
use crate::events::N_IDS;
use crate::reader::kev::{KevHeader, KevRecord};
use tfbc_vm::{Space, TextBuf};

/// Writer of lines in one format, with a cache of the texts that depend only on class, event or CPU.
#[derive(Debug, Clone)]
pub(super) struct LineWriter {
    steps: Vec<LinePart>,
    /// Pieces per [`LinePart::Named`].
    runs: Vec<Vec<Piece>>,
    /// Cached texts of `runs`, one event after the other.
    named: Vec<FixedText>,
    /// By class and event, index of the first text in `named`; 0 if not cached.
    places: Vec<u32>,
}

/// One part of a line.
#[derive(Debug, Clone)]
enum LinePart {
    Text(FixedText),
    Cycles(ConversionSpec),
    /// Time since the start of the trace, or number of the event.
    OfRecord(ConversionSpec),
    /// One text per CPU.
    Cpu(Vec<FixedText>),
    /// Index in `runs` of pieces that depend on class and event.
    Named(usize),
}

/// A text that is appended often. If it is short, the fast path copies the whole array.
#[derive(Debug, Clone)]
enum FixedText {
    Short { text: [u8; FixedText::SHORT], len: usize },
    Long(Box<[u8]>),
}

impl FixedText {
    const SHORT: usize = 48;

    fn new(bytes: &[u8]) -> Self {
        let mut text = [0; Self::SHORT];
        match text.get_mut(..bytes.len()) {
            Some(room) => room.copy_from_slice(bytes),
            None => return FixedText::Long(bytes.into()),
        }
        FixedText::Short { text, len: bytes.len() }
    }

    /// Stores the text that `write` appends.
    fn of(write: impl FnOnce(&mut TextBuf)) -> Self {
        let mut out = TextBuf::new();
        write(&mut out);
        FixedText::new(out.as_bytes())
    }

    fn push(&self, out: &mut TextBuf) {
        match self {
            FixedText::Short { text, len } => out.push(text.get(..*len).unwrap_or_default()),
            FixedText::Long(text) => out.push(text),
        }
    }
}

/// Maximum cached texts, and maximum bytes per text.
const MAX_KEPT: usize = 1 << 13;
const MAX_KEPT_BYTES: usize = 256;

impl LineWriter {
    pub fn new(format: &LineFormat) -> Self {
        let (mut steps, mut runs) = (Vec::new(), Vec::new());
        // A text before a cached piece joins that piece.
        let mut before = Vec::new();
        for piece in &format.pieces {
            let field = match piece {
                Piece::Text(text) => {
                    before.extend_from_slice(text);
                    continue;
                }
                Piece::Field(field) => field,
            };
            match field.conversion {
                Conversion::Cycles | Conversion::Time | Conversion::Number => {
                    push_step(LinePart::Text(FixedText::new(&std::mem::take(&mut before))), &mut steps);
                    steps.push(if field.conversion == Conversion::Cycles {
                        LinePart::Cycles(*field)
                    } else {
                        LinePart::OfRecord(*field)
                    });
                }
                Conversion::Cpu => {
                    let before = std::mem::take(&mut before);
                    let text = |cpu| {
                        FixedText::of(|out| {
                            out.push(&before);
                            field.write(&Line { cpu, ..Line::default() }, out);
                        })
                    };
                    steps.push(LinePart::Cpu((0..64).map(text).collect()));
                }
                Conversion::Class | Conversion::Event => {
                    if !before.is_empty() {
                        named(Piece::Text(std::mem::take(&mut before)), &mut steps, &mut runs);
                    }
                    named(piece.clone(), &mut steps, &mut runs);
                }
            }
        }
        push_step(LinePart::Text(FixedText::new(&before)), &mut steps);
        // Index 0 means "not cached".
        LineWriter { steps, runs, named: vec![FixedText::new(b"")], places: vec![0; N_IDS] }
    }

    /// Index of the texts of a record's class and event, if they are cached.
    #[inline]
    pub fn find(&self, record: &KevRecord<'_>) -> Option<usize> {
        let id = usize::from(Space::record_id(record.class, record.event));
        self.places.get(id).map(|place| *place as usize).filter(|place| *place > 0)
    }

    /// Caches the texts of a record's class and event, and returns their index; `None` if they are too long or the
    /// cache is full.
    pub fn learn(&mut self, record: &KevRecord<'_>, names: Names<'_>) -> Option<usize> {
        let line = names.line();
        let text = |run: &Vec<Piece>| FixedText::of(|out| run.iter().for_each(|piece| piece.write(&line, out)));
        let texts: Vec<FixedText> = self.runs.iter().map(text).collect();
        let is_short = |text: &FixedText| !matches!(text, FixedText::Long(text) if text.len() > MAX_KEPT_BYTES);
        if !texts.iter().all(is_short) || self.named.len() + texts.len() > MAX_KEPT {
            return None;
        }
        let place = self.named.len();
        self.named.extend(texts);
        let id = usize::from(Space::record_id(record.class, record.event));
        if let Some(known) = self.places.get_mut(id) {
            *known = place as u32;
        }
        Some(place)
    }

    /// Writes a line up to the arguments. `place` is the result of [`LineWriter::find`] or [`LineWriter::learn`], or
    /// else the names.
    #[inline]
    pub fn write(
        &self,
        place: Result<usize, Names<'_>>,
        record: &KevRecord<'_>,
        times: TimeBase<'_>,
        out: &mut TextBuf,
    ) {
        let cycles = record.cycles().unwrap_or(record.stamp.into());
        if place.is_ok_and(|place| self.write_short(place, cycles, record.cpu, out).is_some()) {
            return;
        }
        for step in &self.steps {
            match step {
                LinePart::Text(text) => text.push(out),
                LinePart::Cycles(field) => field.write(&Line { cycles, ..Line::default() }, out),
                LinePart::OfRecord(field) => {
                    let (number, elapsed) = (record.number, times.elapsed(record));
                    field.write(&Line { number, elapsed, ..Line::default() }, out);
                }
                LinePart::Cpu(texts) => texts[usize::from(record.cpu) % texts.len()].push(out),
                LinePart::Named(run) => match place {
                    Ok(place) => self.named[place + run].push(out),
                    Err(names) => self.runs[*run].iter().for_each(|piece| piece.write(&names.line(), out)),
                },
            }
        }
    }

    /// Fast path for a line of short texts and clocks. `None`, with nothing written, for other lines.
    #[inline]
    fn write_short(&self, place: usize, cycles: u64, cpu: u8, out: &mut TextBuf) -> Option<()> {
        let room = out.spare();
        let mut at = 0;
        for step in &self.steps {
            let text = match step {
                LinePart::Text(text) => text,
                LinePart::Cpu(texts) => texts.get(usize::from(cpu))?,
                LinePart::Named(run) => self.named.get(place + run)?,
                LinePart::Cycles(field) => {
                    at = field.write_cycles(cycles, room, at)?;
                    continue;
                }
                LinePart::OfRecord(_) => return None,
            };
            let FixedText::Short { text, len } = text else { return None };
            *room.get_mut(at..)?.first_chunk_mut()? = *text;
            at += len;
        }
        out.advance(at);
        Some(())
    }
}

/// Texts for the class and for the event of a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names<'l> {
    pub class_text: &'l [u8],
    pub event_text: &'l [u8],
}

impl<'l> Names<'l> {
    fn line(self) -> Line<'l> {
        let Names { class_text, event_text } = self;
        Line { class_text, event_text, ..Line::default() }
    }
}

/// Clock of the log, and start of the trace in cycles if it is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeBase<'t> {
    pub header: &'t KevHeader,
    pub start: Option<u64>,
}

impl TimeBase<'_> {
    /// Time of a record since the trace's start; 0 if the record has no time.
    fn elapsed(self, record: &KevRecord<'_>) -> Elapsed {
        let ns = |cycles| self.header.ns(cycles).map(i128::from);
        let (Some(start), Some(cycles)) = (self.start, record.cycles()) else {
            return ns(0).map_or(Elapsed::Unknown, Elapsed::Ns);
        };
        ns(cycles).zip(ns(start)).map_or(Elapsed::Unknown, |(now, start)| Elapsed::Ns(now - start))
    }
}

/// Adds a step, unless it is an empty text.
fn push_step(step: LinePart, steps: &mut Vec<LinePart>) {
    if !matches!(step, LinePart::Text(FixedText::Short { len: 0, .. })) {
        steps.push(step);
    }
}

/// Adds a piece that depends only on class and event. It joins the last run of such pieces, if the last part is one.
fn named(piece: Piece, steps: &mut Vec<LinePart>, runs: &mut Vec<Vec<Piece>>) {
    match (steps.last(), runs.last_mut()) {
        (Some(LinePart::Named(_)), Some(run)) => run.push(piece),
        _ => {
            steps.push(LinePart::Named(runs.len()));
            runs.push(vec![piece]);
        }
    }
}
