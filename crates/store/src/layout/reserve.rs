//! A little room kept for the day the disk is full: dropping a checkpoint and emptying the trash need to write
//! a few bytes, into a few files, before they free many.
//!
//! `herma/reserve/` has files that mean nothing: 64 KiB and 8 inodes. Cleaning removes them when there is no
//! room, and puts them back when there is.

use herma_fs::publish::{Durability, write_file};

use crate::error::StoreError;
use crate::layout::StoreDirs;

/// Its name in `herma/`.
const DIRECTORY: &str = "reserve";

const FILES: usize = 8;

const SIZE: usize = 8 << 10;

/// With less than this free, the reserve is given up.
const LITTLE: u64 = 256 << 10;

/// With more than this free, it is put back.
const PLENTY: u64 = 1 << 20;

/// Bytes that no file system can store in less room.
fn content() -> String {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut text = String::with_capacity(SIZE);
    while text.len() < SIZE {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // Printable, because a person may look into it.
        text.push(char::from(b'!' + (state >> 32) as u8 % 94));
    }
    text
}

fn name(number: usize) -> String {
    format!("{number}")
}

impl StoreDirs {
    /// Gives the reserve up if the disk is full; says whether it is.
    pub fn use_reserve(&self) -> Result<bool, StoreError> {
        let herma = self.for_writing()?;
        let is_full = self.store().free_bytes()? < LITTLE || self.lacks_inodes()?;
        if is_full && let Ok(dir) = herma.dir.open_dir(DIRECTORY) {
            for number in 0..FILES {
                dir.remove_if_there(name(number).as_str())?;
            }
        }
        Ok(is_full)
    }

    fn lacks_inodes(&self) -> Result<bool, StoreError> {
        let free = self.store().free_inodes()?;
        Ok(free.is_some_and(|free| free <= FILES as u64))
    }

    /// Puts the reserve back if there is room for it.
    pub fn restore_reserve(&self) -> Result<(), StoreError> {
        let herma = self.for_writing()?;
        if self.store().free_bytes()? < PLENTY || self.lacks_inodes()? {
            return Ok(());
        }
        let dir = herma.dir.ensure_private(DIRECTORY)?;
        let content = content();
        for number in 0..FILES {
            let name = name(number);
            if dir.stat_opt(name.as_str())?.is_none() {
                let cache = Durability::Cache;
                write_file(&herma.tmp, &dir, &name, content.as_bytes(), cache)?;
            }
        }
        Ok(())
    }
}
