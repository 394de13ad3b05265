//! Reports of damaged logs. They must not depend on the number of threads or the kind of input, and damage must not
//! change the lines before it.

use crate::common::damage::*;
use crate::common::*;
use std::num::NonZeroUsize;
use tfbc::aix::{AfterDamage, AixKind, AixReportOptions, AixSummary, ReadOptions};
use tfbc::qnx::{QnxReportOptions, QnxSummary};
use tfbc::testing::aix::{Logs, Trace, report};
use tfbc::testing::formats::{Catalog, FormatSet};
use tfbc::testing::input::Input;
use tfbc::testing::qnx;
use tfbc::testing::qnx::{KevLog, KevOptions};
use tfbc::{LoadOptions, Notice, TraceKind};

/// Report of an AIX trace with its notices and counts; `None` if it is not a trace.
fn aix(
    input: Input,
    kind: Option<AixKind>,
    catalog: &Catalog<'_>,
    threads: usize,
    after_damage: AfterDamage,
) -> Option<(Vec<u8>, Vec<Notice>, AixSummary)> {
    let reading = ReadOptions { format: kind.map(TraceKind::Aix), after_damage, ..ReadOptions::default() };
    let mut logs = Logs::from(Trace::from_input("x", input, &reading).ok()?);
    let options = AixReportOptions {
        no_heading: true,
        threads: NonZeroUsize::new(threads),
        batch: NonZeroUsize::new(if threads > 1 { 3 } else { 64 }),
        ..AixReportOptions::default()
    };
    let (mut text, mut notices) = (Vec::new(), Vec::new());
    let mut monitor = |notice: &Notice| notices.push(notice.clone());
    let summary = report(&mut logs, catalog, &options, &mut text, &mut monitor).unwrap();
    assert_eq!(summary.imbalance, None);
    assert_eq!(summary.n_damaged, notices.iter().filter(|notice| notice.damage).count() as u64);
    assert_eq!(summary.bytes.1, logs.tally().skipped);
    Some((text, notices, summary))
}

fn kev(input: Input, catalog: &Catalog<'_>, threads: usize) -> Option<(Vec<u8>, Vec<Notice>, QnxSummary)> {
    let mut log = KevLog::from_input("x", input, &KevOptions::default()).ok()?;
    let options = QnxReportOptions { threads: NonZeroUsize::new(threads), ..QnxReportOptions::default() };
    let (mut text, mut notices) = (Vec::new(), Vec::new());
    let mut monitor = |notice: &Notice| notices.push(notice.clone());
    let summary = qnx::report(&mut log, catalog, &options, &mut text, &mut monitor).unwrap();
    assert_eq!(summary.imbalance, None);
    Some((text, notices, summary))
}

/// Damage of every kind at some offsets.
fn some_damage(len: usize, step: usize) -> impl Iterator<Item = Damage> {
    (0..len).step_by(step).flat_map(move |at| {
        let n = at / step;
        let cut = if n.is_multiple_of(3) { Damage::Cut(at) } else { Damage::Delete(at) };
        [cut, Damage::Flip(at, (n % 8) as u8), Damage::Insert(at, n as u8), Damage::Overwrite(at, n % 50, 0xFF)]
    })
}

#[test]
fn damaged_traces_give_one_report_for_threads_and_pipes() {
    let set = FormatSet::load(&[], &LoadOptions::default()).unwrap();
    let catalog = set.catalog().unwrap();
    for Reference { name, bytes, head, kind } in references(2000) {
        let whole = outcome(Input::from_bytes(bytes.clone()), kind, AfterDamage::Resync).unwrap();
        for damage in some_damage(bytes.len(), 37) {
            let damaged = damage.of(&bytes);
            for after in [AfterDamage::Resync, AfterDamage::NextEntry] {
                let file = || Input::from_bytes(damaged.clone());
                let Some(found) = aix(file(), kind, &catalog, 1, after) else { continue };
                assert!(aix(file(), kind, &catalog, 2, after).unwrap() == found, "{name} {damage:?}: two threads");
                let piped = aix(pipe(&damaged, 61), kind, &catalog, 2, after).unwrap();
                assert!(piped.0 == found.0, "{name} {damage:?}: a pipe");
                if after == AfterDamage::Resync {
                    assert!(piped == found, "{name} {damage:?}: notices of a pipe");
                }
                let before = whole.events.iter().take_while(|event| event.to <= damage.at() as u64).last();
                if let Some(last) = before
                    && damage.at() >= head
                    && whole.events[2].from < last.from
                    && kind.is_some()
                {
                    let sound =
                        aix(Input::from_bytes(bytes[..last.to as usize].to_vec()), kind, &catalog, 1, after).unwrap();
                    assert!(sound.1.is_empty());
                    assert!(found.0.starts_with(&sound.0), "{name} {damage:?}: lines before the damage");
                }
            }
        }
    }
}

#[test]
fn damaged_logs_give_one_report_for_threads_and_pipes() {
    let set = FormatSet::load(&[], &LoadOptions::default()).unwrap();
    let catalog = set.catalog().unwrap();
    for big in [false, true] {
        let Reference { name, bytes, .. } = reference_kev(big, 2000);
        for damage in some_damage(bytes.len(), 29) {
            let damaged = damage.of(&bytes);
            let Some(found) = kev(Input::from_bytes(damaged.clone()), &catalog, 1) else { continue };
            for threads in [1, 2] {
                assert!(kev(pipe(&damaged, 61), &catalog, threads).unwrap() == found, "{name} {damage:?}");
            }
            assert!(kev(Input::from_bytes(damaged.clone()), &catalog, 2).unwrap() == found, "{name} {damage:?}");
        }
    }
}

#[test]
fn traces_with_many_damaged_places() {
    let set = FormatSet::load(&[], &LoadOptions::default()).unwrap();
    let catalog = set.catalog().unwrap();
    for seed in 0..40 {
        let mut noise = Noise::new(seed);
        for Reference { name, mut bytes, head, kind } in references(4000) {
            for _ in 0..2 + noise.below(12) {
                let at = head.max(4) + noise.below((bytes.len() - head.max(4)) as u64) as usize;
                let damage = match noise.below(5) {
                    0 => Damage::Flip(at, noise.below(8) as u8),
                    1 => Damage::Insert(at, noise.below(256) as u8),
                    2 => Damage::Delete(at),
                    3 => Damage::Overwrite(at, noise.below(200) as usize, 0xFF),
                    _ => Damage::Overwrite(at, noise.below(60) as usize, 0),
                };
                bytes = damage.of(&bytes);
            }
            let read = outcome(Input::from_bytes(bytes.clone()), kind, AfterDamage::Resync).unwrap();
            check_bytes(&read, bytes.len());
            let found = aix(Input::from_bytes(bytes.clone()), kind, &catalog, 1, AfterDamage::Resync).unwrap();
            let piped = aix(pipe(&bytes, 100), kind, &catalog, 2, AfterDamage::Resync).unwrap();
            assert!(found == piped, "{name}, seed {seed}");
        }
    }
}
