//! Benchmarks of analyses: summaries of where the time went, times of calls, and timelines.

use super::case::{BenchCase, Measure, Side};
use super::report::realistic_stream;
use crate::report_run::catalog;
use crate::{KevLoad, TraceKind};
use tfbc::internal::templates::Catalog;
use tfbc::{Notice, Trace};
use tfbc_analysis::timeline::{InstantChoice, TRACKS, TimelineForm, TimelineOptions, timeline};
use tfbc_analysis::{AnalysisOptions, summarise};

pub(super) fn measures() -> Vec<Measure> {
    let cpus = || Some(vec![String::from("cpu")]);
    let summary = |name, sections: fn() -> Option<Vec<String>>, load: fn(usize) -> &'static [u8]| {
        Measure::new(name, move |n_events| {
            let (load, options) =
                (load(n_events), AnalysisOptions { sections: sections(), ..AnalysisOptions::default() });
            BenchCase::new(n_events).side(Side::Engine, move || {
                let summary = summarise(&mut trace(load), &options, &mut |_: &Notice| {});
                summary.expect("the load has times").n_events as usize
            })
        })
    };
    let drawn = |name, form| {
        Measure::new(name, move |n_events| {
            let (load, catalog) = (aix(n_events), catalog("trcfmt", &TraceKind::Realistic.format_file()));
            BenchCase::new(n_events).side(Side::Engine, move || draw(load, form, &catalog))
        })
    };
    vec![
        summary("cpus", cpus, aix),
        summary("all", || None, aix),
        summary("kev-cpus", cpus, kev),
        summary("kev-all", || None, kev),
        drawn("perfetto", TimelineForm::Perfetto),
        drawn("chrome", TimelineForm::Chrome),
    ]
}

fn aix(n_events: usize) -> &'static [u8] {
    realistic_stream(n_events, 0, 1)
}

fn kev(n_events: usize) -> &'static [u8] {
    let load = KevLoad { slots: n_events as u64, big_endian: false, seed: 1, combines: true };
    load.pieces().flatten().collect::<Vec<u8>>().leak()
}

fn trace(load: &'static [u8]) -> Trace {
    Trace::from_bytes("load", load).expect("the load is a trace")
}

/// Writes a timeline without instants.
fn draw(load: &'static [u8], form: TimelineForm, catalog: &Catalog<'_>) -> usize {
    let what = TimelineOptions {
        form,
        tracks: TRACKS.to_vec(),
        instants: InstantChoice::Defined,
        has_formats: false,
        pairs: Vec::new(),
        own_context: None,
        max_slices: u64::MAX,
    };
    let options = AnalysisOptions { sections: Some(Vec::new()), ..AnalysisOptions::default() };
    let counts = timeline(&mut trace(load), &options, &what, catalog, &mut |_: &Notice| {}, &mut std::io::sink());
    counts.expect("the load has times").n_events as usize
}
