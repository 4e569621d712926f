//! Which records have served their time: those of completed tasks after a day, the others after a week.
//!
//! First a plan is made, then done; a record that was written in between stays. A record that does not say
//! how old it is stays. A file that is no record is set aside, not deleted. No file can stop the others
//! from being looked at.

use std::ops::RangeInclusive;

use super::moment::Now;
use super::record::Record;
use super::store::{Listed, Problem, ResumeError, ResumeStore, SessionId};

/// How many days a record is kept.
pub const DEFAULT_DAYS: u32 = 7;

const DAY: i64 = 86_400;

/// Why a record goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Its task was completed more than a day ago.
    Completed,
    /// It was not written for so many days.
    Stale,
}

impl Rule {
    /// The word JSON uses.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Stale => "stale",
        }
    }
}

/// A record that has served its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expired {
    /// The session.
    pub session: SessionId,
    /// Why it goes.
    pub rule: Rule,
    seen: Record,
}

/// A file that is no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Odd {
    /// The name of the file.
    pub file: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What there is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Records to remove.
    pub expired: Vec<Expired>,
    /// Files to set aside.
    pub useless: Vec<Odd>,
    /// Files that are called like records, and left alone.
    pub foreign: Vec<Odd>,
    /// How many records stay.
    pub kept: usize,
}

/// What was done.
#[derive(Debug, Default)]
pub struct Collected {
    /// Records that were removed.
    pub removed: Vec<SessionId>,
    /// Files that were set aside: their name, and where they are now.
    pub set_aside: Vec<(String, String)>,
    /// What could not be done, by the name of the file.
    pub failed: Vec<(String, ResumeError)>,
}

/// Looks at every record; writes nothing.
pub fn plan(store: &ResumeStore, now: &Now, days: u32) -> Result<Plan, ResumeError> {
    let mut plan = Plan::default();
    for listed in store.list()? {
        let Listed { file, session, record } = listed;
        match (record, session) {
            (Err(problem), _) if problem.is_useless() => plan.useless.push(Odd { file, problem }),
            (Err(problem), _) => plan.foreign.push(Odd { file, problem }),
            (Ok(record), Some(session)) => match rule_for(&record, now, days) {
                Some(rule) => plan.expired.push(Expired { session, rule, seen: record }),
                None => plan.kept += 1,
            },
            (Ok(_), None) => plan.kept += 1,
        }
    }
    Ok(plan)
}

/// How long ago the last run may be, in seconds, so that unattended cleaning runs, and believes the clock.
const INTERVAL: RangeInclusive<f64> = 86_400.0..=30.0 * 86_400.0;

/// What nobody waits for, once a day: records that have served their time go, and nothing else is touched.
/// A run that does not find when the last one was, or finds that it was long ago, only notes the time: a
/// clock that jumped ahead would make every record old. `None` if it was not time.
pub fn collect_if_due(store: &ResumeStore, now: &Now) -> Result<Option<Collected>, ResumeError> {
    let seconds = now.time.as_second() as f64;
    let since = store.last_collection()?.map(|last| seconds - last);
    if since.is_some_and(|since| (0.0..*INTERVAL.start()).contains(&since)) {
        return Ok(None);
    }
    let mut plan = plan(store, now, DEFAULT_DAYS)?;
    if plan.kept == 0 && plan.expired.is_empty() {
        return Ok(None);
    }
    // Hermes writes in place: what is damaged now may be half written.
    plan.useless.clear();
    let is_trusted = since.is_some_and(|since| INTERVAL.contains(&since));
    let collected = is_trusted.then(|| plan.apply(store, now));
    store.note_collection(seconds)?;
    Ok(collected)
}

fn rule_for(record: &Record, now: &Now, days: u32) -> Option<Rule> {
    let age = now.seconds_since(record.updated(&now.zone)?);
    if record.is_completed() && age > DAY {
        Some(Rule::Completed)
    } else if age > i64::from(days) * DAY {
        Some(Rule::Stale)
    } else {
        None
    }
}

impl Plan {
    /// Does it. What changed since the plan was made stays.
    pub fn apply(&self, store: &ResumeStore, now: &Now) -> Collected {
        let mut collected = Collected::default();
        for expired in &self.expired {
            match store.delete_if(&expired.session, &expired.seen) {
                Ok(true) => collected.removed.push(expired.session.clone()),
                Ok(false) => {}
                Err(error) => {
                    let name = format!("{}.yaml", expired.session);
                    collected.failed.push((name, error));
                }
            }
        }
        for odd in &self.useless {
            match store.set_aside(&odd.file, now) {
                Ok(Some(place)) => collected.set_aside.push((odd.file.clone(), place)),
                Ok(None) => {}
                Err(error) => collected.failed.push((odd.file.clone(), error)),
            }
        }
        collected
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use std::path::PathBuf;

    use jiff::Timestamp;
    use jiff::tz::TimeZone;
    use tempfile::TempDir;

    use super::*;
    use herma_yaml::Value;

    /// 2026-04-22T23:15:00 two hours ahead of UTC.
    fn now() -> Now {
        Now {
            time: Timestamp::from_second(1_776_892_500).unwrap(),
            zone: TimeZone::fixed(jiff::tz::offset(2)),
        }
    }

    fn store() -> (TempDir, PathBuf, ResumeStore) {
        let temp = tempfile::tempdir().unwrap();
        let store = ResumeStore::create(temp.path()).unwrap();
        let base = temp.path().join("checkpoints");
        (temp, base, store)
    }

    fn rule(updated: &str, status: &str) -> Option<Rule> {
        let text = format!("status: {status}\nupdated: {updated}\n");
        let Ok(Value::Map(map)) = herma_yaml::read(&text) else {
            panic!("{text}");
        };
        rule_for(&Record::new(map), &now(), DEFAULT_DAYS)
    }

    #[test]
    fn records_go_after_a_week_and_completed_ones_after_a_day() {
        let (fresh, day, week) =
            ("'2026-04-22T20:00:00'", "'2026-04-21T23:14:59'", "'2026-04-15T23:14:59'");
        assert_eq!(rule(fresh, "in_progress"), None);
        assert_eq!(rule(fresh, "completed"), None);
        assert_eq!(rule(day, "in_progress"), None);
        assert_eq!(rule(day, "completed"), Some(Rule::Completed));
        assert_eq!(rule(week, "in_progress"), Some(Rule::Stale));
        assert_eq!(rule(week, "whatever"), Some(Rule::Stale));
        assert_eq!(rule("'2026-04-15T23:15:01'", "in_progress"), None);
        assert_eq!(rule("'2099-01-01T00:00:00'", "completed"), None);
    }

    #[test]
    fn defect_60_no_way_to_write_the_time_is_an_error() {
        for old in [
            "2026-04-01",
            "2026-04-01T10:00:00+02:00",
            "'2026-04-01T10:00:00Z'",
            "2026-04-01 10:00:00",
            "1774000000",
            "1774000000.25",
        ] {
            assert_eq!(rule(old, "in_progress"), Some(Rule::Stale), "{old}");
        }
        for unknown in ["yesterday", "~", "[]", "true", "''", ".nan", "2026-99-99"] {
            assert_eq!(rule(unknown, "completed"), None, "{unknown}");
        }
    }

    #[test]
    fn defect_60_one_foreign_file_does_not_stop_the_others() {
        let (_temp, base, store) = store();
        let write = |name: &str, bytes: &[u8]| std::fs::write(base.join(name), bytes).unwrap();
        write("a-not-utf8.yaml", b"task: \xff\n");
        write("b-torn.yaml", b"task: 'half");
        write("c-list.yaml", b"- 1\n");
        write("d-empty.yaml", b"");
        write("e-bomb.yaml", &b"[".repeat(100_000));
        write("f tagged.yaml", b"x");
        write("g-tagged.yaml", b"x: !!python/object:os.system {}\n");
        write("h-fresh.yaml", b"updated: '2026-04-22T20:00:00'\n");
        write("i-no-time.yaml", b"task: x\n");
        write("j-stale.yaml", b"updated: 2020-01-01T00:00:00+01:00\n");
        write("k-done.yaml", b"updated: 2026-04-20\nstatus: completed\n");
        let plan = plan(&store, &now(), DEFAULT_DAYS).unwrap();
        assert_eq!((plan.useless.len(), plan.foreign.len(), plan.kept), (5, 2, 2));
        assert_eq!(std::fs::read_dir(&base).unwrap().count(), 11, "a plan does nothing");
        let collected = plan.apply(&store, &now());
        let removed: Vec<_> = collected.removed.iter().map(SessionId::as_str).collect();
        assert_eq!(removed, ["j-stale", "k-done"]);
        assert_eq!(collected.failed.len(), 0);
        assert_eq!(collected.set_aside.len(), 5);
        for (name, place) in &collected.set_aside {
            assert!(!base.join(name).exists() && base.join(place).exists(), "{name}");
        }
        assert_eq!(
            std::fs::read(base.join("set-aside/20260422-231500-a-not-utf8.yaml")).unwrap(),
            b"task: \xff\n"
        );
        assert!(base.join("h-fresh.yaml").exists() && base.join("i-no-time.yaml").exists());
    }

    #[test]
    fn a_record_written_after_the_plan_was_made_stays() {
        let (_temp, base, store) = store();
        let path = base.join("s.yaml");
        std::fs::write(&path, "updated: 2020-01-01\n").unwrap();
        std::fs::write(base.join("t.yaml"), "- x\n").unwrap();
        let plan = plan(&store, &now(), DEFAULT_DAYS).unwrap();
        std::fs::write(&path, "updated: 2026-04-22\n").unwrap();
        std::fs::write(base.join("t.yaml"), "task: x\n").unwrap();
        let collected = plan.apply(&store, &now());
        assert!(collected.removed.is_empty() && collected.set_aside.is_empty());
        assert!(path.exists() && base.join("t.yaml").exists());
    }

    #[test]
    fn unattended_cleaning_runs_once_a_day_and_does_not_believe_a_jump_of_the_clock() {
        let (_temp, base, store) = store();
        let stale = || std::fs::write(base.join("s.yaml"), "updated: 2020-01-01\n").unwrap();
        let at = |days: i64| Now {
            time: now().time + jiff::SignedDuration::from_hours(24 * days),
            ..now()
        };
        let removed = |days| {
            collect_if_due(&store, &at(days)).unwrap().map(|collected| collected.removed.len())
        };
        assert_eq!(removed(0), None, "there is nothing to look after");
        assert_eq!(store.last_collection().unwrap(), None);
        stale();
        std::fs::write(base.join("torn.yaml"), "task: 'half").unwrap();
        assert_eq!(removed(0), None, "nobody knows when the last run was");
        assert_eq!(removed(0), None, "it was just now");
        assert_eq!(removed(400), None, "the clock jumped");
        assert!(base.join("s.yaml").exists());
        assert_eq!(removed(1), None, "it was in the future");
        assert_eq!(removed(2), Some(1));
        assert!(!base.join("s.yaml").exists());
        stale();
        assert_eq!(removed(2), None, "once a day");
        assert_eq!(removed(3), Some(1));
        assert!(base.join("torn.yaml").exists(), "somebody may be writing it");
    }
}
