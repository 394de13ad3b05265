//! libFuzzer entry point for [`tfbc_fuzz::split`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tfbc_fuzz::split(data));
