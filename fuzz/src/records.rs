//! The small files a store and a project have beside them.

use std::fs;

use herma_core::types::clock::Timestamp;
use herma_core::{ObjectId, ProjectId, RelPath, Spec};
use herma_fs::Dir;
use herma_records::identity::Identity;
use herma_store::path::{check_name, escape, is_hidden};
use herma_worktree::lists;
use herma_worktree::rules::Tracked;
use herma_worktree::stat_cache::{CacheBuilder, CacheSize, StatCache, checksum};
use herma_worktree::tracked::TrackedFiles;

/// A stat cache whose checksum is right: asking it anything ends, and what is copied out of it is one again.
pub fn stat_cache(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    if bytes.len() < 256 {
        return;
    }
    let checksum = checksum(&bytes);
    bytes[8..16].copy_from_slice(&checksum.to_le_bytes());
    let Some(mut cache) = StatCache::parse(bytes) else {
        return;
    };
    assert!(cache.left_out().take(10_000).all(|item| !item.path.is_empty()));
    for number in 0..64 {
        let Some(entries) = cache.entries(number) else {
            break;
        };
        for entry in entries.take(64).flatten() {
            let Some(name) = cache.name(&entry) else {
                continue;
            };
            assert!(!name.to_bytes().contains(&b'/'));
            let _ = cache.find(number, name.to_bytes());
        }
        copied(&cache, number);
    }
    let _ = (cache.dir_at(b"a/b"), cache.entry_at(b"a/b/c"));
    cache.all_stored();
    let written = cache.into_bytes(ObjectId::EMPTY_TREE);
    let read = StatCache::parse(written).expect("it was just written");
    assert_eq!(read.header().checkpoint, Some(ObjectId::EMPTY_TREE));
}

fn copied(cache: &StatCache, directory: u32) {
    let size = CacheSize::of_subtree(cache, directory);
    let Some(mut builder) = size.and_then(CacheBuilder::new) else {
        return;
    };
    if builder.copy(cache, directory).is_none() {
        return;
    }
    let summary = builder.summary().clone();
    let copy = builder.finish(cache.header()).expect("it is small");
    let read = StatCache::parse(copy.into_bytes(ObjectId::EMPTY_TREE)).expect("it was just made");
    assert_eq!(read.header().summary, summary);
}

/// Git's index.
pub fn git_index(bytes: &[u8]) {
    let Some(tracked) = TrackedFiles::parse(bytes) else {
        return;
    };
    assert!(tracked.len() <= bytes.len() / 62 + 1, "an entry has 62 bytes at least");
    let _ = (tracked.contains(b"a/b"), tracked.any_below(b"a"));
    assert!(tracked.is_empty() || tracked.any_below(b""));
    if tracked.base().is_some() {
        let whole = tracked.clone().with_base(&tracked);
        assert!(whole.base().is_none() && whole.len() <= 2 * tracked.len());
    }
}

/// `projects/<id>.json`.
pub fn project(bytes: &[u8]) {
    let identity = Identity::parse(bytes);
    let written = identity.render();
    assert_eq!(Identity::parse(written.as_bytes()), identity);
    let problem = Identity::problem(bytes);
    let _ = (identity.places(), identity.missing_since(), identity.parent());
    let workdir = identity.workdir();
    let project = ProjectId::of(workdir.as_deref().unwrap_or("/p".as_ref()));
    let mut salvaged = Identity::salvage(bytes, &project);
    if problem.is_none() {
        assert_eq!(salvaged.workdir(), workdir);
    }
    salvaged.complete(Some("/p".as_ref()), 1.0, 2.0);
    assert_eq!(Identity::problem(salvaged.render().as_bytes()), None);
}

/// The lists of modes and of what was left out.
pub fn lists(bytes: &[u8]) {
    for record in lists::records(bytes) {
        assert!(record.word.len() + record.name.len() < bytes.len());
        if let Some(lists::ModeRecord::File(mode) | lists::ModeRecord::Directory(mode)) =
            lists::parse_mode(record.word)
        {
            assert_eq!(mode & !lists::KEPT_BITS, 0, "nothing becomes setuid");
        }
    }
    herma_records::fuzzing::receipt(bytes);
}

/// The ways to name a checkpoint, an object and a project.
pub fn id(text: &str) {
    match Spec::parse(text) {
        Ok(Spec::Id(digits)) => {
            assert!((4..=40).contains(&digits.len()));
            assert_eq!(Spec::parse(&format!("id:{digits}")), Ok(Spec::Id(digits)));
        }
        Ok(Spec::Name(name)) => {
            herma_store::fuzzing::ref_name(format!("refs/herma-names/p/{name}").as_bytes());
        }
        Ok(Spec::Number(number)) => assert_eq!(text.parse(), Ok(number)),
        Ok(Spec::Before(_)) => assert!(text.ends_with('^')),
        Ok(Spec::OnLine(of, line)) => {
            assert!(!matches!(*of, Spec::OnLine(..)));
            assert!(text.ends_with(&format!("@{line}")));
        }
        Ok(Spec::Back(_)) => assert!(text.starts_with('@')),
        Ok(Spec::Time { when, .. }) => {
            for seconds in [i64::MIN, -1, 1_800_000_000, i64::MAX] {
                let now = Timestamp { seconds, nanos: 0, offset_minutes: 60 };
                assert!(when.first_second(now) <= when.last_second(now), "{when:?}");
            }
        }
        Err(error) => assert!(!error.to_string().contains(is_hidden)),
    }
    if let Some(id) = ObjectId::from_hex(text.as_bytes()) {
        assert_eq!(id.to_hex(), text);
    }
    if let Some(project) = ProjectId::parse(text.as_bytes()) {
        assert_eq!(project.as_str(), text);
    }
}

/// A path of a project: it never leads out of it, and is shown without anything hidden.
pub fn path(bytes: &[u8]) {
    assert!(!escape(bytes).contains(is_hidden));
    herma_store::fuzzing::ref_name(bytes);
    let Ok(path) = RelPath::new(bytes) else {
        return;
    };
    let mut built = RelPath::root();
    for name in path.components() {
        assert_eq!(check_name(name), Ok(()));
        built = built.join(name);
        assert!(path.starts_with(&built));
    }
    assert_eq!(built, path);
    if let Some((above, name)) = path.split() {
        assert_eq!(above.join(name), path);
    }
}

/// The kept end of a conversation.
pub fn kept(bytes: &[u8]) {
    herma_sessions::fuzzing::intent(bytes);
    crate::store::scratch(|directory| {
        fs::write(directory.join("kept"), bytes).expect("there is room");
        herma_sessions::fuzzing::kept(&Dir::open(directory).expect("it is there"), "kept");
    });
}
