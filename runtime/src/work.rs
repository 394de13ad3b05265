//! The budget of a whole report: the steps that its templates may take, by the bytes that they are given.
//!
//! An event may take [`Limits::steps`](tfbc_vm::Limits); a log of 64 KB has thousands of events. So the steps of all
//! events together are limited, too: to some for each byte of the events so far, this one included, and for `CREDIT` bytes
//! more. An event beyond that takes none, and prints ` [limit]`.
//!
//! What an event may take depends on the events before it. Events that are formatted side by side do not wait for that:
//! they begin with a guess that is too low, and their text stands if they cannot have reached the limit. Else they are
//! formatted again when all before them are (`Meter::resolve`); only hostile templates come to that.

use tfbc_vm::{Context, Event, Layout, Observer, Outcome, Run, TextBuf};

/// Bytes that a report is given for nothing, so that a few costly events are no matter.
pub(crate) const CREDIT: u64 = 256 << 10;

/// Steps between two looks at what is taken; some 10 ms.
const QUANTUM: u64 = 1 << 22;

/// Steps per event from which on a template is called slow; some 50 µs.
const SLOW: u64 = 1 << 14;

/// Steps that the templates of a report may take for each byte of their events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxWork(pub u32);

impl Default for MaxWork {
    /// 1024 steps: a byte that is printed in eight ways takes some 50.
    fn default() -> Self {
        Self(1024)
    }
}

impl MaxWork {
    /// Steps that events of so many bytes may take.
    pub fn allowance(self, bytes: u64) -> u64 {
        u64::from(self.0).saturating_mul(bytes.saturating_add(CREDIT))
    }
}

/// Steps and bytes of the events up to some place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Work {
    pub steps: u64,
    pub bytes: u64,
}

/// Meter of the steps that one thread's events take.
#[derive(Debug, Clone, Copy)]
pub struct Meter {
    max: MaxWork,
    /// Steps that one event may take.
    max_steps: u64,
    /// The events before the ones that are formatted. While it is a guess, no more steps, and no fewer bytes.
    start: Work,
    /// The events so far, this one's bytes included.
    work: Work,
    is_guess: bool,
    /// Steps from which on the next event has to be looked at.
    look_at: u64,
    /// Steps that the next event may take, if they are fewer than any event may.
    limit: Option<u64>,
    has_given_up: bool,
    /// Steps and events at the last look.
    looked: (u64, u64),
    n_events: u64,
    is_slow: bool,
}

impl Meter {
    /// Meter of a budget; `max_steps` is the limit of one event.
    pub fn new(max: MaxWork, max_steps: u32) -> Self {
        Self {
            max,
            max_steps: max_steps.into(),
            start: Work::default(),
            work: Work::default(),
            is_guess: false,
            look_at: 0,
            limit: None,
            has_given_up: false,
            looked: (0, 0),
            n_events: 0,
            is_slow: false,
        }
    }

    /// The same with another budget.
    pub fn with_max(self, max: MaxWork) -> Self {
        Self { max, ..self }
    }

    /// Begins with events that come after others.
    pub(crate) fn begin(&mut self, start: Work, is_guess: bool) {
        (self.start, self.work, self.is_guess) = (start, start, is_guess);
        (self.look_at, self.limit, self.has_given_up) = (0, None, false);
        (self.looked, self.n_events) = ((start.steps, 0), 0);
    }

    /// The events so far.
    pub(crate) fn work(&self) -> Work {
        self.work
    }

    /// Steps that may be taken before the next event has to be looked at.
    #[inline(always)]
    pub fn room(&self) -> u64 {
        self.look_at.saturating_sub(self.work.steps)
    }

    /// Adds the steps of events, and how many they were.
    #[inline]
    pub fn take(&mut self, steps: u64, n_events: u64) {
        self.work.steps += steps;
        self.n_events += n_events;
    }

    /// Adds the bytes of an event that comes next. Its limit is known afterwards.
    #[inline]
    pub fn next(&mut self, bytes: u64) {
        self.work.bytes += bytes;
        self.limit = None;
        if self.work.steps >= self.look_at {
            self.look();
        }
    }

    /// Steps that the next event may take; `None` for as many as any.
    #[inline]
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Runs the template of the event that [`Meter::next`] was told of, within its limit.
    pub fn run<'r, O: Observer>(
        &mut self,
        run: &mut Run<'r>,
        hook: u32,
        event: (&Event<'r>, &Context<'r>),
        (layout, line): (Layout, usize),
        out: &mut TextBuf,
        observer: &mut O,
    ) -> Outcome {
        let before = run.n_steps();
        let outcome = match self.limit {
            Some(0) => run.limited(line, out),
            limit => {
                limit.into_iter().for_each(|limit| run.limit_steps(limit));
                run.observed(hook, event, (layout, line), out, observer)
            }
        };
        self.take(run.n_steps() - before, 1);
        outcome
    }

    /// True if a guess was too low by far: what is formatted is in vain.
    #[inline]
    pub fn has_given_up(&self) -> bool {
        self.has_given_up
    }

    /// True, once, if the events since the last look took many steps, and nothing is guessed.
    pub fn take_slow(&mut self) -> bool {
        std::mem::take(&mut self.is_slow)
    }

    #[cold]
    fn look(&mut self) {
        let (steps, n_events) = (self.work.steps - self.looked.0, self.n_events - self.looked.1);
        if steps >= QUANTUM {
            self.is_slow = !self.is_guess && steps / n_events.max(1) >= SLOW;
            self.looked = (self.work.steps, self.n_events);
        }
        let allowance = self.max.allowance(self.work.bytes);
        let next = self.work.steps + QUANTUM;
        match allowance.checked_sub(self.max_steps) {
            // No event that begins below reaches the limit.
            Some(below) if self.work.steps <= below => self.look_at = next.min(below + 1),
            _ if self.is_guess && self.work.steps <= allowance => self.look_at = next,
            _ => {
                self.has_given_up = self.is_guess;
                self.limit = Some(allowance.saturating_sub(self.work.steps));
            }
        }
    }

    /// Learns what the events before were, after some were formatted by a guess: false if the limit was within their reach.
    /// Then they are to be formatted again.
    pub(crate) fn resolve(&mut self, start: Work) -> bool {
        let Work { steps, bytes } = self.work;
        let steps = start.steps + (steps - self.start.steps);
        let is_valid = !self.has_given_up && steps < self.max.allowance(start.bytes);
        self.work = Work { steps, bytes: start.bytes + (bytes - self.start.bytes) };
        (self.start, self.is_guess, self.look_at) = (start, false, 0);
        (self.looked, self.is_slow) = ((steps, self.n_events), false);
        is_valid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats events of such bytes and steps, and gives the steps that each was allowed.
    fn allowed(meter: &mut Meter, events: &[(u64, u64)]) -> Vec<Option<u64>> {
        let each = |&(bytes, steps): &(u64, u64)| {
            meter.next(bytes);
            let limit = meter.limit();
            meter.take(limit.map_or(steps, |limit| limit.min(steps)), 1);
            limit
        };
        events.iter().map(each).collect()
    }

    #[test]
    fn events_beyond_the_budget_take_what_their_own_bytes_give() {
        let mut meter = Meter::new(MaxWork(2), 1 << 20);
        meter.begin(Work::default(), false);
        // 2 steps for each of 262,144 bytes, and those of the events.
        let first = allowed(&mut meter, &[(8, 400_000), (8, 400_000), (8, 400_000), (16, 10)]);
        assert_eq!(first, [Some(524_304), Some(124_320), Some(16), Some(32)]);
        assert_eq!(meter.work(), Work { steps: 524_346, bytes: 40 });
    }

    #[test]
    fn ordinary_events_are_never_limited() {
        let mut meter = Meter::new(MaxWork::default(), 1 << 26);
        meter.begin(Work::default(), false);
        let mut n_looks = 0;
        for _ in 0..1_000_000 {
            n_looks += u64::from(meter.room() == 0);
            meter.next(16);
            assert_eq!(meter.limit(), None);
            meter.take(500, 1);
        }
        assert!(n_looks < 150, "{n_looks} looks");
    }

    #[test]
    fn a_guess_stands_if_the_limit_was_out_of_reach() {
        let with = |guess: u64, events: &[(u64, u64)], start: Work| {
            let mut meter = Meter::new(MaxWork(1), 1000);
            meter.begin(Work { steps: guess, bytes: start.bytes }, true);
            let limits = allowed(&mut meter, events);
            let gave_up = meter.has_given_up();
            (limits.iter().all(Option::is_none), gave_up, meter.resolve(start), meter.work())
        };
        let start = Work { steps: 200_000, bytes: 10_000 };
        let after = |steps: u64| Work { steps: 200_000 + steps, bytes: 10_016 };
        assert_eq!(with(0, &[(8, 900), (8, 800)], start), (true, false, true, after(1700)));
        // The limit of 272,144 is reached by what is known afterwards.
        assert_eq!(with(0, &[(8, 72_143), (8, 0)], start), (true, false, true, after(72_143)));
        assert_eq!(with(0, &[(8, 72_144), (8, 0)], start), (true, false, false, after(72_144)));
        // What is known before is beyond it already.
        let (_, gave_up, stands, _) = with(200_000, &[(8, 90_000), (8, 800)], start);
        assert!(gave_up && !stands);
    }

    #[test]
    fn templates_are_slow_that_take_many_steps_an_event() {
        let slow = |steps, n| {
            let mut meter = Meter::new(MaxWork::default(), 1 << 26);
            meter.begin(Work::default(), false);
            allowed(&mut meter, &vec![(16, steps); n]);
            (meter.take_slow(), meter.take_slow())
        };
        assert_eq!(slow(1 << 22, 3), (true, false));
        assert_eq!(slow(1 << 13, 1 << 11), (false, false));
    }
}
