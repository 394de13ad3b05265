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
}

impl Needs {
    /// The needs of a report with these options.
    pub fn of(catalog: &Catalog<'_>, options: &ReportOptions) -> Self {
        let mut ids = IdSet::default();
        let mut context = options.columns.need_context() || options.filter.asks_for_facts();
        let mut readers = Readers::default();
        for id in 0..=u16::MAX {
            let Some(entry) = catalog.lookup(id) else { continue };
            let shown = options.filter.shows(id) && (!options.defined || catalog.defines(id));
            if shown || entry.has_effects {
                ids.insert(id);
                context = context || readers.reads_context(catalog, entry);
            }
        }
        if options.filter.only.is_none() && !options.defined {
            return Self { ids: None, context };
        }
        for id in [hooks::TRACE_ON, hooks::TRACE_OFF, hooks::HEADER, hooks::UTILITY] {
            ids.insert(id);
        }
        if context {
            options.context.ids().for_each(|id| ids.insert(id));
        }
        Self { ids: Some(ids), context }
    }
}

/// Programs' entries, and whether they read what the events before have told.
#[derive(Default)]
struct Readers {
    known: HashMap<(usize, u32), bool>,
}

impl Readers {
    fn reads_context(&mut self, catalog: &Catalog<'_>, entry: &Entry) -> bool {
        let program = catalog.program(entry);
        let key = (std::ptr::from_ref(program).addr(), entry.hook);
        *self.known.entry(key).or_insert_with(|| reads_context(program, entry.hook))
    }
}

fn reads_context(program: &Program<'_>, hook: u32) -> bool {
    let Some(hook) = program.entry_at(hook) else { return false };
    let routines = Space::Hook.envs().into_iter().filter_map(|env| program.routine_of(&hook, env));
    let mut waiting: Vec<u32> = routines.map(|routine| routine.index).collect();
    let mut seen = waiting.clone();
    while let Some(index) = waiting.pop() {
        let Some(routine) = program.routines().nth(index as usize) else { continue };
        for instr in routine.code {
            if asks(instr) {
                return true;
            }
            for callee in operands(instr, Kind::Routine) {
                if !seen.contains(&callee) {
                    seen.push(callee);
                    waiting.push(callee);
                }
            }
        }
    }
    false
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
";

    /// Whether context is needed, and which of the hooks 010 to 015 are.
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
        let ids = needs.ids.is_some().then(|| (0..6).filter(|id| digit(*id)).map(|id| id.to_string()).collect());
        (needs.context, ids)
    }

    #[test]
    fn what_is_shown_or_has_effects_is_needed() {
        let plain = Columns::default();
        assert_eq!(needs(Some("010"), plain.clone()), (false, Some(String::from("04"))));
        assert_eq!(needs(Some("015"), plain.clone()), (false, Some(String::from("45"))));
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
