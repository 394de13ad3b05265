//! Opened blobs: verification, and lookup of the routines for a hook.

use crate::blob::{self, HookRow, RoutineRow, Sections};
#[cfg(not(feature = "safe"))]
use crate::machine::{Straight, StraightStart};
use crate::mem::{part, prefetch, row_at, tail, unchecked};
use crate::op::StateUse;
use crate::table::TableKind;
use crate::verify::{self, Endianness, Proofs};
use crate::{BlobError, Env, Instr, Schema, SourcePos, Space};
use std::sync::Arc;

/// Verified program, immutable and shared between threads.
///
/// [`Program::open`] verifies all routines at once. [`Program::open_for_text`] verifies only those that print text, and
/// [`Program::open_lazily`] none; both verify every other routine before it runs for the first time.
#[derive(Debug, Clone)]
pub struct Program<'b> {
    sections: Sections<'b>,
    /// Verification results so far; `None` if everything was verified.
    proofs: Option<Arc<Proofs>>,
    /// Start data of the verified routines, four per hook: of all hooks, of those that print text, or of none.
    starts: Box<[Start]>,
    pub(crate) settings: RunSettings,
}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Program<'_>>();
};

/// Settings of the dialect that act at run time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunSettings {
    /// Time in µs from which timers print ms; shorter times print µs.
    pub msec_from_usec: u64,
    /// True if the key of a timer includes the thread.
    pub timer_by_thread: bool,
    /// True if error numbers print as names.
    pub errno_names: bool,
}

impl RunSettings {
    fn read(dialect: &[u8]) -> RunSettings {
        let mut settings = RunSettings { msec_from_usec: 1000, timer_by_thread: false, errno_names: true };
        for line in String::from_utf8_lossy(dialect).lines() {
            match line.split_once('=') {
                Some(("msec", value)) => settings.msec_from_usec = value.parse().unwrap_or(1000),
                Some(("timer-key", value)) => settings.timer_by_thread = value == "thread",
                Some(("errno", value)) => settings.errno_names = value != "number",
                _ => {}
            }
        }
        settings
    }
}

/// Text column of a hook's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Level {
    /// Application, column 1.
    Appl,
    /// System call, column 2.
    Svc,
    /// Kernel, column 3.
    Kern,
    /// Interrupt, column 4.
    Int,
    /// No report columns, text from column 0.
    Zero,
}

impl Level {
    /// Every level, by number.
    pub const ALL: [Level; 5] = [Level::Appl, Level::Svc, Level::Kern, Level::Int, Level::Zero];
}

/// Entry of a program: an AIX hook id, or a QNX class and event.
#[derive(Debug, Clone, Copy)]
pub struct Hook<'p> {
    /// Space of the id.
    pub space: Space,
    /// The canonical 16-bit id, or `class << 10 | event`.
    pub id: u16,
    /// Version and release.
    pub version: (u32, u32),
    /// Text column.
    pub level: Level,
    /// The label without its `@`.
    pub label: &'p [u8],
    /// True if the label is listed but not printed.
    pub hidden: bool,
    /// True for the built-in stanza of a reserved hook that no file redefines.
    pub builtin: bool,
    /// True if the hook may start or end a timer, or stop the report. Such a hook runs even if it is filtered out.
    pub has_effects: bool,
    /// Name of the source.
    pub source: &'p [u8],
    /// Line of the stanza in the source, from 1.
    pub line: u32,
    /// Index for [`crate::Machine::run`].
    pub index: u32,
}

/// Routine, for listings. In a lazily opened program its instructions may break any rule.
#[derive(Debug, Clone, Copy)]
pub struct Routine<'p> {
    /// Its index.
    pub index: u32,
    /// The stanza's id or function's name with its environment, such as `010 hook32`.
    pub name: &'p [u8],
    /// Its instructions.
    pub code: &'p [Instr],
    /// Source position per instruction.
    pub places: &'p [SourcePos],
    /// Event bytes that its fixed reads need.
    pub need: u32,
    /// True if other routines call it, false for an event's own.
    pub called: bool,
}

/// Number of routine shapes that are distinguished.
pub(crate) const SHAPES: usize = 64;

/// Data needed to start a routine: parts of its row (rule V12), and what its verification found (`Proofs::facts`). It
/// is a copy, so that one load finds all of it, and so that a program that is verified at once keeps no proofs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    start: u32,
    body: u32,
    /// Event bytes that the routine's fixed reads need.
    pub need: u32,
    /// Number of registers to zero.
    pub zeroed: u16,
    /// Byte orders of its numbers.
    pub orders: Endianness,
    /// State use in the two low bits, shape in the others.
    uses_and_shape: u8,
}

impl Start {
    /// Start data of a sound routine.
    fn of(sections: &Sections<'_>, proofs: &Proofs, routine: u32) -> Self {
        let RoutineRow { start, body, need, zeroed, shape, .. } = sections.routines[routine as usize];
        let (orders, uses) = proofs.facts(routine);
        Start { start, body, need, zeroed, orders, uses_and_shape: uses as u8 | shape << 2 }
    }

    /// Start data of the routines of the first `n` hooks, which are sound.
    fn all(sections: &Sections<'_>, proofs: &Proofs, n: usize) -> Box<[Self]> {
        let routines = sections.hooks[..n].iter().flat_map(|hook| hook.routines);
        routines.map(|routine| Start::of(sections, proofs, routine)).collect()
    }

    /// State used by the routine.
    #[inline(always)]
    pub fn uses(&self) -> StateUse {
        StateUse::from_bits(self.uses_and_shape)
    }

    /// Shape of the routine, below [`SHAPES`].
    #[inline(always)]
    pub fn shape(&self) -> u8 {
        self.uses_and_shape >> 2
    }
}

/// Routine of a hook in one environment, resolved once for all its events ([`Program::prepare`]).
///
/// ```
/// use tfbc_vm::{Context, Event, EventInput, Layout, LineStart, Machine, Timers, TextBuf};
/// # use tfbc_vm::{BlobBuilder, HookRow, Instr, Op, SourcePos, Program, RoutineRow};
/// # let mut blob = BlobBuilder::new();
/// # blob.source("doc", b"");
/// # let code = [Instr::of(Op::Take, &[0, 4]), Instr::of(Op::PutHex, &[0, 8])];
/// # let routine = blob.routine(RoutineRow { need: 4, ..RoutineRow::default() }, &code, &[SourcePos::default(); 2]);
/// # blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
/// # let blob = blob.finish();
/// # let program = Program::open(&blob).unwrap();
/// let hook = program.hook(0x0100).unwrap().index;
/// let events = [b"\x10\x0a\0\x01", b"\x10\x0a\0\x02"]
///     .map(|bytes| Event { bytes, wide: false, record: None, time_ns: 0, offset: 0 });
/// let (mut machine, mut timers, mut text) = (Machine::default(), Timers::new(), TextBuf::new());
/// let prepared = program.prepare(hook, events[0].env_index()).unwrap();
/// let mut run = machine.start(&program, &mut timers);
/// for event in &events {
///     let line = text.len();
///     let number = |room: &mut [u8; tfbc_vm::COLUMNS]| {
///         room[..2].copy_from_slice(b"# ");
///         2
///     };
///     let (input, start) = (EventInput { event, context: &Context::EMPTY }, LineStart { layout: Layout::default(), line });
///     assert!(run.run_prepared(&prepared, &input, start, number, &mut text));
/// }
/// assert_eq!(text.as_bytes(), b"# 100A0001\n# 100A0002\n");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct PreparedEntry<'r> {
    pub(crate) program: &'r Program<'r>,
    /// Instructions, beginning with the routine's first one.
    pub(crate) code: &'r [Instr],
    /// Shape of the routine, below [`SHAPES`].
    pub(crate) shape: u8,
    /// Number of instructions in the routine's body.
    pub(crate) body: u32,
    /// Event bytes that its fixed reads need.
    pub(crate) need: u32,
    /// Start of the routine if it is straight.
    #[cfg(not(feature = "safe"))]
    pub(crate) straight: StraightStart,
    /// Event bytes for which the routine runs as a straight one; `u32::MAX` if it is not straight.
    #[cfg(not(feature = "safe"))]
    pub(crate) straight_need: u32,
    /// Index of the entry's start data ([`Program::start_index`]).
    pub(crate) start_index: u32,
    /// Number of registers to zero.
    pub(crate) zeroed: u16,
    pub(crate) orders: Endianness,
    pub(crate) uses: StateUse,
}

impl<'r> PreparedEntry<'r> {
    #[inline(always)]
    pub(crate) fn of(program: &'r Program<'r>, start_index: usize, start: &Start) -> Self {
        let (code, body) = program.code_at(start);
        let &Start { need, zeroed, orders, .. } = start;
        let (shape, uses) = (start.shape(), start.uses());
        let (body, start_index) = (body as u32, start_index as u32);
        Self {
            program,
            code,
            shape,
            body,
            need,
            #[cfg(not(feature = "safe"))]
            straight: StraightStart::none(code),
            #[cfg(not(feature = "safe"))]
            straight_need: u32::MAX,
            start_index,
            zeroed,
            orders,
            uses,
        }
    }

    /// Lets the routine run without the loop, if it is straight. Only prepared entries do, because this takes longer than
    /// an event.
    #[cfg(not(feature = "safe"))]
    fn straightened(self) -> Self {
        let row = self.program.hook_row(self.start_index as usize / 4);
        let is_wide = self.start_index & 2 != 0 && row.is_some_and(|row| row.space() == Space::Hook);
        match self.code.get(..self.body as usize).and_then(Straight::of) {
            Some(found) if is_wide || !found.is_wide => {
                let straight = StraightStart::of(self.orders, self.code, self.body);
                Self { straight, straight_need: self.need, ..self }
            }
            _ => self,
        }
    }

    /// Prefetches the entry, which is used some events later.
    #[inline(always)]
    pub fn prefetch(&self) {
        prefetch(self);
    }

    /// Prefetches the routine's first instructions.
    #[inline(always)]
    pub fn prefetch_code(&self) {
        prefetch(self.code.as_ptr());
        prefetch(self.code.as_ptr().wrapping_add(2));
    }

    /// The entry of a routine that checks each access, as for an event that is too short.
    #[must_use]
    pub fn checked(self) -> Self {
        Self {
            need: u32::MAX,
            #[cfg(not(feature = "safe"))]
            straight_need: u32::MAX,
            ..self
        }
    }

    /// The program of the routine.
    pub fn program(&self) -> &'r Program<'r> {
        self.program
    }
}

impl<'b> Program<'b> {
    /// Opens and verifies a blob; the program borrows its bytes. Bytes at an address that is a multiple of 8 are used
    /// in place, others are copied.
    ///
    /// # Errors
    /// The first problem found, with its offset or the broken rule.
    pub fn open(bytes: &'b [u8]) -> Result<Self, BlobError> {
        let sections = blob::open(bytes, true)?;
        let proofs = verify::verify(&sections)?;
        let starts = Start::all(&sections, &proofs, sections.hooks.len());
        Ok(Self::new(sections, None, starts))
    }

    /// Opens a blob and verifies all code that prints text. The fields of an entry are verified when they are first
    /// asked for: storing them takes as much code as printing the text, and most commands ask for none. An entry has no
    /// fields if the verifier refuses them.
    ///
    /// # Errors
    /// The first problem found, with its offset or the broken rule.
    pub fn open_for_text(bytes: &'b [u8]) -> Result<Self, BlobError> {
        let sections = blob::open(bytes, true)?;
        let proofs = verify::verify_text(&sections)?;
        // Rows are sorted by space, and the spaces of fields are the last.
        let n_hooks = sections.hooks.partition_point(|hook| hook.space().prints());
        let starts = Start::all(&sections, &proofs, n_hooks);
        Ok(Self::new(sections, Some(Arc::new(proofs)), starts))
    }

    /// Opens a blob without verifying its code: only header, section table and the rows of routines, hooks and sources
    /// are read, so the time does not grow with the code. Each routine is verified, with its callees, before its first
    /// run, and schemas are read when they are asked for. A refused routine never runs: its events print `[refused]` and count as
    /// [`refused`](crate::Outcome::refused).
    ///
    /// The checksum is not verified: altered bytes that satisfy the rules print other text.
    ///
    /// # Errors
    /// A problem with the header, the section table or the rows.
    pub fn open_lazily(bytes: &'b [u8]) -> Result<Self, BlobError> {
        let sections = blob::open(bytes, false)?;
        verify::check_rows(&sections)?;
        let proofs = Some(Arc::new(Proofs::new(&sections)));
        Ok(Self::new(sections, proofs, Box::default()))
    }

    fn new(sections: Sections<'b>, proofs: Option<Arc<Proofs>>, starts: Box<[Start]>) -> Self {
        let settings = RunSettings::read(sections.dialect);
        Program { sections, proofs, starts, settings }
    }

    /// Hook with a canonical id.
    pub fn hook(&self, id: u16) -> Option<Hook<'_>> {
        self.entry(Space::Hook, id)
    }

    /// Entry for records of a class and event.
    pub fn record(&self, class: u8, event: u16) -> Option<Hook<'_>> {
        self.entry(Space::Record, Space::record_id(class, event))
    }

    /// Entry with an id in a space.
    pub fn entry(&self, space: Space, id: u16) -> Option<Hook<'_>> {
        let index = self.sections.hooks.binary_search_by_key(&(space, id), |hook| (hook.space(), hook.id)).ok()?;
        Some(self.hook_at(index))
    }

    /// Entry with an index ([`Hook::index`]).
    pub fn entry_at(&self, index: u32) -> Option<Hook<'_>> {
        ((index as usize) < self.sections.hooks.len()).then(|| self.hook_at(index as usize))
    }

    /// All AIX hooks, by id.
    pub fn hooks(&self) -> impl Iterator<Item = Hook<'_>> {
        self.entries(Space::Hook)
    }

    /// All entries of a space, by id.
    pub fn entries(&self, space: Space) -> impl Iterator<Item = Hook<'_>> {
        (0..self.sections.hooks.len()).map(|index| self.hook_at(index)).filter(move |hook| hook.space == space)
    }

    fn hook_at(&self, index: usize) -> Hook<'_> {
        let row = &self.sections.hooks[index];
        Hook {
            space: row.space(),
            id: row.id,
            version: (row.version, row.release),
            level: Level::ALL[row.level as usize],
            label: self.string(row.label),
            hidden: row.flags & 1 != 0,
            builtin: row.flags & 2 != 0,
            has_effects: row.has_effects(),
            source: self.source_name(row.source),
            line: row.line,
            index: index as u32,
        }
    }

    /// Schema of the fields of a hook; `None` if the blob has none for it, or a malformed one.
    pub fn schema(&self, id: u16) -> Option<Schema> {
        Schema::decode(self.entry(Space::HookFields, id)?.label)
    }

    /// Schema of the fields of a QNX event; `None` if the blob has none for it, or a malformed one.
    pub fn record_schema(&self, class: u8, event: u16) -> Option<Schema> {
        let entry = self.entry(Space::RecordFields, Space::record_id(class, event))?;
        self.has_record_fields().then(|| Schema::decode(entry.label))?
    }

    /// True if the blob has fields. Blobs of version 5 have none.
    pub fn has_fields(&self) -> bool {
        self.sections.hooks.last().is_some_and(|hook| hook.space() == Space::HookFields)
    }

    /// True if the blob may have fields of QNX records. Blobs before version 7 have none.
    pub fn has_record_fields(&self) -> bool {
        self.sections.has_record_fields()
    }

    /// All routines, by index.
    pub fn routines(&self) -> impl Iterator<Item = Routine<'_>> {
        (0..self.sections.routines.len() as u32).map(|index| self.routine_at(index))
    }

    /// Routine of a hook in an environment; `None` if the environment belongs to another space.
    pub fn routine_of(&self, hook: &Hook<'_>, env: Env) -> Option<Routine<'_>> {
        let row = self.sections.hooks.get(hook.index as usize)?;
        let fits = row.space().envs().contains(&env);
        fits.then(|| self.routine_at(row.routines[env.index()]))
    }

    /// Routine with an index. The verifier checked the indices in instructions and hooks.
    pub(crate) fn routine_at(&self, index: u32) -> Routine<'_> {
        let row = &self.sections.routines[index as usize];
        let range = row.start as usize..row.start as usize + row.len as usize;
        Routine {
            index,
            name: self.string(row.name),
            code: &self.sections.code[range.clone()],
            places: &self.sections.places[range],
            need: row.need,
            called: row.called != 0,
        }
    }

    /// Instructions of a routine, and the length of its body. The verifier checked the rows and the indices that refer
    /// to them.
    #[inline]
    pub(crate) fn code_of(&self, index: u32) -> (&[Instr], usize) {
        let Some(row) = self.sections.routines.get(index as usize) else { return (&[], 0) };
        let code = self.sections.code.get(row.start as usize..row.start as usize + row.len as usize).unwrap_or(&[]);
        (code, row.body as usize)
    }

    /// Index of the start data for a hook in an environment.
    #[inline(always)]
    pub(crate) fn start_index(hook: u32, env: usize) -> usize {
        hook as usize * 4 + (env & 3)
    }

    /// Start data by index ([`start_index`](Program::start_index)); `None` for an unknown hook, and for one that was not
    /// verified when the program was opened.
    #[inline(always)]
    pub(crate) fn start(&self, start_index: usize) -> Option<&Start> {
        self.starts.get(start_index)
    }

    /// Start data for a lazily opened program; `None` for an unknown hook or a refused routine (rule P1).
    #[inline(never)]
    pub(crate) fn start_lazily(&self, start_index: usize) -> Option<Start> {
        let routine = self.sections.hooks.get(start_index / 4)?.routines[start_index % 4];
        let proofs = self.proofs.as_ref()?;
        proofs.satisfies_rules(&self.sections, routine).then(|| Start::of(&self.sections, proofs, routine))
    }

    /// Instructions from a routine's first one to the end of the section, and the length of its body.
    #[inline(always)]
    pub(crate) fn code_at(&self, start: &Start) -> (&[Instr], usize) {
        (unchecked!(Rows: tail(&self.sections.code, start.start as usize)), start.body as usize)
    }

    /// Resolves the routine of a hook in an environment, given by its index in the space
    /// ([`Event::env_index`](crate::Event::env_index)). Returns `None` for an unknown hook or a refused routine.
    pub fn prepare(&self, hook: u32, env: usize) -> Option<PreparedEntry<'_>> {
        let start_index = Program::start_index(hook, env);
        let entry = PreparedEntry::of(self, start_index, &self.verified_start(start_index)?);
        #[cfg(not(feature = "safe"))]
        let entry = entry.straightened();
        Some(entry)
    }

    /// Start data by index; verifies the routine if that has not happened.
    pub(crate) fn verified_start(&self, start_index: usize) -> Option<Start> {
        self.start(start_index).copied().or_else(|| self.start_lazily(start_index))
    }

    /// Index of the routine for an index of [`Program::start_index`]; 0 for an unknown hook.
    pub(crate) fn routine_in(&self, start_index: usize) -> u32 {
        self.sections.hooks.get(start_index / 4).map_or(0, |hook| hook.routines[start_index % 4])
    }

    /// Names of the sources, in order.
    pub fn sources(&self) -> impl Iterator<Item = &[u8]> {
        self.sections.sources.iter().map(|row| self.string(row.name))
    }

    /// Name of a source; empty for an unknown one.
    pub fn source_name(&self, index: u16) -> &[u8] {
        self.sections.sources.get(index as usize).map_or(b"", |row| self.string(row.name))
    }

    /// Dialect that the program was compiled for: `NAME=VALUE` lines of the settings that differ from the default.
    pub fn dialect(&self) -> &[u8] {
        self.sections.dialect
    }

    /// Text of the string pool. The verifier checked the strings in rows.
    pub(crate) fn string(&self, [offset, len]: [u32; 2]) -> &[u8] {
        self.strings().get(offset as usize..offset as usize + len as usize).unwrap_or(b"")
    }

    pub(crate) fn strings(&self) -> &[u8] {
        self.sections.strings
    }

    /// True if a routine may run (rule P1).
    pub(crate) fn is_sound(&self, routine: u32) -> bool {
        self.proofs.as_ref().is_none_or(|proofs| proofs.satisfies_rules(&self.sections, routine))
    }

    /// True if there is a hook with the index.
    pub(crate) fn has_hook(&self, index: usize) -> bool {
        index < self.sections.hooks.len()
    }

    pub(crate) fn hook_row(&self, index: usize) -> Option<&HookRow> {
        self.sections.hooks.get(index)
    }

    /// Number of instructions, of all routines together.
    pub fn n_instrs(&self) -> usize {
        self.sections.code.len()
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.sections.words
    }

    /// Kind and words of a table, by the index in an instruction.
    #[inline]
    pub(crate) fn table(&self, index: u32) -> (TableKind, &[u64]) {
        let row = unchecked!(Tables: row_at(&self.sections.tables, index as usize));
        let words = unchecked!(Tables: part(self.words(), row.start as usize, row.len as usize));
        (TableKind::from_u32(row.kind).unwrap_or(TableKind::Dense), words)
    }
}
