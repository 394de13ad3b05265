//! Timelines in Perfetto's format, read by a decoder of their own.

use crate::traces::{Record, call, dispatch, hook, log, record, stream};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tfbc::aix::ContextTable;
use tfbc::{Formats, Notice, Trace};
use tfbc_analysis::AnalysisOptions;
use tfbc_analysis::timeline::{InstantChoice, TRACKS, TimelineForm, TimelineOptions, timeline};

/// Value of a protobuf field.
#[derive(Clone, Copy)]
enum ProtoField<'m> {
    Number(u64),
    Bytes(&'m [u8]),
}

impl<'m> ProtoField<'m> {
    fn number(self) -> u64 {
        if let Self::Number(number) = self { number } else { panic!("bytes") }
    }

    fn bytes(self) -> &'m [u8] {
        if let Self::Bytes(bytes) = self { bytes } else { panic!("a number") }
    }
}

/// Last value per number of field of a message, and all values of the field `repeated`.
fn fields(mut message: &[u8], repeated: u64) -> (HashMap<u64, ProtoField<'_>>, Vec<&[u8]>) {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        number
    }
    let (mut found, mut all) = (HashMap::new(), Vec::new());
    while !message.is_empty() {
        let key = varint(&mut message);
        let value = match key & 7 {
            0 => ProtoField::Number(varint(&mut message)),
            wire => {
                assert_eq!(wire, 2);
                let len = varint(&mut message) as usize;
                let (bytes, rest) = message.split_at(len);
                message = rest;
                ProtoField::Bytes(bytes)
            }
        };
        if key >> 3 == repeated {
            all.push(value.bytes());
        }
        found.insert(key >> 3, value);
    }
    (found, all)
}

/// Begin, end and name.
pub type TrackSlice = (u64, u64, String);
/// Names of tracks with their slices.
pub type Tracks = Vec<(String, Vec<TrackSlice>)>;

/// Slices of the tracks, in the order of their ends. Panics if they do not nest.
fn slices(timeline: &[u8]) -> Tracks {
    let (mut names, mut tracks) = (HashMap::new(), BTreeMap::new());
    let mut events: BTreeMap<u64, Vec<(u64, u64, u64)>> = BTreeMap::new();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    for packet in fields(timeline, 1).1 {
        let (packet, _) = fields(packet, 0);
        if let Some(interned) = packet.get(&12) {
            let (entry, _) = fields(fields(interned.bytes(), 0).0[&2].bytes(), 0);
            names.insert(entry[&1].number(), text(entry[&2].bytes()));
        }
        if let Some(track) = packet.get(&60) {
            let (track, _) = fields(track.bytes(), 0);
            if let Some(name) = track.get(&2) {
                tracks.insert(track[&1].number(), text(name.bytes()));
            }
        }
        if let Some(event) = packet.get(&11) {
            let (event, _) = fields(event.bytes(), 0);
            let name = event.get(&10).map_or(0, |name| name.number());
            events.entry(event[&11].number()).or_default().push((packet[&8].number(), event[&9].number(), name));
        }
    }
    let mut found = Vec::new();
    for (track, mut events) in events {
        events.sort_by_key(|event| event.0);
        let (mut open, mut slices) = (Vec::new(), Vec::new());
        for (time, kind, name) in events {
            match kind {
                1 => open.push((time, name)),
                2 => {
                    let (begin, name) = open.pop().unwrap();
                    slices.push((begin, time, names[&name].clone()));
                }
                _ => {}
            }
        }
        assert!(open.is_empty());
        found.push((tracks[&track].clone(), slices));
    }
    found
}

/// Draws a trace with a context table, and returns the slices of the tracks.
pub fn draw(bytes: Vec<u8>, table: &str, what: TimelineOptions) -> Tracks {
    let context = ContextTable::default().overlay(table.parse().unwrap());
    let options = AnalysisOptions { context: Arc::new(context), ..AnalysisOptions::default() };
    let formats = Formats::builtin();
    let mut out = Vec::new();
    let mut trace = Trace::from_bytes("t", bytes).unwrap();
    timeline(&mut trace, &options, &what, formats.catalog(), &mut |_: &Notice| {}, &mut out).unwrap();
    slices(&out)
}

pub fn what(tracks: &[&'static str], pairs: &[&str]) -> TimelineOptions {
    assert!(tracks.iter().all(|track| TRACKS.contains(track)));
    TimelineOptions {
        form: TimelineForm::Perfetto,
        tracks: tracks.to_vec(),
        instants: InstantChoice::Never,
        has_formats: false,
        pairs: pairs.iter().map(|name| (*name).to_owned()).collect(),
        own_context: None,
        max_slices: u64::MAX,
    }
}

fn spans(slices: &[TrackSlice]) -> Vec<(u64, u64)> {
    slices.iter().map(|(begin, end, _)| (*begin, *end)).collect()
}

#[test]
fn pairs_take_the_lowest_free_lane_at_their_start() {
    let start = |t, key| hook(t, 0x1A0, 0, 7, &[key]);
    let end = |t, key| hook(t, 0x1A1, 0, 7, &[key]);
    let hooks = [
        start(0, 1),
        // Both of these end before the first one.
        start(10, 2),
        end(20, 2),
        start(30, 3),
        end(40, 3),
        end(100, 1),
        start(110, 4),
        end(120, 4),
        // A loss cuts a pair, so its lane is free.
        start(200, 5),
        hook(210, 0x006, 0, 0, &[0, 1]),
        start(220, 6),
        end(230, 6),
        // A start that another one replaces is no slice.
        start(300, 7),
        start(310, 8),
        start(320, 7),
        end(330, 8),
        end(340, 7),
    ];
    let found = draw(stream(1, &hooks), "pair p start=1A0 end=1A1 key=d1", what(&["timers"], &["p"]));
    assert_eq!(found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["p", "p"]);
    let mut lanes: Vec<_> = found.iter().map(|(_, slices)| spans(slices)).collect();
    lanes.sort();
    assert_eq!(lanes, [vec![(0, 100), (110, 120), (220, 230), (320, 340)], vec![(10, 20), (30, 40), (310, 330)],]);
}

/// Records of two CPUs whose times are not in order: thread 7.1 calls on CPU 0 from 200 to 500, and then on CPU 1 from 310.
fn disordered() -> Vec<u8> {
    let on = |cpu, t, class, event, words: &[u32]| Record { cpu, ..record(t, class, event, words) };
    log(
        2,
        &[
            on(0, 0, 1, 1, &[0, 0]),
            on(1, 0, 1, 1, &[0, 0]),
            on(0, 100, 4, 1, &[7, 1]),
            on(0, 200, 2, 11, &[0, 0]),
            on(0, 500, 2, 128 + 11, &[0, 0]),
            on(1, 300, 4, 1, &[7, 1]),
            on(1, 310, 2, 11, &[0, 0]),
            on(1, 600, 2, 128 + 11, &[0, 0]),
            on(1, 700, 6, 7, &[0, 0]),
        ],
    )
}

#[test]
fn slices_of_threads_nest_if_times_are_unordered() {
    let found = draw(disordered(), "", what(&["calls"], &[]));
    let [(name, calls)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((name.as_str(), spans(calls)), ("tid 1", vec![(200, 500), (500, 600)]));
}

#[test]
fn a_pair_whose_end_is_earlier_has_no_length() {
    let table = "[qnx]\npair p start=4:1 end=2:11 key=class";
    let table = table.replace("4:1", "THRUNNING").replace("2:11", "KER_CALL");
    let found = draw(disordered(), &table, what(&["timers"], &["p"]));
    assert!(found.iter().all(|(_, slices)| slices.iter().all(|(begin, end, _)| begin <= end)), "{found:?}");
}

#[test]
fn a_cut_call_ends_at_the_mark_of_the_loss() {
    let hooks = [
        hook(0, 0x001, 0, 9, &[]),
        dispatch(1000, 0x106, 0, 100, 11),
        call(2000, 0x101, 11, "kread"),
        hook(3000, 0x15B, 0, 11, &[1]),
        hook(6000, 0x006, 0, 9, &[0, 4]),
        dispatch(7000, 0x106, 0, 100, 11),
        call(7500, 0x101, 11, "kopen"),
        // The mark of an interval without tracing is its start.
        hook(8000, 0x002, 0, 9, &[]),
        hook(9000, 0x001, 0, 9, &[]),
        dispatch(9500, 0x106, 0, 100, 11),
    ];
    let tracks = draw(stream(1, &hooks), "", what(&["calls"], &[]));
    let calls = tracks.iter().find(|(name, _)| name == "tid 11").map(|(_, slices)| slices.clone());
    let slice = |begin, end, name: &str| (begin, end, String::from(name));
    assert_eq!(calls, Some(vec![slice(2000, 6000, "kread"), slice(7500, 8000, "kopen")]));
}

#[test]
fn a_cpu_replaces_the_one_without_a_number() {
    let hooks = [
        call(1000, 0x101, 11, "kread"),
        call(1100, 0x104, 11, "kread"),
        hook(1200, 0x1A0, 0, 11, &[7]),
        hook(1300, 0x1A1, 0, 11, &[]),
        dispatch(2000, 0x106, 3, 100, 12),
        hook(2500, 0x1A0, 0, 12, &[9]),
        hook(2600, 0x1A1, 0, 12, &[]),
        dispatch(4000, 0x106, 3, 100, 13),
        hook(5000, 0x15B, 0, 13, &[1]),
    ];
    let rules = "1A0 raise class=INT type=D1\n1A1 lower class=INT";
    let tracks = draw(stream(0, &hooks), rules, what(&["cpus", "states"], &[]));
    let names_of = |suffix: &str| -> Vec<&str> {
        let tracks = tracks.iter().filter(|(name, _)| name.ends_with(suffix));
        tracks.flat_map(|(_, slices)| slices.iter().map(|(.., name)| name.as_str())).collect()
    };
    assert_eq!(names_of(" state"), ["on CPU 3", "on CPU 3"], "{tracks:?}");
    assert_eq!(names_of("CPU 3"), ["INT 9", "-100- 12", "-100- 13"], "{tracks:?}");
}
