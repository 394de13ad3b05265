//! libFuzzer entry point for [`tfbc_fuzz::kev`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tfbc_fuzz::kev(data));
