//! Indexes of packs.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herma_fuzz::store::pack_index(bytes));
