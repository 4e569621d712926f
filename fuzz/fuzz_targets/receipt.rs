//! The lists and counts of a receipt.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herma_fuzz::records::lists(bytes));
