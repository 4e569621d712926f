//! Three texts to merge.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herma_fuzz::texts::merge(bytes));
