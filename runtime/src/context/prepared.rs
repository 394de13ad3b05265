//! Prepared rules: the only entry of a hook, with its positions resolved. Most hooks have one, and it reads only numbers.

use super::table::{Action, ClassName, NamePos, NumberPos, ResolvedPos, TableEntry};

/// Rule of the events of a hook and form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreparedRule {
    /// Position of the CPU number.
    pub cpu: Place,
    /// Effect of the events.
    pub action: PreparedAction,
}

/// Effect of an event, with the positions of its numbers. Actions that are missing here are read as an
/// [`Effect`](super::Effect).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of docs/context.md")]
pub enum PreparedAction {
    /// Without a position of the thread, it is the event's own.
    Dispatch {
        tid: Option<Place>,
        pid: Place,
        priority: Place,
        idle: bool,
    },
    Enter {
        class: ClassName,
        address: Place,
    },
    Return {
        class: ClassName,
        errno: Place,
        result: Place,
    },
    Raise {
        class: ClassName,
        kind: Place,
        address: Place,
    },
    Lower {
        class: ClassName,
    },
    Reset {
        resume: bool,
    },
}

/// Position of a number in the bytes of an event, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place(Option<ResolvedPos>);

impl Place {
    /// Reads the number; `None` if there is no position, or if the event is too short.
    #[inline(always)]
    pub fn read(self, bytes: &[u8]) -> Option<u64> {
        self.0?.read(bytes)
    }

    /// Position of an entry for one form of events. `None` if it is not in the event's bytes.
    fn of(place: &Option<NumberPos>) -> Option<Self> {
        match place {
            None | Some(NumberPos::Missing) => Some(Self(None)),
            Some(NumberPos::Resolved(place)) => Some(Self(Some(*place))),
            Some(_) => None,
        }
    }
}

impl PreparedRule {
    /// Prepares the entries for one form of events. `None` if they need more than numbers of the event.
    pub(super) fn of(entries: &[TableEntry]) -> Option<Self> {
        let [entry] = entries else { return None };
        if entry.has_conditions() {
            return None;
        }
        let address = |name: &Option<NamePos>| match name {
            None => Place::of(&None),
            Some(NamePos::Address(place)) => Place::of(&Some(*place)),
            Some(NamePos::Text(_)) => None,
        };
        let action = match entry.action {
            Action::Dispatch { tid, pid, priority, idle } => PreparedAction::Dispatch {
                tid: if tid.is_some() { Some(Place::of(&tid)?) } else { None },
                pid: Place::of(&pid)?,
                priority: Place::of(&priority)?,
                idle,
            },
            Action::Enter { class, name } => PreparedAction::Enter { class, address: address(&name)? },
            Action::Return { class, name: None, errno, result } => {
                PreparedAction::Return { class, errno: Place::of(&errno)?, result: Place::of(&result)? }
            }
            Action::Raise { class, kind, name } => {
                PreparedAction::Raise { class, kind: Place::of(&kind)?, address: address(&name)? }
            }
            Action::Lower { class } => PreparedAction::Lower { class },
            Action::Reset { resume } => PreparedAction::Reset { resume },
            _ => return None,
        };
        Some(Self { cpu: Place::of(&entry.cpu)?, action })
    }
}
