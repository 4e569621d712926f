//! Two texts to compare.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herma_fuzz::texts::diff(bytes));
