//! libFuzzer entry point for [`tfbc_fuzz::command`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tfbc_fuzz::command(data));
