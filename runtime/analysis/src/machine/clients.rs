//! Messages of QNX: which thread works for which.

use super::change::{Change, MessageStep};
use super::parts::{OTHERS, RUNNING, Service, ThreadSlot};
use super::state::Machine;
/// Limit on messages that were sent and not received.
pub(super) const MAX_SENT: usize = 1 << 16;
/// Limit on threads that wait for a thread, directly or through others.
pub(super) const MAX_CHAIN: usize = 64;
/// Limit on servers with a row of their own, per client.
pub(super) const MAX_SERVERS: usize = 1024;
/// Limit on clients that a thread works for and has not answered.
const MAX_CLIENTS: usize = 64;
/// Limit on messages that are followed to charge a thread's time. Threads may all serve each other.
const MAX_FOLLOWED: usize = 256;

impl Machine {
    /// True if messages are needed.
    #[inline]
    pub fn keeps_messages(&self) -> bool {
        self.keeps_messages
    }

    /// Handles a message that the thread on a CPU sends to a process.
    pub fn send(&mut self, at: usize, rcvid: u32, server: u32, now: u64) {
        let Some((id, slot)) = self.cpus[at].thread.filter(|(_, slot)| *slot != OTHERS) else { return };
        if self.sent.len() >= MAX_SENT {
            return;
        }
        self.n_messages += 1;
        self.sent.insert((rcvid, server, (id >> 32) as u32), (slot, self.n_messages));
        self.note(Change::Message { thread: slot, step: MessageStep::Sent, id: self.n_messages, time: now });
    }

    /// Handles a message that the thread on a CPU receives from a process. From now on the thread works for the sender.
    pub fn receive(&mut self, at: usize, rcvid: u32, client: u32, now: u64) {
        let Some((id, slot)) = self.cpus[at].thread.filter(|(_, slot)| *slot != OTHERS) else { return };
        self.totals.n_receives += 1;
        let Some((sender, message)) = self.sent.remove(&(rcvid, (id >> 32) as u32, client)) else { return };
        self.totals.n_matched_receives += 1;
        self.charge_all_clients(now);
        self.threads[sender as usize].last_server = Some(slot);
        let n_answers = self.n_answers(sender);
        let mut serves = std::mem::take(&mut self.threads[slot as usize].serves);
        serves.retain(|service| service.client != sender && self.is_unanswered(service));
        if serves.len() < MAX_CLIENTS {
            serves.push(Service { client: sender, message, n_answers });
        }
        self.threads[slot as usize].serves = serves;
        self.track(slot);
        self.note(Change::Message { thread: slot, step: MessageStep::Received, id: message, time: now });
    }

    /// Handles the answer to a message of a thread, or its failure. No thread works for that one any more, nor for
    /// earlier threads with its id.
    pub fn reply(&mut self, at: usize, client: u64, now: u64) {
        let Some(slot) = self.thread_by_id.get(&client).copied() else { return };
        self.charge_all_clients(now);
        let replier = self.cpus[at].thread.map(|(_, slot)| slot);
        let last_server = self.threads[slot as usize].last_server;
        let mut servers = [replier, last_server].into_iter().flatten();
        let service = servers.find_map(|server| {
            let services = &self.threads[server as usize].serves;
            let is_answered =
                |service: &&Service| self.threads[service.client as usize].tid == client && self.is_unanswered(service);
            let service = services.iter().find(is_answered)?;
            Some((server, service.message))
        });
        *self.answers.entry(client).or_default() += 1;
        if let Some((server, message)) = service {
            let thread = replier.unwrap_or(server);
            self.note(Change::Message { thread, step: MessageStep::Replied, id: message, time: now });
        }
    }

    /// True if the client has not got an answer since its message was received.
    fn is_unanswered(&self, service: &Service) -> bool {
        self.n_answers(service.client) == service.n_answers
    }

    /// Number of answers to the id of a thread.
    fn n_answers(&self, client: ThreadSlot) -> u64 {
        self.answers.get(&self.threads[client as usize].tid).copied().unwrap_or(0)
    }

    /// Charges the time of the threads that run to the threads that they work for.
    fn charge_all_clients(&mut self, now: u64) {
        for at in 0..self.cpus.len() {
            if let Some((_, slot)) = self.cpus[at].thread {
                self.charge_clients(slot, now);
            }
        }
    }

    /// Charges the time of a running thread to the threads that it works for, each once.
    pub(super) fn charge_clients(&mut self, slot: ThreadSlot, now: u64) {
        let thread = &mut self.threads[slot as usize];
        let Some((RUNNING, since)) = thread.state else { return };
        let from = since.max(self.from).max(thread.charged_to_clients);
        let to = now.max(from);
        thread.charged_to_clients = to;
        let ns = u128::from(to - from);
        let serves_any = |serves: &[Service]| serves.iter().any(|service| self.is_unanswered(service));
        if ns == 0 || !serves_any(&self.threads[slot as usize].serves) {
            return;
        }
        // The threads that the thread works for, those that they work for, and so on.
        let mut clients = vec![slot];
        let (mut n_visited, mut n_followed) = (0, 0);
        while let Some(server) = clients.get(n_visited).copied() {
            let left = MAX_FOLLOWED - n_followed;
            for service in self.threads[server as usize].serves.iter().take(left) {
                n_followed += 1;
                if self.is_unanswered(service) && !clients.contains(&service.client) && clients.len() <= MAX_CHAIN {
                    clients.push(service.client);
                }
            }
            n_visited += 1;
        }
        for client in clients.into_iter().skip(1) {
            let imposed = &mut self.threads[client as usize].imposed;
            let find = |wanted: ThreadSlot| imposed.binary_search_by_key(&wanted, |(server, _)| *server);
            // Servers above the limit share a row.
            let server = if find(slot).is_ok() || imposed.len() < MAX_SERVERS { slot } else { OTHERS };
            match find(server) {
                Ok(known) => imposed[known].1 += ns,
                Err(place) => imposed.insert(place, (server, ns)),
            }
        }
    }
}
