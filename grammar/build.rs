//! Generates the parsers from the `.lalrpop` files below `src`.
#![forbid(unsafe_code)]

fn main() {
    let generated = lalrpop::Configuration::new().emit_rerun_directives(true).process_dir("src");
    if let Err(error) = generated {
        println!("cargo::error=the grammar has a fault: {error}");
        std::process::exit(1);
    }
}
