//! Patches and diffs, which models write.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| herma_fuzz::hosts::patches(text));
