//! Gives a session a title.

use rusqlite::OptionalExtension;

use crate::db::{Database, value};
use crate::error::{Error, Result};

/// How many characters a title may have, as in Hermes.
pub const LONGEST_TITLE: usize = 100;

/// Gives the session a title, which no other session may have. Returns it as it was stored: white space
/// is made single, and control characters go.
pub fn rename(database: &mut Database, id: &str, title: &str) -> Result<String> {
    let words: Vec<String> = title
        .split_whitespace()
        .map(|word| word.chars().filter(|c| !c.is_control()).collect())
        .collect();
    let title = words.join(" ").trim().to_owned();
    if title.is_empty() || title.chars().count() > LONGEST_TITLE {
        return Err(Error::BadTitle { max: LONGEST_TITLE });
    }
    if !database.schema().has_session_column("title") {
        return Err(Error::NotSessions {
            path: database.path().to_owned(),
            what: "the table `sessions` has no column `title`".to_owned(),
        });
    }
    database.write(|transaction, _| {
        let taken = "SELECT id FROM main.sessions WHERE title = ?1 AND id IS NOT ?2";
        let by = transaction.query_row(taken, [title.as_str(), id], |row| {
            Ok(value::text(row.get_ref(0)?).unwrap_or_default())
        });
        if let Some(by) = by.optional()? {
            let title = title.clone();
            return Err(Error::TitleTaken { title, by });
        }
        let sql = "UPDATE main.sessions SET title = ?1 WHERE id = ?2";
        match transaction.execute(sql, [title.as_str(), id])? {
            0 => Err(Error::NotFound(id.to_owned())),
            _ => Ok(()),
        }
    })?;
    Ok(title)
}
