//! What does a command do to which path?

use bstr::BString;
use proptest::prelude::*;

use crate::{Command, Effect, PathEntry, ProjectFiles, Touch, touches};

/// A project with a directory `d`, two files `a` and `b` in every directory, and nothing else.
struct Project;

impl ProjectFiles for Project {
    fn root(&self) -> &[u8] {
        b"/project"
    }

    fn home(&self) -> Option<&[u8]> {
        Some(b"/home")
    }

    fn entry(&self, path: &[u8]) -> PathEntry {
        match path.last() {
            None | Some(b'd') => PathEntry::Directory,
            Some(b'a' | b'b') => PathEntry::File,
            Some(_) => PathEntry::Nothing,
        }
    }

    fn names(&self, _: &[u8]) -> Vec<BString> {
        vec!["a".into(), "b".into()]
    }

    fn size(&self, _: &[u8]) -> Option<u64> {
        None
    }
}

fn all(text: impl Into<BString>) -> Vec<Touch> {
    touches(&Command::Text(text.into()), b"/project", &Project)
}

/// The paths that are removed or written, with the directory if it is another one; what is not known as `?`.
fn shown(text: &str) -> Vec<String> {
    let show = |touch: &Touch| {
        let path = match &touch.effect {
            Effect::Replaces(path) | Effect::Prints(path) => path.to_string(),
            Effect::Anything(_) => "?".to_owned(),
            other => format!("{other:?}"),
        };
        match &touch.directory {
            Some(directory) if directory != "/project" => format!("{directory}:{path}"),
            _ => path,
        }
    };
    all(text).iter().map(show).collect()
}

#[test]
fn command_lines_are_read_as_a_shell_does() {
    let cases: [(&str, &[&str]); 38] = [
        ("rm a b", &["a", "b"]),
        ("rm 'a b' \"c d\" e\\ f", &["a b", "c d", "e f"]),
        ("rm 1; rm 2 && rm 3 || rm 4 & rm 5 | rm 6", &["1", "2", "3", "4", "5", "6"]),
        ("rm 1\nrm 2 # rm 3\nrm 4", &["1", "2", "4"]),
        ("rm a#b", &["a#b"]),
        ("echo x > out 2>&1", &["out"]),
        ("echo x >> out 2> err < in", &["out", "err"]),
        ("ls &> all; ls >| f", &["all", "f"]),
        ("ls <> f; ls > /dev/null 2>/dev/stderr", &["f"]),
        ("x=1 y=$(rm 1) rm 2", &["1", "2"]),
        ("rm $X", &["?"]),
        ("rm '$X' \\$Y", &["$X", "$Y"]),
        ("echo $(rm 1; rm 2)", &["1", "2"]),
        ("echo \"$(rm \"a b\")\" `rm 2`", &["a b", "2"]),
        ("(cd d && rm 1) > log; rm 2", &["log", "/project/d:1", "2"]),
        ("{ rm 1; rm 2; }", &["1", "2"]),
        ("if rm 1; then rm 2; elif rm 3; then rm 4; else rm 5; fi", &["1", "2", "3", "4", "5"]),
        ("while rm 1; do rm 2; done", &["1", "2"]),
        ("for f in $(rm 1); do rm 2; done; ls", &["1", "2"]),
        ("for ((i=0;i<3;i++)); do rm 1; done", &["1"]),
        ("case x in x) rm 1;; *) rm 2;; esac", &["1", "2"]),
        ("[[ -f a ]] && rm 1", &["1"]),
        ("diff <(rm 1) <(ls b)", &["1"]),
        ("! rm 1", &["1"]),
        ("eval 'rm 1' 2", &["1", "2"]),
        ("cat <<EOF > f\nrm x\nEOF\nrm y", &["f", "y"]),
        ("cat <<-'EOF'\n\trm $(x)\n\tEOF\nrm y", &["y"]),
        ("rm a\\\nb", &["ab"]),
        ("rm ~/y ~", &["/home/y", "/home"]),
        ("rm ~x", &["?"]),
        ("rm {a,b}", &["?"]),
        ("cat <<< word", &[]),
        ("cd d; rm 1", &["/project/d:1"]),
        ("cd nothing; rm 1", &["1", "/project/nothing:1"]),
        ("cd $x; rm 1", &["1"]),
        ("sh -c 'cd d; rm 1'; rm 2", &["/project/d:1", "2"]),
        ("f() { rm 1; }; f", &["1", "?"]),
        (
            "sudo ls; sudo rm 1",
            &["Elsewhere(\"it runs as another user, who may change anything\")"],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn what_is_not_understood_may_change_anything() {
    for text in [
        "rm 'a",
        "rm \"a",
        "(rm a",
        "rm a)",
        "if true; then rm a",
        "; rm a",
        "rm a ;; rm b",
        "cat <<EOF\n$(rm a)\nEOF",
        "echo ${x:-$(rm a)}",
        "rm a\0b",
        "ls !(a)",
    ] {
        assert!(shown(text).contains(&"?".to_owned()), "{text}");
    }
    let is_unknown = |touch: &Touch| matches!(touch.effect, Effect::Anything(_));
    assert!(all(&b"rm \xff"[..]).iter().any(is_unknown));
}

#[test]
fn only_wildcards_without_quotes_stand_for_names() {
    let found = shown("rm * 'a*' \"?\" \\* [ab] [ x[ d/? *.x **");
    let expected = ["a", "b", "a*", "?", "*", "a", "b", "[", "x[", "d/a", "d/b", "*.x"];
    assert_eq!(shown("rm * 'a*' \"?\" \\* [ab] [ x[ d/? *.x"), expected);
    assert_eq!(found, ["?"], "`**` is something else in every shell");
}

#[test]
fn shells_within_directories_do_not_multiply_without_end() {
    let mut text = "rm x".to_owned();
    for level in 0..4 {
        let quote = "\\".repeat((1 << level) - 1) + "\"";
        text = format!("cd 1; cd 2; cd 3; cd 4; cd 5; sh -c {quote}{text}{quote}");
    }
    assert!(all(text).len() < 100_000);
}

proptest! {
    #[test]
    fn no_text_is_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        all(bytes);
    }

    #[test]
    fn no_syntax_is_too_strange(text in "(rm|cd|sh -c|cp|ls)? [a-d \\n;&|<>(){}$'\"`\\\\*?\\[\\]~#=!0-9]{0,60}") {
        all(text.as_str());
    }
}
