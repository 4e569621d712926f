//! The file `packed-refs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herma_fuzz::core::packed_refs(bytes));
