//! What a watcher said before a scan, as the scan needs it.

use std::collections::HashSet;

use super::stat_cache::StatCache;
use crate::watch::Answer;
use crate::watch::Token;

/// What was heard before a scan.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// The moment up to which everything was told.
    now: Option<Token>,
    /// The token of the cache, the number of its directories, and which of these something happened in.
    since: Option<(Token, u64, Vec<Vec<u8>>)>,
    /// The only directories to look at again, whatever is heard.
    only_in: Option<Vec<Vec<u8>>>,
}

impl Heard {
    /// The answer to a question about a cache with this token and number of its directories.
    pub fn new(answer: Answer, asked: Option<(Token, u64)>) -> Self {
        match (answer, asked) {
            (Answer::Since { now, dirty }, Some((token, structure))) => Self {
                now: Some(now),
                since: Some((token, structure, dirty)),
                only_in: None,
            },
            (Answer::From(now) | Answer::Since { now, .. }, _) => Self {
                now: Some(now),
                ..Self::default()
            },
            (Answer::Unknown(_), _) => Self::default(),
        }
    }

    /// For whoever has just looked at everything and since then changed something in these directories: only
    /// they are looked at again, and what cannot be believed without a look.
    pub(crate) fn only_in(directories: Vec<Vec<u8>>) -> Self {
        Self {
            only_in: Some(directories),
            ..Self::default()
        }
    }

    /// The moment a cache of the coming scan can be asked about.
    pub fn token(&self) -> Option<Token> {
        self.now
    }

    /// The directories something happened in; `None` if that is not known.
    pub fn dirty(&self) -> Option<&[Vec<u8>]> {
        self.since.as_ref().map(|(_, _, dirty)| &**dirty)
    }

    /// The directories a scan has to enter; `None` if all of them.
    pub(crate) fn directories(&self, cache: &StatCache) -> Option<HeardDirs> {
        if let Some(directories) = &self.only_in {
            return Some(HeardDirs::new(cache, directories));
        }
        let (token, structure, dirty) = self.since.as_ref()?;
        let is_about = cache.header().token == Some(*token)
            && cache.dir(StatCache::ROOT)?.structure == *structure;
        is_about.then(|| HeardDirs::new(cache, dirty))
    }
}

/// Directories of a cache that have to be entered: something happened in them, or below.
#[derive(Debug)]
pub(crate) struct HeardDirs {
    entered: HashSet<u32>,
}

impl HeardDirs {
    fn new(cache: &StatCache, dirty: &[Vec<u8>]) -> Self {
        let mut entered = HashSet::new();
        for path in dirty {
            let mut index = StatCache::ROOT;
            for name in path.split(|b| *b == b'/').filter(|name| !name.is_empty()) {
                // What is not in the cache any more is below something that changed.
                let entry = cache.find_kind(index, name, true);
                let Some(child) = entry.and_then(|entry| entry.child()) else {
                    break;
                };
                entered.insert(child);
                index = child;
            }
        }
        Self { entered }
    }

    pub(crate) fn leads_to_changes(&self, index: u32) -> bool {
        self.entered.contains(&index)
    }
}
