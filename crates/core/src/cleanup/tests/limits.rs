//! Tests of limits.

use std::path::Path;

use super::*;

#[test]
fn a_project_goes_by_what_was_asked_for_it_or_by_what_everybody_goes_by_if_that_is_more() {
    let project = ProjectId::of(Path::new("/p"));
    let set = |max_snapshots, is_usual| Limits { max_snapshots, is_usual, ..Limits::default() };
    for (limits, asked, most) in [
        (set(None, false), Some(3), 0),
        (set(Some(20), false), None, 20),
        (set(Some(20), false), Some(100), 100),
        (set(Some(20), false), Some(10), 20),
        (set(Some(20), false), Some(0), 0),
        (set(Some(0), false), Some(10), 0),
        (set(Some(200), true), Some(10), 10),
        (set(Some(200), true), Some(1000), 1000),
        (set(Some(200), true), None, 200),
    ] {
        assert_eq!(limits.snapshots_of(&project, asked), most, "{limits:?}");
    }
}

#[test]
fn a_limit_for_one_project_is_for_that_one_alone() {
    let [one, other] = ["/one", "/other"].map(|path| ProjectId::of(Path::new(path)));
    let limits = Limits { max_snapshots: Some(2), project: Some(one.clone()), ..Limits::default() };
    assert_eq!(limits.snapshots_of(&one, Some(100)), 2);
    assert_eq!(limits.snapshots_of(&other, None), 0);
}
