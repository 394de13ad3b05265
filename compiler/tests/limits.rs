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
    check(&format!("010 1.0 \"A\"\n020 1.0 \"B\" {}\n", "X1 ".repeat(70_000)), &[("C16", 2)]);
}

#[test]
fn so_has_a_function() {
    let body = "X1 ".repeat(70_000);
    check(&format!("010 1.0 \"A\" f()\n020 1.0 \"B\" {{{{ f() {body} }}}}\n"), &[("C16", 2)]);
}

#[test]
fn so_has_a_file_set() {
    let stanza = |id: u32| format!("{:03X} 1.0 \"A\" {}\n", id + 0x100, "X1 ".repeat(20_000));
    let source: String = (0..30).map(stanza).collect();
    // 60,000 instructions a stanza and environment: 69 fit, the 70th is the tenth in the third environment.
    check(&source, &[("C16", 10)]);
}
