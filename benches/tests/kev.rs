//! Written .kev logs, compared with the layout in the reader's tests, and read by the reader itself.

use std::collections::BTreeSet;
use std::io::Cursor;
use tfbc::testing::qnx::{KevItem, KevLog, KevOptions};
use tfbc_benches::{KevEvent, KevHead, KevLoad, KevWriter, SLOT_BYTES};

fn event(payload: &[u8]) -> KevEvent {
    KevEvent { cpu: 2, class: 5, event: 0x102, stamp: 0x0A0B_0C0D, payload: payload.to_vec() }
}

#[test]
fn events_take_as_many_slots_as_their_payload_needs() {
    let little = KevWriter { big_endian: false };
    let big = KevWriter { big_endian: true };
    assert_eq!(little.slots(&event(b"12345678")), [*b"\x02\x15\0\x02\x0d\x0c\x0b\x0a12345678"]);
    assert_eq!(big.slots(&event(b"")), [*b"\x02\0\x15\x02\x0a\x0b\x0c\x0d\0\0\0\0\0\0\0\0"]);
    let kinds = |n: usize| -> Vec<u8> { big.slots(&event(&vec![1; n])).iter().map(|slot| slot[0] >> 6).collect() };
    assert_eq!((kinds(8), kinds(9), kinds(16), kinds(33)), (vec![0], vec![1, 3], vec![1, 3], vec![1, 2, 2, 2, 3]));
    assert_eq!(big.slots(&event(&[7; 9]))[1][8..], [7, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn heads_name_their_inputs() {
    for (big_endian, one_clock) in [(false, false), (true, false), (false, true), (true, true)] {
        let writer = KevWriter { big_endian };
        let head = KevHead { writer, cycles_per_sec: 19_200_000, n_cpus: 3, one_clock };
        let log = KevLog::from_read(Cursor::new(head.to_bytes()), "head", None, &KevOptions::default()).unwrap();
        let header = log.header();
        assert_eq!((header.big_endian, header.one_clock, header.cpu_num), (big_endian, one_clock, Some(3)));
        let page = header.syspage.as_ref().unwrap();
        assert_eq!(page.qtime().unwrap().cycles_per_sec, 19_200_000);
        let cpus: Vec<_> = page.cpus().map(|cpu| (cpu.speed_mhz, cpu.name)).collect();
        assert_eq!(cpus, [(19, &b"generated CPU"[..]); 3]);
    }
}

fn log(slots: u64, big_endian: bool, seed: u64) -> Vec<u8> {
    KevLoad { slots, big_endian, seed, combines: true }.pieces().collect::<Vec<_>>().concat()
}

#[test]
fn loads_hold_the_slots_asked_for_and_nothing_broken() {
    for slots in [0, 1, 5, 100, 713, 714, 715, 2500, 50_000] {
        for big_endian in [false, true] {
            let bytes = log(slots, big_endian, 7);
            let mut log = KevLog::from_read(Cursor::new(bytes), "load", None, &KevOptions::default()).unwrap();
            let mut classes = BTreeSet::new();
            let mut last = [0; 4];
            while let Some(item) = log.next().unwrap() {
                let KevItem::Record(record) = item else { panic!("{slots}: {item:?}") };
                classes.insert((record.class, record.wide));
                if record.class != 1
                    && let Some(cycles) = record.cycles()
                {
                    assert!(cycles > std::mem::replace(&mut last[usize::from(record.cpu)], cycles));
                }
            }
            let counts = log.counts();
            assert_eq!((counts.slots, counts.dropped_slots, counts.gaps, counts.cut_bytes), (slots, 0, 0, 0));
            if slots == 50_000 {
                let both = |class| [(class, false), (class, true)];
                let all = [both(2), both(3), both(4), both(5), both(6)].concat();
                assert!(all.iter().chain(&[(1, false), (7, false)]).all(|kind| classes.contains(kind)), "{classes:?}");
            }
        }
    }
}

#[test]
fn loads_depend_on_their_options_alone() {
    assert_eq!(log(3000, false, 1), log(3000, false, 1));
    assert_ne!(log(3000, false, 1), log(3000, false, 2));
    assert_eq!(log(3000, false, 1).len(), log(3000, true, 1).len() + "LITTLE".len() - "BIG".len());
    assert_eq!(log(3000, true, 3).len() % SLOT_BYTES, log(0, true, 3).len() % SLOT_BYTES);
}
