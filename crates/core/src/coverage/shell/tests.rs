use bstr::BString;
use proptest::prelude::*;

use super::*;

/// The words of every simple command, unknown ones as `?`.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    collect(&split(text.as_bytes()), &mut found);
    found
}

fn collect(script: &Script, found: &mut Vec<String>) {
    for node in script.items.iter().flat_map(|item| &item.pipeline) {
        match node {
            Node::Simple(simple) => {
                for inner in &simple.substitutions {
                    collect(inner, found);
                }
                let mut shown: Vec<String> = simple.words.iter().map(show).collect();
                let redirects = simple.redirects.iter();
                shown.extend(redirects.map(|word| format!(">{}", show(word))));
                found.push(shown.join(" "));
            }
            Node::Group {
                script, redirects, ..
            } => {
                collect(script, found);
                let redirects = redirects.iter();
                found.extend(redirects.map(|word| format!(">{}", show(word))));
            }
        }
    }
    found.retain(|text| !text.is_empty());
}

fn show(word: &Word) -> String {
    match word {
        word if word.is_unknown => "?".to_owned(),
        word if word.from_home => format!("HOME{}", word.text),
        word => BString::to_string(&word.text),
    }
}

#[test]
fn command_lines_are_split_as_a_shell_does() {
    let cases: [(&str, &[&str]); 26] = [
        ("rm a b", &["rm a b"]),
        ("rm 'a b' \"c d\" e\\ f", &["rm a b c d e f"]),
        ("a; b && c || d & e | f", &["a", "b", "c", "d", "e", "f"]),
        ("a\nb # c\nd", &["a", "b", "d"]),
        ("echo a#b", &["echo a#b"]),
        ("echo x > out 2>&1", &["echo x >out"]),
        ("echo x >> out 2> err < in", &["echo x >out >err"]),
        ("cmd &> all; cmd2 >| f", &["cmd >all", "cmd2 >f"]),
        ("X=1 Y=$(ls) rm a", &["ls", "rm a"]),
        ("rm $X ${Y} \"$Z\"", &["rm ? ? ?"]),
        ("rm '$X' \\$Y", &["rm $X $Y"]),
        ("echo $(rm a; rm b)", &["rm a", "rm b", "echo ?"]),
        ("echo \"$(rm \"a b\")\"", &["rm a b", "echo ?"]),
        ("(cd a && rm b) > log", &["cd a", "rm b", ">log"]),
        ("{ rm a; rm b; }", &["rm a", "rm b"]),
        (
            "if test -f a; then rm a; else rm b; fi",
            &["test -f a", "rm a", "rm b"],
        ),
        ("while true; do rm a; done", &["true", "rm a"]),
        ("for f in a b; do rm $f; done; ls", &["rm ?", "ls"]),
        ("! rm a", &["rm a"]),
        ("cat <<EOF > f\nrm x\nEOF\nrm y", &["cat >f", "rm y"]),
        ("cat <<-'EOF'\n\trm $(x)\n\tEOF\nrm y", &["cat", "rm y"]),
        ("rm a\\\nb", &["rm ab"]),
        ("rm {a,b} ~x ~/y ~", &["rm ? ? HOME/y HOME"]),
        ("cat <<< word", &["cat"]),
        ("find . -exec rm {} \\;", &["find . -exec rm {} ;"]),
        ("rm a &", &["rm a"]),
    ];
    for (text, expected) in cases {
        assert_eq!(commands(text), expected, "{text}");
        assert!(!split(text.as_bytes()).is_opaque, "{text}");
    }
}

#[test]
fn what_is_not_understood_is_said_to_be() {
    for text in [
        "rm `ls`",
        "f() { rm a; }; f",
        "case x in x) rm a;; esac",
        "[[ -f a ]] && rm a",
        "diff <(ls a) <(ls b)",
        "rm 'a",
        "rm \"a",
        "(rm a",
        "rm a)",
        "if true; then rm a",
        "echo $((1+1))",
        "((x++))",
        "for ((i=0;i<3;i++)); do rm a; done",
        "; rm a",
        "rm a ;; rm b",
        "cat <<EOF\n$(rm a)\nEOF",
        "echo ${x:-$(rm a)}",
        "rm a\0b",
        "ls !(a)",
        "echo $'a\\'' ; rm b #'",
    ] {
        assert!(split(text.as_bytes()).is_opaque, "{text}");
    }
}

#[test]
fn depth_and_length_are_limited() {
    assert!(split("(".repeat(100_000).as_bytes()).is_opaque);
    assert!(split("$(".repeat(60_000).as_bytes()).is_opaque);
    assert!(split("a ".repeat(100_000).as_bytes()).is_opaque);
    assert!(!split("a ".repeat(60_000).as_bytes()).is_opaque);
    assert!(split("<<a ".repeat(30_000).as_bytes()).items.len() < 2);
}

#[test]
fn only_wildcards_without_quotes_are_active() {
    let script = split(b"rm * 'a*' \"?\" \\* [ab] [ x[");
    let Node::Simple(simple) = &script.items[0].pipeline[0] else {
        panic!("{script:?}");
    };
    let active: Vec<usize> = simple.words.iter().map(|word| word.active.len()).collect();
    assert_eq!(active, [0, 1, 0, 0, 0, 1, 0, 0]);
}

proptest! {
    #[test]
    fn no_text_is_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        split(&bytes);
    }

    #[test]
    fn no_syntax_is_too_strange(text in "[a-c \\n;&|<>(){}$'\"`\\\\*?\\[\\]~#=!0-9]{0,60}") {
        split(text.as_bytes());
    }
}
