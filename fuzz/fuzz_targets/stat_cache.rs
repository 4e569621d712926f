//! Stat caches.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herma_fuzz::records::stat_cache(bytes));
