//! Fixes on generated and damaged format files. A safe fix removes its diagnostic, causes no other, and keeps the text
//! of events. Fixing ends at a fixed point.

use tfbc_authoring::fix::{FixLevel, fix};
use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Diagnostic, Source, SourceId, Sources};
use tfbc_snapshots::differential::{LimitKind, TemplateCase, as_event};
use tfbc_snapshots::generate::{Rng, datakey, seeds};
use tfbc_snapshots::reference::Line;
use tfbc_snapshots::runner::Runner;
use tfbc_vm::{Layout, Limits, Machine};

/// Default number of files.
const CASES: u64 = 60;

fn sources(text: &[u8]) -> Sources {
    let mut sources = Sources::new();
    sources.add(Source::new("a", text));
    sources
}

fn bytes(sources: &Sources) -> &[u8] {
    sources.get(SourceId(0)).expect("a source").bytes()
}

/// Damages a text in ways that users do and lints find.
fn damaged(rng: &mut Rng, text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..1 + rng.below(6) {
        let marks = [b",".as_slice(), b" \\*", b"X4", b"\\\n", b"\"", b" U4", b"LOOP", b"{", b"string="];
        let mark = *rng.pick(&marks);
        let places: Vec<usize> =
            text.windows(mark.len()).enumerate().filter(|(_, at)| *at == mark).map(|(at, _)| at).collect();
        if places.is_empty() {
            continue;
        }
        let at = *rng.pick(&places);
        let instead: &[u8] = match mark {
            b"," => rng.pick::<&[u8]>(&[b" ", b",,"]),
            b" \\*" => b" 1 one, \\* two, \\*",
            b"X4" => rng.pick::<&[u8]>(&[b"x4", b"X4foo", b"X4\\n"]),
            b"\\\n" => b"\\ \t\n",
            b"\"" => b"\\n\"",
            b" U4" => b" BITFLAGS U4, 1 a 2 b, x4$D1",
            b"LOOP" => b"Loop",
            b"{" => b"{ {{ $unused = 1 }} $nusued",
            _ => b"value=\"007\" string=",
        };
        text.splice(at..at + mark.len(), instead.iter().copied());
    }
    text
}

/// Text per event with other sources; `None` if they do not compile.
fn texts(case: &TemplateCase, text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let blob = compile(&sources(text), &Options::default()).blob?;
    let mut runner =
        Runner::new(&blob, Machine::new(Limits { turns: 1000, ..Limits::default() })).expect("a sound blob");
    let print = |(hook, event): &(u16, _)| {
        runner
            .print(
                *hook,
                &as_event(event),
                &case.facts.context(),
                Line { columns: b"", layout: Layout::default(), limits: Limits::default() },
            )
            .text
    };
    Some(case.events.iter().map(print).collect())
}

fn apply(text: &[u8], found: &Diagnostic) -> Vec<u8> {
    let (mut out, mut at) = (Vec::new(), 0);
    for edit in &found.fix.as_ref().expect("a fix").edits {
        assert!(at <= edit.span.start as usize && edit.span.start <= edit.span.end, "edits come in order: {found:?}");
        out.extend_from_slice(&text[at..edit.span.start as usize]);
        out.extend_from_slice(edit.text.as_bytes());
        at = edit.span.end as usize;
    }
    out.extend_from_slice(&text[at..]);
    out
}

/// Codes of diagnostics, sorted.
fn codes(found: &[Diagnostic]) -> Vec<&'static str> {
    let mut codes: Vec<&str> = found.iter().map(|found| found.code.code).collect();
    codes.sort_unstable();
    codes
}

/// Checks that each safe fix alone removes its diagnostic, and perhaps others, and adds none.
fn check_each(text: &[u8], seed: u64) -> usize {
    let found = compile(&sources(text), &Options::default()).diagnostics;
    let safe: Vec<&Diagnostic> = found.iter().filter(|found| found.fix.as_ref().is_some_and(|fix| fix.safe)).collect();
    for one in safe.iter().take(12) {
        let fixed = apply(text, one);
        let after = compile(&sources(&fixed), &Options::default()).diagnostics;
        let (mut before, after) = (codes(&found), codes(&after));
        before.remove(before.iter().position(|code| *code == one.code.code).expect("its code"));
        for code in &after {
            let at = before.iter().position(|known| known == code);
            let at = at.unwrap_or_else(|| {
                panic!("seed {seed}: {one:#?} makes {code}\n{}\n->\n{}", text.escape_ascii(), fixed.escape_ascii())
            });
            before.remove(at);
        }
    }
    safe.len()
}

/// Checks that fixing reaches a fixed point.
fn check_all(text: &[u8], wanted: FixLevel) -> Vec<u8> {
    let fixed = fix(sources(text), &Options::default(), wanted);
    let again = fix(fixed.sources.clone(), &Options::default(), wanted);
    assert_eq!(bytes(&again.sources).escape_ascii().to_string(), bytes(&fixed.sources).escape_ascii().to_string());
    assert_eq!(again.n_fixed, [0]);
    bytes(&fixed.sources).to_vec()
}

#[test]
fn safe_fixes_of_templates_keep_what_events_print() {
    let (mut n_fixes, mut n_compared) = (0, 0);
    for seed in seeds(CASES) {
        let mut rng = Rng::new(seed);
        let case = TemplateCase::new(&mut rng, 1 + (seed % 30) as usize, LimitKind::Turns);
        let text = case.template.source.as_bytes();
        for text in [text.to_vec(), damaged(&mut rng, text)] {
            n_fixes += check_each(&text, seed);
            let fixed = check_all(&text, FixLevel::Safe);
            let before = texts(&case, &text);
            if before.is_some() {
                n_compared += usize::from(fixed != text);
                assert!(
                    texts(&case, &fixed) == before,
                    "seed {seed}\n{}\n{}",
                    text.escape_ascii(),
                    fixed.escape_ascii()
                );
            }
        }
    }
    assert!(n_fixes > 60 && n_compared > 15, "{n_fixes} fixes, {n_compared} compared");
}

#[test]
fn text_after_a_deleted_case_stays_separate() {
    let text = br"010 1.0 L=APPL D4, 1 one, \* two, \* `three`LOOP X1 {X1}";
    assert_eq!(check_each(text, 0), 1);
    let fixed = check_all(text, FixLevel::Safe);
    assert_eq!(
        fixed.escape_ascii().to_string(),
        br"010 1.0 L=APPL D4, 1 one, \* two LOOP X1 {X1}".escape_ascii().to_string()
    );
}

#[test]
fn guessed_fixes_end_and_add_no_errors() {
    for seed in seeds(CASES / 2) {
        let mut rng = Rng::new(seed);
        let case = TemplateCase::new(&mut rng, 1 + (seed % 20) as usize, LimitKind::Turns);
        let text = damaged(&mut rng, case.template.source.as_bytes());
        let n_errors = |text: &[u8]| {
            let found = compile(&sources(text), &Options::default()).diagnostics;
            found.iter().filter(|found| found.code.severity == tfbc_grammar::Severity::Error).count()
        };
        let fixed = check_all(&text, FixLevel::All);
        assert!(n_errors(&fixed) <= n_errors(&text).max(1) + 1, "seed {seed}: {}", fixed.escape_ascii());
    }
}

#[test]
fn safe_fixes_of_definitions_take_their_findings_away() {
    let mut n_fixes = 0;
    for seed in seeds(CASES) {
        let mut rng = Rng::new(seed);
        let definitions = datakey::definitions(&mut rng);
        for file in &definitions.files {
            let file: &[u8] = file.as_ref();
            for text in [file.to_vec(), damaged(&mut rng, file)] {
                n_fixes += check_each(&text, seed);
                check_all(&text, FixLevel::Safe);
            }
        }
    }
    assert!(n_fixes > 60, "{n_fixes} fixes");
}
