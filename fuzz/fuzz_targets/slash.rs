//! What people type in a chat.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| herma_fuzz::hosts::slash(text));
