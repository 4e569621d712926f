//! `projects/<id>.json`: where a project is and when it was last touched, in the format of Hermes.
//!
//! Whatever stands in the file, reading it never fails and never stops a save: a value of the wrong
//! type is an unknown value, a file that is no object knows nothing. Keys this program does not know
//! are kept, in their place.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::path::PathBuf;

use super::json;
use super::json::Text;
use super::json::Value;

const WORKDIR: &str = "workdir";
const CREATED_AT: &str = "created_at";
const LAST_TOUCH: &str = "last_touch";
const PARENT_DEV: &str = "workdir_parent_dev";
const PARENT_INO: &str = "workdir_parent_ino";

/// What the store remembers about a project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    members: Vec<(Text, Value)>,
}

/// The directory a project lies in, while it lived: evidence that a missing project was deleted and
/// not merely unmounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The device, as `stat` numbers it.
    pub dev: u64,
    /// The inode.
    pub ino: u64,
}

impl Parent {
    /// The parent with this stat. The device gets the number Python's `st_dev` has.
    pub fn from_stat(stat: &herma_fs::Stat) -> Self {
        Self {
            dev: st_dev(stat.dev),
            ino: stat.ino,
        }
    }
}

/// The device number as the C library packs it; `herma-fs` keeps the two halves apart.
#[cfg(target_os = "linux")]
fn st_dev(dev: u64) -> u64 {
    let (major, minor) = (dev >> 32, dev & 0xffff_ffff);
    ((major & 0xffff_f000) << 32)
        | ((major & 0xfff) << 8)
        | ((minor & 0xffff_ff00) << 12)
        | (minor & 0xff)
}

#[cfg(not(target_os = "linux"))]
fn st_dev(dev: u64) -> u64 {
    dev
}

impl Identity {
    /// Reads a file. What cannot be understood is unknown, never an error.
    pub fn parse(bytes: &[u8]) -> Self {
        match json::parse(bytes) {
            Some(Value::Object(members)) => Self { members },
            _ => Self::default(),
        }
    }

    /// Is nothing known: a new, damaged or foreign file?
    pub fn is_unknown(&self) -> bool {
        self.members.is_empty()
    }

    /// Notes that the project at `workdir` was saved at `now` (seconds since 1970).
    pub fn touch(&mut self, workdir: &Path, now: f64, parent: Option<Parent>) {
        self.set(WORKDIR, Value::String(from_path(workdir)));
        if self.created_at().is_none() {
            self.set(CREATED_AT, json::float(now));
        }
        self.set(LAST_TOUCH, json::float(now));
        if let Some(parent) = parent {
            self.set(PARENT_DEV, Value::Number(parent.dev.to_string()));
            self.set(PARENT_INO, Value::Number(parent.ino.to_string()));
        }
    }

    /// Where the project is.
    pub fn workdir(&self) -> Option<PathBuf> {
        match self.get(WORKDIR)? {
            Value::String(text) => to_path(text),
            _ => None,
        }
    }

    /// When it was first saved, seconds since 1970.
    pub fn created_at(&self) -> Option<f64> {
        self.seconds(CREATED_AT)
    }

    /// When it was last saved, seconds since 1970.
    pub fn last_touch(&self) -> Option<f64> {
        self.seconds(LAST_TOUCH)
    }

    /// The directory it was in when it was last saved.
    pub fn parent(&self) -> Option<Parent> {
        Some(Parent {
            dev: self.whole(PARENT_DEV)?,
            ino: self.whole(PARENT_INO)?,
        })
    }

    /// The bytes of the file, as Python's `json.dumps` would write them.
    pub fn render(&self) -> String {
        let mut out = String::new();
        json::render(&Value::Object(self.members.clone()), &mut out);
        out
    }

    fn get(&self, key: &str) -> Option<&Value> {
        let key = json::text(key);
        self.members
            .iter()
            .find(|(name, _)| *name == key)
            .map(|(_, value)| value)
    }

    fn set(&mut self, key: &str, value: Value) {
        json::set(&mut self.members, json::text(key), value);
    }

    fn seconds(&self, key: &str) -> Option<f64> {
        match self.get(key)? {
            Value::Number(number) => number
                .parse()
                .ok()
                .filter(|seconds: &f64| seconds.is_finite()),
            _ => None,
        }
    }

    fn whole(&self, key: &str) -> Option<u64> {
        match self.get(key)? {
            Value::Number(number) => number.parse().ok(),
            _ => None,
        }
    }
}

/// A path as Python holds it: each byte that is not UTF-8 becomes a lone surrogate.
fn from_path(path: &Path) -> Text {
    let mut text = Text::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        text.extend(chunk.valid().chars().map(u32::from));
        text.extend(chunk.invalid().iter().map(|byte| 0xdc00 + u32::from(*byte)));
    }
    text
}

fn to_path(text: &Text) -> Option<PathBuf> {
    let mut bytes = Vec::with_capacity(text.len());
    for code in text {
        if (0xdc80..=0xdcff).contains(code) {
            bytes.push((code - 0xdc00) as u8);
        } else {
            let c = char::from_u32(*code).filter(|c| *c != '\0')?;
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    (!bytes.is_empty()).then(|| PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use proptest::prelude::*;

    use super::*;

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
            Some(Parent { dev: 1, ino: 2 }),
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

    #[test]
    fn a_path_that_is_not_utf8_is_escaped_as_python_does() {
        let path = Path::new(OsStr::from_bytes(b"/p/\xff\xed\xa0\x80x"));
        let mut identity = Identity::default();
        identity.touch(path, 1.0, None);
        assert!(
            identity
                .render()
                .starts_with(r#"{"workdir": "/p/\udcff\udced\udca0\udc80x","#)
        );
        assert_eq!(
            Identity::parse(identity.render().as_bytes())
                .workdir()
                .as_deref(),
            Some(path)
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_device_has_the_number_the_c_library_gives_it() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let stat = herma_fs::stat_path(dir.path()).unwrap().unwrap();
        let expected = std::fs::metadata(dir.path()).unwrap();
        assert_eq!(
            Parent::from_stat(&stat),
            Parent {
                dev: expected.dev(),
                ino: expected.ino()
            }
        );
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
