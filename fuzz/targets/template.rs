//! libFuzzer entry point for [`tfbc_fuzz::template`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tfbc_fuzz::template(data));
