//! `tfbc-web-bindgen ENGINE.wasm FOLDER`: writes `engine.js` and `engine_bg.wasm`.

use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [engine, folder] = std::env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "give ENGINE.wasm FOLDER")?;
    Bindgen::new()
        .input_path(engine)
        .out_name("engine")
        .web(true)?
        .typescript(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(folder)?;
    Ok(())
}
