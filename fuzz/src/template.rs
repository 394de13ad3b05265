//! Fuzz target for format files.

use crate::oracle;
use crate::seed::seed_of;
use tfbc_authoring::render;
use tfbc_compiler::{ConvertOptions, Options, Stage, compile, convert, emit};
use tfbc_grammar::{Diagnostic, Severity, Source, SourceId, SourceLimits, Sources, Span, format};
use tfbc_snapshots::generate::Rng;
use tfbc_vm::Program;

/// Compiles a format file. It is refused with an error, or its blob verifies and runs within limits. Diagnostics point
/// into it, and compilation is deterministic.
pub fn template(data: &[u8]) {
    check_compilation("fuzzed.trcfmt", data);
}

/// Compiles a file of either language, chosen by its content.
pub(crate) fn check_compilation(name: &str, data: &[u8]) {
    let mut sources = Sources::new();
    sources.add(Source::new(name, data));
    let seed = seed_of(data);
    let compiled = compile(&sources, &Options::default());
    compiled.diagnostics.iter().for_each(|found| points_into(&sources, found));
    if let Some(first) = compiled.diagnostics.first() {
        let _ = (render::human(&sources, first, false), render::json(&sources, first));
    }
    match &compiled.blob {
        Some(blob) => {
            let program = Program::open(blob).expect("what compiles verifies");
            oracle::check(&program, blob, &mut Rng::new(seed));
        }
        None => {
            let refused = compiled.diagnostics.iter().any(|found| found.severity == Severity::Error);
            assert!(refused, "what does not compile has an error");
        }
    }
    // The checks are slow, so each file gets one of them.
    match seed >> 32 & 7 {
        0 => {
            let again = compile(&sources, &Options::default());
            assert_eq!(again.blob, compiled.blob, "one source, one blob");
            let said = |found: &[Diagnostic]| -> String { found.iter().map(|f| render::short(&sources, f)).collect() };
            assert_eq!(said(&again.diagnostics), said(&compiled.diagnostics), "one source, one list of mistakes");
        }
        1 => drop(emit(&sources, &Options::default(), Stage::Tokens)),
        2 => drop(emit(&sources, &Options::default(), Stage::Ast)),
        3 => drop(emit(&sources, &Options::default(), Stage::Ir)),
        4 => drop(emit(&sources, &Options::default(), Stage::Bytecode)),
        5 => check_layout(data),
        _ => converts(&sources),
    }
}

/// Checks that formatting a formatted file changes nothing, and that the file keeps its encoding.
fn check_layout(data: &[u8]) {
    let layout = |source: &Source| {
        let text = format(SourceId(0), source, &SourceLimits::default()).text(source);
        source.encode(&text).into_owned()
    };
    let once = layout(&Source::new("fuzzed", data));
    let twice = layout(&Source::new("laid out", once.as_slice()));
    assert_eq!(once.escape_ascii().to_string(), twice.escape_ascii().to_string(), "one layout");
}

/// Checks that a conversion to the other language is well-formed.
fn converts(sources: &Sources) {
    let converted = convert(sources, &Options::default(), ConvertOptions::default());
    converted.diagnostics.iter().for_each(|found| points_into(sources, found));
    let Some(text) = converted.text else { return };
    let mut other = Sources::new();
    other.add(Source::new("converted", text.as_slice()));
    let compiled = compile(&other, &Options::default());
    let errors = compiled.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let said: String = errors.map(|found| render::short(&other, found)).collect();
    assert!(said.is_empty(), "{said}{}", text.escape_ascii().to_string().replace("\\n", "\n"));
}

/// Checks that a diagnostic points into its sources and can be rendered.
fn points_into(sources: &Sources, found: &Diagnostic) {
    let lies_in = |source, span: Span| {
        // The built-in stanzas are not among the user's sources.
        let Some(source) = sources.get(source) else { return };
        assert!(span.start <= span.end && span.end as usize <= source.bytes().len(), "{span:?} of {}", found.message);
        let (line, column) = source.line_column(span.start);
        assert!(line > 0 && column > 0, "lines and columns count from 1");
    };
    lies_in(found.primary.source, found.primary.span);
    found.secondary.iter().for_each(|label| lies_in(label.source, label.span));
    assert!(!found.message.is_empty(), "{} says something", found.code.code);
    let shown = render::short(sources, found);
    assert!(shown.contains(found.code.code), "a diagnostic shows its code");
}
