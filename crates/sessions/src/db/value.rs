//! Values as they are in the file: any column may hold any type.

use rusqlite::types::{Value, ValueRef};

/// More of a blob is not shown.
const SHOWN_BYTES: usize = 64;

/// The value as text; bytes that are no UTF-8 are replaced. `None` for `NULL`.
pub(crate) fn text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

/// A value where a text should be, so that a person can find it: as SQLite writes it.
pub(crate) fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Blob(bytes) => {
            use std::fmt::Write;
            let mut out = "x'".to_owned();
            for byte in bytes.iter().take(SHOWN_BYTES) {
                // Writing to a string cannot fail.
                let _ = write!(out, "{byte:02x}");
            }
            out.push_str(if bytes.len() > SHOWN_BYTES { "...'" } else { "'" });
            out
        }
        value => text(value).unwrap_or_else(|| "NULL".to_owned()),
    }
}

/// The value as a number, if it is one.
pub(crate) fn real(value: ValueRef<'_>) -> Option<f64> {
    match value {
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Real(number) => Some(number).filter(|number| number.is_finite()),
        _ => None,
    }
}

/// The value as a whole number; 0 if it is none.
pub(crate) fn integer(value: ValueRef<'_>) -> i64 {
    match value {
        ValueRef::Integer(number) => number,
        _ => 0,
    }
}

/// A name from the disk as the text it would be in the database. Names that are no UTF-8 are nobody's:
/// `NULL` equals nothing.
pub(crate) fn from_name(name: &[u8]) -> Value {
    match std::str::from_utf8(name) {
        Ok(text) => Value::Text(text.to_owned()),
        Err(_) => Value::Null,
    }
}
