//! Trees, which a store that came from elsewhere may hold.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herma_fuzz::store::tree(bytes));
