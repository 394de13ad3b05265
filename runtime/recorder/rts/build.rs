//! Sets the soname of the shared library, under which programs look for it at start.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,librts.so.1");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
