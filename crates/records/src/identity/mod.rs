//! `projects/<id>.json`: where a project is and when it was last touched, in the format of Hermes.
//!
//! Whatever stands in the file, reading it never fails and never stops a save: a value of the wrong
//! type is an unknown value, a file that is no object knows nothing. Keys this program does not know
//! are kept, in their place.

mod json;

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use herma_fs::place::Place;
use herma_store::ProjectId;

pub use json::python_float;

const WORKDIR: &str = "workdir";
const CREATED_AT: &str = "created_at";
const LAST_TOUCH: &str = "last_touch";
const PARENT_DEV: &str = "workdir_parent_dev";
const PARENT_INO: &str = "workdir_parent_ino";
/// These are ours alone. Hermes keeps them when it touches a project and drops them when it registers one.
const PARENT_BORN: &str = "workdir_parent_born";
const PARENT_FILE_SYSTEM: &str = "workdir_parent_fsid";
const WORKDIR_DEV: &str = "workdir_dev";
const WORKDIR_INO: &str = "workdir_ino";
const WORKDIR_BORN: &str = "workdir_born";
const MISSING_SINCE: &str = "workdir_missing_since";
const MAX_SNAPSHOTS: &str = "max_snapshots";
const MAX_TOTAL_SIZE: &str = "max_total_size";

/// What the store remembers about a project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    members: json::Members,
}

/// What is known about where a project was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The directory it was in.
    pub parent: Option<Place>,
    /// The project itself.
    pub own: Option<Place>,
    /// The device the project itself was on; may be known where the rest is not.
    pub own_dev: Option<u64>,
}

/// Limits a caller gives itself. They are recorded with each project it saves, and concern no other project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AskedLimits {
    /// How many checkpoints the project may have; 0 is no limit.
    pub max_snapshots: Option<usize>,
    /// How many bytes the store may have; 0 is no limit.
    pub max_total_size: Option<u64>,
}

impl Identity {
    /// Reads a file. What cannot be understood is unknown, never an error.
    pub fn parse(bytes: &[u8]) -> Self {
        Self { members: json::parse(bytes).unwrap_or_default() }
    }

    /// What is wrong with a file, if anything is: it is no object, or a value has the wrong type.
    pub fn problem(bytes: &[u8]) -> Option<&'static str> {
        let Some(members) = json::parse(bytes) else { return Some("it is no JSON object") };
        let identity = Self { members };
        let is_set = |key| identity.get(key).is_some_and(|value| value != "null");
        if is_set(WORKDIR) && identity.workdir().is_none() {
            return Some("`workdir` is no path");
        }
        if is_set(CREATED_AT) && identity.created_at().is_none() {
            return Some("`created_at` is no time");
        }
        if is_set(LAST_TOUCH) && identity.last_touch().is_none() {
            return Some("`last_touch` is no time");
        }
        let has_parent = is_set(PARENT_DEV) || is_set(PARENT_INO);
        (has_parent && identity.parent().is_none())
            .then_some("the directory above the project is not described by numbers")
    }

    /// What can be taken over from a damaged file: an object's keys but for values of the wrong type,
    /// and from half an object the directory, if it is the project's.
    pub fn salvage(bytes: &[u8], project: &ProjectId) -> Self {
        let mut identity = Self::parse(bytes);
        let wrong = [
            (WORKDIR, identity.workdir().is_none()),
            (CREATED_AT, identity.created_at().is_none()),
            (LAST_TOUCH, identity.last_touch().is_none()),
            (PARENT_DEV, identity.parent().is_none()),
            (PARENT_INO, identity.parent().is_none()),
        ];
        for (key, _) in wrong.iter().filter(|(_, is_wrong)| *is_wrong) {
            identity.members.retain(|(name, _)| name != key);
        }
        if identity.workdir().is_none() {
            let found = json::member_of_half(bytes, WORKDIR).and_then(|text| to_path(&text));
            // A path that is cut short would be another project.
            if let Some(path) = found.filter(|path| ProjectId::of(path) == *project) {
                identity.set(WORKDIR, from_path(&path));
            }
        }
        identity
    }

    /// Fills in what is not known yet.
    pub fn complete(&mut self, workdir: Option<&Path>, created_at: f64, last_touch: f64) {
        if let (None, Some(workdir)) = (self.workdir(), workdir) {
            self.set(WORKDIR, from_path(workdir));
        }
        if self.created_at().is_none() {
            self.set(CREATED_AT, json::python_float(created_at));
        }
        if self.last_touch().is_none() {
            self.set(LAST_TOUCH, json::python_float(last_touch));
        }
    }

    /// Is nothing known: a new, damaged or foreign file?
    pub fn is_unknown(&self) -> bool {
        self.members.is_empty()
    }

    /// Notes that the project at `workdir` was saved at `now` (seconds since 1970).
    pub fn touch(&mut self, workdir: &Path, now: f64, parent: Option<Place>) {
        self.set(WORKDIR, from_path(workdir));
        if self.created_at().is_none() {
            self.set(CREATED_AT, json::python_float(now));
        }
        self.set(LAST_TOUCH, json::python_float(now));
        self.set_missing_since(None);
        if let Some(parent) = parent {
            self.set_number(PARENT_DEV, Some(parent.dev));
            self.set_number(PARENT_INO, Some(parent.ino));
            self.set_number(PARENT_BORN, parent.born);
            self.set_number(PARENT_FILE_SYSTEM, parent.file_system);
        }
    }

    /// When cleaning first found that it was deleted, seconds since 1970.
    pub fn missing_since(&self) -> Option<f64> {
        self.seconds(MISSING_SINCE)
    }

    /// Notes since when it is missing, or that it is not.
    pub fn set_missing_since(&mut self, time: Option<f64>) {
        if let Some(time) = time {
            self.set(MISSING_SINCE, json::python_float(time));
        } else {
            self.members.retain(|(name, _)| name != MISSING_SINCE);
        }
    }

    /// The limits that were asked for it, by whoever last saved it with any.
    pub fn asked(&self) -> AskedLimits {
        AskedLimits {
            max_snapshots: self.whole(MAX_SNAPSHOTS),
            max_total_size: self.whole(MAX_TOTAL_SIZE),
        }
    }

    /// Notes limits that are asked for it. A limit that nobody passes this time stays as recorded.
    pub fn ask(&mut self, asked: &AskedLimits) {
        if let Some(most) = asked.max_snapshots {
            self.set_number(MAX_SNAPSHOTS, Some(most));
        }
        if let Some(most) = asked.max_total_size {
            self.set_number(MAX_TOTAL_SIZE, Some(most));
        }
    }

    /// Notes which directory the project itself is. Its device is not its parent's if it is a volume of
    /// its own.
    pub fn note_own(&mut self, own: &Place) {
        self.set_number(WORKDIR_DEV, Some(own.dev));
        self.set_number(WORKDIR_INO, Some(own.ino));
        self.set_number(WORKDIR_BORN, own.born);
    }

    /// What is known about where the project was when it was last saved.
    pub fn places(&self) -> Places {
        let own_dev = self.whole(WORKDIR_DEV);
        let own = own_dev.zip(self.whole(WORKDIR_INO));
        Places {
            parent: self.parent(),
            own: own.map(|(dev, ino)| Place {
                dev,
                ino,
                born: self.whole(WORKDIR_BORN),
                file_system: None,
            }),
            own_dev,
        }
    }

    /// Where the project is.
    pub fn workdir(&self) -> Option<PathBuf> {
        to_path(&json::string(self.get(WORKDIR)?)?)
    }

    /// When it was first saved, seconds since 1970.
    pub fn created_at(&self) -> Option<f64> {
        self.seconds(CREATED_AT)
    }

    /// When it was last saved, seconds since 1970.
    pub fn last_touch(&self) -> Option<f64> {
        self.seconds(LAST_TOUCH)
    }

    /// Puts the time it was last saved right.
    pub fn set_last_touch(&mut self, time: f64) {
        self.set(LAST_TOUCH, json::python_float(time));
    }

    /// The directory it was in when it was last saved.
    pub fn parent(&self) -> Option<Place> {
        Some(Place {
            dev: self.whole(PARENT_DEV)?,
            ino: self.whole(PARENT_INO)?,
            born: self.whole(PARENT_BORN),
            file_system: self.whole(PARENT_FILE_SYSTEM),
        })
    }

    /// The bytes of the file, as Python's `json.dumps` would write them.
    pub fn render(&self) -> String {
        json::render(&self.members)
    }

    fn get(&self, key: &str) -> Option<&str> {
        let found = self.members.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str())
    }

    fn set(&mut self, key: &str, value: String) {
        json::set(&mut self.members, key, value);
    }

    /// What is not known any more must not stay: it would contradict what is.
    fn set_number(&mut self, key: &str, number: Option<impl ToString>) {
        if let Some(number) = number {
            self.set(key, number.to_string());
        } else {
            self.members.retain(|(name, _)| name != key);
        }
    }

    fn seconds(&self, key: &str) -> Option<f64> {
        self.whole(key).filter(|seconds: &f64| seconds.is_finite())
    }

    fn whole<N: std::str::FromStr>(&self, key: &str) -> Option<N> {
        self.get(key)?.parse().ok()
    }
}

/// A path in the text of a string.
fn from_path(path: &Path) -> String {
    json::quoted(path.as_os_str().as_bytes())
}

/// The path a string says; bytes that are no UTF-8 stand in it as surrogates, U+DC80 to U+DCFF.
fn to_path(text: &[u8]) -> Option<PathBuf> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        (*first != 0).then_some(())?;
        let (byte, after) = match rest {
            [0xed, 0xb2, low, after @ ..] => (*low, after),
            [0xed, 0xb3, low, after @ ..] => (low | 0x40, after),
            [0xed, 0xa0..=0xff, ..] => return None,
            _ => (*first, after),
        };
        bytes.push(byte);
        rest = after;
    }
    (!bytes.is_empty()).then(|| PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use proptest::prelude::*;

    use super::*;

    fn place(dev: u64, ino: u64, born: Option<i64>, file_system: Option<u64>) -> Place {
        Place { dev, ino, born, file_system }
    }

    #[test]
    fn a_new_project_is_written_as_hermes_writes_it() {
        let mut identity = Identity::default();
        identity.touch(Path::new("/home/you/caf\u{e9}"), 1_794_702_913.5, None);
        assert_eq!(
            identity.render(),
            r#"{"workdir": "/home/you/caf\u00e9", "created_at": 1794702913.5, "last_touch": 1794702913.5}"#
        );
        identity.touch(
            Path::new("/home/you/caf\u{e9}"),
            1_794_702_914.0,
            Some(place(1, 2, None, None)),
        );
        assert_eq!(identity.created_at(), Some(1_794_702_913.5));
        assert_eq!(identity.last_touch(), Some(1_794_702_914.0));
        assert!(identity.render().ends_with(
            r#""last_touch": 1794702914.0, "workdir_parent_dev": 1, "workdir_parent_ino": 2}"#
        ));
    }

    #[test]
    fn unknown_keys_stay_in_their_place() {
        let mut identity = Identity::parse(
            br#"{"z": {"deep": [1, 2.0]}, "created_at": 5, "workdir": "/old", "name": "x\ud83d\ude00"}"#,
        );
        identity.touch(Path::new("/new"), 7.0, None);
        assert_eq!(
            identity.render(),
            r#"{"z": {"deep": [1, 2.0]}, "created_at": 5, "workdir": "/new", "name": "x\ud83d\ude00", "last_touch": 7.0}"#
        );
    }

    #[test]
    fn a_file_that_is_no_object_no_longer_stops_every_save() {
        for content in [
            &b""[..],
            b"null",
            b"[1]",
            b"\"x\"",
            b"7",
            b"{\"workdir\": \"/a",
            b"{}",
            b"\xff",
            b"{\"a\": 1}}",
        ] {
            let mut identity = Identity::parse(content);
            assert!(identity.is_unknown());
            identity.touch(Path::new("/p"), 1.0, None);
            assert_eq!(
                identity.render(),
                r#"{"workdir": "/p", "created_at": 1.0, "last_touch": 1.0}"#
            );
        }
    }

    #[test]
    fn values_of_the_wrong_type_are_unknown_values() {
        let mut identity = Identity::parse(
            br#"{"workdir": 5, "created_at": "yesterday", "last_touch": NaN, "workdir_parent_dev": -1, "workdir_parent_ino": true}"#,
        );
        assert_eq!((identity.workdir(), identity.created_at()), (None, None));
        assert_eq!((identity.last_touch(), identity.parent()), (None, None));
        identity.touch(Path::new("/p"), 2.0, None);
        assert_eq!(identity.created_at(), Some(2.0));
        for text in ["\"\"", "\"a\\u0000b\"", "\"\\ud800\""] {
            let identity = Identity::parse(format!("{{\"workdir\": {text}}}").as_bytes());
            assert_eq!(identity.workdir(), None, "{text}");
        }
    }

    /// Defect 46: a value of the wrong type stopped maintenance; now it is found, and the rest is kept.
    #[test]
    fn problems_are_found_and_everything_good_is_salvaged() {
        let project = ProjectId::of(Path::new("/home/you/x"));
        for (content, problem, salvaged) in [
            (
                r#"{"workdir": "/p", "n": null, "last_touch": 1}"#,
                false,
                r#"{"workdir": "/p", "n": null, "last_touch": 1}"#,
            ),
            (r#"{"workdir": "/p", "workdir_parent_dev": null}"#, false, r#"{"workdir": "/p"}"#),
            (
                r#"{"workdir": 5, "x": [1], "created_at": 2}"#,
                true,
                r#"{"x": [1], "created_at": 2}"#,
            ),
            (r#"{"workdir": "/p", "last_touch": "yesterday"}"#, true, r#"{"workdir": "/p"}"#),
            (r#"{"created_at": NaN, "workdir_parent_dev": 1}"#, true, "{}"),
            (
                r#"{"workdir": "/home/you/x", "created_at": 17"#,
                true,
                r#"{"workdir": "/home/you/x"}"#,
            ),
            (r#"{"workdir": "/home/you"#, true, "{}"),
            (r#"{"workdir": "/home/you", "#, true, "{}"),
            ("[]", true, "{}"),
        ] {
            let found = Identity::problem(content.as_bytes());
            assert_eq!(found.is_some(), problem, "{content}");
            let identity = Identity::salvage(content.as_bytes(), &project);
            assert_eq!(identity.render(), salvaged, "{content}");
        }
    }

    #[test]
    fn a_path_that_is_not_utf8_is_escaped_as_python_does() {
        let path = Path::new(OsStr::from_bytes(b"/p/\xff\xed\xa0\x80x"));
        let mut identity = Identity::default();
        identity.touch(path, 1.0, None);
        assert!(identity.render().starts_with(r#"{"workdir": "/p/\udcff\udced\udca0\udc80x","#));
        assert_eq!(Identity::parse(identity.render().as_bytes()).workdir().as_deref(), Some(path));
    }

    #[test]
    fn the_directories_are_noted_so_that_they_can_be_known_again() {
        let (above, own) = (place(1, 2, Some(-3), Some(u64::MAX)), place(4, 5, Some(6), None));
        let mut identity = Identity::default();
        assert_eq!(identity.places(), Places::default());
        identity.touch(Path::new("/p"), 1.0, Some(above));
        identity.note_own(&own);
        let again = Identity::parse(identity.render().as_bytes());
        let noted = Places { parent: Some(above), own: Some(own), own_dev: Some(4) };
        assert_eq!(again.places(), noted);
        assert!(identity.render().ends_with(
            r#""workdir_parent_dev": 1, "workdir_parent_ino": 2, "workdir_parent_born": -3, "workdir_parent_fsid": 18446744073709551615, "workdir_dev": 4, "workdir_ino": 5, "workdir_born": 6}"#
        ));
    }

    #[test]
    fn what_is_not_known_of_a_new_directory_is_not_kept_of_the_old_one() {
        let mut identity = Identity::default();
        identity.touch(Path::new("/p"), 1.0, Some(place(1, 2, Some(3), Some(4))));
        identity.note_own(&place(1, 5, Some(6), None));
        identity.touch(Path::new("/p"), 2.0, Some(place(7, 8, None, None)));
        identity.note_own(&place(7, 9, None, None));
        assert_eq!(identity.parent(), Some(place(7, 8, None, None)));
        assert_eq!(identity.places().own, Some(place(7, 9, None, None)));
        // Nobody could look: then what was known stays.
        identity.touch(Path::new("/p"), 3.0, None);
        assert_eq!(identity.parent(), Some(place(7, 8, None, None)));
    }

    #[test]
    fn limits_are_kept_until_others_are_asked_for() {
        let mut identity = Identity::default();
        assert_eq!(identity.asked(), AskedLimits::default());
        identity.touch(Path::new("/p"), 1.0, None);
        let both = AskedLimits { max_snapshots: Some(50), max_total_size: Some(1 << 40) };
        identity.ask(&both);
        assert!(
            identity.render().ends_with(r#""max_snapshots": 50, "max_total_size": 1099511627776}"#)
        );
        identity.ask(&AskedLimits::default());
        assert_eq!(identity.asked(), both);
        identity.ask(&AskedLimits { max_snapshots: Some(0), ..AskedLimits::default() });
        assert_eq!(identity.asked().max_snapshots, Some(0));
        let wrong = Identity::parse(br#"{"max_snapshots": -1, "max_total_size": "much"}"#);
        assert_eq!(wrong.asked(), AskedLimits::default());
    }

    #[test]
    fn a_directory_described_by_anything_but_numbers_is_not_recorded() {
        let wrong = Identity::parse(
            br#"{"workdir_dev": "x", "workdir_ino": 1, "workdir_parent_dev": 1, "workdir_parent_ino": 2, "workdir_parent_born": 1.5, "workdir_parent_fsid": -1}"#,
        );
        let known = wrong.places();
        assert_eq!((known.own_dev, known.own), (None, None));
        assert_eq!(known.parent, Some(place(1, 2, None, None)));
        // An older version noted the device alone.
        let older = Identity::parse(br#"{"workdir_dev": 3}"#).places();
        assert_eq!((older.own_dev, older.own), (Some(3), None));
    }

    proptest! {
        #[test]
        fn every_path_comes_back_and_no_bytes_panic(
            path in prop::collection::vec(1_u8.., 1..40),
            noise in prop::collection::vec(any::<u8>(), 0..80),
        ) {
            let path = Path::new(OsStr::from_bytes(&path));
            let mut identity = Identity::parse(&noise);
            identity.touch(path, 3.25, None);
            let again = Identity::parse(identity.render().as_bytes());
            prop_assert_eq!(again.workdir(), Some(path.to_owned()));
            prop_assert_eq!(again, identity);
        }
    }
}
