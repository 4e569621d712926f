//! Commits and their messages.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herma_fuzz::store::commit(bytes));
