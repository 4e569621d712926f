//! What is measured, one file for each question; `cold`, `latency` and `history` are parts of `saving` and `keeping`.

pub mod big_file;
pub mod checkpoints;
pub mod cold;
pub mod copies;
pub mod history;
pub mod hooks;
pub mod keeping;
pub mod latency;
pub mod lists;
pub mod python;
pub mod saving;
pub mod search;
pub mod sessions;
