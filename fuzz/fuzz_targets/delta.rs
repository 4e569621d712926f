//! Deltas: a base, and what is made of it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herma_fuzz::store::delta(bytes));
