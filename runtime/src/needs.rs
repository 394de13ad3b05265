//! What a report needs of the events that it does not show: the rest is stepped over.

use crate::catalog::{Catalog, Entry};
use crate::ids::IdSet;
use crate::reader::aix::hooks;
use crate::report::ReportOptions;
use std::collections::HashMap;
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
        let mut readers = Readers::default();
        let entries = || (0..=u16::MAX).filter_map(|id| Some((id, catalog.lookup(id)?)));
        let shown = |id| options.filter.shows(id) && (!options.defined || catalog.defines(id));
        for (id, entry) in entries().filter(|(id, _)| shown(*id)) {
            let asked = readers.asked(catalog, entry);
            ids.insert(id);
            context |= asked.context;
            timers |= asked.timers;
        }
        for (id, entry) in entries().filter(|(id, entry)| timers && entry.has_effects && !shown(*id)) {
            ids.insert(id);
            context |= readers.asked(catalog, entry).context;
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

/// What the entries of programs ask for, as far as it was looked up.
#[derive(Default)]
struct Readers {
    known: HashMap<(usize, u32), Asked>,
}

impl Readers {
    fn asked(&mut self, catalog: &Catalog<'_>, entry: &Entry) -> Asked {
        let program = catalog.program(entry);
        let key = (std::ptr::from_ref(program).addr(), entry.hook);
        *self.known.entry(key).or_insert_with(|| asked(program, entry.hook))
    }
}

/// What an entry asks for, by itself or through what it calls.
fn asked(program: &Program<'_>, hook: u32) -> Asked {
    let mut asked = Asked::default();
    let Some(hook) = program.entry_at(hook) else { return asked };
    let routines = Space::Hook.envs().into_iter().filter_map(|env| program.routine_of(&hook, env));
    let mut waiting: Vec<u32> = routines.map(|routine| routine.index).collect();
    let mut seen = waiting.clone();
    while let Some(index) = waiting.pop() {
        let Some(routine) = program.routines().nth(index as usize) else { continue };
        for instr in routine.code {
            asked.context |= asks(instr);
            asked.timers |= Op::from_u8(instr.op) == Some(Op::TimerEnd);
            for callee in operands(instr, Kind::Routine) {
                if !seen.contains(&callee) {
                    seen.push(callee);
                    waiting.push(callee);
                }
            }
        }
    }
    asked
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
