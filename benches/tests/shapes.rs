//! The kinds of inputs that `benches/doubling.sh` counts exist, and those called sound are undamaged.

use tfbc_benches::shapes::{input_shape, input_shapes};
use tfbc_compiler::{Options, compile};
use tfbc_grammar::{Source, Sources};
use tfbc_vm::Program;

#[test]
fn inputs_have_the_expected_errors() {
    const SIZE: usize = 1 << 14;
    for shape in input_shapes() {
        let bytes = shape.make(SIZE);
        assert!(bytes.len() > SIZE / 2, "{}: {} bytes", shape.name, bytes.len());
        assert_eq!(Some(shape.run(bytes).is_sound), shape.should_be_sound(SIZE), "{}", shape.name);
    }
}

#[test]
fn templates_compile_and_their_program_has_them_all() {
    let made = |name| input_shape(name).expect("a kind of input").make(1 << 14);
    let text = made("trcfmt/templates");
    let n_templates = text.split(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\\")).count();
    assert!(n_templates > 50);
    let mut sources = Sources::new();
    sources.add(Source::new("x.trcfmt", text));
    let compiled = compile(&sources, &Options::default());
    assert!(compiled.diagnostics.is_empty(), "{:?}", compiled.diagnostics);
    let blob = compiled.blob.expect("a program");
    let program = Program::open(&blob).expect("a sound blob");
    assert_eq!(program.hooks().filter(|hook| !hook.builtin).count(), n_templates);
    assert!(Program::open(&made("blob/templates")).is_ok());
    assert!(Program::open(&made("blob/damaged")).is_err());
}
