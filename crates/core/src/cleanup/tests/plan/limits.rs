//! Tests of limits.

use std::path::Path;

use super::*;

#[test]
fn a_project_goes_by_what_was_asked_for_it_or_by_what_everybody_goes_by_if_that_is_more() {
    let project = ProjectId::of(Path::new("/p"));
    for (set, asked, most) in [
        (None, None, 0),
        (None, Some(10), 10),
        (None, Some(0), 0),
        (Some(20), None, 20),
        (Some(20), Some(100), 100),
        (Some(20), Some(10), 20),
        (Some(20), Some(0), 0),
        (Some(0), Some(10), 0),
    ] {
        let limits = Limits { max_snapshots: set, ..Limits::default() };
        assert_eq!(limits.snapshots_of(&project, asked), most, "{limits:?}");
    }
}

#[test]
fn by_default_nothing_is_counted_and_thirty_days_of_work_stay_whole() {
    let limits = Limits::of(&Keeping::default(), None);
    let thinning = Some(Thinning { whole_days: 30, daily: 30, weekly: 26 });
    assert_eq!((limits.max_snapshots, limits.retention_days), (None, Some(30)));
    assert_eq!(limits.thinning, thinning);
    let kept = |retention_days| Keeping { retention_days, ..Keeping::default() }.thinning();
    assert_eq!((kept(0), kept(7)), (None, thinning), "0 is never; a week is about idle projects");
    assert_eq!(kept(90).map(|thinning| thinning.whole_days), Some(90));
}

#[test]
fn a_limit_for_one_project_is_for_that_one_alone() {
    let [one, other] = ["/one", "/other"].map(|path| ProjectId::of(Path::new(path)));
    let limits = Limits { max_snapshots: Some(2), project: Some(one.clone()), ..Limits::default() };
    assert_eq!(limits.snapshots_of(&one, Some(100)), 2);
    assert_eq!(limits.snapshots_of(&other, None), 0);
}
