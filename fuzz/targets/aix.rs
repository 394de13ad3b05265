//! libFuzzer entry point for [`tfbc_fuzz::aix`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tfbc_fuzz::aix(data));
