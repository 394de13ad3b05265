//! Inputs that exceed a limit are refused with its name, in bounded memory.

use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Source, Sources};

/// Codes and lines of the diagnostics for a source.
fn check(source: &str, expected: &[(&str, u32)]) {
    let mut sources = Sources::new();
    let id = sources.add(Source::new("test.trcfmt", source));
    let compiled = compile(&sources, &Options::default());
    let line = |span: tfbc_grammar::Span| sources.get(id).unwrap().line_column(span.start).0;
    let found: Vec<_> = compiled.diagnostics.iter().map(|d| (d.code.code, line(d.primary.span))).collect();
    assert_eq!(found, expected);
    assert_eq!(compiled.blob.is_none(), expected.iter().any(|(code, _)| *code != "C56"));
}

#[test]
fn a_stanza_has_an_end() {
    check(&format!("010 1.0 \"A\" {}\n", "X1 ".repeat(4_096)), &[]);
    check(&format!("010 1.0 \"A\" {}\n", "X1 ".repeat(4_097)), &[("C56", 1)]);
    check(&format!("010 1.0 \"A\" {}\n", "X1 ".repeat(10_000)), &[("C56", 1)]);
    check(&format!("010 1.0 \"A\"\n020 1.0 \"B\" {}\n", "X1 ".repeat(270_000)), &[("C16", 2)]);
}

#[test]
fn so_has_a_function() {
    let body = "X1 ".repeat(270_000);
    check(&format!("010 1.0 \"A\" f()\n020 1.0 \"B\" {{{{ f() {body} }}}}\n"), &[("C16", 2)]);
}

#[test]
fn so_has_a_file_set() {
    let stanza = |id: u32| format!("{:03X} 1.0 \"A\" {}\n", id + 0x100, "X1 ".repeat(20_000));
    let source: String = (0..30).map(stanza).collect();
    // 60,000 instructions per stanza and environment: 69 fit; the 70th is the 18th stanza in the second environment.
    check(&source, &[("C16", 18)]);
}

#[test]
fn registers_run_out_by_name() {
    let macros = |n: u32| (0..n).map(|k| format!("{{{{ $v{k} = {k} }}}} $v{k} ")).collect::<String>();
    let chain = |n: u32, locals: u32| {
        let first = format!("{{{{ f0() {} }}}}", macros(locals));
        let others = (1..n).map(|k| format!("{{{{ f{k}() {} f{}() }}}}", macros(locals), k - 1));
        format!("010 1.0 \"A\" {first} {} f{}()\n", others.collect::<String>(), n - 1)
    };
    check(&chain(3, 200), &[]);
    let mut sources = Sources::new();
    sources.add(Source::new("test.trcfmt", chain(8, 200)));
    let compiled = compile(&sources, &Options::default());
    assert!(compiled.blob.is_none());
    assert!(compiled.diagnostics.iter().all(|found| found.code.code == "C17"), "{:?}", compiled.diagnostics);
    let places: std::collections::BTreeSet<_> = compiled.diagnostics.iter().map(|found| found.primary.span).collect();
    assert_eq!(places.len(), compiled.diagnostics.len(), "one report a place");
}

#[test]
fn findings_have_an_end() {
    let calls: String = (0..12_000).map(|n| format!("{:04X} 1.0 \"A\" nosuch{n}()\n", 0x1000 + n)).collect();
    let mut sources = Sources::new();
    sources.add(Source::new("a.trcfmt", calls.as_str()));
    sources.add(Source::new("b.trcfmt", "010 1.0 \"A\" nosuch()\n"));
    let found = compile(&sources, &Options::default()).diagnostics;
    let last = |n: usize| (found[n].code.code, found[n].primary.source.0, found[n].message.as_str());
    assert_eq!(found.len(), 10_002);
    assert_eq!(last(10_000), ("S22", 0, "2000 more errors and warnings are not shown"));
    assert_eq!(last(10_001).1, 1);
}

#[test]
fn circles_without_number_are_found_in_time() {
    let circle = |n: u32| format!("{:04X} 1.0 \"A\" {{{{ f{n}() f{}() }}}}\n", 0x1000 + n, n ^ 1);
    let mut sources = Sources::new();
    sources.add(Source::new("a.trcfmt", (0..40_000).map(circle).collect::<String>()));
    let found = compile(&sources, &Options::default()).diagnostics;
    assert_eq!(found.iter().filter(|found| found.code.code == "C04").count(), 10_000);
}

#[test]
fn functions_nest_as_stanzas_do() {
    let chain = |n: u32| {
        let calls: String = (1..=n).map(|k| format!("{{{{ f{k}() f{}() }}}} ", k - 1)).collect();
        format!("010 1.0 \"A\" {{{{ f0() X1 }}}} {calls} f{n}()\n")
    };
    check(&chain(9), &[]);
    check(&chain(10), &[("C05", 1)]);
    check(&chain(11), &[("C05", 1)]);
    check(&chain(5000), &[("C05", 1)]);
}
