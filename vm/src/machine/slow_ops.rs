//! Handlers of rare instructions, and slow paths of frequent ones: they append to the text buffer as a whole.

use super::texts::{
    copy_printable, matching_texts, prints, put_elapsed, put_error, put_escaped, put_hex_bytes, put_many_nibbles,
};
use super::{OutputLine, Run, SELECTOR_STEP, STEP, texts};
use crate::TextBuf;
use crate::blob::TABS_FROM_LINE;
use crate::mem::{OutPtr, Pc, ROOM, unchecked};
use crate::num::{self, store};
use crate::op::{EnvText, EnvValue, Instr};
use crate::table::{self, FLAG_WORDS};

/// Maximum number of bytes dumped in one go. Each store writes two more characters than it needs.
const SHORT_DUMP: usize = (ROOM - 2) / 3;

/// Runs an instruction that appends to the buffer, unless its literal already reached the text limit.
#[inline(never)]
fn run_slow<'r>(
    run: &mut Run<'r>,
    at: OutPtr,
    instr: &'r Instr,
    out: &mut TextBuf,
    effect: fn(&mut Run<'r>, &Instr, &mut TextBuf),
) -> (OutPtr, Pc) {
    run.stage.close(out, at);
    // The literal before the instruction may have reached the limit. The effect would then be cut again at once.
    if !run.is_over(out.len) {
        let before = out.len;
        effect(run, instr, out);
        run.charge(out.len.abs_diff(before) / STEP);
    }
    (run.reopen(out), run.stage.after(instr))
}

/// Defines handlers by their effect on the run and the text.
macro_rules! slow {
    ($($name:ident |$run:ident, $instr:pat_param, $out:pat_param| $effect:expr;)*) => {$(
        pub(super) fn $name<'r>(run: &mut Run<'r>, at: OutPtr, instr: &'r Instr, out: &mut TextBuf) -> (OutPtr, Pc) {
            fn effect($run: &mut Run<'_>, $instr: &Instr, $out: &mut TextBuf) {
                $effect
            }
            run_slow(run, at, instr, out, effect)
        }
    )*};
}

slow! {
    lit |run, instr, out| run.push(out, run.program.string([instr.b, instr.c]));
    newline |run, _, out| run.newline(out);
    // The origin depends on the stanza (`tabs` and `first-tab` in docs/readings.md), so it is in its row.
    tab |run, _, out| {
        let origin = run.program.hook_row(run.start_index / 4).map_or(0, |row| row.tab_origin);
        let margin = if origin & TABS_FROM_LINE != 0 { run.margin } else { 0 };
        let column = out.len.saturating_sub(run.line().text) + margin + usize::from(origin & !TABS_FROM_LINE);
        // Always stores eight blanks, because one store of fixed size is fastest. Only the length differs.
        store(&mut out.buf, out.len, [b' '; 8]);
        out.len += 8 - column % 8;
    };
    div |run, instr, _| {
        let value = run.divide(run.reg(instr.b), run.reg(instr.c));
        run.set(instr.a, value);
    };
    // The event is not cut by a read, so later reads and loops are not affected.
    cut |run, _, _| run.change().outcome.truncated = true;
    stop |run, _, _| run.change().outcome.stop = true;

    put_float |run, instr, out| {
        out.len = texts::put_float(&mut out.buf, out.len, run.reg(instr.b), instr.c, instr.d);
    };
    put_errno |run, instr, out| out.len = put_error(&mut out.buf, out.len, run.program, run.reg(instr.b), instr.c);
    put_time |run, instr, out| out.len = num::time(&mut out.buf, out.len, run.reg(instr.b) as u32);
    put_path |run, instr, out| run.put_path(out, run.reg(instr.b));
    put_chars |run, instr, out| {
        // A macro with a text cast is the text of its low bytes, as `$text%A4` in docs/trcfmt.md.
        let bytes = run.reg(instr.b).to_be_bytes();
        let field = &bytes[8 - (instr.c as usize).min(8)..];
        let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
        run.put_text(out, &field[..end], instr.d as usize);
    };
    put_name |run, instr, out| run.put_name(out, instr.b);
    error |run, _, out| run.put_error(out);

    take_text |run, instr, out| {
        let text = run.cursor.take_text(instr.c.into());
        run.put_text(out, text, instr.d as usize);
    };
    take_counted |run, instr, out| {
        let len = run.cursor.take(instr.c);
        let text = run.cursor.take_text(len);
        run.put_text(out, text, 0);
    };
    text_by |run, instr, out| {
        let text = run.cursor.take_text(run.reg(instr.b));
        run.put_text(out, text, 0);
    };
    hex_bytes |run, instr, out| {
        let bytes = run.cursor.raw(instr.b.into(), instr.c);
        out.len = put_hex_bytes(&mut out.buf, out.len, bytes, instr.c as usize);
    };
    take_hex_bytes |run, instr, out| {
        let bytes = run.cursor.take_raw(instr.c);
        out.len = put_hex_bytes(&mut out.buf, out.len, bytes, instr.c as usize);
    };
    take_string |run, _, out| put_escaped(out, run.cursor.take_string());
    // Charged as if it were printed: the search for its end takes as long.
    pass_string |run, _, _| {
        let text = run.cursor.take_string();
        run.charge(text.len() / STEP);
    };
    take_escaped |run, instr, out| {
        // QNX's definitions report a short payload themselves, by `<truncated>`; the text alone must not mark the
        // event.
        let truncated = run.cursor.truncated;
        let text = run.cursor.take_text(instr.b.into());
        run.cursor.truncated = truncated;
        put_escaped(out, text);
    };
    take_words |run, instr, out| run.put_words(out, instr.b as usize);
    take_name |run, instr, out| run.put_record_name(out, instr.b as usize);

    mark |run, instr, out| {
        // Counted from the first line of the event: a pointer would not survive the growth of the buffer.
        run.set(instr.a, out.len.saturating_sub(run.first.start) as u64);
        run.select(true);
    };
    lower |run, instr, out| {
        let end = out.len;
        let text = &mut out.buf[run.marked(instr.b, end)..end];
        text.make_ascii_lowercase();
        run.charge(text.len() / STEP);
        run.select(false);
    };
    flags |run, instr, out| run.put_flags(out, run.program.table(instr.c).1, run.reg(instr.b));
    flags_list |run, instr, out| {
        run.charge(run.program.table(instr.c).1.len() / FLAG_WORDS);
        for (at, text) in matching_texts(run.program, instr.c, run.reg(instr.b)).enumerate() {
            if run.is_over(out.len) {
                break;
            }
            out.push(if at > 0 { b" " } else { b"" });
            run.push(out, text);
        }
    };
    soft_nibbles |run, instr, out| {
        let before = out.len;
        put_many_nibbles(out, run.program.words(), instr.c, run.reg(instr.b));
        if out.len > before {
            run.change().soft_end = out.len;
        }
    };

    timer_start |run, instr, _| {
        let key = run.timer_key(instr.b, instr.c);
        run.timers.start(key, run.event.time_ns);
    };
    timer_end |run, instr, out| {
        let key = run.timer_key(instr.b, instr.c);
        if let Some(ns) = run.timers.end(key, run.event.time_ns) {
            out.len = put_elapsed(&mut out.buf, out.len, ns, run.program.settings.msec_from_usec);
        }
    };
}

impl Run<'_> {
    /// Position of a mark in the buffer, within the text of the current event, which ends at `end`.
    pub(super) fn marked(&self, mark: u32, end: usize) -> usize {
        (self.first.start as u64).saturating_add(self.reg(mark)).min(end as u64) as usize
    }

    /// Removes a selector's text and returns the target that its table has for it.
    pub(super) fn switch_text(&mut self, out: &mut TextBuf, mark: u32, table: u32) -> Option<u64> {
        let start = self.marked(mark, out.len);
        // Printed, hashed and compared: about four times the price of printed text.
        self.charge((out.len - start) / SELECTOR_STEP);
        let (_, words) = self.program.table(table);
        let text = &out.buf[start..out.len];
        let to = table::find_text(words, self.program.strings(), text);
        // Removed lines no longer add their margins to the limit.
        let margins = self.margin * text.iter().filter(|byte| **byte == b'\n').count();
        self.text_limit = self.text_limit.saturating_sub(margins).max(self.first.text + self.max_text);
        if start < self.line().text {
            // The rest of an earlier line has no margin to trim.
            self.further = OutputLine { start, text: start };
        }
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
        // The lowest number divided by -1 overflows; a template can ask for it.
        (left as i64).wrapping_div(right as i64) as u64
    }

    pub(super) fn timer_key(&self, first: u32, second: u32) -> [u64; 3] {
        // `timer-key` in docs/readings.md.
        let thread = if self.program.settings.timer_by_thread { self.context().tid } else { 0 };
        [self.reg(first), self.reg(second), thread]
    }

    fn newline(&mut self, out: &mut TextBuf) {
        let n_before = out.len;
        self.close_line(out);
        // The margin was only added to the limit if the line was within it.
        if self.line().start <= self.text_limit {
            self.text_limit -= n_before - out.len;
        }
        out.push(b"\n");
        let start = out.len;
        out.pad(self.margin);
        self.charge(self.margin / STEP);
        // A line end beyond the limit is removed again, with its margin.
        if start <= self.text_limit {
            self.text_limit += self.margin;
        }
        self.further = OutputLine { start, text: out.len };
        let state = self.change();
        state.line += 1;
        state.soft_end = usize::MAX;
    }

    /// Prints text of the event, padded, with dots for unprintable bytes.
    pub(super) fn put_text(&self, out: &mut TextBuf, text: &[u8], pad: usize) {
        // Templates pad a text; they never cut it (docs/readings.md).
        out.room(text.len());
        let start = out.len;
        out.len = copy_printable(&mut out.buf, start, text);
        let pad = pad.saturating_sub(text.len());
        // A padding of gigabytes is cut at the text limit like any other text.
        out.pad(pad.min((self.text_limit() + 1).saturating_sub(out.len)));
    }

    /// Prints up to `count` words in QNX's format for the first bytes of a message: as text, then each word as a
    /// little-endian number.
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

    /// Prints the name at the end of a record, or nothing if it contains an unprintable byte.
    fn put_record_name(&mut self, out: &mut TextBuf, spare: usize) {
        let rest = self.cursor.rest();
        let field = &rest[..rest.len().saturating_sub(spare)];
        let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
        self.charge(end / STEP);
        // A name with any other byte is empty, as in traceprinter 1.02 (docs/readings.md).
        if field[..end].iter().all(|byte| prints(*byte)) {
            out.push(&field[..end]);
        }
        self.cursor.add(rest.len() as u64, 0);
    }

    fn put_path(&mut self, out: &mut TextBuf, pid: u64) {
        self.timers.note_pid(pid);
        match self.context().processes.get(&pid) {
            Some(path) => out.push(path),
            // AIX's text for a process whose program is unknown.
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

    /// Prints the hook id like the report's ID column: `hhh` for `hhh0`.
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

    /// Removes the soft blank that the text ends with, if there is one.
    fn drop_soft_blank_of(&mut self, out: &mut TextBuf) {
        if self.state().soft_end == out.len {
            out.len -= 1;
            self.change().soft_end = usize::MAX;
        }
    }

    fn put_flags(&mut self, out: &mut TextBuf, table: &[u64], value: u64) {
        self.charge(table.len() / FLAG_WORDS);
        // All entries are tested, also after a match: BITFLAGS is a list of questions, not a switch.
        for entry in table.chunks_exact(FLAG_WORDS) {
            let &[mask, field, yes, no, soft] = entry else { return };
            let (string, soft) = if value & mask == field { (yes, soft & 1) } else { (no, soft >> 1 & 1) };
            let (offset, len) = table::unpack_str(string);
            let text = self.program.strings().get(offset..offset + len).unwrap_or(b"");
            // A table may have thousands of entries, each with a long text.
            if self.is_over(out.len) {
                return;
            }
            if matches!(text, [b' ' | b'\t', ..]) {
                self.drop_soft_blank_of(out);
            }
            self.push(out, text);
            if soft == 1 {
                out.push(b" ");
                self.change().soft_end = out.len;
            }
        }
    }

    /// Fast path of [`Run::dump`]: the event contains all bytes, and their text fits into the room that every instruction finds.
    /// Returns the new end of the text.
    #[inline(always)]
    pub(super) fn short_dump(&mut self, at: OutPtr, count: u64, soft: bool, out: &mut TextBuf) -> Option<OutPtr> {
        if !(1..=SHORT_DUMP.min(self.state().turns as usize) as u64).contains(&count) {
            return None;
        }
        let end = at.add(count as usize * if soft { 3 } else { 2 });
        if !self.stage.has_room(end) {
            return None;
        }
        let bytes = self.cursor.take_all(count)?;
        // Each byte counts as an iteration, as in the loop that it replaces.
        self.change_by_dump().turns -= count as u32;
        // The digits come last, so that nothing else has to be kept during the call.
        let room = unchecked!(room: self.stage.room(out, at));
        if soft {
            self.change_by_dump().soft_end = self.stage.offset(end);
            num::hex_dump::<3>(room, bytes);
        } else {
            num::hex_dump::<2>(room, bytes);
        }
        Some(end)
    }

    /// Runs `LOOP count { X0 }` or `{ X1 }`. It stops after the first byte past the end of the event. Returns false if
    /// a limit is reached.
    pub(super) fn dump(&mut self, out: &mut TextBuf, count: u64, soft: bool) -> bool {
        let mut left = if (count as i64) < 0 || self.cursor.truncated { 0 } else { count };
        // A count of four billion is cut before its bytes are copied, not afterwards.
        let text_left = (self.text_limit() + 1).saturating_sub(out.len);
        let whole = self.cursor.take_whole(left.min(self.state().turns.into()).min(text_left as u64));
        self.put_pairs(out, whole, soft);
        left -= whole.len() as u64;
        self.change().turns -= whole.len() as u32;
        // Only the byte after the end of the event, or a limit, is left.
        while left > 0 && !self.cursor.truncated {
            if out.len > self.text_limit() || !self.count_iteration() {
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
