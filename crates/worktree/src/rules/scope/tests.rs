//! What a scope says, rule by rule.

use super::*;
use crate::rules::{ExcludeSettings, NothingTracked};

struct TrackedPaths(&'static [&'static str]);

impl Tracked for TrackedPaths {
    fn contains(&self, path: &[u8]) -> bool {
        self.0.iter().any(|tracked| tracked.as_bytes() == path)
    }

    fn any_below(&self, dir: &[u8]) -> bool {
        let dir = [dir, b"/"].concat();
        self.0.iter().any(|tracked| tracked.as_bytes().starts_with(&dir))
    }
}

/// A project: settings and the ignore files at its root.
#[derive(Default)]
struct Project {
    exclude: &'static [&'static str],
    include: &'static [&'static str],
    gitignore: &'static str,
    hermaignore: &'static str,
    tracked: &'static [&'static str],
}

impl Project {
    /// Judges every directory on the way as the scan does, then the entry; a trailing slash means
    /// directory.
    fn judge(&self, path: &str) -> Verdict {
        let strings = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        let settings = ExcludeSettings {
            exclude: strings(self.exclude),
            include: strings(self.include),
            ..ExcludeSettings::default()
        };
        let rules = Rules::new(&settings);
        let tracked = TrackedPaths(self.tracked);
        let (gitignore, hermaignore) = (self.gitignore.as_bytes(), self.hermaignore.as_bytes());
        let mut scope =
            Scope::root(&rules, None).enter(b"", Some(gitignore), Some(hermaignore), Verdict::Keep);
        for (at, _) in path.trim_end_matches('/').match_indices('/') {
            let dir = &path.as_bytes()[..at];
            match scope.judge(dir, true, &tracked) {
                Verdict::LeaveOut(reason) => return Verdict::LeaveOut(reason),
                verdict => scope = scope.enter(dir, None, None, verdict),
            }
        }
        scope.judge(path.trim_end_matches('/').as_bytes(), path.ends_with('/'), &tracked)
    }

    #[track_caller]
    fn expect(&self, verdict: Verdict, paths: &[&str]) {
        for path in paths {
            assert_eq!(self.judge(path), verdict, "{path}");
        }
    }
}

const KEEP: Verdict = Verdict::Keep;
const EXCLUDED: Verdict = Verdict::LeaveOut(Reason::Excluded);
const IGNORED: Verdict = Verdict::LeaveOut(Reason::Ignored);
const SECRET: Verdict = Verdict::LeaveOut(Reason::Secret);

#[test]
fn the_built_in_list_holds_without_any_setting() {
    let project = Project::default();
    project.expect(EXCLUDED, &["node_modules/", "a/dist/", ".env", "a.pyc", ".hg/", "x/.DS_Store"]);
    project.expect(KEEP, &["src/", "dist", "core/", ".env.example", "a/.env.dist", "main.rs"]);
}

#[test]
fn later_layers_win_over_earlier_ones() {
    let project = Project {
        gitignore: "*.txt\n!build/\n",
        hermaignore: "!note.txt\nlocal.cfg\n",
        exclude: &["note.*"],
        include: &["/note.md"],
        ..Project::default()
    };
    project.expect(IGNORED, &["a.txt"]);
    project.expect(KEEP, &["build/", "note.md", "build/x.c"]);
    project.expect(EXCLUDED, &["note.txt", "local.cfg", "sub/note.md"]);
}

#[test]
fn the_git_directory_is_never_saved_whatever_the_rules_say() {
    let project = Project { include: &[".git", ".git/**"], ..Project::default() };
    project.expect(EXCLUDED, &[".git/", ".git", "sub/.git", "sub/.git/"]);
    project.expect(Verdict::LeaveOut(Reason::ReservedName), &[".GIT/", "git~1", ".gitmodules/"]);
    project.expect(Verdict::LeaveOut(Reason::Own), &["a/.herma-0123456789abcdef.tmp"]);
    project.expect(KEEP, &[".gitmodules"]);
}

#[test]
fn a_path_named_below_a_left_out_directory_is_kept_and_nothing_beside_it() {
    let project = Project {
        gitignore: "gen/\n",
        hermaignore: "!dist/keep.js\n!build/**/gen.py\n!*.keep\n",
        include: &["gen/a/"],
        ..Project::default()
    };
    project.expect(Verdict::Descend(Reason::Excluded), &["dist/", "build/", "build/deep/er/"]);
    project.expect(Verdict::Descend(Reason::Ignored), &["gen/"]);
    project
        .expect(KEEP, &["dist/keep.js", "build/gen.py", "build/a/b/gen.py", "gen/a/", "gen/a/b/c"]);
    project
        .expect(EXCLUDED, &["dist/other.js", "dist/sub/", "build/a/x.py", "node_modules/", "out/"]);
    project.expect(IGNORED, &["gen/b/", "gen/a.txt"]);
}

#[test]
fn an_earlier_rule_does_not_reach_into_what_a_later_one_leaves_out() {
    let project = Project {
        hermaignore: "!vendor/keep\n!logs/keep\nlogs/\n",
        exclude: &["vendor/"],
        ..Project::default()
    };
    project.expect(EXCLUDED, &["vendor/", "vendor/keep", "logs/", "logs/keep"]);
}

#[test]
fn tracked_source_in_build_or_env_is_no_longer_dropped() {
    let project = Project {
        gitignore: "cache/\n*.gen\n",
        tracked: &["build/lib/a.c", "env/x", "cache/kept", "b.gen", "vendor.a", "out", ".env"],
        ..Project::default()
    };
    project.expect(Verdict::Descend(Reason::Excluded), &["build/", "build/lib/", "env/"]);
    project.expect(Verdict::Descend(Reason::Ignored), &["cache/"]);
    project.expect(KEEP, &["build/lib/a.c", "env/x", "cache/kept", "b.gen", "vendor.a", "out/"]);
    project.expect(EXCLUDED, &["build/lib/b.c", "build/other/", "dist/"]);
    project.expect(IGNORED, &["cache/other", "a.gen"]);
    project.expect(SECRET, &[".env"]);
}

#[test]
fn herma_rules_and_secrets_win_over_tracked() {
    let project = Project {
        hermaignore: "big/\n",
        exclude: &["*.bin", "build/private"],
        gitignore: ".ssh/\n",
        tracked: &["big/a", "x.bin", "id_rsa", ".ssh/config", "build/private", "build/public"],
        ..Project::default()
    };
    project.expect(EXCLUDED, &["big/", "big/a", "x.bin", "build/private"]);
    project.expect(KEEP, &["build/public"]);
    project.expect(SECRET, &["id_rsa", ".ssh/", ".ssh/config"]);
}

#[test]
fn a_secret_is_kept_only_when_a_rule_names_it() {
    let none = Project::default();
    none.expect(
        SECRET,
        &["server.pem", "a/.npmrc", ".ssh/", ".aws/", "core", ".docker/config.json"],
    );
    none.expect(EXCLUDED, &[".env", ".env.prod"]);
    Project { gitignore: "*.pem\n!id_rsa\n", ..Project::default() }
        .expect(IGNORED, &["server.pem"]);
    Project { gitignore: "*.pem\n!id_rsa\n", ..Project::default() }.expect(SECRET, &["id_rsa"]);

    let named = Project {
        hermaignore: "!*\n!.npmrc\n!.ssh/config\n!certs/*\n!config/**\n",
        include: &["test.key", ".aws/"],
        ..Project::default()
    };
    named.expect(KEEP, &[".npmrc", "a/test.key", ".ssh/config", ".aws/", ".aws/config", "certs/x"]);
    named.expect(Verdict::Descend(Reason::Secret), &[".ssh/"]);
    named.expect(SECRET, &["certs/a.pem", "config/.gnupg/", ".ssh/known_hosts", "b.key", "id_rsa"]);
}

#[test]
fn secrets_and_the_list_can_be_turned_off() {
    let settings =
        ExcludeSettings { secrets: SecretRules::Off, builtin: false, ..ExcludeSettings::default() };
    let rules = Rules::new(&settings);
    let scope = Scope::root(&rules, None);
    for path in [&b"id_rsa"[..], b".env", b"a.pyc"] {
        assert_eq!(scope.judge(path, false, &NothingTracked), KEEP);
    }
    assert!(Scope::depends_on(b".gitignore") && Scope::depends_on(b".hermaignore"));
    assert!(!Scope::depends_on(b".gitattributes"));
}

#[test]
fn ignore_files_count_from_their_own_directory_inwards() {
    let rules = Rules::new(&ExcludeSettings::default());
    let root = Scope::root(&rules, Some(b"*.tmp\n")).enter(b"", Some(b"*.x\n"), None, KEEP);
    let inner = root.enter(b"a", Some(b"/top\n!b.x\n!c.tmp\n"), Some(b"z/q\n"), KEEP);
    let judge = |path: &str| inner.judge(path.as_bytes(), false, &NothingTracked);
    assert_eq!(judge("a/top"), IGNORED);
    assert_eq!(judge("a/b.x"), KEEP);
    assert_eq!(judge("a/c.tmp"), KEEP);
    assert_eq!(judge("a/d.tmp"), IGNORED);
    let deeper = inner.enter(b"a/z", None, None, KEEP);
    assert_eq!(deeper.judge(b"a/z/q", false, &NothingTracked), EXCLUDED);
    assert_eq!(deeper.judge(b"a/z/top", false, &NothingTracked), KEEP);
}

#[test]
fn a_very_deep_chain_of_ignore_files_does_not_exhaust_the_stack() {
    let rules = Rules::new(&ExcludeSettings::default());
    let mut scope = Scope::root(&rules, None);
    for _ in 0..200_000 {
        scope = scope.enter(b"a", Some(b"x"), None, KEEP);
    }
    drop(scope);
}
