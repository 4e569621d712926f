//! The record of a step, and the marks of turns.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herma_fuzz::core::step(bytes));
