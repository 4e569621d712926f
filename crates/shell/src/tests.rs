//! Does a command only read?

use proptest::prelude::*;

use super::{ChangeReason, Command, may_change};

mod probes;
mod touched;

fn why(text: &str) -> Option<ChangeReason> {
    may_change(&Command::Text(text.into())).map(|found| found.why)
}

fn changes(text: &str) -> bool {
    why(text).is_some()
}

#[test]
fn commands_that_only_read_are_known_whatever_holds_them() {
    for text in [
        "",
        "  # nothing",
        "ls -la",
        "cd src && ls; pwd",
        "cat a | grep b | wc -l",
        "(cd a && git status)",
        "{ ls; pwd; }",
        "echo \"$(git rev-parse HEAD)\" `pwd`",
        "echo $(a=$(basename $(dirname $(pwd))); echo $a)",
        "diff <(ls a) <(ls b)",
        "for f in a b; do cat \"$f\"; done",
        "for ((i=0;i<3;i++)); do echo $i; done",
        "while read line; do echo \"$line\"; done < f",
        "if [[ -f a && $x == y ]]; then cat a; elif test -d b; then ls; else pwd; fi",
        "[[ $(git branch) == main ]] && echo yes",
        "case $x in a) ls;; *) pwd;; esac",
        "show() { cat \"$1\"; }; show f",
        "function show { cat f; }; show | head",
        "cat <<EOF\nrm -rf / $HOME ${x}\nEOF",
        "cat <<'EOF'\n$(rm f)\nEOF",
        "cat <<< word",
        "grep x f > /dev/null 2>&1",
        "ls >&2",
        "ls 2>&-",
        "ls &>/dev/null",
        "sudo -n -u root ls",
        "/usr/bin/env LANG=C sort f",
        "nice -n 5 grep a b",
        "time ls",
        "! grep -q a b",
        "find . -name x -print0 | xargs -0 grep y",
        "find . -exec grep x {} +",
        "bash -c 'ls; cat f'",
        "sh -c \"sh -c 'ls'\"",
        "eval ls -l",
        "echo $((1 + 2)) ${#x} ${x:-y} {a,b} $'a\\nb' ~",
        "x=1; echo $x",
        "x=(a b); echo ${x[0]}",
        "echo 'rm f' \"> f\" \\; rm",
        "coproc cat f",
        "[[ -f a ]] && cat a",
    ] {
        assert_eq!(why(text), None, "{text}");
    }
}

#[test]
fn a_change_is_found_wherever_it_is_written() {
    use ChangeReason::{
        ActsElsewhere, ChangesFiles, NotKnown, NotUnderstood, SetsVariable, WritesOutput,
    };
    for (text, expected) in [
        ("ls; rm f", ChangesFiles),
        ("ls | tee f", ChangesFiles),
        ("{ rm f; }", ChangesFiles),
        ("echo $(rm f)", ChangesFiles),
        ("echo \"a `rm f`\"", ChangesFiles),
        ("echo $(: $(: $(: $(: $(rm e)))))", ChangesFiles),
        ("cat <(rm f)", ChangesFiles),
        ("ls > >(tee f)", ChangesFiles),
        ("x=$(rm f)", ChangesFiles),
        ("x=(a $(rm f))", ChangesFiles),
        ("for f in $(rm a); do ls; done", ChangesFiles),
        ("while rm f; do ls; done", ChangesFiles),
        ("until ls; do rm f; done", ChangesFiles),
        ("if ls; then pwd; else rm f; fi", ChangesFiles),
        ("case $(rm f) in a) ls;; esac", ChangesFiles),
        ("case x in *) rm f;; esac", ChangesFiles),
        ("f() { rm a; }", ChangesFiles),
        ("ls() { rm a; }; ls", ChangesFiles),
        ("[[ -f $(rm f) ]]", ChangesFiles),
        ("! rm f", ChangesFiles),
        ("time rm f", ChangesFiles),
        ("coproc rm f", ChangesFiles),
        ("rm() { :; }; sudo rm f", ChangesFiles),
        ("(rm() { :; }); rm f", ChangesFiles),
        ("false && rm() { :; }; rm f", ChangesFiles),
        ("if false; then rm() { :; }; fi; rm f", ChangesFiles),
        ("rm() { :; }; unset -f rm; rm f", ChangesFiles),
        ("rm() { :; }; bash -c 'rm f'", ChangesFiles),
        ("rm f &", ChangesFiles),
        ("ls\nrm f", ChangesFiles),
        ("'r'm f", ChangesFiles),
        ("\\rm f", ChangesFiles),
        ("$'rm' f", ChangesFiles),
        ("bash -c 'bash -c \"rm f\"'", ChangesFiles),
        ("bash -xec 'rm f'", ChangesFiles),
        ("eval \"rm f\"", ChangesFiles),
        ("sudo -u me rm f", ChangesFiles),
        ("xargs -n1 rm", NotKnown),
        ("find . -exec sh -c 'rm $0' {} \\;", NotKnown),
        ("bash script.sh", NotKnown),
        ("bash <<EOF\nrm f\nEOF", NotKnown),
        ("./ls", NotKnown),
        ("./bash -c ls", NotKnown),
        ("$program f", NotKnown),
        ("eval \"$x\"", NotKnown),
        ("source x", NotKnown),
        ("{ ls; } > f", WritesOutput),
        ("ls >> f", WritesOutput),
        ("ls &> f", WritesOutput),
        ("ls >& f", WritesOutput),
        ("ls >| f", WritesOutput),
        ("ls 2>\"$f\"", WritesOutput),
        ("ls <> f", WritesOutput),
        ("for f in a; do ls; done > out", WritesOutput),
        ("PATH=. ls", SetsVariable),
        ("LD_PRELOAD=./x.so ls", SetsVariable),
        ("for PATH in .; do ls; done", SetsVariable),
        ("ssh host ls", ActsElsewhere),
        ("sudo -i", ActsElsewhere),
        ("sudo", ActsElsewhere),
        ("cat <<EOF\n$(rm f)\nEOF", NotUnderstood),
        ("echo ${x:-$(rm f)}", NotUnderstood),
        ("echo ${x@P}", NotUnderstood),
        ("echo $((a[$(rm f)]))", NotUnderstood),
        ("((x[$(rm f)]))", NotUnderstood),
        ("echo $[$(rm f)]", NotUnderstood),
        ("echo $\"$(rm f)\"", NotUnderstood),
        ("rm 'f", NotUnderstood),
        ("(ls", NotUnderstood),
        ("if ls", NotUnderstood),
    ] {
        assert_eq!(why(text), Some(expected), "{text}");
    }
}

/// Bash runs what is in a subscript wherever it takes a text for a variable or a number.
#[test]
fn commands_in_subscripts_are_found() {
    for text in [
        "[[ -v 'a[$(touch x)]' ]]",
        "[[ -v 'a[`touch x`]' ]]",
        "[[ -v a[\\$(touch x)] ]]",
        "test -v 'a[$(touch x)]'",
        "[ -v 'a[$(touch x)]' ]",
        "printf -v 'a[$(touch x)]' y",
        "read 'a[$(touch x)]' <<< y",
        "read \"a[\\$(touch x)]\" <<< y",
        "read $'a[\\x24(touch x)]' <<< y",
        "[[ 'a[$(touch x)]' -eq 1 ]]",
        "x='a[$(touch x)]'; echo $((x))",
        "x='a['; y='$(touch x)]'; z=$x$y; echo $((z))",
        "x='$(touch x)'; [[ -v 'a[${x@P}]' ]]",
        "for a in 'b[$(touch x)]'; do [[ -v $a ]]; done",
        "read a <<'E'\nb[$(touch x)]\nE\necho $((a))",
        "read a <<E\nb[\\$(touch x)]\nE\necho $((a))",
    ] {
        assert!(changes(text), "{text}");
    }
    for text in [
        "grep '^[a-z]*$' f",
        "awk '{ print a[$1] }' f",
        "grep -F '$(rm f)' f",
        "[[ $x =~ ^[0-9]+$ ]] && echo yes",
        "echo ${a[0]} ${a[@]}",
    ] {
        assert_eq!(why(text), None, "{text}");
    }
}

#[test]
fn arguments_decide_what_a_program_does() {
    for text in [
        "date 010100002020",
        "date -u 010100002020.00",
        "date -d now 010100002020",
        "env date 010100002020",
        "nice -n 5 date -u 010100002020",
        "date \"$x\"",
        "base64 -o x -i f",
        "base64 -Do x f",
        "base64 --output=x f",
        "find . -exec base64 -o x {} +",
        "ls | xargs base64 -o x",
        "gzip x",
        "gzip -d x",
        "gzip -l x -d",
        "git tag foo",
        "git tag -n -d foo",
        "git config a.b c",
        "./gzip -l x",
        "go run x",
        "[ -f x ] > f",
        "[ -f $(rm f) ]",
        "[ -f x ] && rm x",
        "[a]s f",
    ] {
        assert!(changes(text), "{text}");
    }
    for text in [
        "date",
        "date -u +%s",
        "date -d 2020-01-01 +%F",
        "date -ud 2020-01-01",
        "date --date '1 day ago'",
        "date -r f",
        "env TZ=UTC date -u",
        "base64 -d f",
        "base64 -w0 -i f",
        "[ -f x ] && cat x",
        "if [ -f x ]; then cat x; fi",
        "[ \"$x\" = y ] || [ ! -d z ]",
        "git tag -n foo",
        "git tag -n3",
        "gzip -l x",
        "gzip -dc x",
        "go version",
        "java -version",
        "git config --get a.b",
    ] {
        assert_eq!(why(text), None, "{text}");
    }
}

#[test]
fn arguments_are_no_shell_text() {
    let changes = |line: &[&str]| {
        let words = line.iter().map(|word| (*word).into()).collect();
        may_change(&Command::Arguments(words)).is_some()
    };
    assert!(!changes(&["echo", "> f; rm x", "$(rm y)"]));
    assert!(changes(&["bash", "-c", "rm f"]));
    assert!(!changes(&[]));
}

#[test]
fn long_names_of_programs_are_cut() {
    let found = may_change(&Command::Text("é".repeat(1000).into())).unwrap();
    assert_eq!(found.program.chars().count(), 64);
}

/// What makes a parser nest, opened `count` times.
fn hostile(count: usize) -> Vec<String> {
    let closed = |open: &str, close: &str| open.repeat(count) + "ls" + &close.repeat(count);
    #[rustfmt::skip]
    let mut texts = vec![
        closed("(", ")"), closed("$(", ")"), closed("\"$(", ")\""), closed("<(", ")"), closed("{ ", "; }"),
        closed("${a:-", "}"), closed("if ", "; then ls; fi"), closed("while ", "; do ls; done"), closed("case a in a) ", ";; esac"),
        closed("f() { ", "; }"), closed("for a in b; do ", "; done"), closed("! ", ""), closed("time ", ""), closed("coproc ", ""),
        closed("ls && (", ")"), closed("$(ls ", ""), closed("<(ls ", ""), closed("`", "`"), closed("\\`", "\\`"), closed("bash -c '", "'"),
        closed("eval ", ""), closed("[[ ", " ]]"), closed("{a,", "}"), closed("sudo ", ""), closed("env ", ""), closed("a=(", ")"),
    ];
    #[rustfmt::skip]
    texts.extend([
        format!("[[ {} a ]]", "! ".repeat(count)), format!("[[ {} a {} ]]", "( ".repeat(count), " )".repeat(count)),
        format!("[[ {} a ]]", "a && ".repeat(count)), format!("echo $(({}1))", "1+".repeat(count)), format!("echo $(({}1))", "!".repeat(count)),
        format!("echo $(({}1{}))", "(".repeat(count), ")".repeat(count)), format!("echo $(({}1))", "a=".repeat(count)),
        format!("if ls; then ls; {} fi", "elif ls; then ls; ".repeat(count)),
        "(ls);".repeat(count), "((a));".repeat(count), "cat <<a\n".repeat(count), "ls;".repeat(count), "ls|".repeat(count) + "ls",
        "a ".repeat(count), "$".repeat(count), "\\".repeat(count), "'".repeat(count), "\"".repeat(count), "*".repeat(count), "\n".repeat(count),
    ]);
    texts
}

#[test]
fn what_follows_a_redirection_without_a_file_is_no_argument() {
    for text in [
        "cat <a <\nrm -rf src",
        "cat <\nrm f",
        "cat < ; rm f",
        "cat <",
        "ls 2>&\nrm f",
        "cat <<\nrm f",
        "cat <<< && rm f",
    ] {
        assert_eq!(why(text), Some(ChangeReason::NotUnderstood), "{text:?}");
    }
    for text in ["cat <a", "cat < <(ls)", "ls 2>&1", "ls 2>/dev/null", "cat <<E\na\nE", "cat <<<a"]
    {
        assert_eq!(why(text), None, "{text:?}");
    }
}

#[test]
fn a_bracket_that_stays_open_takes_no_command_of_the_next_line_along() {
    for text in [
        "at= <a[b*/\nrm -rf src",
        "cat <a[b\nrm -rf src",
        "a[1\nrm f",
        "a=1 b[\nrm f\n]=2 ls",
        "ls a[b]c[\nrm f",
    ] {
        assert!(why(text).is_some(), "{text:?}");
    }
    for text in ["ls a[b]\nls", "ls a[b", "[[ a ]]\nls"] {
        assert_eq!(why(text), None, "{text:?}");
    }
}

#[test]
fn nesting_overflows_no_stack_and_takes_no_time() {
    // The stack of a thread that nobody gave a larger one.
    let small = std::thread::Builder::new().stack_size(2 << 20);
    let thread = small.spawn(|| {
        for count in [3, 15, 16, 24, 46, 47, 48, 95, 191, 383, 384, 385, 12_000, 20_000, 350_000] {
            for text in hostile(count) {
                changes(&text);
            }
        }
    });
    thread.unwrap().join().unwrap();
    assert_eq!(why(&"(".repeat(1 << 20)), Some(ChangeReason::TooIntricate));
    assert_eq!(why(&"a ".repeat(1 << 19)), Some(ChangeReason::TooIntricate));
    assert_eq!(why(&format!("echo {}", "a/b ".repeat(10_000))), None);
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in any::<String>()) {
        changes(&text);
    }

    #[test]
    fn no_syntax_is_too_strange(text in "[a-c \\n;&|<>(){}$'\"`\\\\*?\\[\\]~#=!0-9@:é]{0,60}") {
        changes(&text);
    }

    #[test]
    fn a_command_behind_any_reader_is_found(reader in "(ls|cat a|echo \"b c\"|git status) ?(;|&&|\\|\\||\\||&|\\n)") {
        let text = format!("{reader} rm f");
        prop_assert!(changes(&text));
    }
}
