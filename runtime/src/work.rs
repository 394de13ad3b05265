//! Step budget of a whole report, so that hostile templates cannot run for hours.
//!
//! [`Limits::steps`](tfbc_vm::Limits) limits one event, but a log of 64 KB has thousands of events. So the total number of
//! steps is limited too: to a number per byte of all events so far, the current one included, plus `CREDIT` free bytes.
//! Events above the budget do not run and print ` [limit]`.
//!
//! The budget of an event depends on all earlier events, but events are formatted in parallel. So a thread starts with
//! a guess of the steps taken before, which is never too high. If its events cannot have reached the limit anyway,
//! their text is valid; else they are formatted again once the real number is known (`Meter::resolve`). Only hostile
//! templates cause that.

use crate::fields::{FieldsForm, PreparedFields};
use tfbc_vm::{Event, EventInput, LineStart, Observer, Outcome, PreparedEntry, Run, TextBuf};

/// Free bytes of every report, so that a few expensive events do not matter.
pub(crate) const CREDIT: u64 = 256 << 10;

/// Number of steps between two checks, about 10 ms.
const QUANTUM: u64 = 1 << 22;

/// Number of steps per event from which a template is reported as slow, about 50 µs.
const SLOW: u64 = 1 << 14;

/// Work limit of a whole report: number of steps that its templates may take per byte of their events. Events above it
/// end with `[limit]`. [`Limits`](tfbc_vm::Limits) describes steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxWork(pub u32);

impl Default for MaxWork {
    /// 1024 steps. Printing a byte in eight formats takes about 50.
    fn default() -> Self {
        Self(1024)
    }
}

impl MaxWork {
    /// Budget in steps for events of `bytes` bytes.
    #[doc(hidden)]
    pub fn allowance(self, bytes: u64) -> u64 {
        u64::from(self.0).saturating_mul(bytes.saturating_add(CREDIT))
    }
}

/// Total steps and bytes of a number of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Work {
    pub steps: u64,
    pub bytes: u64,
}

impl Work {
    /// Adds an event of some bytes. Returns true if its routine may run: a hostile template must not run for hours.
    pub fn admits(&mut self, n_bytes: usize, max: MaxWork) -> bool {
        self.bytes += n_bytes as u64;
        self.steps < max.allowance(self.bytes)
    }
}

/// Meter of the steps of one thread's events.
#[derive(Debug, Clone, Copy)]
pub struct Meter {
    max: MaxWork,
    /// Limit of one event in steps.
    max_steps: u64,
    /// Totals of all events before the current chunk. If they are a guess, they have too few steps or too many bytes,
    /// never the reverse.
    start: Work,
    /// Totals so far, with the bytes of the current event.
    work: Work,
    is_guess: bool,
    /// Number of steps at which the next check happens.
    look_at: u64,
    /// Limit of the next event, if the budget is below the limit per event.
    limit: Option<u64>,
    has_given_up: bool,
    /// Number of steps and events at the last check.
    looked: (u64, u64),
    n_events: u64,
    is_slow: bool,
}

impl Meter {
    /// Creates a meter; `max_steps` is the limit of one event.
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

    /// Changes the budget.
    pub fn with_max(self, max: MaxWork) -> Self {
        Self { max, ..self }
    }

    /// Starts a chunk of events. `start` contains the totals of all events before it.
    pub(crate) fn begin(&mut self, start: Work, is_guess: bool) {
        (self.start, self.work, self.is_guess) = (start, start, is_guess);
        (self.look_at, self.limit, self.has_given_up) = (0, None, false);
        (self.looked, self.n_events) = ((start.steps, 0), 0);
    }

    /// Totals so far.
    pub(crate) fn work(&self) -> Work {
        self.work
    }

    /// Number of steps left until the next check.
    #[inline(always)]
    pub fn room(&self) -> u64 {
        self.look_at.saturating_sub(self.work.steps)
    }

    /// Adds the steps of a number of events.
    #[inline]
    pub fn take(&mut self, steps: u64, n_events: u64) {
        self.work.steps += steps;
        self.n_events += n_events;
    }

    /// Adds the bytes of the next event and computes its limit.
    #[inline]
    pub fn next(&mut self, bytes: u64) {
        self.work.bytes += bytes;
        self.limit = None;
        if self.work.steps >= self.look_at {
            self.look();
        }
    }

    /// Limit of the next event in steps; `None` if only the limit per event applies.
    #[inline]
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Limits a run to the steps that are left for the next event. Returns false if there are none.
    #[inline(always)]
    fn limit_run(&self, run: &mut Run<'_>) -> bool {
        match self.limit {
            Some(0) => return false,
            limit => limit.into_iter().for_each(|limit| run.limit_steps(limit)),
        }
        true
    }

    /// Runs the template of the event passed to [`Meter::next`], within its limit.
    pub fn run<'r, O: Observer>(
        &mut self,
        run: &mut Run<'r>,
        hook: u32,
        input: EventInput<'_, 'r>,
        start: LineStart,
        out: &mut TextBuf,
        observer: &mut O,
    ) -> Outcome {
        let before = run.n_steps();
        let outcome = if self.limit_run(run) {
            run.observed(hook, input, start, out, observer)
        } else {
            run.limited(start.line, out)
        };
        self.take(run.n_steps() - before, 1);
        outcome
    }

    /// Like [`Meter::run`], by a prepared entry. `None` if the event ended normally.
    #[inline]
    pub(crate) fn run_prepared<'r>(
        &mut self,
        run: &mut Run<'r>,
        prepared: &PreparedEntry<'r>,
        input: &EventInput<'_, 'r>,
        start: LineStart,
        out: &mut TextBuf,
    ) -> Option<Outcome> {
        let before = run.n_steps();
        if !self.limit_run(run) {
            self.take(0, 1);
            return Some(run.limited(start.line, out));
        }
        let is_normal = run.run_prepared(prepared, input, start, |_| 0, out);
        self.take(run.n_steps() - before, 1);
        if is_normal { None } else { Some(run.outcome()) }
    }

    /// Stores the fields of the record passed to [`Meter::next`], within its limit. `None` if no steps are left.
    pub(crate) fn run_fields<'r>(
        &mut self,
        run: &mut Run<'r>,
        prepared: &PreparedEntry<'r>,
        event: &Event<'r>,
        out: &mut TextBuf,
    ) -> Option<Outcome> {
        let before = run.n_steps();
        if !self.limit_run(run) {
            return None;
        }
        let outcome = run.record_fields(prepared, event, out);
        self.take(run.n_steps() - before, 1);
        Some(outcome)
    }

    /// Appends the fields of the event passed to [`Meter::next`], within its limit. `None` if no steps are left.
    pub(crate) fn write_fields<'r>(
        &mut self,
        run: &mut Run<'r>,
        fields: &PreparedFields<'r>,
        form: FieldsForm,
        input: &EventInput<'_, 'r>,
        is_trial: bool,
        out: &mut TextBuf,
    ) -> Option<Outcome> {
        let before = run.n_steps();
        if !self.limit_run(run) {
            return None;
        }
        let outcome = fields.write_as(form, run, input, is_trial, out);
        self.take(run.n_steps() - before, 0);
        Some(outcome)
    }

    /// True if the guess was so low that the chunk must be formatted again anyway.
    #[inline]
    pub fn has_given_up(&self) -> bool {
        self.has_given_up
    }

    /// True once if the events since the last check took many steps. Always false while the totals are a guess.
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
            // No event that starts below this number of steps can reach the limit.
            Some(below) if self.work.steps <= below => self.look_at = next.min(below + 1),
            _ if self.is_guess && self.work.steps <= allowance => self.look_at = next,
            _ => {
                self.has_given_up = self.is_guess;
                self.limit = Some(allowance.saturating_sub(self.work.steps));
            }
        }
    }

    /// Replaces the guess by the real totals. False if the events may have reached the limit and must be formatted
    /// again.
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

    /// Runs events of the given bytes and steps. Returns the limit per event.
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
    fn events_above_the_budget_get_their_own_share() {
        let mut meter = Meter::new(MaxWork(2), 1 << 20);
        meter.begin(Work::default(), false);
        // 2 steps per byte, for 262,144 free bytes plus the bytes of the events.
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
    fn a_guess_is_valid_below_the_limit() {
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
        // With the real totals, the limit of 272,144 is reached.
        assert_eq!(with(0, &[(8, 72_143), (8, 0)], start), (true, false, true, after(72_143)));
        assert_eq!(with(0, &[(8, 72_144), (8, 0)], start), (true, false, false, after(72_144)));
        // The guess itself is above the limit.
        let (_, gave_up, is_valid, _) = with(200_000, &[(8, 90_000), (8, 800)], start);
        assert!(gave_up && !is_valid);
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
