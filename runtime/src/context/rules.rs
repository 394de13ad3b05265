//! Rules of a trace: the effects of its events, for code that tracks threads and CPUs itself.

use super::parse;
use super::prepared::PreparedRule;
use super::table::{
    Action, ClassName, ContextTable, DAEMON_IDENTITY, DAEMON_NAME, DecodedHook, HookForm, HookLookup, NamePos,
    NumberPos, TextPos,
};
use crate::expression::Operand;
use crate::reader::aix::{RawEvent, hooks};
use std::sync::Arc;

/// Rules of the context table for one trace.
///
/// ```
/// use tfbc::internal::analysis::ContextRules;
/// use tfbc::testing::aix::RawEvent;
/// let table = "106 dispatch pid=D1 cpu=HD".parse::<tfbc::aix::ContextTable>()?;
/// let rules = ContextRules::new(std::sync::Arc::new(table));
/// let bytes = [0x10, 0x6a, 0, 3, 0, 0, 0, 40];
/// let event = RawEvent {
///     number: 1, offset: 0, bytes: &bytes, wide: false, id: 0x1060, tid: 7, ticks: None, cpu: None, recorded: &bytes,
/// };
/// let ruled = rules.ruled(&event);
/// assert_eq!((ruled.traits().cpu, ruled.traits().is_dispatch), (Some(3), true));
/// ruled.read(|effect| assert!(format!("{effect:?}").starts_with("Dispatch { tid: 7, pid: Some(40)")));
/// # Ok::<(), tfbc::aix::ContextError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ContextRules {
    table: Arc<ContextTable>,
    /// Name of the trace's recorder; empty until it is known.
    daemon: Vec<u8>,
    lookup: HookLookup,
    /// Prepared rules for each form of event, in the order of the handles of `lookup`.
    prepared: Vec<[Option<PreparedRule>; 4]>,
}

/// Effect of an event. An id is `None` if the event does not contain it; then the event's own thread or process is
/// meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of docs/context.md")]
pub enum Effect<'e> {
    /// An entry that only states the CPU.
    Nothing,
    Process {
        pid: u64,
        tid: Option<u64>,
        path: Option<&'e [u8]>,
    },
    Exec {
        pid: Option<u64>,
        path: &'e [u8],
    },
    Fork {
        pid: u64,
        tid: Option<u64>,
    },
    Thread {
        tid: u64,
        pid: Option<u64>,
    },
    Exit {
        pid: Option<u64>,
    },
    Dispatch {
        tid: u64,
        pid: Option<u64>,
        priority: Option<u64>,
        idle: bool,
    },
    Undispatch,
    Enter {
        class: ClassName,
        name: EffectName<'e>,
    },
    Symbol {
        address: u64,
        name: &'e [u8],
    },
    Return {
        class: ClassName,
        name: Option<&'e [u8]>,
        errno: Option<u64>,
        result: Option<u64>,
    },
    Raise {
        class: ClassName,
        kind: Option<u64>,
        name: Option<EffectName<'e>>,
    },
    Lower {
        class: ClassName,
    },
    Reset {
        resume: bool,
    },
    Kproc {
        pid: u64,
    },
    Lost {
        count: Option<u64>,
    },
    On,
    Off,
}

/// Properties of an event that must be known before its effects are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventTraits {
    /// CPU that the event or an entry states.
    pub cpu: Option<u64>,
    /// True if the event dispatches a thread.
    pub is_dispatch: bool,
    /// True if the event ends a dispatch.
    pub is_resume: bool,
    /// True if the event is a mark.
    pub is_mark: bool,
}

/// Event with the entries for its hook.
#[derive(Debug, Clone, Copy)]
pub struct RuledEvent<'r, 'e> {
    lookup: &'r HookLookup,
    /// Handle of the hook's entries.
    list: u32,
    event: DecodedHook<'e>,
}

/// Name as recorded, or an address to look it up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectName<'e> {
    /// Name as recorded.
    Text(&'e [u8]),
    /// Address.
    Address(u64),
}

/// Position of a number or a text in an event, such as `D1`, `U4@12` or `S@W2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventPlace(ValuePos);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValuePos {
    Number(NumberPos),
    Text(TextPos),
}

impl EventPlace {
    /// Parses a position in the notation of context tables; `None` if the text is not a position.
    pub fn parse(text: &str) -> Option<Self> {
        let place = parse::number(text).map(ValuePos::Number).or_else(|| parse::text(text).map(ValuePos::Text));
        place.map(Self)
    }

    /// Value at the position; `None` if the event is too short.
    pub fn read<'e>(self, event: &RawEvent<'e>) -> Option<Operand<'e>> {
        let event = DecodedHook::new(event);
        match self.0 {
            ValuePos::Number(place) => event.number(&place).map(Operand::from),
            ValuePos::Text(place) => event.text(place).map(Operand::from),
        }
    }
}

impl ContextRules {
    /// Creates the rules for a trace whose recorder is not known yet.
    pub fn new(table: Arc<ContextTable>) -> Self {
        let lookup = table.lookup(b"", |entry| Some(*entry));
        Self { prepared: prepare(&lookup), lookup, daemon: Vec::new(), table }
    }

    /// True if the table has entries for a hook.
    #[inline]
    pub fn has(&self, id: u16) -> bool {
        self.lookup.find(id) != 0
    }

    /// True if every event of a hook marks lost events.
    pub fn is_loss(&self, id: u16) -> bool {
        let is_mark = |action| matches!(action, Action::Lost { .. });
        self.lookup.list_of(id).iter().any(|entry| {
            is_mark(entry.action)
                && entry.subhook.is_none()
                && entry.generic.is_none()
                && entry.kind.is_none()
                && entry.condition.is_none()
        })
    }

    /// True if an entry lowers interrupts of a class.
    pub fn lowers(&self, class: ClassName) -> bool {
        self.lookup.entries().any(|entry| entry.action == Action::Lower { class })
    }

    /// Name of a type of interrupts.
    pub fn label(&self, class: ClassName, kind: u64) -> Option<&str> {
        let sections = self.table.sections_of(&self.daemon).rev();
        let mut labels = sections.flat_map(|section| section.labels.iter().rev());
        labels.find(|label| (label.0, label.1) == (class, kind)).map(|label| label.2.as_str())
    }

    /// Changes the rules if an event names the trace's recorder, and returns true. Such an event has no effects.
    pub fn learn_daemon(&mut self, event: &RawEvent<'_>) -> bool {
        let event = DecodedHook::new(event);
        let is_name = self.has(event.id) && event.id == hooks::UTILITY && event.kind() == Some(DAEMON_IDENTITY);
        if is_name {
            self.daemon = event.text(DAEMON_NAME).unwrap_or_default().to_vec();
            self.lookup = self.table.lookup(&self.daemon, |entry| Some(*entry));
            self.prepared = prepare(&self.lookup);
        }
        is_name
    }

    /// Handle of the entries of a hook; 0 if there are none.
    #[inline(always)]
    pub fn list(&self, id: u16) -> u32 {
        self.lookup.find(id)
    }

    /// Prepared rule of an event, by the handle of its hook's entries: its whole effect. `None` if the entries are not
    /// prepared, so that [`ContextRules::ruled`] is to be used.
    #[inline(always)]
    pub fn prepared(&self, list: u32, wide: bool, bytes: &[u8]) -> Option<&PreparedRule> {
        let rules = self.prepared.get((list as usize).wrapping_sub(1))?;
        rules[HookForm::of(wide, bytes).index()].as_ref()
    }

    /// Looks up the entries for an event.
    #[inline]
    pub fn ruled<'r, 'e>(&'r self, event: &RawEvent<'e>) -> RuledEvent<'r, 'e> {
        RuledEvent { lookup: &self.lookup, list: self.lookup.find(event.id), event: DecodedHook::new(event) }
    }
}

/// Prepares the rules of all hooks.
fn prepare(lookup: &HookLookup) -> Vec<[Option<PreparedRule>; 4]> {
    lookup.by_form().map(|forms| std::array::from_fn(|form| PreparedRule::of(&forms[form]))).collect()
}

impl<'e> RuledEvent<'_, 'e> {
    /// Properties of the event.
    #[inline]
    pub fn traits(&self) -> EventTraits {
        let event = &self.event;
        let mut traits = EventTraits { cpu: event.cpu, ..EventTraits::default() };
        for entry in self.lookup.matches(self.list, event) {
            traits.cpu = traits.cpu.or_else(|| event.optional(&entry.cpu));
            match &entry.action {
                Action::Dispatch { tid, .. } => traits.is_dispatch |= event.tid_or_own(tid).is_some(),
                Action::Reset { resume } => traits.is_resume |= resume,
                Action::Lost { .. } | Action::On | Action::Off => traits.is_mark = true,
                _ => {}
            }
        }
        traits
    }

    /// Calls `visit` with the effects of the event.
    #[inline]
    pub fn read(&self, mut visit: impl FnMut(Effect<'e>)) {
        for entry in self.lookup.matches(self.list, &self.event) {
            visit(effect(&entry.action, &self.event).unwrap_or(Effect::Nothing));
        }
    }
}

/// Numbers and texts of an event, by their positions.
pub(super) trait Values<'e, N, T> {
    /// Id of the event's own thread.
    fn own_tid(&self) -> Option<u64>;
    /// Reads a number; `None` if the event does not have it.
    fn number(&self, place: &N) -> Option<u64>;
    /// Reads a text; `None` if the event does not have it.
    fn text(&self, place: T) -> Option<&'e [u8]>;

    /// Reads a number that an entry may leave out.
    #[inline(always)]
    fn optional(&self, place: &Option<N>) -> Option<u64> {
        place.as_ref().and_then(|place| self.number(place))
    }

    /// Reads a thread id; the event's own one if the entry leaves it out.
    #[inline(always)]
    fn tid_or_own(&self, place: &Option<N>) -> Option<u64> {
        place.as_ref().map_or_else(|| self.own_tid(), |place| self.number(place))
    }
}

impl<'e> Values<'e, NumberPos, TextPos> for DecodedHook<'e> {
    #[inline(always)]
    fn own_tid(&self) -> Option<u64> {
        Some(self.tid)
    }

    #[inline(always)]
    fn number(&self, place: &NumberPos) -> Option<u64> {
        DecodedHook::number(self, place)
    }

    fn text(&self, place: TextPos) -> Option<&'e [u8]> {
        DecodedHook::text(self, place)
    }
}

/// Effect of an action; `None` if the event is too short for it.
#[inline(always)]
pub(super) fn effect<'e, N, T: Copy>(action: &Action<N, T>, event: &impl Values<'e, N, T>) -> Option<Effect<'e>> {
    let name = |name: &NamePos<N, T>| {
        Some(match name {
            NamePos::Text(place) => EffectName::Text(event.text(*place)?),
            NamePos::Address(place) => EffectName::Address(event.number(place)?),
        })
    };
    Some(match action {
        Action::None => Effect::Nothing,
        Action::Process { pid, tid, path } => Effect::Process {
            pid: event.number(pid)?,
            tid: event.optional(tid),
            path: path.and_then(|path| event.text(path)),
        },
        // If the entry names a process but the event is too short for it, the event's own process is not meant.
        Action::Exec { pid: Some(pid), path } => {
            Effect::Exec { pid: Some(event.number(pid)?), path: event.text(*path)? }
        }
        Action::Exec { pid: None, path } => Effect::Exec { pid: None, path: event.text(*path)? },
        Action::Fork { pid, tid } => Effect::Fork { pid: event.number(pid)?, tid: event.optional(tid) },
        Action::Thread { tid, pid: Some(pid), .. } => {
            Effect::Thread { tid: event.number(tid)?, pid: Some(event.number(pid)?) }
        }
        Action::Thread { tid, pid: None, .. } => Effect::Thread { tid: event.number(tid)?, pid: None },
        Action::Exit { pid: Some(pid) } => Effect::Exit { pid: Some(event.number(pid)?) },
        Action::Exit { pid: None } => Effect::Exit { pid: None },
        Action::Dispatch { pid, tid, priority, idle } => Effect::Dispatch {
            tid: event.tid_or_own(tid)?,
            pid: event.optional(pid),
            priority: event.optional(priority),
            idle: *idle,
        },
        Action::Undispatch { tid: Some(tid) } => event.number(tid).map(|_| Effect::Undispatch)?,
        Action::Undispatch { tid: None } => Effect::Undispatch,
        Action::Enter { class, name: at } => {
            Effect::Enter { class: *class, name: at.as_ref().and_then(name).unwrap_or(EffectName::Text(b"")) }
        }
        Action::Symbol { address, name } => {
            Effect::Symbol { address: event.number(address)?, name: event.text(*name)? }
        }
        Action::Return { class, name, errno, result } => {
            let name = name.and_then(|name| event.text(name));
            Effect::Return { class: *class, name, errno: event.optional(errno), result: event.optional(result) }
        }
        Action::Raise { class, kind, name: at } => {
            Effect::Raise { class: *class, kind: event.optional(kind), name: at.as_ref().and_then(name) }
        }
        Action::Lower { class } => Effect::Lower { class: *class },
        Action::Reset { resume } => Effect::Reset { resume: *resume },
        Action::Kproc { pid } => Effect::Kproc { pid: event.number(pid)? },
        Action::Lost { count } => Effect::Lost { count: event.optional(count) },
        Action::On => Effect::On,
        Action::Off => Effect::Off,
    })
}
