//! libFuzzer's loop around [`tfbc_fuzz::kev`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tfbc_fuzz::kev(data));
