//! Ten thousand file names nobody should use and somebody does.
//!
//! Every one is a valid Linux name that Herma promises to save and restore byte by byte. Names it
//! leaves out by design (those some system takes for `.git`, the built-in excludes, secrets by name
//! and the ignore files themselves) are not in the list; [`git_lookalikes`] has the first kind.

use std::collections::BTreeSet;

use crate::random::Random;

/// How many names [`hostile`] gives.
pub const COUNT: usize = 10_000;

/// The hostile names, all different, the same in every run.
pub fn hostile() -> Vec<Vec<u8>> {
    let mut names = BTreeSet::new();
    for name in special().chain(every_byte()).chain(longest()) {
        add(&mut names, name);
    }
    let mut random = Random::new(13);
    while names.len() < COUNT {
        let name = mixture(&mut random);
        add(&mut names, name);
    }
    names.into_iter().collect()
}

fn add(names: &mut BTreeSet<Vec<u8>>, name: Vec<u8>) {
    if is_name(&name) && !left_out_by_design(&name) {
        names.insert(name);
    }
}

fn is_name(name: &[u8]) -> bool {
    let plain = !matches!(name, b"" | b"." | b"..") && name.len() <= 255;
    plain && !name.iter().any(|b| matches!(b, b'/' | 0))
}

/// Names chosen because each has broken some tool.
#[rustfmt::skip] // one word per line would bury the list
const SPECIAL: &[&str] = &[
    // Options and shell words
    "-", "--", "-rf", "--help", "-x y", "~", "~root", "$HOME", "$(id)", "`id`", "a;b", "a&b",
    "a|b", ">out", "<in", "!!", "#c", "%s%n", "{}", "a\\", "\\", "\\n", "'", "\"", "'q'",
    "\"q\"", "a'b\"c",
    // Pathspec magic and patterns
    ":", ":!x", ":^x", ":(top)x", ":(glob)**", ":(exclude)a", "*", "**", "?", "[a]", "[!a]",
    "[", "]", "a*b", "*.rs", "!keep", "\\!keep", "#comment", "a[1].bin", "a1.bin", "{a,b}",
    // Git's own words, harmless here
    "HEAD", "FETCH_HEAD", "refs", "objects", "config", "index", "packed-refs", "master", "@",
    "@{u}", "a..b", "a.lock", "HEAD.lock", ".gitignore2", ".gitattributes",
    ".gitx", "git", "git~2", ".gitkeep", ".git_", "a.git", "..git", "...", "..a", ".a", ". ",
    " .", ".. ",
    // Other systems' devices and endings
    "con", "CON", "nul", "NUL.txt", "aux.c", "com1", "lpt9", "a:b", "a:$DATA", "trail ",
    "trail.", "trail..", " lead", "a\\b", "C:\\x", "..\\..\\x", "desktop.ini",
    // White space and control
    " ", "  ", "\t", "\n", "\r", "a\nb", "a\r\nb", "\x0b", "\x0c", "a\tb", "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07", "\x07", "\x08\x08", "\x7f", "a\u{85}b", "a\u{2028}b", "a\u{2029}b",
    "\u{a0}",
    // Direction, invisibles, look-alikes
    "\u{202e}txt.exe", "\u{200b}", "a\u{200d}b", "\u{feff}bom", "a\u{ad}b", "\u{2066}x\u{2069}",
    "\u{e0041}", "раураl", "\u{fffd}", "\u{10ffff}", "\u{1f4a9}", "👩‍👩‍👧‍👦",
    "e\u{301}\u{301}\u{301}",
    // The same word composed and decomposed
    "é", "e\u{301}", "Å", "A\u{30a}", "\u{212b}", "한", "\u{1112}\u{1161}\u{11ab}", "ﬁ", "fi",
    "ß", "ẞ", "SS", "ss", "İ", "i\u{307}", "ı", "ſ", "s", "K", "k",
    // Case pairs
    "readme", "README", "Readme", "MAKEFILE", "Makefile", "a.TXT", "A.txt",
    // What a careless format reads as something else
    "100644 blob", "tree", "commit", "null", "true", "-1", "0", "007", "1e9", "NaN",
    "undefined", "a=b", "a,b", "[]", "\"a\": 1", "<script>", "&amp;", "%2e%2e%2f", "%00",
    "..%2fx", "a\\0b", "__proto__", ".hermes", "store", "checkpoints", "legacy-1", "projects",
    "herma", ".herma",
];

fn special() -> impl Iterator<Item = Vec<u8>> {
    SPECIAL.iter().map(|name| name.as_bytes().to_vec())
}

/// Every byte alone, first, last, in the middle and doubled.
fn every_byte() -> impl Iterator<Item = Vec<u8>> {
    (1..=255).flat_map(|byte: u8| {
        [vec![byte], vec![byte, b'x'], vec![b'x', byte], vec![b'x', byte, b'x'], vec![byte, byte]]
    })
}

/// Names of 255 bytes, the most a directory entry holds, and one less.
fn longest() -> impl Iterator<Item = Vec<u8>> {
    let fill: [&[u8]; 7] =
        [b"a", b" ", b".", b"\n", b"\xff", "é".as_bytes(), "\u{1f4a9}".as_bytes()];
    fill.into_iter().flat_map(|part| {
        [254, 255].map(|length| part.iter().copied().cycle().take(length).collect())
    })
}

/// Two or three hostile parts put together, now and then with plain random bytes.
fn mixture(random: &mut Random) -> Vec<u8> {
    let mut name = Vec::new();
    for _ in 0..2 + random.below(2) {
        if random.one_in(3) {
            let length = 1 + random.below(6);
            name.extend(random.bytes(length));
        } else {
            name.extend_from_slice(random.pick(SPECIAL).as_bytes());
        }
    }
    name
}

/// Would Herma leave this name out of a checkpoint on purpose?
///
/// Stricter than Herma is: case is ignored and beginnings are enough, so that the list stays valid
/// when a rule is widened a little.
pub fn left_out_by_design(name: &[u8]) -> bool {
    let lower = String::from_utf8_lossy(name).to_lowercase();
    let whole = lower.as_str();
    looks_like_git(name)
        || EXCLUDED.contains(&whole)
        || SECRETS.contains(&whole)
        || EXCLUDED_ENDINGS.iter().any(|ending| whole.ends_with(ending))
        || SECRET_BEGINNINGS.iter().any(|beginning| whole.starts_with(beginning))
        || [".tfstate", "_history", "credential", "secret"].iter().any(|part| whole.contains(part))
}

#[rustfmt::skip] // one word per line would bury the list
const EXCLUDED: &[&str] = &[
    "node_modules", "dist", "build", "target", "out", ".next", ".nuxt", "__pycache__", ".cache",
    ".pytest_cache", ".mypy_cache", ".ruff_cache", "coverage", ".coverage", ".venv", "venv",
    "env", ".hg", ".svn", ".worktrees", ".ds_store", "thumbs.db", ".gitignore", ".hermaignore",
    "cachedir.tag",
];

#[rustfmt::skip] // one word per line would bury the list
const EXCLUDED_ENDINGS: &[&str] = &[
    ".pyc", ".pyo", ".so", ".dylib", ".dll", ".o", ".a", ".jar", ".class", ".exe", ".obj",
    ".mp4", ".mov", ".mkv", ".webm", ".zip", ".tar", ".tar.gz", ".tgz", ".7z", ".rar", ".iso",
    ".log", ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".asc",
    ".tfvars", ".ovpn", ".env",
];

#[rustfmt::skip] // one word per line would bury the list
const SECRETS: &[&str] = &[
    ".netrc", "_netrc", ".pgpass", ".my.cnf", ".npmrc", ".pypirc", ".yarnrc.yml", ".aws",
    ".azure", ".ssh", ".gnupg", "terraform.rc", ".terraformrc", "nuget.config", ".htpasswd",
    ".vault-token", "wallet.dat", "auth.json", ".docker", ".kube", "gcloud", "core",
];

const SECRET_BEGINNINGS: &[&str] = &[
    ".env",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "kubeconfig",
    "service-account",
    "core.",
];

/// Names that some file system resolves to `.git`: a save leaves them out, a restore refuses them.
pub fn git_lookalikes() -> Vec<Vec<u8>> {
    let plain = [
        ".git",
        ".GIT",
        ".Git",
        ".gIt",
        ".giT",
        ".git ",
        ".git.",
        ".git. .",
        ".git...",
        ".GIT ",
        "git~1",
        "GIT~1",
        "Git~1",
        "git~1.",
        ".git:x",
        ".git::$INDEX_ALLOCATION",
        ".git:$DATA",
        ".git\\config",
        ".git \\x",
        "git~1:x",
    ];
    let mut names: Vec<Vec<u8>> = plain.iter().map(|name| name.as_bytes().to_vec()).collect();
    // Code points HFS+ ignores, at every place in the name.
    for ignorable in IGNORABLE {
        for at in 0..=4 {
            names.push(format!("{}{ignorable}{}", &".git"[..at], &".git"[at..]).into_bytes());
        }
    }
    names
}

#[rustfmt::skip] // one word per line would bury the list
const IGNORABLE: &[char] = &[
    '\u{200c}', '\u{200d}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}',
    '\u{202d}', '\u{202e}', '\u{206a}', '\u{206b}', '\u{206c}', '\u{206d}', '\u{206e}',
    '\u{206f}', '\u{feff}',
];

/// The rule stated a second time, on purpose: the engine's own cannot prove itself.
fn looks_like_git(name: &[u8]) -> bool {
    let text = String::from_utf8_lossy(name).to_lowercase();
    let visible: String = text.chars().filter(|c| !IGNORABLE.contains(c)).collect();
    let stem = visible.split([':', '\\']).next().unwrap_or_default();
    matches!(stem.trim_end_matches(['.', ' ']), ".git" | "git~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_ten_thousand_and_the_file_system_takes_them_all() {
        let names = hostile();
        assert_eq!(names.len(), COUNT);
        let directory = tempfile::tempdir().unwrap();
        for name in names.iter().step_by(10) {
            use std::os::unix::ffi::OsStrExt;
            let path = directory.path().join(std::ffi::OsStr::from_bytes(name));
            std::fs::write(&path, name).unwrap_or_else(|e| panic!("{}: {e}", name.escape_ascii()));
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), COUNT / 10);
    }

    #[test]
    fn git_stores_them_all_without_complaint() {
        if !crate::git::available() {
            return;
        }
        let env = crate::env::TestEnv::new();
        let project = env.work_dir("p");
        for name in hostile() {
            project.write_bytes(&name, &name);
        }
        std::fs::create_dir_all(env.store()).unwrap();
        let git = |args: &[&str]| {
            let mut command = env.repository().command();
            let output = env.finish(command.arg("--work-tree").arg(project.path()).args(args));
            output.success().line().to_owned()
        };
        git(&["init", "-q"]);
        git(&["add", "-A"]);
        let tree = git(&["write-tree"]);
        assert_eq!(env.archive_tree(&tree), project.tree().as_git());
        git(&["commit", "-qm", "names"]);
        env.fsck();
    }

    #[test]
    fn the_list_has_every_byte_and_every_promised_kind() {
        let names: BTreeSet<_> = hostile().into_iter().collect();
        for byte in (1..=255).filter(|b| *b != b'/') {
            assert!(names.iter().any(|name| name.contains(&byte)), "byte {byte:#x}");
        }
        for name in [
            "-rf",
            ":!x",
            "*",
            "[a]",
            "é",
            "e\u{301}",
            "README",
            "readme",
            "trail ",
            "con",
            "HEAD",
            "refs",
            ".gitignore2",
            "a\nb",
            "\u{202e}txt",
            "'",
            "\"",
        ] {
            assert!(names.iter().any(|n| n.starts_with(name.as_bytes())), "{name:?}");
        }
        assert!(names.iter().any(|name| name.len() == 255));
        assert_eq!(names, hostile().into_iter().collect());
    }

    #[test]
    fn what_is_left_out_by_design_is_not_in_the_list() {
        for name in git_lookalikes() {
            assert!(left_out_by_design(&name), "{}", name.escape_ascii());
        }
        for name in
            [".env", ".env.local", "a.pyc", "id_rsa", "x.pem", "target", ".gitignore", "x.log"]
        {
            assert!(left_out_by_design(name.as_bytes()), "{name}");
        }
        for name in [".gitattributes", "main.rs", "HEAD", "environment", "keys"] {
            assert!(!left_out_by_design(name.as_bytes()), "{name}");
        }
        assert!(hostile().iter().all(|name| !left_out_by_design(name)));
    }
}
