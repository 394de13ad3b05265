//! Filter and projection pushed down to the reader: which hidden events must still be read, for context or timers.

use crate::aix_report::options::AixReportOptions;
use crate::catalog::{Catalog, HookEntry};
use crate::conditions::required_context;
use crate::context::RequiredContext;
use crate::general_path;
use crate::ids::IdSet;
use crate::reader::aix::{SkipAction, SkipPolicy, hooks};
use tfbc_vm::{EnvText, EnvValue, Instr, Op, OperandKind, Program, Space};

/// Demand of a report on its reader.
pub(crate) struct Demand {
    /// Ids that must be read; `None` if hardly any event could be skipped.
    pub ids: Option<IdSet>,
    /// True if anything in the report depends on processes, threads, CPUs or system calls.
    pub context: bool,
    /// True if lines depend on them, and not only the choice of events.
    pub context_in_lines: bool,
    /// Required context besides processes and CPUs.
    pub wanted: RequiredContext,
    /// True if a shown event reads timers. Hidden events must then still start them.
    pub timers: bool,
}

impl Demand {
    /// Computes the demand of a report with these options.
    fn of(readers: &mut Readers<'_>, options: &AixReportOptions) -> Self {
        if options.filter.only.is_none() && !options.defined {
            return Self::of_nearly_all(readers, options);
        }
        let catalog = readers.catalog;
        let mut ids = IdSet::default();
        let mut asked = RequiredState::of_lines(options);
        let entries = || (0..=u16::MAX).filter_map(|id| Some((id, catalog.lookup(id)?)));
        let shown = |id| options.shows(catalog, id);
        for (id, entry) in entries().filter(|(id, _)| shown(*id)) {
            ids.insert(id);
            asked = asked.or(readers.state_of(entry));
        }
        if asked.timers {
            for (id, entry) in entries().filter(|(id, entry)| entry.has_effects && !shown(*id)) {
                ids.insert(id);
                asked = asked.or(readers.state_of(entry));
            }
        }
        let context_in_lines = asked.context;
        asked = asked.or(RequiredState::of_filter(options));
        for id in [hooks::TRACE_ON, hooks::TRACE_OFF, hooks::HEADER, hooks::UTILITY] {
            ids.insert(id);
        }
        if asked.context {
            options.context.ids().for_each(|id| ids.insert(id));
        }
        let RequiredState { context, wanted, timers, .. } = asked;
        Self { ids: Some(ids), context, context_in_lines, wanted, timers }
    }

    /// Demand of a report that shows nearly all events: all ids are read, and only unused context is left out.
    fn of_nearly_all(readers: &mut Readers<'_>, options: &AixReportOptions) -> Self {
        let catalog = readers.catalog;
        let serves_others = |id| matches!(id, hooks::UNDEFINED | hooks::ID_IS_ZERO);
        let shown = |entry: &&HookEntry| options.filter.shows(entry.id()) || serves_others(entry.id());
        let of_shown = catalog.entries().filter(shown).map(|entry| readers.state_of(entry));
        let mut asked = of_shown.fold(RequiredState::of_lines(options), RequiredState::or);
        if asked.timers {
            let setting = catalog.entries().filter(|entry| entry.has_effects).map(|entry| readers.state_of(entry));
            asked = setting.fold(asked, RequiredState::or);
        }
        let context_in_lines = asked.context;
        let RequiredState { context, wanted, timers, .. } = asked.or(RequiredState::of_filter(options));
        Self { ids: None, context, context_in_lines, wanted, timers }
    }
}

/// Disposition of the events of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Disposition {
    /// Not computed yet.
    #[default]
    Unknown,
    /// Hidden, and without effects.
    Nothing,
    /// Hidden, but may start timers that shown events read.
    Effects,
    /// Shown.
    Show,
    /// Shown, and formatted in order: the text depends on earlier events, or the template may end the report.
    ShowInOrder,
}

/// Disposition of events by id, computed at the first event with that id.
pub(crate) struct EventPolicy<'p> {
    readers: Readers<'p>,
    options: &'p AixReportOptions,
    pub needs: Demand,
    dispositions: Box<[Disposition]>,
    policy: Box<SkipPolicy>,
    /// Ids of events that change the context, shown or hidden.
    stateful_ids: IdSet,
    /// True if events that show gaps are visited, shown or hidden.
    visits_gaps: bool,
    /// True if templates run only for what they leave: timers, skipped events, the end of the report.
    only_effects: bool,
}

impl<'p> EventPolicy<'p> {
    /// Creates the policy of a report with these options.
    ///
    /// `with_fields` is true if something reads the events' fields, `only_counts` if nothing reads their texts.
    pub fn new(catalog: &'p Catalog<'p>, options: &'p AixReportOptions, with_fields: bool, only_counts: bool) -> Self {
        let mut readers = Readers::new(catalog);
        (readers.with_fields, readers.only_counts) = (with_fields, only_counts);
        let needs = Demand::of(&mut readers, options);
        let mut stateful_ids = IdSet::default();
        if needs.context {
            options.context.ids().for_each(|id| stateful_ids.insert(id));
        }
        let dispositions = vec![Disposition::Unknown; 1 << 16].into_boxed_slice();
        Self {
            readers,
            options,
            needs,
            dispositions,
            policy: Box::default(),
            stateful_ids,
            visits_gaps: false,
            only_effects: false,
        }
    }

    /// Runs templates only for what they leave: timers, skipped events, the end of the report. Events whose templates
    /// only start and end timers are passed to the visitor. The policy is one of a report that only counts.
    #[must_use]
    pub fn running_for_effects(mut self) -> Self {
        self.only_effects = true;
        self
    }

    /// Visits events that show gaps, shown or hidden.
    #[must_use]
    pub fn visiting_gaps(mut self) -> Self {
        self.visits_gaps = true;
        self.needs.ids.iter_mut().for_each(|ids| hooks::GAPS.into_iter().for_each(|id| ids.insert(id)));
        self
    }

    /// Policy by which the reader skips runs of events.
    pub fn policy(&self) -> &SkipPolicy {
        &self.policy
    }

    /// Disposition of the events of an id.
    #[inline]
    pub fn disposition(&mut self, id: u16) -> Disposition {
        match self.dispositions[usize::from(id)] {
            Disposition::Unknown => self.look_up(id),
            disposition => disposition,
        }
    }

    #[cold]
    fn look_up(&mut self, id: u16) -> Disposition {
        let catalog = self.readers.catalog;
        let disposition = match catalog.lookup(id) {
            Some(entry) if self.options.shows(catalog, id) => {
                let asked = self.readers.state_of(entry);
                let runs =
                    asked.order || asked.timers || general_path::is_in_order() || (self.only_effects && asked.decides);
                let in_order = runs || (self.needs.timers && entry.has_effects);
                if self.only_effects && entry.has_effects && !runs {
                    self.dispositions[usize::from(id)] = Disposition::ShowInOrder;
                    self.policy.set(id, SkipAction::Take);
                    return Disposition::ShowInOrder;
                }
                if in_order { Disposition::ShowInOrder } else { Disposition::Show }
            }
            // Events of the header configure the report itself; no stanza runs for them.
            _ if matches!(id, hooks::HEADER | hooks::UTILITY) => Disposition::Nothing,
            Some(entry) if self.needs.timers && entry.has_effects => Disposition::Effects,
            _ => Disposition::Nothing,
        };
        self.dispositions[usize::from(id)] = disposition;
        let action = match disposition {
            _ if matches!(id, hooks::HEADER | hooks::UTILITY) => SkipAction::Leave,
            _ if self.visits_gaps && hooks::GAPS.contains(&id) => SkipAction::Leave,
            Disposition::Show => SkipAction::Take,
            Disposition::Nothing if !self.stateful_ids.contains(id) => SkipAction::Pass,
            Disposition::Nothing => SkipAction::Leave,
            Disposition::Unknown | Disposition::Effects | Disposition::ShowInOrder => SkipAction::Leave,
        };
        self.policy.set(id, action);
        disposition
    }
}

/// State beyond the event itself that an entry reads.
#[derive(Debug, Clone, Copy, Default)]
struct RequiredState {
    context: bool,
    wanted: RequiredContext,
    timers: bool,
    /// True if the entry must run in the order of events: it may end the report, or reads the paths of all processes.
    order: bool,
    /// True if the entry may skip its event, or end the report.
    decides: bool,
}

impl RequiredState {
    /// State that columns read.
    fn of_lines(options: &AixReportOptions) -> Self {
        let context = options.follow_context || options.columns.need_context();
        Self { context, wanted: options.columns.wanted(), ..Self::default() }
    }

    /// State that the filter and conditions read.
    fn of_filter(options: &AixReportOptions) -> Self {
        let AixReportOptions { filter, conditions, .. } = options;
        let of_conditions = conditions.as_ref().and_then(required_context);
        let context = filter.needs_earlier_events() || of_conditions.is_some();
        Self { context, wanted: of_conditions.unwrap_or_default().or(filter.wanted()), ..Self::default() }
    }

    fn or(self, other: Self) -> Self {
        Self {
            context: self.context | other.context,
            wanted: self.wanted.or(other.wanted),
            timers: self.timers | other.timers,
            order: self.order | other.order,
            decides: self.decides | other.decides,
        }
    }
}

/// State that the entries of a catalog read.
pub(crate) struct Readers<'c> {
    catalog: &'c Catalog<'c>,
    /// State read by each routine and its callees, by program and routine.
    routines: Vec<Vec<RequiredState>>,
    /// Last result, since many ids share one entry.
    last: Option<(&'c HookEntry, RequiredState)>,
    /// True if the report shows fields, whose routines count too.
    with_fields: bool,
    /// True if nothing reads texts, so that only entries run that may skip their event or end the report.
    only_counts: bool,
}

impl<'c> Readers<'c> {
    pub fn new(catalog: &'c Catalog<'c>) -> Self {
        let routines = catalog.programs().iter().map(routines).collect();
        Self { catalog, routines, last: None, with_fields: false, only_counts: false }
    }

    /// True if an entry may skip its event, or end the report.
    pub fn decides(&mut self, entry: &'c HookEntry) -> bool {
        self.state_of(entry).decides
    }

    fn state_of(&mut self, entry: &'c HookEntry) -> RequiredState {
        match self.last {
            Some((last, asked)) if std::ptr::eq(last, entry) => asked,
            _ => {
                let asked = self.look_up(entry);
                self.last = Some((entry, asked));
                asked
            }
        }
    }

    fn look_up(&self, entry: &HookEntry) -> RequiredState {
        let program = self.catalog.program(entry);
        let Some(hook) = program.entry_at(entry.hook) else { return RequiredState::default() };
        let fields = if self.with_fields { program.entry(Space::HookFields, entry.id()) } else { None };
        let envs = Space::Hook.envs();
        let hooks = [Some(hook), fields].into_iter().flatten();
        let routines = hooks.flat_map(|hook| envs.into_iter().filter_map(move |env| program.routine_of(&hook, env)));
        let known = &self.routines[entry.program_index()];
        let asked = routines.fold(RequiredState::default(), |asked, routine| asked.or(known[routine.index as usize]));
        if self.only_counts && !asked.decides { RequiredState::default() } else { asked }
    }
}

/// Computes the state that each routine reads. One pass is enough, since callees have lower numbers (rule V11).
fn routines(program: &Program<'_>) -> Vec<RequiredState> {
    let stateful_ids: Vec<bool> = (0..=u8::MAX).map(|op| Op::from_u8(op).is_some_and(may_read_state)).collect();
    let mut known: Vec<RequiredState> = Vec::new();
    for routine in program.routines() {
        let mut asked = RequiredState::default();
        for instr in routine.code.iter().filter(|instr| stateful_ids[usize::from(instr.op)]) {
            asked.context |= reads_context(instr);
            asked.wanted.priority |=
                operands(instr, OperandKind::Value).any(|value| value == EnvValue::Priority as u32);
            asked.wanted.svc |= operands(instr, OperandKind::Name).any(|name| name == EnvText::Svc as u32);
            asked.timers |= matches!(Op::from_u8(instr.op), Some(Op::TimerEnd | Op::FieldTimer));
            asked.decides |= matches!(Op::from_u8(instr.op), Some(Op::Skip | Op::Stop));
            asked.order |= matches!(Op::from_u8(instr.op), Some(Op::Stop | Op::PutPath | Op::FieldPath));
            for callee in operands(instr, OperandKind::Routine) {
                asked = asked.or(known.get(callee as usize).copied().unwrap_or_default());
            }
        }
        known.push(asked);
    }
    known
}

/// True if instructions with this opcode may read state beyond the event.
fn may_read_state(op: Op) -> bool {
    matches!(op, Op::PutPath | Op::FieldPath | Op::TimerEnd | Op::FieldTimer | Op::Stop | Op::Skip)
        || op
            .info()
            .operands
            .iter()
            .any(|(_, _, kind)| matches!(kind, OperandKind::Value | OperandKind::Name | OperandKind::Routine))
}

/// True if an instruction reads more than the event and the system's properties.
fn reads_context(instr: &Instr) -> bool {
    const VALUES: [EnvValue; 3] = [EnvValue::Pid, EnvValue::Cpu, EnvValue::Priority];
    const TEXTS: [EnvText; 2] = [EnvText::Svc, EnvText::ExecPath];
    matches!(Op::from_u8(instr.op), Some(Op::PutPath | Op::FieldPath))
        || operands(instr, OperandKind::Value).any(|value| VALUES.iter().any(|known| *known as u32 == value))
        || operands(instr, OperandKind::Name).any(|name| TEXTS.iter().any(|known| *known as u32 == name))
}

/// Operands of a kind.
fn operands(instr: &Instr, kind: OperandKind) -> impl Iterator<Item = u32> {
    let operands = Op::from_u8(instr.op).map_or(&[][..], |op| op.info().operands);
    operands.iter().filter(move |(_, _, known)| *known == kind).map(|(_, slot, _)| instr.slot(*slot))
}

#[cfg(all(test, feature = "compile"))]
mod tests {
    use super::*;
    use crate::columns::{Column, Columns, Timestamp};
    use crate::format_files::{FormatSet, LoadOptions};
    use std::fs;

    const FORMATS: &str = "\
010 1.0 L=0 \"\" $D1
011 1.0 L=0 \"\" $PID
012 1.0 L=0 \"\" $SVC
013 1.0 L=0 \"\" $011
014 1.0 L=0 \"\" starttimer(1,1)
015 1.0 L=0 \"\" $TID $LOGFILE $TRACEENV
016 1.0 L=0 \"\" endtimer(1,1)
017 1.0 L=0 \"\" $PRI
020 1.0 L=0 \"\" $D1, 5 { $SKIP } endtimer(1,1)
";

    /// Returns true if context is needed, and the required ids among the hooks 010 to 016.
    fn needs(only: Option<&str>, columns: Columns) -> (bool, Option<String>) {
        let needs = needs_of(only, columns);
        let digit = |id: u16| needs.ids.as_ref().unwrap().contains(0x0100 + 16 * id);
        let ids = needs.ids.is_some().then(|| (0..7).filter(|id| digit(*id)).map(|id| id.to_string()).collect());
        (needs.context, ids)
    }

    fn needs_of(only: Option<&str>, columns: Columns) -> Demand {
        demand(only, columns, false)
    }

    fn demand(only: Option<&str>, columns: Columns, only_counts: bool) -> Demand {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.trcfmt");
        fs::write(&path, FORMATS).unwrap();
        let set = FormatSet::load(&[path], &LoadOptions::default()).unwrap();
        let catalog = set.catalog().unwrap();
        let mut options = AixReportOptions { columns, ..AixReportOptions::default() };
        options.filter.only = only.map(|list| IdSet::parse(list).unwrap());
        let mut readers = Readers::new(&catalog);
        readers.only_counts = only_counts;
        Demand::of(&mut readers, &options)
    }

    #[test]
    fn shown_events_and_those_that_set_timers_are_needed() {
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
    fn facts_that_nothing_asks_for_need_not_be_known() {
        let none = RequiredContext::default();
        let (svc, priority) = (RequiredContext { svc: true, ..none }, RequiredContext { priority: true, ..none });
        let of_template = |only| needs_of(Some(only), Columns::default()).wanted;
        assert_eq!([of_template("011"), of_template("012"), of_template("017")], [none, svc, priority]);
        let of_column = |column| needs_of(Some("010"), Columns::new(&[column], Timestamp::Milli)).wanted;
        assert_eq!([of_column(Column::Cpu), of_column(Column::Svc)], [none, svc]);
        // The process column also needs the interrupt depth.
        assert_eq!(of_column(Column::Exec), RequiredContext { depth: true, ..none });
        assert_eq!(needs_of(None, Columns::default()).wanted, svc.or(priority));
    }

    #[test]
    fn counts_need_only_what_may_skip_events() {
        let counted = |only| {
            let needs = demand(Some(only), Columns::default(), true);
            (needs.context, needs.timers, needs.wanted)
        };
        let none = RequiredContext::default();
        for only in ["010", "011", "012", "013", "014", "016", "017"] {
            assert_eq!(counted(only), (false, false, none), "{only}");
        }
        assert_eq!(counted("020"), (false, true, none));
        let hidden = demand(Some("020"), Columns::default(), true);
        assert!(hidden.ids.is_some_and(|ids| ids.contains(0x0140)), "its timer starts in a hidden event");
    }

    #[test]
    fn columns_need_context() {
        for column in [Column::Exec, Column::Pid, Column::Cpu, Column::Svc] {
            assert!(needs(Some("010"), Columns::new(&[column], Timestamp::Milli)).0);
        }
        assert!(!needs(Some("010"), Columns::new(&[Column::Tid], Timestamp::Milli)).0);
    }
}
