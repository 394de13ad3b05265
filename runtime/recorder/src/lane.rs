//! What a thread does to record an event.
//!
//! A thread has a lane for each channel it records to: the buffer that it owns in the channel's session. As long as the
//! session lasts and the buffer has room, an event is a few stores into memory that no other thread writes to. A signal
//! handler that records while its thread is in the midst of an event has lanes of its own, up to [`DEPTH`] of them.
//!
//! Nothing here allocates, takes a lock that is waited for, or panics.

#![expect(unsafe_code, reason = "events are written to shared memory by address")]

use crate::clock::Source;
use crate::control::{self, ALL_CHANNELS};
use crate::pool::{EVENT_HEAD, Head, Kind, Pool, flag, state};
use crate::sys;
use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, compiler_fence};

/// Events of one thread that may be under way at once: signal handlers within hooks within signal handlers.
const DEPTH: usize = 3;
/// Sessions whose memory a process holds at once: one a channel, and older ones that some thread has not left yet.
const MAX_HELD: usize = 64;

struct Lane {
    /// The session that the lane belongs to, 0 for none.
    session: Cell<u64>,
    /// Where in [`HELD`] its memory is.
    held: Cell<usize>,
    /// The buffer that is its own, or null: then `room` is 0.
    head: Cell<*const Head>,
    data: Cell<*mut u8>,
    used: Cell<usize>,
    room: Cell<usize>,
    pool: Cell<Option<Pool>>,
    /// The number of the process in the session's table.
    process: Cell<u32>,
    flags: Cell<u32>,
}

struct Thread {
    depth: Cell<usize>,
    tid: Cell<u32>,
    lanes: [[Lane; ALL_CHANNELS]; DEPTH],
}

impl Lane {
    /// A lane of no session.
    const fn new() -> Self {
        Lane {
            session: Cell::new(0),
            held: Cell::new(0),
            head: Cell::new(std::ptr::null()),
            data: Cell::new(std::ptr::null_mut()),
            used: Cell::new(0),
            room: Cell::new(0),
            pool: Cell::new(None),
            process: Cell::new(0),
            flags: Cell::new(0),
        }
    }
}

thread_local! {
    static THREAD: Thread = const {
        Thread { depth: Cell::new(0), tid: Cell::new(0), lanes: [const { [const { Lane::new() }; ALL_CHANNELS] }; DEPTH] }
    };
}

/// One session's memory in this process.
struct Held {
    channel: Cell<usize>,
    session: Cell<u64>,
    pool: Cell<Option<Pool>>,
    process: Cell<u32>,
    lanes: Cell<usize>,
}

/// All sessions' memory in this process, changed by one thread at a time.
struct Table {
    busy: AtomicBool,
    held: UnsafeCell<[Held; MAX_HELD]>,
}

// SAFETY: `held` is reached by `Table::with` alone, by one thread at a time.
unsafe impl Sync for Table {}

static TABLE: Table = Table {
    busy: AtomicBool::new(false),
    held: UnsafeCell::new(
        [const {
            Held {
                channel: Cell::new(0),
                session: Cell::new(0),
                pool: Cell::new(None),
                process: Cell::new(0),
                lanes: Cell::new(0),
            }
        }; MAX_HELD],
    ),
};

impl Table {
    /// Works on the table, alone. No signal handler interrupts that: it could record an event, and wait here for the thread
    /// that it interrupted. Another thread is done within microseconds.
    fn with<T>(&self, work: impl FnOnce(&[Held; MAX_HELD]) -> Option<T>) -> Option<T> {
        const TRIES: usize = 100_000;
        let _blocked = sys::BlockedSignals::new();
        let mut tries = TRIES;
        while self.busy.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            tries -= 1;
            if tries == 0 {
                return None;
            }
            if tries > TRIES - 100 { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        // SAFETY: `busy` was false, and whoever else comes leaves before it is false again.
        let result = work(unsafe { &*self.held.get() });
        self.busy.store(false, Ordering::Release);
        result
    }
}

/// Records an event: `kind` without its CPU; `fill` writes its data, `len` bytes and as many as make it a multiple of 8.
#[inline(always)]
pub(crate) fn put(channel: usize, id: u16, len: usize, kind: Kind, fill: impl FnOnce(*mut u64)) {
    let len = EVENT_HEAD + len.next_multiple_of(8);
    // SAFETY: a thread's own lanes live as long as it runs, and nothing else refers to them mutably: they are cells.
    let thread = unsafe { &*THREAD.with(std::ptr::from_ref) };
    if thread.depth.get() == 0 {
        // A signal handler that interrupts from here on finds the depth raised, and leaves this lane alone.
        thread.depth.set(1);
        compiler_fence(Ordering::SeqCst);
        let is_ready = |lane: &&Lane| {
            lane.session.get() == control::session_of(channel) && lane.is_plain() && len <= lane.room.get()
        };
        if let Some(lane) = thread.lanes[0].get(channel).filter(is_ready) {
            lane.write(len, kind, Source::Cycles, fill);
            compiler_fence(Ordering::SeqCst);
            thread.depth.set(0);
            return;
        }
        thread.depth.set(0);
    }
    put_slowly(thread, channel, id, len, kind, fill);
}

/// The same for all other cases.
#[cold]
#[inline(never)]
fn put_slowly(thread: &Thread, channel: usize, id: u16, len: usize, kind: Kind, fill: impl FnOnce(*mut u64)) {
    if thread.with_lane(channel, |lane| lane.put(thread, channel, id, len, kind, fill)).is_none() {
        count_missed(channel, id);
    }
}

/// Counts an event for which the thread has no lane.
fn count_missed(channel: usize, id: u16) {
    let kept = sys::errno();
    TABLE.with(|table| {
        let held = &table[hold(table, channel, control::session_of(channel))?];
        let pool = held.pool.get().filter(|pool| pool.records(id));
        pool.map(|pool| pool.header().missed.fetch_add(1, Ordering::Relaxed));
        release(held);
        Some(())
    });
    sys::set_errno(kept);
}

/// Whether a channel's session records events of an id.
pub(crate) fn records(channel: usize, id: u16) -> bool {
    THREAD.with(|thread| {
        let records = |lane: &Lane| lane.enter(thread, channel) && lane.records(id);
        thread.with_lane(channel, records).unwrap_or(false)
    })
}

/// Counts an event whose bytes were cut.
pub(crate) fn count_cut(channel: usize) {
    THREAD.with(|thread| {
        if let Some(pool) = thread.lanes.iter().find_map(|lanes| lanes[channel].pool.get()) {
            pool.header().cut.fetch_add(1, Ordering::Relaxed);
        }
    });
}

impl Thread {
    /// Works with the lane that is free at the thread's depth, which is one more meanwhile. `None` beyond [`DEPTH`].
    #[inline(always)]
    fn with_lane<T>(&self, channel: usize, work: impl FnOnce(&Lane) -> T) -> Option<T> {
        let depth = self.depth.get();
        let lane = self.lanes.get(depth)?.get(channel)?;
        self.depth.set(depth + 1);
        compiler_fence(Ordering::SeqCst);
        let result = work(lane);
        compiler_fence(Ordering::SeqCst);
        self.depth.set(depth);
        Some(result)
    }
}

impl Lane {
    fn put(&self, thread: &Thread, channel: usize, id: u16, len: usize, kind: Kind, fill: impl FnOnce(*mut u64)) {
        if !self.enter(thread, channel) {
            return;
        }
        let flags = self.flags.get();
        if flags & flag::FILTERED != 0 && !self.records(id) {
            return;
        }
        if len > self.room.get() && !self.take_buffer(thread, channel) {
            return;
        }
        let cpu = if flags & flag::CPU != 0 { u64::from(sys::cpu() & 0xFFF) << 4 } else { 0 };
        self.write(len, Kind(kind.0 | cpu), flag::source(flags), fill);
    }

    /// Writes an event for which there is room into the lane's buffer.
    #[inline(always)]
    fn write(&self, len: usize, kind: Kind, source: Source, fill: impl FnOnce(*mut u64)) {
        let used = self.used.get();
        // SAFETY: `take_buffer` set `head` and `data` to a buffer of a mapping that lives as long as the lane holds it, and
        // which is this lane's own; its room, which callers have asked for, is 0 before that.
        unsafe {
            let committed = &(*self.head.get()).committed;
            let at = self.data.get().add(used).cast::<u64>();
            // Whoever merges waits for an event under way, which may be older than what others record meanwhile.
            committed.store(used as u32 | 1, Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
            at.write(source.now());
            at.add(1).write(kind.0);
            fill(at.add(2));
            committed.store((used + len) as u32, Ordering::Release);
        }
        self.used.set(used + len);
        self.room.set(self.room.get() - len);
    }

    /// Whether events need nothing but room: all ids are recorded, no CPU is told, and the clock is the CPU's.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.flags.get() & (flag::FILTERED | flag::CPU | flag::CYCLES) == flag::CYCLES
    }

    fn records(&self, id: u16) -> bool {
        self.pool.get().is_some_and(|pool| pool.records(id))
    }

    /// Sees to it that the lane is in the channel's session, where there is one.
    fn enter(&self, thread: &Thread, channel: usize) -> bool {
        let session = self.session.get();
        (session == control::session_of(channel) && session != 0) || self.attach(thread, channel)
    }

    /// Leaves the session of the lane, and enters the one that is under way.
    #[cold]
    #[inline(never)]
    fn attach(&self, thread: &Thread, channel: usize) -> bool {
        let kept = sys::errno();
        self.leave();
        let session = control::session_of(channel);
        let entered = session != 0
            && TABLE
                .with(|table| {
                    let held = hold(table, channel, session)?;
                    self.held.set(held);
                    self.pool.set(table[held].pool.get());
                    self.process.set(table[held].process.get());
                    self.flags.set(self.pool.get()?.header().flags.load(Ordering::Relaxed));
                    self.session.set(session);
                    Some(())
                })
                .is_some();
        if thread.tid.get() == 0 {
            thread.tid.set(sys::tid());
            leave_at_exit();
        }
        sys::set_errno(kept);
        entered
    }

    /// Takes a buffer of the session in place of one that is full.
    #[cold]
    #[inline(never)]
    fn take_buffer(&self, thread: &Thread, channel: usize) -> bool {
        let kept = sys::errno();
        self.give_buffer();
        let Some(pool) = self.pool.get() else { return false };
        let taken = take(&pool, self.flags.get() & flag::CIRCULAR != 0);
        if let Some(i) = taken {
            let head = &pool.heads()[i];
            head.pid.store(sys::pid(), Ordering::Relaxed);
            head.tid.store(thread.tid.get(), Ordering::Relaxed);
            head.process.store(self.process.get(), Ordering::Relaxed);
            head.order.store(pool.header().order.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
            head.state.store(state::OWNED, Ordering::Release);
            self.head.set(head);
            self.data.set(pool.buffer(i));
            sys::make_ready(pool.buffer(i), pool.buffer_size(), sys::Ready::Mapped);
            self.used.set(0);
            self.room.set(pool.buffer_size());
        } else {
            let missed = pool.header().missed.fetch_add(1, Ordering::Relaxed);
            let owner = pool.header().owner.load(Ordering::Relaxed);
            // Nobody empties the buffers of a session that was killed: its hooks are better off than in vain.
            if missed % 1024 == 0 && owner != 0 && !sys::is_alive(owner, owner) {
                control::set_on(channel, false);
            }
        }
        sys::set_errno(kept);
        taken.is_some()
    }

    /// Gives up the lane's buffer, for its events to be read.
    fn give_buffer(&self) {
        let head = self.head.replace(std::ptr::null());
        self.room.set(0);
        // SAFETY: a buffer's head is null, or one of the mapping that the lane holds.
        let Some(head) = (unsafe { head.as_ref() }) else { return };
        // What was taken from a dead owner is no longer this lane's.
        let _ = head.state.compare_exchange(state::OWNED, state::FULL, Ordering::Release, Ordering::Relaxed);
        // A bell for each buffer would cost the thread more than its events.
        if let Some(pool) = self.pool.get()
            && pool.header().order.load(Ordering::Relaxed) % 8 == 0
        {
            ring(&pool.header().bell);
        }
    }

    /// Gives up the lane's buffer and its hold on the session's memory.
    fn leave(&self) {
        if self.session.get() == 0 {
            return;
        }
        self.give_buffer();
        self.session.set(0);
        self.pool.set(None);
        // Where the table cannot be had, the memory is kept for good.
        TABLE.with(|table| {
            release(&table[self.held.get()]);
            Some(())
        });
    }
}

/// Wakes the session's process.
pub(crate) fn ring(bell: &AtomicU32) {
    bell.fetch_add(1, Ordering::Release);
    sys::wake(bell);
}

/// Finds or maps a session's memory for one more lane.
fn hold(table: &[Held; MAX_HELD], channel: usize, session: u64) -> Option<usize> {
    let is_it =
        |held: &Held| held.pool.get().is_some() && held.channel.get() == channel && held.session.get() == session;
    if let Some(i) = table.iter().position(is_it) {
        table[i].lanes.set(table[i].lanes.get() + 1);
        return Some(i);
    }
    let i = table.iter().position(|held| held.pool.get().is_none())?;
    let mut path = [0; 512];
    let (file, len) = sys::Opened::own(control::session_path(channel, session, &mut path)?)?;
    let pool = Pool::open(file.fd(), len)?;
    let mut path = [0; 240];
    let len = sys::read_link(c"/proc/self/exe", &mut path);
    let held = &table[i];
    held.process.set(pool.enter_process(sys::pid(), sys::parent(), &path[..len]));
    held.channel.set(channel);
    held.session.set(session);
    held.lanes.set(1);
    held.pool.set(Some(pool));
    Some(i)
}

fn release(held: &Held) {
    let lanes = held.lanes.get().saturating_sub(1);
    held.lanes.set(lanes);
    if lanes == 0
        && let Some(pool) = held.pool.take()
    {
        // SAFETY: no lane is left that holds this mapping, and lanes are all that keep a copy of it.
        unsafe { pool.unmap() };
    }
}

/// Takes a free buffer, or the oldest full one where `oldest` says so.
fn take(pool: &Pool, oldest: bool) -> Option<usize> {
    let heads = pool.heads();
    let change = |head: &Head, from| {
        head.state.compare_exchange(from, state::CHANGING, Ordering::Acquire, Ordering::Relaxed).is_ok()
    };
    // Buffers are given back in about the order in which they were taken.
    let start = pool.header().order.load(Ordering::Relaxed) as usize % heads.len().max(1);
    let free = (start..heads.len()).chain(0..start).find(|i| change(&heads[*i], state::FREE));
    if free.is_some() || !oldest {
        return free;
    }
    loop {
        let full = heads.iter().enumerate().filter(|(_, head)| head.state.load(Ordering::Relaxed) == state::FULL);
        let (i, head) = full.min_by_key(|(_, head)| head.order.load(Ordering::Relaxed))?;
        if change(head, state::FULL) {
            give_up_events(pool, i);
            head.committed.store(0, Ordering::Relaxed);
            return Some(i);
        }
    }
}

/// Counts the events of a buffer that is overwritten, and notes until when they reach.
fn give_up_events(pool: &Pool, i: usize) {
    let end = (pool.heads()[i].committed.load(Ordering::Relaxed) as usize).min(pool.buffer_size());
    let (mut at, mut n, mut last) = (0, 0, 0);
    while at + EVENT_HEAD <= end {
        // SAFETY: the head of an event at a multiple of 8 lies within the buffer.
        let (ticks, kind) = unsafe {
            let event = pool.buffer(i).add(at).cast::<u64>();
            (event.read(), Kind(event.add(1).read()))
        };
        last = ticks.max(last);
        n += 1;
        at += kind.event_len();
    }
    pool.header().missed.fetch_add(n, Ordering::Relaxed);
    pool.header().given_up_until.fetch_max(last, Ordering::Relaxed);
}

static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// Prepares the process: threads leave their sessions at their end, and children of `fork` have no lanes.
pub(crate) fn at_start() {
    let mut key = 0;
    // SAFETY: `key` is valid for writing, and the destructor is there as long as the program is.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(at_exit)) } == 0 {
        KEY.store(key, Ordering::Release);
    }
    sys::at_fork_in_child(in_child);
}

/// Has the thread leave its sessions when it ends.
fn leave_at_exit() {
    let key = KEY.load(Ordering::Acquire);
    if key != u32::MAX {
        // SAFETY: the key was created; the value is never used as a pointer. The first 32 keys of a program need no memory.
        unsafe { libc::pthread_setspecific(key, std::ptr::dangling::<u8>().cast()) };
    }
}

extern "C" fn at_exit(_: *mut libc::c_void) {
    let _ = THREAD.try_with(|thread| {
        // A signal handler that enters a session meanwhile has this called once more.
        thread.tid.set(0);
        thread.depth.set(1);
        thread.lanes.iter().flatten().for_each(Lane::leave);
        thread.depth.set(0);
    });
}

/// A child has its parent's memory and one thread: the buffers in its lanes are its parent's.
extern "C" fn in_child() {
    let was_recording = THREAD
        .try_with(|thread| {
            for lane in thread.lanes.iter().flatten() {
                lane.session.set(0);
                lane.head.set(std::ptr::null());
                lane.room.set(0);
                lane.pool.set(None);
            }
            thread.tid.set(0);
            thread.depth.replace(0) != 0
        })
        .unwrap_or(true);
    TABLE.busy.store(false, Ordering::Release);
    TABLE.with(|table| {
        for held in table {
            held.lanes.set(0);
            // A signal handler that interrupted a hook and forked goes back to that hook, and needs its memory.
            if let Some(pool) = held.pool.take()
                && !was_recording
            {
                // SAFETY: the lanes that held it were just cleared, or are of threads that are not in this process.
                unsafe { pool.unmap() };
            }
        }
        Some(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Options, Output};
    use crate::session::{self, Task};
    use std::process::Command;

    static N_SIGNALS: AtomicU32 = AtomicU32::new(0);

    extern "C" fn on_signal(_: libc::c_int) {
        N_SIGNALS.fetch_add(1, Ordering::Relaxed);
    }

    #[test]
    fn signals_wait_for_a_thread_that_is_at_the_table() {
        let n = || N_SIGNALS.load(Ordering::Relaxed);
        // SAFETY: the handler counts, and no other test sends the signal.
        let raise = || unsafe {
            libc::signal(libc::SIGUSR2, on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t);
            libc::raise(libc::SIGUSR2)
        };
        let seen = TABLE.with(|_| {
            assert_eq!(raise(), 0);
            Some(n())
        });
        assert_eq!((seen, n()), (Some(0), 1));
        raise();
        assert_eq!(n(), 2, "afterwards they come at once");
    }

    /// Runs a test in a process of its own, which has its own shared memory; `None` in the one that made it.
    fn apart(test: &str) -> Option<std::ffi::OsString> {
        if let Some(folder) = std::env::var_os("TFBC_TEST_APART") {
            crate::hooks::prepare();
            return Some(folder);
        }
        let folder = std::env::temp_dir().join(format!("tfbc-{test}.{}", sys::pid()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &format!("lane::tests::{test}")]).env("TFBC_TEST_APART", &folder);
        let output = command.env("TFBC_TRACE_DIR", folder.join("memory")).output().unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        None
    }

    #[test]
    fn hooks_within_hooks_beyond_the_lanes_are_missed_and_counted() {
        let Some(folder) = apart("hooks_within_hooks_beyond_the_lanes_are_missed_and_counted") else { return };
        fn nested(levels: usize, last_id: u16) {
            // What a signal handler does that interrupts the hook in the midst of its event.
            let id = if levels == 1 { last_id } else { 0x0100 };
            put(0, id, 8, Kind::new(Kind::STAMPED, u32::from(id) << 16, 8), |at| {
                // SAFETY: the event has room for a word.
                unsafe { at.write(levels as u64) };
                if levels > 1 {
                    nested(levels - 1, last_id);
                }
            });
        }
        let log = std::path::Path::new(&folder).join("log");
        let hooks = crate::options::Hooks::Only(vec![0x0100]);
        session::start(&Task::Aix(Options {
            output: Output::File(log),
            background: true,
            hooks,
            ..Options::default()
        }))
        .unwrap();
        let missed = || session::sessions().unwrap()[0].missed;
        // Hook 020 is not recorded.
        for (levels, last_id, expected) in [(DEPTH, 0x0100, 0), (DEPTH + 1, 0x0200, 0), (DEPTH + 1, 0x0100, 1)] {
            nested(levels, last_id);
            assert_eq!(missed(), expected, "{levels} levels, the last of hook {last_id:x}");
        }
        session::stop(0, false).unwrap();
    }
}
