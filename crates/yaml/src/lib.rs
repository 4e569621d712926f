//! YAML as `PyYAML` understands it, which is version 1.1 with its own habits.
//!
//! Hermes, which shares its settings and resume records with us, uses `PyYAML`. What it writes is read here with its
//! rules (`yes` is a boolean, `1:30` a number, `2026-04-22` a date). What is written here is read alike by
//! these rules and by those of version 1.2: text that any of them could take for something else is quoted.
//!
//! * [`value`]: what YAML can say, and the line where it was said
//! * `read`: from text to a value, within limits on depth, size and what aliases multiply
//! * `resolve`: what an unquoted word means
//! * [`numbers`]: what a number is worth
//! * `write`: from a value to text

pub mod numbers;
mod read;
mod resolve;
pub mod value;
mod write;

pub use numbers::{fraction, whole};
pub use read::{Rules, YamlError, read, read_by};
pub use value::{Map, Value};
pub use write::write;
