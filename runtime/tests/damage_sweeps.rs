//! Damage at every byte of a log: cuts, flipped bits, inserted and deleted bytes. Events before the damage must not
//! change, and every byte must be in an event or in a notice.

use crate::common::damage::*;
use tfbc::aix::AfterDamage;
use tfbc::testing::input::Input;
use tfbc::testing::qnx::KevOptions;

/// Every possible cut and flipped bit, and an inserted and a deleted byte at every offset.
fn every_damage(len: usize) -> Vec<Damage> {
    let places = 0..len;
    let cuts = places.clone().map(Damage::Cut);
    let flips = places.clone().flat_map(|at| (0..8).map(move |bit| Damage::Flip(at, bit)));
    let inserted = places.clone().map(|at| Damage::Insert(at, [0, 0xFF, 0x5A][at % 3]));
    cuts.chain(flips).chain(inserted).chain(places.map(Damage::Delete)).collect()
}

/// Checks all cases on two threads.
fn on_both_cores<T: Copy + Sync>(cases: &[T], check: impl Fn(usize, T) + Sync) {
    std::thread::scope(|scope| {
        for half in 0..2 {
            let check = &check;
            scope.spawn(move || {
                cases.iter().enumerate().skip(half).step_by(2).for_each(|(n, case)| check(n, *case));
            });
        }
    });
}

#[test]
fn aix_traces_with_damage_at_every_byte() {
    for Reference { name, bytes, head, kind } in references(2000) {
        assert!((1024..=4096).contains(&bytes.len()), "{name}: {}", bytes.len());
        let whole = outcome(Input::from_bytes(bytes.clone()), kind, AfterDamage::Resync).unwrap();
        assert_eq!((whole.notices.len(), whole.tally.skipped), (0, 0), "{name}: {:?}", whole.notices);
        check_bytes(&whole, bytes.len());
        on_both_cores(&every_damage(bytes.len()), |n, damage| {
            let damaged = damage.of(&bytes);
            let Some(found) = outcome(Input::from_bytes(damaged.clone()), kind, AfterDamage::Resync) else {
                // Damage at the start may turn the file into another kind, which is refused when it is opened.
                assert!(damage.at() < head.max(4), "{name} {damage:?}");
                return;
            };
            check_bytes(&found, damaged.len());
            if damage.at() >= head {
                let n_before = whole.events.iter().filter(|event| event.to <= damage.at() as u64).count();
                assert!(found.events.len() >= n_before, "{name} {damage:?}");
                assert!(found.events[..n_before] == whole.events[..n_before], "{name} {damage:?}");
            }
            if n % 16 == 0 {
                let piped = outcome(pipe(&damaged, 1 + n % 97), kind, AfterDamage::Resync).unwrap();
                assert!(piped == found, "{name} {damage:?} through a pipe");
            }
            if n % 4 == 0 {
                let stopped = outcome(Input::from_bytes(damaged.clone()), kind, AfterDamage::NextEntry).unwrap();
                check_bytes(&stopped, damaged.len());
                assert!(stopped.events.len() <= found.events.len(), "{name} {damage:?}");
            }
        });
    }
}

#[test]
fn cut_streams_yield_whole_events_and_report_the_rest() {
    for Reference { name, bytes, head, kind } in references(2000).into_iter().take(2) {
        let whole = outcome(Input::from_bytes(bytes.clone()), kind, AfterDamage::Resync).unwrap();
        for len in head..bytes.len() {
            let cut = outcome(Input::from_bytes(bytes[..len].to_vec()), kind, AfterDamage::Resync).unwrap();
            let n_whole = whole.events.iter().filter(|event| event.to <= len as u64).count();
            assert!(cut.events == whole.events[..n_whole], "{name} cut to {len}");
            let end = cut.events.last().map_or(head as u64, |event| event.to);
            let named: Vec<_> =
                cut.notices.iter().filter(|notice| notice.damage).map(|notice| notice.skipped).collect();
            let expected = if end < len as u64 { vec![Some((end, len as u64))] } else { Vec::new() };
            assert_eq!(named, expected, "{name} cut to {len}");
        }
    }
}

#[test]
fn qnx_logs_with_damage_at_every_byte() {
    for big in [false, true] {
        let Reference { name, bytes, head, .. } = reference_kev(big, 2000);
        let options = KevOptions::default();
        let (whole, notices, _) = kev_outcome(Input::from_bytes(bytes.clone()), &options).unwrap();
        assert!(notices.is_empty(), "{notices:?}");
        // A record is before the damage if its last slot is.
        let ends = last_slots(&bytes, head, big);
        assert_eq!(ends.len(), whole.len());
        on_both_cores(&every_damage(bytes.len()), |n, damage| {
            let damaged = damage.of(&bytes);
            let Some((found, notices, tally)) = kev_outcome(Input::from_bytes(damaged.clone()), &options) else {
                assert!(damage.at() < head, "{name} {damage:?}");
                return;
            };
            assert_eq!(tally.read, damaged.len() as u64, "{name} {damage:?}");
            assert_eq!(
                tally.skipped == 0,
                notices.iter().all(|notice| !notice.damage),
                "{name} {damage:?} {notices:?}"
            );
            if damage.at() >= head {
                let n_before = ends.iter().filter(|end| **end <= damage.at()).count();
                assert!(found[..n_before] == whole[..n_before], "{name} {damage:?}");
            }
            if n % 16 == 0 {
                let piped = kev_outcome(pipe(&damaged, 1 + n % 97), &options).unwrap();
                assert!(piped == (found, notices, tally), "{name} {damage:?} through a pipe");
            }
        });
    }
}

/// End offset of the last slot per record, in the order in which the reader yields them.
fn last_slots(bytes: &[u8], head: usize, big: bool) -> Vec<usize> {
    let kind = |slot: &[u8]| if big { slot[0] >> 6 } else { slot[3] >> 6 };
    let slots = bytes[head..].chunks_exact(16).enumerate();
    slots.filter(|(_, slot)| matches!(kind(slot), 0 | 3)).map(|(n, _)| head + 16 * (n + 1)).collect()
}
