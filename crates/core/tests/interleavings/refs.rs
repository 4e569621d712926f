//! Refs: of those who change one at the same time, each is told the truth.

use herma_core::ObjectId;
use herma_store::error::StoreError;
use herma_testkit::schedules::explore;
use shuttle::thread;

use crate::place::Place;

const REF: &str = "refs/hermes/0123456789abcdef";
const THREADS: u8 = 3;

/// An id that stands for a number.
fn id(number: u8) -> ObjectId {
    let digits = format!("{:040x}", u64::from(number) + 1);
    ObjectId::from_hex(digits.as_bytes()).unwrap()
}

/// Removes the ref, whatever it is, so that the next schedule begins like the one before.
fn forget(place: &Place) {
    let store = place.base.join("checkpoints/store");
    let _ = std::fs::remove_file(store.join(REF));
    let _ = std::fs::remove_file(store.join("packed-refs"));
}

#[test]
fn no_update_of_a_ref_is_lost() {
    let place = Place::new();
    explore(move || {
        forget(&place);
        let refs = place.dirs.refs();
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    loop {
                        let before = refs.read(REF).unwrap();
                        let next = (0..THREADS).find(|n| {
                            *n == 0 && before.is_none() || *n > 0 && before == Some(id(*n - 1))
                        });
                        match refs.update(REF, before, id(next.unwrap())) {
                            Ok(()) => break,
                            Err(StoreError::RefMoved { .. }) => {}
                            Err(e) => panic!("{e}"),
                        }
                    }
                });
            }
        });
        let last = refs.read(REF).unwrap();
        assert_eq!(last, Some(id(THREADS - 1)), "each counted once");
    });
}

#[test]
fn a_ref_is_either_deleted_or_updated_but_not_both() {
    let place = Place::new();
    explore(move || {
        forget(&place);
        let (old, new) = (id(0), id(1));
        let refs = place.dirs.refs();
        // An old value among the packed ones must not come back to life.
        let packed = format!("# pack-refs with: peeled fully-peeled sorted \n{old} {REF}\n");
        std::fs::write(place.base.join("checkpoints/store/packed-refs"), packed).unwrap();
        let (updated, deleted) = thread::scope(|scope| {
            let update = scope.spawn(|| refs.update(REF, Some(old), new));
            let delete = scope.spawn(|| refs.delete(REF, old));
            (update.join().unwrap(), delete.join().unwrap())
        });
        let expected = match (updated, deleted) {
            (Ok(()), Err(StoreError::RefMoved { .. })) => Some(new),
            (Err(StoreError::RefMoved { .. }), Ok(())) => None,
            both => panic!("{both:?}"),
        };
        assert_eq!(refs.read(REF).unwrap(), expected);
    });
}

#[test]
fn of_those_who_create_one_ref_one_succeeds() {
    let place = Place::new();
    explore(move || {
        forget(&place);
        let refs = place.dirs.refs();
        let made: Vec<u8> = thread::scope(|scope| {
            let makers: Vec<_> = (0..THREADS)
                .map(|n| scope.spawn(move || (n, refs.create(&[(REF, id(n))]))))
                .collect();
            let results = makers.into_iter().map(|maker| maker.join().unwrap());
            results.filter(|(_, made)| made.is_ok()).map(|(n, _)| n).collect()
        });
        assert_eq!(made.len(), 1, "{made:?}");
        assert_eq!(refs.read(REF).unwrap(), Some(id(made[0])));
    });
}
