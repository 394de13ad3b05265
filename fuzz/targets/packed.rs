//! libFuzzer entry point for [`tfbc_fuzz::packed`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tfbc_fuzz::packed(data));
