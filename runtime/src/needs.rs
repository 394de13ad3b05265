//! What a report needs of the events that it does not show: the rest is stepped over.

use crate::catalog::{Catalog, Entry};
use crate::ids::IdSet;
use crate::reader::aix::hooks;
use crate::report::ReportOptions;
use tfbc_vm::{EnvText, EnvValue, Instr, Kind, Op, Program, Space};

/// What a report needs.
pub(crate) struct Needs {
    /// Events of other ids neither show nor do anything; `None` where hardly any could be left out.
    pub ids: Option<IdSet>,
    /// Whether anything asks for processes, threads, CPUs or system calls.
    pub context: bool,
    /// Whether an event that is shown asks for timers: then those that are not shown have to set them.
    pub timers: bool,
}

impl Needs {
    /// The needs of a report with these options.
    pub fn of(catalog: &Catalog<'_>, options: &ReportOptions) -> Self {
        let mut ids = IdSet::default();
        let mut context = options.columns.need_context() || options.filter.asks_for_facts();
        let mut timers = false;
        let mut readers = Readers::new(catalog);
        let entries = || (0..=u16::MAX).filter_map(|id| Some((id, catalog.lookup(id)?)));
        let shown = |id| options.filter.shows(id) && (!options.defined || catalog.defines(id));
        for (id, entry) in entries().filter(|(id, _)| shown(*id)) {
            let asked = readers.asked(entry);
            ids.insert(id);
            context |= asked.context;
            timers |= asked.timers;
        }
        if timers {
            for (id, entry) in entries().filter(|(id, entry)| entry.has_effects && !shown(*id)) {
                ids.insert(id);
                context |= readers.asked(entry).context;
            }
        }
        if options.filter.only.is_none() && !options.defined {
            return Self { ids: None, context, timers };
        }
        for id in [hooks::TRACE_ON, hooks::TRACE_OFF, hooks::HEADER, hooks::UTILITY] {
            ids.insert(id);
        }
        if context {
            options.context.ids().for_each(|id| ids.insert(id));
        }
        Self { ids: Some(ids), context, timers }
    }
}

/// What an entry asks for.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    context: bool,
    timers: bool,
}

impl Asked {
    fn or(self, other: Self) -> Self {
        Self { context: self.context | other.context, timers: self.timers | other.timers }
    }
}

/// What the entries of a catalog ask for.
struct Readers<'c> {
    catalog: &'c Catalog<'c>,
    /// By program and routine, what it calls included.
    routines: Vec<Vec<Asked>>,
    /// The entry that was looked up last: many ids share one.
    last: Option<(&'c Entry, Asked)>,
}

impl<'c> Readers<'c> {
    fn new(catalog: &'c Catalog<'c>) -> Self {
        Self { catalog, routines: catalog.programs().iter().map(routines).collect(), last: None }
    }

    fn asked(&mut self, entry: &'c Entry) -> Asked {
        match self.last {
            Some((last, asked)) if std::ptr::eq(last, entry) => asked,
            _ => {
                let asked = self.look_up(entry);
                self.last = Some((entry, asked));
                asked
            }
        }
    }

    fn look_up(&self, entry: &Entry) -> Asked {
        let program = self.catalog.program(entry);
        let Some(hook) = program.entry_at(entry.hook) else { return Asked::default() };
        let envs = Space::Hook.envs();
        let routines = envs.into_iter().filter_map(|env| program.routine_of(&hook, env));
        let known = &self.routines[entry.program_index()];
        routines.fold(Asked::default(), |asked, routine| asked.or(known[routine.index as usize]))
    }
}

/// What each routine asks for. Routines call only those of lower numbers (rule V11).
fn routines(program: &Program<'_>) -> Vec<Asked> {
    let telling: Vec<bool> = (0..=u8::MAX).map(|op| Op::from_u8(op).is_some_and(tells)).collect();
    let mut known: Vec<Asked> = Vec::new();
    for routine in program.routines() {
        let mut asked = Asked::default();
        for instr in routine.code.iter().filter(|instr| telling[usize::from(instr.op)]) {
            asked.context |= asks(instr);
            asked.timers |= Op::from_u8(instr.op) == Some(Op::TimerEnd);
            for callee in operands(instr, Kind::Routine) {
                asked = asked.or(known.get(callee as usize).copied().unwrap_or_default());
            }
        }
        known.push(asked);
    }
    known
}

/// Whether instructions with an opcode may ask for something.
fn tells(op: Op) -> bool {
    matches!(op, Op::PutPath | Op::TimerEnd)
        || op.info().operands.iter().any(|(_, _, kind)| matches!(kind, Kind::Value | Kind::Name | Kind::Routine))
}

/// Whether an instruction asks for more than the event and the system.
fn asks(instr: &Instr) -> bool {
    const VALUES: [EnvValue; 3] = [EnvValue::Pid, EnvValue::Cpu, EnvValue::Priority];
    const TEXTS: [EnvText; 2] = [EnvText::Svc, EnvText::ExecPath];
    Op::from_u8(instr.op) == Some(Op::PutPath)
        || operands(instr, Kind::Value).any(|value| VALUES.iter().any(|known| *known as u32 == value))
        || operands(instr, Kind::Name).any(|name| TEXTS.iter().any(|known| *known as u32 == name))
}

/// The operands of a kind.
fn operands(instr: &Instr, kind: Kind) -> impl Iterator<Item = u32> {
    let operands = Op::from_u8(instr.op).map_or(&[][..], |op| op.info().operands);
    operands.iter().filter(move |(_, _, known)| *known == kind).map(|(_, slot, _)| instr.slot(*slot))
}

#[cfg(all(test, feature = "compiler"))]
mod tests {
    use super::*;
    use crate::catalog::{FormatSet, LoadOptions};
    use crate::columns::{Column, Columns, Timestamp};
    use std::fs;

    const FORMATS: &str = "\
010 1.0 L=0 \"\" $D1
011 1.0 L=0 \"\" $PID
012 1.0 L=0 \"\" $SVC
013 1.0 L=0 \"\" $011
014 1.0 L=0 \"\" starttimer(1,1)
015 1.0 L=0 \"\" $TID $LOGFILE $TRACEENV
016 1.0 L=0 \"\" endtimer(1,1)
";

    /// Whether context is needed, and which of the hooks 010 to 016 are.
    fn needs(only: Option<&str>, columns: Columns) -> (bool, Option<String>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.trcfmt");
        fs::write(&path, FORMATS).unwrap();
        let set = FormatSet::load(&[path], &LoadOptions::default()).unwrap();
        let catalog = set.catalog().unwrap();
        let mut options = ReportOptions { columns, ..ReportOptions::default() };
        options.filter.only = only.map(|list| IdSet::parse(list).unwrap());
        let needs = Needs::of(&catalog, &options);
        let digit = |id: u16| needs.ids.as_ref().unwrap().contains(0x0100 + 16 * id);
        let ids = needs.ids.is_some().then(|| (0..7).filter(|id| digit(*id)).map(|id| id.to_string()).collect());
        (needs.context, ids)
    }

    #[test]
    fn what_is_shown_or_sets_timers_for_it_is_needed() {
        let plain = Columns::default();
        for (only, needed) in [("010", "0"), ("015", "5"), ("014", "4"), ("016", "46")] {
            assert_eq!(needs(Some(only), plain.clone()), (false, Some(String::from(needed))), "{only}");
        }
        for reader in ["011", "012", "013"] {
            assert!(needs(Some(reader), plain.clone()).0, "{reader}");
        }
        assert_eq!(needs(None, plain), (true, None));
    }

    #[test]
    fn columns_need_context() {
        for column in [Column::Exec, Column::Pid, Column::Cpu, Column::Svc] {
            assert!(needs(Some("010"), Columns::new(&[column], Timestamp::Milli)).0);
        }
        assert!(!needs(Some("010"), Columns::new(&[Column::Tid], Timestamp::Milli)).0);
    }
}
