//! Configurations as people have them, for the agents whose JSON file is edited.

use herma_agents::Agent;

/// What must come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// Installed, and back to the byte.
    RoundTrip,
    /// Refused, with nothing changed.
    Refused,
}

/// A configuration.
pub(super) struct Configuration {
    pub(super) name: &'static str,
    /// `None`: no file.
    pub(super) text: Option<String>,
    pub(super) expected: Expected,
}

/// The agents with a JSON file of the user's own.
pub(super) const AGENTS: [Agent; 6] =
    [Agent::Claude, Agent::Codex, Agent::Qwen, Agent::Cursor, Agent::Crush, Agent::Droid];

/// Texts that every one of them must survive. `@EVENT` stands for the event before a tool, `@OTHER` for an event we
/// do not want, `@ENTRY` for an entry of somebody else, `@V` for what the agent needs at the beginning.
const GOOD: [(&str, &str); 30] = [
    ("a number that no type holds", "{@V \"a\": 1e400, \"b\": -1E+999}\n"),
    ("half a character", "{@V \"a\": \"\\ud800\", \"b\": [\"x\\udc00\\n\"]}\n"),
    ("half a character in a name", "{@V \"\\ud800\": 1, \"\\ud801\": 2}\n"),
    ("an entry with both", "{@V \"hooks\": {\"@EVENT\": [{\"x\": \"\\ud800\", \"y\": 1e400}]}}\n"),
    ("empty object", "{@V0}"),
    ("empty object, indented", "\t{@V0}"),
    ("empty object and a line end", "{@V0}\n"),
    ("only other keys", "{@V\n  \"model\": \"opus\",\n  \"theme\": \"dark\"\n}\n"),
    ("no line end at the end", "{@V\n  \"model\": \"opus\"\n}"),
    ("tabs", "{@V\n\t\"model\": \"opus\",\n\t\"env\": {\n\t\t\"A\": \"1\"\n\t}\n}\n"),
    ("four spaces", "{@V\n    \"env\": {\n        \"A\": \"1\"\n    }\n}\n"),
    ("minified", "{@V\"model\":\"opus\",\"env\":{\"A\":\"1\"}}"),
    ("one line with spaces", "{@V \"model\": \"opus\", \"env\": { \"A\": \"1\" } }\n"),
    ("windows line ends", "{@V\r\n  \"model\": \"opus\",\r\n  \"n\": [\r\n    1\r\n  ]\r\n}\r\n"),
    ("byte order mark", "\u{feff}{@V\n  \"model\": \"opus\"\n}\n"),
    ("spaces around", "\n\n  {@V\n  \"model\": \"opus\"\n}  \n\n\n"),
    ("an empty hooks object", "{@V\n  \"hooks\": {},\n  \"z\": 1\n}\n"),
    ("an empty hooks object on two lines", "{@V\n  \"hooks\": {\n  }\n}\n"),
    ("an empty hooks object, minified", "{@V\"a\":1,\"hooks\":{}}"),
    ("an empty list at our event", "{@V\n  \"hooks\": {\n    \"@EVENT\": []\n  }\n}\n"),
    ("an empty list, minified", "{@V\"hooks\":{\"@EVENT\":[ ],\"@OTHER\":[]}}"),
    (
        "another hook at our event",
        "{@V\n  \"hooks\": {\n    \"@EVENT\": [\n      @ENTRY\n    ]\n  }\n}\n",
    ),
    (
        "several hooks of others",
        "{@V\n  \"hooks\": {\n    \"@OTHER\": [@ENTRY],\n    \"@EVENT\": [\n      @ENTRY,\n      @ENTRY\n    ]\n  },\n  \"z\": null\n}\n",
    ),
    ("hooks of others, minified", "{@V\"hooks\":{\"@EVENT\":[@ENTRY,@ENTRY],\"@OTHER\":[@ENTRY]}}"),
    (
        "brackets on the same line",
        "{@V \"hooks\": { \"@EVENT\": [ {\n   \"x\": 1 },\n @ENTRY ] }\n}",
    ),
    (
        "duplicate keys elsewhere",
        "{@V\n  \"env\": {\"A\": \"1\", \"A\": \"2\"},\n  \"b\": 1,\n  \"b\": 2\n}\n",
    ),
    (
        "unicode",
        "{@V\n  \"näme\": \"日本 \\u00e9 \\ud83d\\ude00 🦀\",\n  \"\\u0068ooks2\": {}\n}\n",
    ),
    (
        "numbers and literals",
        "{@V\n  \"n\": [-0, 1.5e3, 1E-2, 18446744073709551615, true, false, null]\n}\n",
    ),
    (
        "hooks turned off",
        "{@V\n  \"disableAllHooks\": true,\n  \"hooksConfig\": {\"enabled\": false}\n}\n",
    ),
    (
        "odd spacing",
        "{@V\n\"a\"  :1   ,\n\n\n      \"hooks\"\n:\n{\n\"@EVENT\"   :   [@ENTRY\n,@ENTRY    ]}\n,\"b\":2}\n",
    ),
];

/// Texts that must be refused by all.
const BAD: [(&str, &str); 20] = [
    ("a number with a leading zero", "{@V\"a\": 01}\n"),
    ("a number that ends early", "{@V\"a\": 1.}\n"),
    ("a word that ends early", "{@V\"a\": tru}\n"),
    ("an escape that is none", "{@V\"a\": \"\\x\"}\n"),
    ("half an escape", "{@V\"a\": \"\\ud8\"}\n"),
    ("a form feed", "\u{c}"),
    ("a mark twice", "\u{feff}\u{feff}"),
    ("a list", "[1, 2]\n"),
    ("a text", "\"settings\"\n"),
    ("cut off", "{@V\n  \"model\": \"opus\",\n  \"hooks\": {\n"),
    ("no comma", "{@V\n  \"a\": 1\n  \"b\": 2\n}\n"),
    ("single quotes", "{@V'a': 1}\n"),
    ("something behind", "{@V \"a\": 1}}\n"),
    ("a comment that is not closed", "{@V /* \"a\": 1}\n"),
    ("hooks are a list", "{@V\n  \"hooks\": []\n}\n"),
    ("hooks are a text", "{@V\n  \"hooks\": \"none\"\n}\n"),
    ("hooks are null", "{@V\n  \"hooks\": null\n}\n"),
    ("our event is an object", "{@V\n  \"hooks\": {\"@EVENT\": {}}\n}\n"),
    ("hooks twice", "{@V\"hooks\": {}, \"hooks\": {}}\n"),
    ("our event twice", "{@V\"hooks\": {\"@EVENT\": [], \"@EVENT\": []}}\n"),
];

/// With comments: read by some agents, refused by the others as they do themselves.
const COMMENTED: [(&str, &str); 6] = [
    ("a comment at the end of a line", "{@V\n  \"model\": \"opus\" // the good one\n}\n"),
    (
        "comments between",
        "// mine\n{@V\n  /* first */ \"a\": 1, // one\n  // two\n  \"b\": 2\n  // the end\n}\n// after\n",
    ),
    ("a comment in an empty object", "{@V0 /* nothing yet */ }\n"),
    ("a comment in empty hooks", "{@V\n  \"hooks\": {\n    // soon\n  }\n}\n"),
    ("a line comment on one line", "{@V\"a\": 1 // x\n}"),
    (
        "a comment behind an entry",
        "{@V\n  \"hooks\": {\n    \"@EVENT\": [\n      @ENTRY // theirs\n    ] // list\n  } // hooks\n}\n",
    ),
];

/// With a comma behind the last item, which one agent reads.
const TRAILING: [(&str, &str); 4] = [
    ("a comma at the end", "{@V\n  \"a\": 1,\n}\n"),
    (
        "commas at all ends",
        "{@V\n  \"hooks\": {\n    \"@EVENT\": [\n      @ENTRY,\n    ],\n  },\n}\n",
    ),
    ("a comma and a comment", "{@V\n  \"a\": 1, // one\n}\n"),
    ("a comma, minified", "{@V\"a\":[1,],\"hooks\":{\"@EVENT\":[@ENTRY,],},}"),
];

/// All configurations for an agent.
pub(super) fn all(agent: Agent) -> Vec<Configuration> {
    let reads_comments = matches!(agent, Agent::Qwen | Agent::Crush | Agent::Droid);
    let reads_commas = agent == Agent::Crush;
    let when = |reads: bool| {
        if reads { Expected::RoundTrip } else { Expected::Refused }
    };
    let mut all = vec![
        given("no file", None, Expected::RoundTrip),
        given("an empty file", Some(""), Expected::RoundTrip),
        given("a blank file", Some("\n  \n"), Expected::RoundTrip),
        given("a file of spaces", Some("\n "), Expected::RoundTrip),
    ];
    let groups = [
        (&GOOD[..], Expected::RoundTrip),
        (&BAD[..], Expected::Refused),
        (&COMMENTED[..], when(reads_comments)),
        (&TRAILING[..], when(reads_commas)),
    ];
    for (texts, expected) in groups {
        for (name, text) in texts {
            all.push(given(name, Some(&fill(agent, text)), expected));
        }
    }
    all.push(given("deep nesting", Some(&nested(agent, 100)), Expected::RoundTrip));
    all.push(given("too deep nesting", Some(&nested(agent, 4000)), Expected::Refused));
    all.push(given("a huge file", Some(&huge(agent)), Expected::RoundTrip));
    all
}

fn given(name: &'static str, text: Option<&str>, expected: Expected) -> Configuration {
    Configuration { name, text: text.map(str::to_owned), expected }
}

fn fill(agent: Agent, text: &str) -> String {
    let (event, other, entry) = match agent {
        Agent::Cursor => ("preToolUse", "afterFileEdit", r#"{"command": "./audit.sh"}"#),
        Agent::Crush => ("PreToolUse", "Later", r#"{"name": "x", "command": "echo '{}'"}"#),
        _ => (
            "PreToolUse",
            "Notification",
            r#"{"matcher": "Bash", "hooks": [{"type": "command", "command": "say \"hi\""}]}"#,
        ),
    };
    let (version, alone) = match agent {
        Agent::Cursor => ("\"version\": 1,", ""),
        _ => ("", ""),
    };
    text.replace("@V0", alone)
        .replace("@V", version)
        .replace("@EVENT", event)
        .replace("@OTHER", other)
        .replace("@ENTRY", entry)
}

fn nested(agent: Agent, depth: usize) -> String {
    let text = format!("{{@V\n  \"deep\": {}{}\n}}\n", "[".repeat(depth), "]".repeat(depth));
    fill(agent, &text)
}

fn huge(agent: Agent) -> String {
    let rules: Vec<String> =
        (0..5000).map(|number| format!("    \"Bash(command {number}:*)\"")).collect();
    let text = format!("{{@V\n  \"allow\": [\n{}\n  ]\n}}\n", rules.join(",\n"));
    fill(agent, &text)
}
