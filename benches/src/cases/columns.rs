//! The columns of the default layout: id, elapsed seconds, delta milliseconds.

use super::{Case, Measure, Side, assert_same};
use crate::{NativeText, Rng, native_columns};
use std::fmt::Write;
use std::rc::Rc;
use tfbc::columns::{Columns, Row};
use tfbc::context::Facts;
use tfbc_vm::TextBuf;

/// Id, elapsed time and that of the event before, in ns.
type Times = Rc<Vec<(u16, u64, u64)>>;

pub(super) fn measures() -> Vec<Measure> {
    vec![Measure::new("default", |n_events| {
        let mut rng = Rng::new(1);
        let mut last = 0;
        let times: Times = Rc::new(
            std::iter::repeat_with(|| {
                let before = last;
                last += 100 + u64::from(rng.below(20_000));
                (0x1000 + 16 * rng.below(200) as u16, last, before)
            })
            .take(n_events)
            .collect(),
        );
        let (by_engine, by_hand) = (Rc::clone(&times), Rc::clone(&times));
        let (mut text, mut native, mut plain) = (TextBuf::new(), NativeText::new(), String::new());
        engine(&times, &mut text);
        hand(&times, &mut native);
        std_fmt(&times, &mut plain);
        assert_same(text.as_bytes(), native.as_bytes());
        assert_same(text.as_bytes(), plain.as_bytes());
        Case::new(n_events)
            .side(Side::Engine, move || engine(&by_engine, &mut text))
            .side(Side::Native, move || hand(&by_hand, &mut native))
            .side(Side::Plain, move || std_fmt(&times, &mut plain))
    })]
}

fn engine(times: &Times, text: &mut TextBuf) -> usize {
    const FACTS: Facts<'static> =
        Facts { tid: 0, pid: None, path: b"", name: b"", cpu: None, depth: 0, priority: 0, svc: b"" };
    let columns = Columns::default();
    text.clear();
    for &(id, elapsed_ns, before) in times.iter() {
        let delta_ns = i128::from(elapsed_ns) - i128::from(before);
        let row = Row { id, elapsed_ns, delta_ns, facts: &FACTS, file: b"", reported_cpus: 0 };
        columns.write(text.len(), &row, text);
    }
    text.len()
}

fn hand(times: &Times, text: &mut NativeText) -> usize {
    text.clear();
    for &(id, elapsed_ns, before) in times.iter() {
        text.line(|line| native_columns::<false>(line, id, elapsed_ns, before, false));
    }
    text.as_bytes().len()
}

fn std_fmt(times: &Times, text: &mut String) -> usize {
    text.clear();
    for &(id, elapsed, before) in times.iter() {
        let delta = elapsed - before;
        let (seconds, fraction) = (elapsed / 1_000_000_000, elapsed % 1_000_000_000);
        let written =
            write!(text, "{:<4X}{seconds:>4}.{fraction:09}{:>8}.{:06}", id >> 4, delta / 1_000_000, delta % 1_000_000);
        written.expect("a string takes everything");
    }
    text.len()
}
