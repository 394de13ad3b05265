//! The instructions that are rare, or cost more than what it takes to leave the text for a while.

use super::texts::*;
use super::{Line, Run, STEP};
use crate::TextBuf;
use crate::mem::{At, ROOM, by_rule};
use crate::num::{self, store, store_slice};
use crate::op::{EnvText, EnvValue, Instr, Op};
use crate::table::{self, FLAG_WORDS};

/// Bytes that are dumped at once, at most: what prints them stores two characters more.
const SHORT_DUMP: usize = (ROOM - 2) / 3;

impl Run<'_> {
    /// Runs an instruction that does not say where the routine goes on.
    #[inline(never)]
    pub(super) fn aside(&mut self, instr: &Instr, out: &mut TextBuf) {
        // The literal has reached the text limit: the event ends before anything else happens.
        if self.is_over(out.len) {
            return;
        }
        let Some(op) = Op::from_u8(instr.op) else { return };
        let Instr { a, b, c, d, .. } = *instr;
        let (buf, o) = (&mut out.buf[..], out.len);
        match op {
            Op::Lit => out.push(self.program.string([b, c])),
            Op::Newline => self.newline(out),
            Op::Tab => {
                let column = o.saturating_sub(self.line().text)
                    + usize::from(self.program.hook_row(self.beginning / 4).map_or(0, |row| row.tab_origin));
                store(buf, o, [b' '; 8]);
                out.len += 8 - column % 8;
            }

            Op::Div => {
                let value = self.divide(self.reg(b), self.reg(c));
                self.set(a, value);
            }
            // No read went too far: what else is read, and its loops, go on.
            Op::Cut => self.change().outcome.truncated = true,
            Op::Stop => self.change().outcome.stop = true,

            Op::PutFloat => out.len = put_float(buf, o, self.reg(b), c),
            Op::PutErrno => out.len = self.put_errno(buf, o, self.reg(b), c),
            Op::PutTime => out.len = num::time(buf, o, self.reg(b) as u32),
            Op::PutPath => self.put_path(out, self.reg(b)),
            Op::PutChars => {
                let bytes = self.reg(b).to_be_bytes();
                let field = &bytes[8 - (c as usize).min(8)..];
                let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
                self.put_text(out, &field[..end], d as usize);
            }
            Op::TakeText => {
                let text = self.cursor.take_text(c.into());
                self.put_text(out, text, d as usize);
            }
            Op::TakeCounted => {
                let len = self.cursor.take(c);
                let text = self.cursor.take_text(len);
                self.put_text(out, text, 0);
            }
            Op::TextBy => {
                let text = self.cursor.take_text(self.reg(b));
                self.put_text(out, text, 0);
            }
            Op::HexBytes => {
                let bytes = self.cursor.raw(b.into(), c);
                out.len = put_hex_bytes(buf, o, bytes, c as usize);
            }
            Op::TakeHexBytes => {
                let bytes = self.cursor.take_raw(c);
                out.len = put_hex_bytes(buf, o, bytes, c as usize);
            }
            Op::PutName => self.put_name(out, b),
            Op::TakeString => {
                let text = self.cursor.take_string();
                put_escaped(out, text);
            }
            Op::PassString => {
                let text = self.cursor.take_string();
                self.charge(text.len() / STEP);
            }
            Op::TakeEscaped => {
                let truncated = self.cursor.truncated;
                let text = self.cursor.take_text(b.into());
                self.cursor.truncated = truncated;
                put_escaped(out, text);
            }
            Op::TakeWords => self.put_words(out, b as usize),
            Op::TakeName => self.put_record_name(out, b as usize),

            Op::Mark => {
                self.set(a, o as u64);
                self.select(true);
            }
            Op::Lower => {
                let text = &mut buf[(self.reg(b) as usize).min(o)..o];
                text.make_ascii_lowercase();
                self.charge(text.len() / STEP);
                self.select(false);
            }
            Op::FlagsList => {
                self.charge(self.program.table(c).1.len() / FLAG_WORDS);
                for (at, text) in met_texts(self.program, c, self.reg(b)).enumerate() {
                    out.push(if at > 0 { b" " } else { b"" });
                    out.push(text);
                }
            }
            Op::Flags => self.put_flags(out, self.program.table(c).1, self.reg(b)),
            Op::Nibbles => {
                put_many_nibbles(out, self.program.words(), c, self.reg(b));
                if a == 1 && out.len > o {
                    self.change().soft_end = out.len;
                }
            }
            Op::Error => self.put_error(out),
            Op::TimerStart => {
                let key = self.timer_key(b, c);
                self.timers.start(key, self.event.time_ns);
            }
            Op::TimerEnd => {
                let key = self.timer_key(b, c);
                if let Some(ns) = self.timers.end(key, self.event.time_ns) {
                    out.len = put_elapsed(buf, o, ns, self.program.settings.msec_from_usec);
                }
            }
            _ => debug_assert!(false, "{op:?} belongs to the loop"),
        }
    }

    /// Takes back a selector's text; where its table sends it.
    pub(super) fn switch_text(&mut self, out: &mut TextBuf, mark: u32, table: u32) -> Option<u64> {
        let start = (self.reg(mark) as usize).min(out.len);
        self.charge((out.len - start) / STEP);
        let (_, words) = self.program.table(table);
        let to = table::find_text(words, self.program.strings(), &out.buf[start..out.len]);
        out.len = start;
        self.select(false);
        to
    }

    pub(super) fn env(&self, what: u32) -> u64 {
        let (event, context) = (&self.event, self.context());
        match EnvValue::from_u32(what) {
            Some(EnvValue::TraceEnv) => context.trace_env.into(),
            Some(EnvValue::HookData) => event.hook_data().into(),
            Some(EnvValue::HookLen) => event.hook_len().into(),
            Some(EnvValue::HookType) => event.hook_type().into(),
            Some(EnvValue::RelLine) => self.state().line,
            Some(EnvValue::TotalCpus) => context.total_cpus.into(),
            Some(EnvValue::TracedCpus) => context.traced_cpus.into(),
            Some(EnvValue::ReportedCpus) => context.reported_cpus.into(),
            Some(EnvValue::LargeDataTypes) => context.large_data_types.into(),
            Some(EnvValue::Buffering) => context.buffering.into(),
            Some(EnvValue::IpAddress) => context.ip_address.into(),
            Some(EnvValue::Pid) => context.pid,
            Some(EnvValue::Tid) => context.tid,
            Some(EnvValue::Cpu) => context.cpu,
            Some(EnvValue::Priority) => context.priority,
            Some(EnvValue::LogIndex) => event.offset.wrapping_add(self.cursor.byte()),
            Some(EnvValue::LogIndex0) => event.offset,
            Some(EnvValue::PayloadLen) => event.bytes.len() as u64,
            Some(EnvValue::EventNumber) => event.record.map_or(0, |record| record.event.into()),
            None => 0,
        }
    }

    fn divide(&mut self, left: u64, right: u64) -> u64 {
        if right == 0 {
            self.change().outcome.divided_by_zero = true;
            return 0;
        }
        (left as i64).wrapping_div(right as i64) as u64
    }

    fn timer_key(&self, first: u32, second: u32) -> [u64; 3] {
        let thread = if self.program.settings.timer_by_thread { self.context().tid } else { 0 };
        [self.reg(first), self.reg(second), thread]
    }

    fn newline(&mut self, out: &mut TextBuf) {
        self.close_line(out);
        out.push(b"\n");
        let start = out.len;
        out.pad(self.margin);
        self.further = Line { start, text: out.len };
        let state = self.change();
        state.line += 1;
        state.soft_end = usize::MAX;
    }

    /// Text of the event's: unprintable bytes as dots, padded.
    pub(super) fn put_text(&self, out: &mut TextBuf, text: &[u8], pad: usize) {
        out.room(text.len());
        let start = out.len;
        out.len = copy_printable(&mut out.buf, start, text);
        let pad = pad.saturating_sub(text.len());
        // A padding of gigabytes is cut at the text limit like any other text.
        out.pad(pad.min((self.text_limit() + 1).saturating_sub(out.len)));
    }

    /// Up to `count` words as QNX prints the first bytes of a message: the text, then each word as a little-endian
    /// number.
    fn put_words(&mut self, out: &mut TextBuf, count: usize) {
        let rest = self.cursor.rest();
        let (words, _) = rest[..rest.len().min(count.saturating_mul(4))].as_chunks::<4>();
        self.cursor.add(words.len() as u64 * 4, 0);
        out.push(b"\"");
        for word in words {
            let end = word.iter().position(|byte| *byte == 0).unwrap_or(4);
            if !word[..end].iter().all(|byte| prints(*byte)) {
                break;
            }
            out.push(&word[..end]);
            if end < 4 {
                break;
            }
        }
        out.push(b"\" (");
        for (at, word) in words.iter().enumerate() {
            out.push(if at > 0 { b" 0x" } else { b"0x" });
            out.room(0);
            out.len = num::hex_low(&mut out.buf, out.len, u32::from_le_bytes(*word).into(), 8);
        }
        out.push(b")");
    }

    /// A name at the end of a record: nothing where a byte of it does not print.
    fn put_record_name(&mut self, out: &mut TextBuf, spare: usize) {
        let rest = self.cursor.rest();
        let field = &rest[..rest.len().saturating_sub(spare)];
        let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
        self.charge(end / STEP);
        if field[..end].iter().all(|byte| prints(*byte)) {
            out.push(&field[..end]);
        }
        self.cursor.add(rest.len() as u64, 0);
    }

    fn put_path(&self, out: &mut TextBuf, pid: u64) {
        match self.context().processes.get(&pid) {
            Some(path) => out.push(path),
            None => {
                out.room(0);
                store(&mut out.buf, out.len, [b'-']);
                let end = num::dec(&mut out.buf, out.len + 1, pid);
                store(&mut out.buf, end, [b'-']);
                out.len = end + 1;
            }
        }
    }

    fn put_name(&self, out: &mut TextBuf, what: u32) {
        match EnvText::from_u32(what) {
            Some(EnvText::Svc) => out.push(self.context().svc),
            Some(EnvText::ExecPath) => out.push(self.context().exec_path),
            Some(EnvText::LogFile) => out.push(self.context().log_file),
            Some(EnvText::TraceId) => self.put_trace_id(out),
            None => {}
        }
    }

    /// The hook id as the report's ID column prints it: `hhh` for `hhh0`.
    fn put_trace_id(&self, out: &mut TextBuf) {
        let id = self.event.hook_id();
        out.room(0);
        out.len = if id.is_multiple_of(16) {
            num::hex(&mut out.buf, out.len, u64::from(id >> 4), 3)
        } else {
            num::hex(&mut out.buf, out.len, id.into(), 4)
        };
    }

    fn put_error(&self, out: &mut TextBuf) {
        out.push(b"ERROR: log file ");
        out.push(self.context().log_file);
        out.push(b", offset 0x");
        let offset = self.event.offset;
        let digits = (64 - offset.leading_zeros()).div_ceil(4).max(1) as usize;
        out.room(0);
        out.len = num::hex(&mut out.buf, out.len, offset, digits);
        out.push(b", traceid ");
        self.put_trace_id(out);
    }

    fn put_errno(&self, buf: &mut [u8], o: usize, value: u64, width: u32) -> usize {
        match crate::errno_name(low_bits(value, width * 8)).filter(|_| self.program.settings.errno_names) {
            Some(name) => store_slice(buf, o, name.as_bytes()),
            None => num::int(buf, o, sext(value, width * 8)),
        }
    }

    fn put_flags(&mut self, out: &mut TextBuf, table: &[u64], value: u64) {
        self.charge(table.len() / FLAG_WORDS);
        for entry in table.chunks_exact(FLAG_WORDS) {
            let &[mask, field, yes, no, soft] = entry else { return };
            let (string, soft) = if value & mask == field { (yes, soft & 1) } else { (no, soft >> 1 & 1) };
            let (offset, len) = table::unpack_str(string);
            let text = self.program.strings().get(offset..offset + len).unwrap_or(b"");
            if matches!(text, [b' ' | b'\t', ..]) && self.state().soft_end == out.len {
                out.len -= 1;
                self.change().soft_end = usize::MAX;
            }
            out.push(text);
            if soft == 1 {
                out.push(b" ");
                self.change().soft_end = out.len;
            }
        }
    }

    /// The same as [`Run::dump`] where the event holds all bytes and their text fits the room of an instruction; gives
    /// where the text ends then.
    #[inline(always)]
    pub(super) fn short_dump(&mut self, at: At, count: u64, soft: bool, out: &mut TextBuf) -> Option<At> {
        if !(1..=SHORT_DUMP.min(self.state().turns as usize) as u64).contains(&count) {
            return None;
        }
        let end = at.add(count as usize * if soft { 3 } else { 2 });
        if !self.stage.holds(end) {
            return None;
        }
        let bytes = self.cursor.take_all(count)?;
        let room = by_rule!(LOOP: self.stage.room(out, at));
        if soft {
            num::hex_run::<3>(room, 0, bytes);
            self.change().soft_end = self.stage.offset(end);
        } else {
            num::hex_run::<2>(room, 0, bytes);
        }
        self.change().turns -= count as u32;
        Some(end)
    }

    /// `LOOP count { X0 }` or `{ X1 }`: stops behind the first byte that the event does not hold. False where a
    /// limit is reached.
    pub(super) fn dump(&mut self, out: &mut TextBuf, count: u64, soft: bool) -> bool {
        let mut left = if (count as i64) < 0 || self.cursor.truncated { 0 } else { count };
        let text_left = (self.text_limit() + 1).saturating_sub(out.len);
        let whole = self.cursor.take_whole(left.min(self.state().turns.into()).min(text_left as u64));
        self.put_pairs(out, whole, soft);
        left -= whole.len() as u64;
        self.change().turns -= whole.len() as u32;
        // The byte behind the event's end, or the limit.
        while left > 0 && !self.cursor.truncated {
            if out.len > self.text_limit() || !self.turn() {
                return false;
            }
            let byte = [self.cursor.take(1) as u8];
            self.put_pairs(out, &byte, soft);
            left -= 1;
        }
        true
    }

    fn put_pairs(&mut self, out: &mut TextBuf, bytes: &[u8], soft: bool) {
        out.room(bytes.len() * 3 + 32);
        if !soft {
            out.len = num::hex_run::<2>(&mut out.buf, out.len, bytes);
        } else if !bytes.is_empty() {
            out.len = num::hex_run::<3>(&mut out.buf, out.len, bytes);
            self.change().soft_end = out.len;
        }
    }
}
