//! Generates the parser from `src/trcfmt/grammar.lalrpop`.

fn main() {
    let generated = lalrpop::Configuration::new().emit_rerun_directives(true).process_dir("src");
    if let Err(error) = generated {
        println!("cargo::error=the grammar has a fault: {error}");
        std::process::exit(1);
    }
}
