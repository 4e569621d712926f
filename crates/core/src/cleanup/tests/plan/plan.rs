//! Tests of plan.

use super::super::testing::{Store, days_ago};
use super::*;
use crate::error::Error;

#[test]
fn without_limits_nothing_goes() {
    let store =
        Store::new().live("a", &[900, 800, 700].map(days_ago)).gone("b", &[900, 800].map(days_ago));
    assert_eq!(store.plan(), Plan::default());
}

#[test]
fn an_empty_store_has_an_empty_plan() {
    let store = Store::new().keep_days(7).keep_count(1).limit_size(1);
    assert_eq!(store.all_orphans().objects(10).plan().drops, []);
}

#[test]
fn every_rule_says_why() {
    let rules =
        [Rule::Orphan, Rule::Stale, Rule::Thinned, Rule::Count, Rule::TotalSize, Rule::FreeDisk];
    for rule in rules {
        let said = rule.to_string();
        assert!(said.starts_with("the ") && !said.ends_with('.'), "{said}");
    }
}

#[test]
fn what_cannot_be_weighed_is_an_error_and_no_plan() {
    let store = Store::new().live("a", &[2, 1].map(days_ago));
    let store = store.limit_size(1).objects(10);
    assert!(plan(&store.facts, &store.limits, &mut |_| Err(Error::NothingToUndo)).is_err());
}
