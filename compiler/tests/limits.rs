//! What is too large is refused by name, in bounded memory.

use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Source, Sources};

/// Codes and lines of what compiling a source finds.
fn check(source: &str, expected: &[(&str, u32)]) {
    let mut sources = Sources::new();
    let id = sources.add(Source::new("test.trcfmt", source));
    let compiled = compile(&sources, &Options::default());
    let line = |span: tfbc_grammar::Span| sources.get(id).unwrap().line_column(span.start).0;
    let found: Vec<_> = compiled.diagnostics.iter().map(|d| (d.code.code, line(d.primary.span))).collect();
    assert_eq!(found, expected);
    assert_eq!(compiled.blob.is_none(), !expected.is_empty());
}

#[test]
fn a_stanza_has_an_end() {
    check(&format!("010 1.0 \"A\" {}\n", "X1 ".repeat(10_000)), &[]);
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
    // 60,000 instructions a stanza and environment: 69 fit, the 70th is the 18th stanza in the second environment.
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
