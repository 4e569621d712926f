//! Savers beside each other and beside a cleaner: the locks of the store and of a project.

use std::time::Duration;

use herma_core::{ObjectId, ProjectId};
use herma_fs::publish::Durability;
use herma_store::object::Kind;
use herma_store::pack::write::PackWriter;
use herma_testkit::schedules::explore;
use shuttle::thread;

use crate::place::{Place, blob};

const PROJECT: &str = "0123456789abcdef";
const SAVERS: usize = 2;
/// Nobody waits that long: schedules have no time.
const WAIT: Duration = Duration::from_secs(600);
const SHARED: &[u8] = b"what everybody saves, and nobody needs before";

fn reset(place: &Place) {
    for directory in ["objects/pack".to_owned(), format!("refs/herma/{PROJECT}")] {
        let path = place.base.join("checkpoints/store").join(directory);
        for entry in std::fs::read_dir(path).into_iter().flatten() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
    }
}

/// What a save does, in its order: objects that are there are relied on, others are written, and then the ref.
fn save(place: &Place) -> (String, ObjectId) {
    let id = ProjectId::parse(PROJECT.as_bytes()).unwrap();
    let _project = place.dirs.lock_project(&id, WAIT).unwrap();
    let _store = place.dirs.lock_shared(WAIT).unwrap();
    let objects = place.objects();
    let known = |id: &ObjectId| Ok(objects.contains_listed(id).unwrap());
    let writer = PackWriter::new(&place.dirs, &known).unwrap();
    let object = writer.add(Kind::Blob, SHARED).unwrap();
    writer.finish(Durability::Cache).unwrap();
    let refs = place.dirs.refs();
    let listed = refs.list(&format!("refs/herma/{PROJECT}")).unwrap();
    let name = format!("refs/herma/{PROJECT}/{:08}", listed.refs.len() + 1);
    refs.create(&[(&name, object)]).unwrap();
    (name, object)
}

/// What a cleaner does at its end: alone in the store, it removes the packs that no ref needs.
fn clean(place: &Place) {
    let _cleaner = place.dirs.lock_collect(WAIT).unwrap();
    let _store = place.dirs.lock_exclusive(WAIT).unwrap();
    let listed = place.dirs.refs().list("refs/herma").unwrap();
    if listed.refs.is_empty() {
        for entry in std::fs::read_dir(place.packs()).unwrap() {
            herma_fs::sync::point();
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
    }
}

#[test]
fn what_a_saver_relies_on_is_not_cleaned_away_and_no_number_is_given_twice() {
    let place = Place::new();
    explore(move || {
        reset(&place);
        // Left by a save whose checkpoint was dropped: the savers find it, the cleaner wants to remove it.
        place.write_pack(&[SHARED]);
        let saved = thread::scope(|scope| {
            let savers: Vec<_> = (0..SAVERS).map(|_| scope.spawn(|| save(&place))).collect();
            let cleaner = scope.spawn(|| clean(&place));
            cleaner.join().unwrap();
            let saved = savers.into_iter().map(|saver| saver.join().unwrap());
            saved.collect::<Vec<_>>()
        });
        assert_ne!(saved[0].0, saved[1].0, "one number for two checkpoints");
        for (name, object) in saved {
            let value = place.dirs.refs().read(&name).unwrap();
            assert_eq!(value, Some(object));
            assert_eq!(place.objects().read(&object).unwrap().data, SHARED);
            assert_eq!(object, blob(SHARED));
        }
    });
}
