//! QNX logs: the layout of traceprinter 1.02, a line a slot.

use super::{Case, Measure, Side, assert_same};
use crate::{KevLoad, NativeKev, NativeText, simple_log};
use std::io::{Cursor, Write};
use std::num::NonZeroUsize;
use tfbc::reader::Notice;
use tfbc::reader::kev::{KevLog, KevOptions};
use tfbc::traceprinter::{Layout, PrintOptions, print};
use tfbc_vm::Limits;

pub(super) fn measures() -> Vec<Measure> {
    let simple = |n_events: usize| {
        let (head, slots) = simple_log(n_events);
        let log = [head, slots.clone()].concat();
        let (native, mut by_hand) = (NativeKev::default(), NativeText::new());
        let mut text = Vec::new();
        printed(&log, &mut text);
        assert_eq!(native.slots(&slots, &mut by_hand), 0, "all are printed by hand");
        let from = text.windows(HEADING.len()).position(|part| part == HEADING).expect("the header is shown");
        assert_same(&text[from + HEADING.len()..], by_hand.as_bytes());
        Case::new(n_events).side(Side::Engine, move || printed(&log, &mut std::io::sink())).side(
            Side::Native,
            move || {
                by_hand.clear();
                native.slots(&slots, &mut by_hand);
                by_hand.as_bytes().len()
            },
        )
    };
    let all = |n_events: usize| {
        let load = KevLoad { slots: n_events as u64, big_endian: false, seed: 1, combines: true };
        let log: Vec<u8> = load.pieces().flatten().collect();
        Case::new(n_events).side(Side::Engine, move || printed(&log, &mut std::io::sink()))
    };
    vec![Measure::new("simple", simple), Measure::new("all", all)]
}

const HEADING: &[u8] = b" -- KERNEL EVENTS -- \n";

fn printed(log: &[u8], out: &mut (impl Write + Send)) -> usize {
    let options = PrintOptions {
        layout: Layout::Compat { one_line: true },
        verbose: false,
        limits: Limits::default(),
        threads: NonZeroUsize::new(1),
    };
    let read = Cursor::new(log.to_vec());
    let mut log = KevLog::from_read(read, "load", None, &KevOptions::default()).expect("the load is a log");
    let mut hear = |notice: &Notice| panic!("{}", notice.message);
    print(&mut log, None, &options, out, &mut hear).expect("memory can be read and written").counts.slots as usize
}
