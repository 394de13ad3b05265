//! Effects of QNX records by the context table.

use crate::aix::MAX_SYMBOLS;
use crate::machine::Returned;
use crate::marks::Mark;
use crate::qnx::{Analyser, ThreadIds, thread_id};
use tfbc::internal::KevRecord;
use tfbc::internal::analysis::{Effect, EffectName};

impl Analyser<'_> {
    /// Mark that a record is, by the table.
    pub(super) fn mark_of(&self, record: &KevRecord<'_>) -> Option<Mark> {
        let mut mark = None;
        self.rules.visit(record, None, |effect| match effect {
            Effect::Lost { count } => mark = Some(Mark::Lost(count)),
            Effect::On => mark = Some(Mark::On),
            Effect::Off => mark = Some(Mark::Off),
            _ => {}
        });
        mark
    }

    /// Applies all effects of a record.
    pub(super) fn apply_rules(&mut self, record: &KevRecord<'_>, at: usize, now: u64) {
        let owner = self.owner(record, at);
        let mut effects = Vec::new();
        self.rules.visit(record, owner.map(|owner| owner.tid.into()), |effect| effects.push(effect));
        effects.into_iter().for_each(|effect| self.apply(effect, owner, at, now));
    }

    fn apply(&mut self, effect: Effect<'_>, owner: Option<ThreadIds>, at: usize, now: u64) {
        let own_pid = || owner.map(|owner| u64::from(owner.pid));
        match effect {
            Effect::Nothing | Effect::Lost { .. } | Effect::On | Effect::Off => {}
            Effect::Process { pid, tid, path } => {
                let process = self.machine.create(pid);
                self.machine.name_process(process, path.unwrap_or_default());
                if let Some(tid) = tid {
                    self.slot(pid as u32, tid as u32);
                }
            }
            Effect::Exec { pid, path } => {
                let Some(pid) = pid.or_else(own_pid) else { return self.machine.without_thread(now) };
                let process = self.machine.process(pid);
                self.machine.name_process(process, path);
                self.note_lifetime(owner, "exec", now);
            }
            Effect::Fork { pid, tid } => {
                let name = owner.and_then(|ThreadIds { pid, tid }| {
                    let slot = self.slot(pid, tid);
                    self.machine.name_of(slot)
                });
                let process = self.machine.create(pid);
                self.machine.name_process(process, &name.unwrap_or_default());
                if let Some(tid) = tid {
                    self.slot(pid as u32, tid as u32);
                }
                self.note_lifetime(owner, "fork", now);
            }
            Effect::Thread { tid, pid } => {
                let Some(pid) = pid.or_else(own_pid) else { return self.machine.without_thread(now) };
                let slot = self.created_slot(pid as u32, tid as u32);
                self.machine.begin_thread(slot, now);
                self.machine.note_lifetime(slot, "create", now);
            }
            Effect::Exit { pid } => {
                let Some(pid) = pid.or_else(own_pid) else { return self.machine.without_thread(now) };
                let process = self.machine.process(pid);
                self.machine.end_threads(process, now);
                self.machine.exit(process, now);
            }
            Effect::Kproc { pid } => {
                let process = self.machine.process(pid);
                self.machine.kproc(process);
            }
            Effect::Dispatch { tid, pid, priority, idle } => {
                let Some(pid) = pid.or_else(own_pid) else { return self.machine.without_thread(now) };
                let (pid, tid) = (pid as u32, tid as u32);
                let slot = self.machine.attach_dispatched(thread_id(pid, tid), pid.into());
                if let Some(priority) = priority {
                    self.machine.prioritise(slot, u8::try_from(priority).ok());
                }
                let priority = priority.map(|priority| priority as u32);
                let is_idle = (idle && self.options.idle.is_none()) || self.is_idle(pid, tid, priority);
                self.machine.run(at, thread_id(pid, tid), slot, now, is_idle);
            }
            Effect::Undispatch => self.machine.undispatch(at, now),
            Effect::Enter { class, name } => {
                let Some(slot) = self.machine.runs(at) else {
                    return self.machine.mode_without_thread(class, true, now);
                };
                match name {
                    EffectName::Text(name) => {
                        self.machine.enter(Some(at), slot, class, Some(name).filter(|name| !name.is_empty()), now);
                    }
                    EffectName::Address(address) => {
                        let name = self.name_of(address);
                        self.machine.enter_address(Some(at), slot, class, address, |_| name, now);
                    }
                }
            }
            Effect::Return { class, name, errno, result } => {
                let Some(slot) = self.machine.runs(at) else {
                    return self.machine.mode_without_thread(class, false, now);
                };
                let name = name.filter(|name| !name.is_empty());
                let result = result.map(|result| result as i64);
                let returned = Returned { result, errno: errno.unwrap_or(0), interrupted: false };
                self.machine.leave_mode(Some(at), slot, class, name, returned, now);
            }
            Effect::Symbol { address, name } => {
                if self.symbols.len() < MAX_SYMBOLS {
                    self.symbols.insert(address, name[..name.len().min(255)].to_vec());
                    self.machine.forget_addresses();
                }
            }
            Effect::Raise { class, kind, name } => match name {
                None => self.machine.raise(at, class, kind, None, || None::<&[u8]>),
                Some(EffectName::Text(name)) => self.machine.raise(at, class, kind, None, || Some(name)),
                Some(EffectName::Address(address)) => {
                    let name = self.name_of(address);
                    self.machine.raise(at, class, kind, Some(address), || name);
                }
            },
            Effect::Lower { class } => self.machine.lower(Some(at), class, now),
            Effect::Reset { .. } => self.machine.reset(Some(at), now),
        }
    }

    fn note_lifetime(&mut self, owner: Option<ThreadIds>, name: &'static str, now: u64) {
        if let Some(ThreadIds { pid, tid }) = owner {
            let slot = self.slot(pid, tid);
            self.machine.note_lifetime(slot, name, now);
        }
    }

    fn name_of(&self, address: u64) -> Option<Vec<u8>> {
        self.options.names.get(address).map(<[u8]>::to_vec).or_else(|| self.symbols.get(&address).cloned())
    }
}
