//! What the watcher says, whatever the system tells it.

#![allow(clippy::disallowed_methods)]

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use herma_fs::Dir;
use herma_fs::watch::Missed;
use herma_fs::watch::What;

use super::Answer;
use super::Doubt;
use super::Question;
use super::Token;
use super::check::Check;
use super::scripted::Scripted;
use super::watching::Limits;
use super::watching::Watching;
use crate::id::ObjectId;
use crate::settings::Settings;
use crate::snapshot::heard::Heard;
use crate::snapshot::present::NothingSaved;
use crate::snapshot::present::ScanOptions;
use crate::snapshot::present::scan;
use crate::snapshot::sink::HashOnly;
use crate::snapshot::stat_cache::StatCache;

/// A project with `a/b`, and the directory its stat cache is in.
struct Scene {
    _temp: tempfile::TempDir,
    root: PathBuf,
    state: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let (root, state) = (temp.path().join("project"), temp.path().join("state"));
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir(&state).unwrap();
        fs::write(root.join("a/b/file"), "one").unwrap();
        let scene = Self {
            _temp: temp,
            root,
            state,
        };
        scene.save(None);
        scene
    }

    /// Writes the stat cache a save would write, and returns the number of its directories.
    fn save(&self, token: Option<Token>) -> u64 {
        let root = Dir::open(&self.root).unwrap();
        let settings = Settings::default();
        let options = ScanOptions {
            root: &root,
            settings: &settings,
            cache: None,
            saved: &NothingSaved,
            rehash: false,
            heard: Heard::default(),
            recent: crate::snapshot::present::Recent::default(),
            held: None,
            cancelled: &|_| false,
        };
        let present = scan(options, &HashOnly).unwrap();
        let structure = present.cache.dir(StatCache::ROOT).unwrap().structure;
        let mut cache = std::sync::Arc::into_inner(present.cache).unwrap();
        if let Some(token) = token {
            cache.set_token(token);
        }
        let new = self.state.join("new");
        fs::write(&new, cache.into_bytes(ObjectId::EMPTY_TREE)).unwrap();
        fs::rename(new, self.state.join("stat-cache")).unwrap();
        structure
    }

    fn ask(&self, watching: &mut Watching<Scripted>, since: Option<(Token, u64)>) -> Answer {
        let stat = Dir::open(&self.root).unwrap().stat_self().unwrap();
        watching.ask(&Question {
            root: &self.root,
            place: (stat.dev, stat.ino),
            state: &self.state,
            files: 1,
            since,
        })
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}

const LIMITS: Limits = Limits {
    projects: 16,
    directories: 100,
};

fn watching(limits: Limits) -> (Scripted, Watching<Scripted>) {
    let source = Scripted::default();
    (source.clone(), Watching::new(source, limits, 1000))
}

fn work(watching: &mut Watching<Scripted>) {
    while watching.work() {}
}

/// A project that is watched, the moment that is known, and the number of its directories.
fn watched() -> (Scene, Scripted, Watching<Scripted>, Token, u64) {
    let scene = Scene::new();
    let (source, mut watching) = watching(LIMITS);
    assert_eq!(
        scene.ask(&mut watching, None),
        Answer::Unknown(Doubt::NotYet)
    );
    work(&mut watching);
    let Answer::From(token) = scene.ask(&mut watching, None) else {
        panic!("everything is watched");
    };
    let structure = scene.save(Some(token));
    look_into_doubts(&mut watching);
    (scene, source, watching, token, structure)
}

fn look_into_doubts(watching: &mut Watching<Scripted>) {
    let check = watching.next_quick_check().expect("there is a doubt");
    watching.checked(&check.run().expect("the project is there"));
}

fn dirty(answer: Answer) -> Vec<String> {
    match answer {
        Answer::Since { dirty, .. } => {
            let text = |path| String::from_utf8(path).unwrap();
            dirty.into_iter().map(text).collect()
        }
        other => panic!("no list: {other:?}"),
    }
}

#[test]
fn a_directory_in_which_something_happened_is_named_until_a_save_looked() {
    let (scene, source, mut watching, token, structure) = watched();
    let since = Some((token, structure));
    assert_eq!(dirty(scene.ask(&mut watching, since)), [""; 0]);
    source.tell(&scene.at("a/b"), What::Changed, "file");
    let Answer::Since { now, dirty } = scene.ask(&mut watching, since) else {
        panic!("it is known");
    };
    assert_eq!(dirty, [b"a/b".to_vec()]);
    assert_eq!(
        scene.ask(&mut watching, Some((now, structure))),
        Answer::Since {
            now,
            dirty: Vec::new()
        }
    );
    assert_eq!(self::dirty(scene.ask(&mut watching, since)), ["a/b"]);
}

#[test]
fn what_was_missed_is_not_answered_and_everything_begins_anew() {
    for missed in [
        Missed::Overflow,
        Missed::NoSign,
        Missed::Failed(herma_fs::Errno::IO),
    ] {
        let (scene, source, mut watching, token, structure) = watched();
        source.0.borrow_mut().missed = Some(missed);
        let since = Some((token, structure));
        assert_eq!(
            scene.ask(&mut watching, since),
            Answer::Unknown(Doubt::Missed)
        );
        assert_eq!(source.watched(), 0);
        assert_eq!(
            scene.ask(&mut watching, since),
            Answer::Unknown(Doubt::NotYet)
        );
        work(&mut watching);
        let Answer::From(anew) = scene.ask(&mut watching, since) else {
            panic!("the old token is worth nothing");
        };
        assert_ne!(anew.instance, token.instance);
    }
}

#[test]
fn tokens_of_others_and_of_the_future_are_not_believed() {
    let (scene, _, mut watching, token, structure) = watched();
    let Answer::Since { now: token, .. } = scene.ask(&mut watching, Some((token, structure)))
    else {
        panic!("it is known");
    };
    let other = Token {
        instance: token.instance + 1,
        ..token
    };
    let future = Token {
        sequence: token.sequence + 1,
        ..token
    };
    for odd in [other, future] {
        let answer = scene.ask(&mut watching, Some((odd, structure)));
        assert_eq!(answer, Answer::From(token));
    }
    let answer = scene.ask(&mut watching, Some((token, structure + 1)));
    assert_eq!(answer, Answer::From(token), "other directories are meant");
}

#[test]
fn a_directory_that_was_replaced_is_not_known_before_it_is_watched_again() {
    let (scene, source, mut watching, token, structure) = watched();
    source.tell_of_dir(&scene.at("a"), What::Went, "b");
    source.tell_of_dir(&scene.at("a"), What::Came, "b");
    fs::rename(scene.at("a/b"), scene.state.join("elsewhere")).unwrap();
    fs::create_dir(scene.at("a/b")).unwrap();
    let named = dirty(scene.ask(&mut watching, Some((token, structure))));
    assert_eq!(named, ["a", "a/b"]);
    assert_eq!(source.watched(), 4, "root, a, a/b, state");
    source.tell(&scene.at("a/b"), What::Came, "new");
    let named = dirty(scene.ask(&mut watching, Some((token, structure))));
    assert_eq!(named, ["a", "a/b"]);
}

#[test]
fn a_directory_that_came_is_answered_for_after_a_save_that_names_it() {
    let (scene, source, mut watching, token, structure) = watched();
    fs::create_dir(scene.at("new")).unwrap();
    source.tell_of_dir(&scene.root, What::Came, "new");
    let Answer::Since { now, dirty } = scene.ask(&mut watching, Some((token, structure))) else {
        panic!("it is known");
    };
    assert_eq!(dirty, [b"".to_vec()]);
    let structure = scene.save(Some(now));
    assert_eq!(
        scene.ask(&mut watching, Some((now, structure))),
        Answer::From(now),
        "nobody told of the new stat cache"
    );
    source.tell(&scene.state, What::Came, "stat-cache");
    let named = self::dirty(scene.ask(&mut watching, Some((now, structure))));
    assert_eq!(named, ["new"], "it was not watched when the save looked");
}

#[test]
fn a_directory_that_went_takes_what_is_below_along() {
    let (scene, source, mut watching, token, structure) = watched();
    let since = Some((token, structure));
    source.tell_of_dir(&scene.root, What::Went, "a");
    fs::rename(scene.at("a"), scene.state.join("away")).unwrap();
    let answer = scene.ask(&mut watching, since);
    assert!(matches!(answer, Answer::From(_)), "{answer:?}");
    assert_eq!(source.watched(), 2, "root and state");
    let Answer::From(now) = answer else {
        unreachable!()
    };
    let structure = scene.save(Some(now));
    assert_eq!(
        dirty(scene.ask(&mut watching, Some((now, structure)))),
        [""; 0]
    );
}

#[test]
fn a_root_that_is_gone_or_another_one_is_forgotten() {
    let (scene, source, mut watching, token, structure) = watched();
    source.tell(&scene.root, What::Lost, "");
    let since = Some((token, structure));
    let not_yet = Answer::Unknown(Doubt::NotYet);
    assert_eq!(scene.ask(&mut watching, since), not_yet);
    work(&mut watching);
    assert!(matches!(scene.ask(&mut watching, since), Answer::From(_)));
    fs::rename(&scene.root, scene.state.join("old")).unwrap();
    fs::create_dir(&scene.root).unwrap();
    assert_eq!(scene.ask(&mut watching, since), not_yet);
    assert_eq!(watching.projects().count(), 1);
}

#[test]
fn a_project_that_is_too_large_is_said_to_be_and_nothing_of_it_is_watched() {
    for room in 0..4 {
        let scene = Scene::new();
        let (source, mut watching) = watching(LIMITS);
        source.0.borrow_mut().room = Some(room);
        scene.ask(&mut watching, None);
        work(&mut watching);
        let answer = scene.ask(&mut watching, None);
        assert_eq!(answer, Answer::Unknown(Doubt::TooMany), "room for {room}");
        assert!(source.watched() <= 1, "only its state");
    }
    let scene = Scene::new();
    let few = Limits {
        directories: 3,
        ..LIMITS
    };
    let (_, mut watching) = watching(few);
    scene.ask(&mut watching, None);
    work(&mut watching);
    let answer = scene.ask(&mut watching, None);
    assert_eq!(answer, Answer::Unknown(Doubt::TooMany));
}

#[test]
fn the_project_nobody_asked_about_for_longest_makes_room() {
    let (one, two) = (Scene::new(), Scene::new());
    for limits in [
        Limits {
            projects: 1,
            ..LIMITS
        },
        Limits {
            directories: 6,
            ..LIMITS
        },
    ] {
        let (_, mut watching) = watching(limits);
        one.ask(&mut watching, None);
        work(&mut watching);
        two.ask(&mut watching, None);
        work(&mut watching);
        let left: Vec<_> = watching.projects().map(|p| (p.path, p.is_ready)).collect();
        assert_eq!(left, [(two.root.clone(), true)]);
    }
}

#[test]
fn a_file_that_is_open_may_be_written_to_unseen() {
    let (scene, source, mut watching, token, structure) = watched();
    let since = Some((token, structure));
    let (b, root) = (scene.at("a/b"), scene.root.clone());
    source.tell(&b, What::Opened, "file");
    source.tell(&b, What::Opened, "file");
    assert_eq!(dirty(scene.ask(&mut watching, since)), ["a/b"]);
    let closed = What::Closed { writable: false };
    source.tell(&b, closed, "file");
    assert_eq!(dirty(scene.ask(&mut watching, since)), ["a/b"]);
    source.tell(&b, closed, "file");
    assert_eq!(dirty(scene.ask(&mut watching, since)), [""; 0]);
    // Opened under one name, closed under another.
    source.tell(&b, What::Opened, "file");
    source.tell_all(&b, What::Went, "file", false, 7);
    source.tell_all(&root, What::Came, "moved", false, 7);
    let Answer::Since { now, .. } = scene.ask(&mut watching, since) else {
        panic!("it is known");
    };
    let since = Some((now, structure));
    assert_eq!(dirty(scene.ask(&mut watching, since)), [""]);
    source.tell(&root, What::Closed { writable: true }, "moved");
    assert_eq!(dirty(scene.ask(&mut watching, since)), [""]);
    let Answer::Since { now, .. } = scene.ask(&mut watching, since) else {
        panic!("it is known");
    };
    let since = Some((now, structure));
    assert_eq!(dirty(scene.ask(&mut watching, since)), [""], "who has it?");
    look_into_doubts(&mut watching);
    assert_eq!(dirty(scene.ask(&mut watching, since)), [""; 0]);
    assert!(watching.next_quick_check().is_none());
}

#[test]
fn a_project_in_which_something_happens_all_the_time_does_not_keep_others_waiting() {
    let (busy, source, mut watching, ..) = watched();
    let other = Scene::new();
    other.ask(&mut watching, None);
    work(&mut watching);
    for is_others_turn in [true, false] {
        source.tell(&busy.root, What::Came, "new");
        watching.pump();
        let check = watching.next_quick_check().expect("both are doubtful");
        let expected = if is_others_turn { &other } else { &busy };
        assert_eq!(check.path, expected.root);
    }
}

/// The stat cache of the last save has it where it was.
#[test]
fn an_open_file_that_moved_before_the_watch_began_is_found_where_it_is() {
    let scene = Scene::new();
    let file = fs::File::options()
        .write(true)
        .open(scene.at("a/b/file"))
        .unwrap();
    fs::rename(scene.at("a/b/file"), scene.at("a/moved")).unwrap();
    let (_, mut watching) = watching(LIMITS);
    scene.ask(&mut watching, None);
    work(&mut watching);
    look_into_doubts(&mut watching);
    let Answer::From(token) = scene.ask(&mut watching, None) else {
        panic!("everything is watched");
    };
    let structure = scene.save(Some(token));
    let since = Some((token, structure));
    let answer = scene.ask(&mut watching, since);
    assert!(matches!(answer, Answer::From(_)), "who has what?");
    look_into_doubts(&mut watching);
    assert_eq!(dirty(scene.ask(&mut watching, since)), ["a"]);
    drop(file);
}

#[test]
fn an_open_file_that_loses_its_name_may_be_anywhere() {
    let (scene, source, mut watching, token, structure) = watched();
    let since = Some((token, structure));
    source.tell(&scene.at("a/b"), What::Opened, "file");
    source.tell(&scene.at("a/b"), What::Went, "file");
    for _ in 0..2 {
        let answer = scene.ask(&mut watching, since);
        assert!(matches!(answer, Answer::From(_)), "{answer:?}");
    }
    let check = watching
        .next_quick_check()
        .expect("that is to be found out");
    source.tell(&scene.at("a/b"), What::Opened, "other");
    source.tell(&scene.at("a/b"), What::Went, "other");
    watching.checked(&check.run().expect("the project is there"));
    let answer = scene.ask(&mut watching, since);
    assert!(matches!(answer, Answer::From(_)), "another one meanwhile");
    look_into_doubts(&mut watching);
    assert_eq!(dirty(scene.ask(&mut watching, since)), ["a/b"]);
}

#[test]
fn what_is_opened_and_listed_by_readers_is_no_change() {
    let (scene, source, mut watching, token, structure) = watched();
    source.tell_of_dir(&scene.at("a"), What::Opened, "b");
    source.tell_of_dir(&scene.at("a"), What::Closed { writable: false }, "b");
    let since = Some((token, structure));
    assert_eq!(dirty(scene.ask(&mut watching, since)), [""; 0]);
    source.tell_of_dir(&scene.at("a"), What::Changed, "b");
    assert_eq!(dirty(scene.ask(&mut watching, since)), ["a", "a/b"]);
}

fn check_of(watching: &mut Watching<Scripted>) -> Check {
    watching.next_check().expect("there was an answer")
}

/// Waits until what was written is older than the clock is exact, and saves.
fn save_settled(scene: &Scene, token: Token) -> u64 {
    std::thread::sleep(std::time::Duration::from_millis(30));
    scene.save(Some(token))
}

#[test]
fn a_look_at_everything_finds_what_nobody_told_and_counts_it() {
    let (scene, source, mut watching, token, _) = watched();
    let structure = save_settled(&scene, token);
    let since = Some((token, structure));
    assert_eq!(dirty(scene.ask(&mut watching, since)), [""; 0]);
    let found = check_of(&mut watching).run().expect("there is a cache");
    watching.checked(&found);
    assert_eq!(dirty(scene.ask(&mut watching, since)), [""; 0]);
    fs::write(scene.at("a/b/file"), "through another name").unwrap();
    let found = check_of(&mut watching).run().expect("there is a cache");
    watching.checked(&found);
    assert_eq!(dirty(scene.ask(&mut watching, since)), ["a/b"]);
    assert_eq!(watching.projects().next().map(|p| p.missed), Some(1));
    // What was told by the time the look is over was not missed.
    fs::write(scene.at("a/new"), "").unwrap();
    let found = check_of(&mut watching).run().expect("there is a cache");
    source.tell(&scene.at("a"), What::Came, "new");
    watching.checked(&found);
    assert_eq!(watching.projects().next().map(|p| p.missed), Some(1));
}

#[test]
fn a_stat_cache_that_is_damaged_or_gone_leads_nowhere() {
    let scene = Scene::new();
    let (_, mut watching) = watching(LIMITS);
    let cache = scene.state.join("stat-cache");
    let mut bytes = fs::read(&cache).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&cache, bytes).unwrap();
    for _ in 0..2 {
        let answer = scene.ask(&mut watching, None);
        assert_eq!(answer, Answer::Unknown(Doubt::NotYet));
        work(&mut watching);
        let _ = fs::remove_file(&cache);
    }
    assert!(!Path::new(&cache).exists());
}
