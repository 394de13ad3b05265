//! Reading resumes soon after damage at any place.

use crate::common::damage::*;
use crate::common::*;
use tfbc::aix::{AfterDamage, AixKind};
use tfbc::testing::input::Input;
use tfbc::testing::qnx::KevOptions;

/// Streams as kernels record them: stamped events, with addresses as words.
fn streams() -> [(AixKind, Vec<u8>); 2] {
    let mut noise = Noise::new(3);
    let wide = [STREAM64.to_vec(), factors64(1, 1, 2), events64(&mut noise, 90, 1000).concat()].concat();
    let narrow = [factors32(1, 1, 2), events32(&mut noise, 160, 1000).concat()].concat();
    [(AixKind::Stream64, wide), (AixKind::Stream32, narrow)]
}

/// Bytes after the damage whose events are lost. The damaged log is `longer` bytes longer.
fn lost(whole: &DamagedRead, found: &DamagedRead, from_offset: u64, longer: i64) -> u64 {
    let expected =
        whole.events.iter().filter(|event| event.from >= from_offset).map(|event| (event, event.from as i64 + longer));
    let expected: Vec<_> = expected.collect();
    let same = expected.iter().rev().zip(found.events.iter().rev()).take_while(|((event, from), found)| {
        (*from, event.event.id, event.event.tid, event.event.ticks, &event.event.bytes)
            == (found.from as i64, found.event.id, found.event.tid, found.event.ticks, &found.event.bytes)
    });
    let n_lost = expected.len() - same.count();
    n_lost.checked_sub(1).map_or(0, |last| expected[last].0.to - from_offset)
}

/// Bytes lost after each damage of a kind, in ascending order, where enough events follow.
fn losses(kind: AixKind, bytes: &[u8], damage: impl Fn(usize) -> Damage, len: u64, longer: i64) -> Vec<(u64, usize)> {
    let read = |bytes: Vec<u8>| outcome(Input::from_bytes(bytes), Some(kind), AfterDamage::Resync).unwrap();
    let whole = read(bytes.to_vec());
    let last = whole.events[whole.events.len() - 32].from as usize;
    let lost = |at: usize| lost(&whole, &read(damage(at).of(bytes)), at as u64 + len, longer);
    let mut losses: Vec<_> = (4..last).map(|at| (lost(at), at)).collect();
    losses.sort_unstable();
    losses
}

/// Almost all damage loses only the events it touches; a damaged length includes what follows.
fn check_losses(what: &str, losses: &[(u64, usize)]) {
    let at_share = |percent: usize| losses[losses.len() * percent / 100].0;
    assert!(at_share(75) <= 80, "{what}: {:?}", &losses[losses.len() * 3 / 4..]);
    assert!(at_share(97) <= 600, "{what}: {:?}", &losses[losses.len() * 97 / 100..]);
    assert!(losses.last().unwrap().0 <= 4108 + 600, "{what}: {:?}", losses.last());
}

#[test]
fn overwritten_places_cost_few_events_after_them() {
    for (kind, bytes) in streams() {
        for n in [1, 3, 8, 40, 300] {
            let losses = losses(kind, &bytes, |at| Damage::Overwrite(at, n, 0xFF), n as u64, 0);
            check_losses(&format!("{kind}, {n} bytes"), &losses);
        }
    }
}

/// In a 32-bit stream almost any word is a hook word, so misaligned events may be well-formed to the end.
#[test]
fn a_byte_more_or_less_costs_little() {
    let [(kind, bytes), _] = streams();
    for byte in [0, 0x5A, 0xFF] {
        let losses = losses(kind, &bytes, |at| Damage::Insert(at, byte), 0, 1);
        check_losses(&format!("{byte:#x} inserted"), &losses);
    }
    let losses = losses(kind, &bytes, Damage::Delete, 1, -1);
    check_losses("a byte deleted", &losses);
}

/// Log of simple slots whose headers have few bits, and whose words look like headers if misaligned.
fn kev_slots(n: u32) -> (Vec<u8>, usize) {
    let head = b"TRACE_HEADER_BEGIN::TRACE_VER_MAJOR::1TRACE_VER_MINOR::01TRACE_LITTLE_ENDIAN::TRUETRACE_CPU_NUM::2TRACE_HEADER_END::";
    let mut bytes = head.to_vec();
    for at in 0..n {
        let header = (at % 2) << 24 | 4 << 10 | (at % 24);
        for word in [header, 0x1234_0000 + at * 977, 1 + at % 5, at] {
            bytes.extend(word.to_le_bytes());
        }
    }
    (bytes, head.len())
}

#[test]
fn slots_out_of_step_are_found_again() {
    let (bytes, head) = kev_slots(100);
    let read = |bytes: Vec<u8>| kev_outcome(Input::from_bytes(bytes), &KevOptions::default()).unwrap();
    let (whole, notices, _) = read(bytes.clone());
    assert_eq!((whole.len(), notices.len()), (100, 0));
    for at in head..bytes.len() - 16 * 20 {
        for (damage, longer) in [(Damage::Insert(at, 0x5A), 1), (Damage::Delete(at), -1), (Damage::Insert(at, 0), 1)] {
            let (found, notices, tally) = read(damage.of(&bytes));
            let same = whole.iter().rev().zip(found.iter().rev());
            let same = same.take_while(|(one, other)| {
                one.0 as i64 + longer == other.0 as i64 && one.1 == other.1 && one.3 == other.3
            });
            let n_after = whole.iter().filter(|record| record.0 > at as u64).count();
            assert!(same.count() + 3 >= n_after, "{damage:?}: {notices:?}");
            let named: u64 = notices.iter().filter_map(|notice| notice.skipped).map(|(from, to)| to - from).sum();
            assert!(named <= tally.skipped && named > 0, "{damage:?}: {notices:?}");
        }
    }
    // The 6.4 tool does not detect misaligned slots.
    let options = KevOptions { out_of_step: true, ..KevOptions::default() };
    let (_, notices, _) = kev_outcome(Input::from_bytes(Damage::Insert(head, 0x5A).of(&bytes)), &options).unwrap();
    assert!(notices.iter().all(|notice| !notice.message.contains("out of step")), "{notices:?}");
}

#[test]
fn reports_continue_after_damage_as_trcrpt_does() {
    let directory = tempfile::tempdir().unwrap();
    let mut noise = Noise::new(9);
    let sound = [STREAM64.to_vec(), factors64(1, 1, 2), events64(&mut noise, 60, 1000).concat()].concat();
    std::fs::write(directory.path().join("x"), Damage::Overwrite(700, 80, 0xFF).of(&sound)).unwrap();
    std::fs::write(directory.path().join("sound"), sound).unwrap();
    let lines = |program: &str, args: &[&str]| {
        let mut command = command(program);
        let (out, err, status) = run(command.args(args).current_dir(directory.path()));
        assert_eq!(status, if args.contains(&"sound") { 0 } else { 2 }, "{err}");
        (out.lines().count(), err)
    };
    let (all, _) = lines("tfbc", &["report", "--no-heading", "sound"]);
    let (resynced, err) = lines("tfbc", &["report", "--no-heading", "x"]);
    assert!(resynced + 3 >= all && err.contains("; skipped to offset 0x"), "{resynced} of {all} lines: {err}");
    assert!(err.contains("1 damaged place"), "{err}");
    let (ended, err) = lines("trcrpt", &["-h", "x"]);
    assert!(ended < all / 2 && err.contains("the rest of the stream is skipped"), "{ended} of {all} lines: {err}");
    assert_eq!(lines("trcrpt", &["--after-damage", "resync", "-h", "x"]).0, resynced);
    assert_eq!(lines("tfbc", &["report", "--after-damage", "next-entry", "--no-heading", "x"]).0, ended);
}
