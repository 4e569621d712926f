//! The agents whose TOML is edited by tables.

use herma_agents::Agent;

use super::{assert_round_trip, command, installed, other_command, target, uninstalled};

const AGENTS: [Agent; 2] = [Agent::Vibe, Agent::Kimi];

/// `@HOOK` stands for an entry of somebody else.
const GOOD: [(&str, &str); 17] = [
    ("empty", ""),
    ("blank", "\n\n"),
    ("a space", " "),
    ("only comments", "# mine\n# all of it\n"),
    ("other keys", "model = \"x\"\n[providers.a]\nbase_url = \"u\"\n"),
    ("no line end", "model = \"x\""),
    ("no line end in a table", "[a]\nb = 1"),
    ("blank lines at the end", "[a]\nb = 1\n\n\n"),
    ("windows line ends", "model = \"x\"\r\n\r\n[a]\r\nb = 1\r\n"),
    ("comments everywhere", "# a\nmodel = \"x\" # fast\n\n# b\n[a] # c\nb = [1, 2]\n# end\n"),
    ("a hook of another", "@HOOK"),
    ("hooks of others among tables", "a = 1\n\n@HOOK\n# next\n@HOOK\n[z]\nb = 2\n"),
    ("a hook of another without a line end", "@HOOK# end"),
    (
        "values of every kind",
        "a = 1.5e3\nb = 1979-05-27T07:32:00Z\nc = [{d = true}, {}]\ne = inf\nf = -0\n",
    ),
    ("texts of many lines", "a = \"\"\"\nb\n\"\"\"\nc = '''\nd'''\n"),
    ("unicode", "\"名前\" = \"日本 🦀\"\n"),
    ("a table named like it", "[hooks_of_mine]\na = 1\n[other.hooks]\nb = 2\n"),
];

const BAD: [(&str, &str); 7] = [
    ("broken", "model = [1,\n"),
    ("a key twice", "a = 1\na = 2\n"),
    ("hooks in one value", "hooks = []\n"),
    ("hooks in one value of several lines", "hooks = [\n  {command = \"a\"},\n]\n"),
    ("hooks are a text", "hooks = \"none\"\n"),
    ("hooks are a table", "[hooks]\na = 1\n"),
    ("JSON", "{\"hooks\": []}\n"),
];

fn fill(agent: Agent, text: &str) -> String {
    let hook = match agent {
        Agent::Vibe => {
            "[[hooks]]\nname = \"audit\"\ntype = \"pre_tool\"\ncommand = \"./audit.sh\"\n"
        }
        _ => "[[hooks]]\nevent = \"PreToolUse\"\ncommand = \"./audit.sh\"\ntimeout = 5\n",
    };
    text.replace("@HOOK", hook)
}

#[test]
fn toml_is_as_before_after_uninstalling() {
    for agent in AGENTS {
        assert_round_trip("no file", &target(agent), None);
        for (name, text) in GOOD {
            assert_round_trip(name, &target(agent), Some(&fill(agent, text)));
        }
    }
}

#[test]
fn toml_that_cannot_be_edited_for_sure_is_refused() {
    for agent in AGENTS {
        for (name, text) in BAD {
            let refused = target(agent).file.install(Some(text.as_bytes()), &command());
            assert!(refused.is_err(), "{name}: {refused:?}");
        }
    }
}

#[test]
fn what_the_user_wrote_behind_ours_stays() {
    for agent in AGENTS {
        let (target, theirs) = (target(agent), fill(agent, "@HOOK\n[z]\na = 1\n"));
        for before in [None, Some("a = 1"), Some("a = 1\n")] {
            let ours = installed(&target, before, &command());
            let left = uninstalled(&target, &format!("{ours}\n{theirs}")).expect("there is a rest");
            assert!(left.starts_with(before.unwrap_or_default()), "{left}");
            assert!(left.ends_with(&theirs) && !left.contains("herma"), "{left}");
        }
    }
}

/// Agents write their configuration anew, and then it has another layout.
#[test]
fn ours_are_known_in_another_layout() {
    for agent in AGENTS {
        let target = target(agent);
        let ours = installed(&target, Some("a = 1\n"), &command());
        let other =
            ours.replace(" = ", "=").replace("\n\n", "\n").replace("[[hooks]]", " [[hooks]]");
        let found = target.file.look(other.as_bytes()).expect("it can be read");
        assert!(found.present && found.missing.is_empty(), "{other}");
        assert_eq!(
            uninstalled(&target, &other).map(|text| text.replace(['\n', ' '], "")),
            Some("a=1".to_owned())
        );
        let moved = installed(&target, Some(&other), &other_command());
        assert!(!moved.contains("/usr/local/bin/herma"), "{moved}");
    }
}

/// What looks like ours within a text of the user's is theirs.
#[test]
fn a_table_within_a_text_is_not_edited() {
    for agent in AGENTS {
        let target = target(agent);
        let ours = installed(&target, None, &command());
        let note = format!("note = '''\n{ours}'''\n");
        assert_eq!(uninstalled(&target, &note), Some(note.clone()));
        let both = installed(&target, None, &command()) + "\n[z]\n" + &note;
        assert!(target.file.uninstall(both.as_bytes()).is_err(), "{both}");
    }
}
