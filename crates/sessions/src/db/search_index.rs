//! The trigram index as another SQLite wrote it.
//!
//! The text of a message may hold NULs. SQLite 3.40 makes trigrams only of what comes before the first,
//! 3.51 of all the rest too. A row leaves the index by its stored text being cut into trigrams again, so one
//! that the older SQLite put in would take out more than it put in: the index counts wrong from then on, or
//! refuses (`SQLITE_CORRUPT_VTAB`). How many trigrams a row put in is stored beside it. Where that number
//! says that only the beginning is indexed, the stored text is cut to the beginning just before the row
//! goes; all other rows stay exactly as they are, also for the older SQLite.

use rusqlite::Transaction;
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSql, ValueRef};

use crate::db::Schema;
use crate::error::Result;

const CONTENT: &str = "messages_fts_trigram_content";
const SIZES: &str = "messages_fts_trigram_docsize";
/// Characters in a trigram.
const THREE: usize = 3;

/// Makes the messages that `which` selects, a query of their numbers, ready to be deleted in this
/// transaction.
pub(crate) fn prepare_deletion(
    transaction: &Transaction<'_>,
    schema: &Schema,
    which: &str,
    parameters: &[&dyn ToSql],
) -> Result<()> {
    if !schema.has_table(CONTENT) || !schema.has_table(SIZES) {
        return Ok(());
    }
    let sql = format!(
        "SELECT c.id, c.c0, d.sz FROM main.{CONTENT} c JOIN main.{SIZES} d ON d.id = c.id
         WHERE c.id IN ({which}) AND instr(c.c0, char(0)) > 0"
    );
    let mut cut = Vec::new();
    {
        let mut statement = transaction.prepare_cached(&sql)?;
        let mut rows = statement.query(parameters)?;
        while let Some(row) = rows.next()? {
            if let Some(beginning) = indexed_beginning(row.get_ref(1)?, row.get_ref(2)?) {
                cut.push((row.get::<_, i64>(0)?, beginning));
            }
        }
    }
    if cut.is_empty() {
        return Ok(());
    }
    // The table belongs to the index, and is closed to everybody else; the only thing that is written to it
    // here is text of rows that go in this transaction.
    transaction.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)?;
    let written = write_beginnings(transaction, &cut);
    transaction.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    written
}

fn write_beginnings(transaction: &Transaction<'_>, cut: &[(i64, String)]) -> Result<()> {
    let sql = format!("UPDATE main.{CONTENT} SET c0 = ?2 WHERE id = ?1");
    let mut update = transaction.prepare(&sql)?;
    for (id, beginning) in cut {
        update.execute(rusqlite::params![id, beginning])?;
    }
    Ok(())
}

/// What comes before the first NUL, if nothing but that is in the index.
fn indexed_beginning(text: ValueRef<'_>, size: ValueRef<'_>) -> Option<String> {
    let (ValueRef::Text(text), ValueRef::Blob(size)) = (text, size) else { return None };
    let beginning = text.split(|byte| *byte == 0).next()?;
    let beginning = std::str::from_utf8(beginning).ok()?;
    let trigrams = beginning.chars().count().saturating_sub(THREE - 1);
    (stored_number(size)? == trigrams as u64).then(|| beginning.to_owned())
}

/// A number as SQLite stores it, seven bits to a byte, if it is one and nothing follows.
fn stored_number(bytes: &[u8]) -> Option<u64> {
    // A length has 32 bits, which are five bytes.
    let (last, first) = bytes.split_last().filter(|_| bytes.len() <= 5)?;
    if *last & 0x80 != 0 || first.iter().any(|byte| byte & 0x80 == 0) {
        return None;
    }
    let bits = |number: u64, byte: &u8| number << 7 | u64::from(byte & 0x7f);
    Some(bytes.iter().fold(0, bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_sqlite_stores_them() {
        assert_eq!(stored_number(&[0]), Some(0));
        assert_eq!(stored_number(&[0x7f]), Some(127));
        assert_eq!(stored_number(&[0x81, 0x00]), Some(128));
        for bad in [&[][..], &[0x81], &[1, 1], &[0x81; 6], &[0xff; 9]] {
            assert_eq!(stored_number(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn only_a_beginning_that_alone_is_indexed_is_taken() {
        let beginning = |text: &str, size: u8| {
            indexed_beginning(ValueRef::Text(text.as_bytes()), ValueRef::Blob(&[size]))
        };
        assert_eq!(beginning("A\0B binary  ", 0).as_deref(), Some("A"));
        assert_eq!(beginning("äöü\0 tail", 1).as_deref(), Some("äöü"));
        assert_eq!(beginning("A\0B binary  ", 9), None);
        assert_eq!(indexed_beginning(ValueRef::Null, ValueRef::Null), None);
    }
}
