use super::*;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every piece of code in a document, be it a line of a block or a few words between backticks.
fn code(document: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, part) in document.split("```").enumerate() {
        if at % 2 == 1 {
            found.extend(part.lines().map(str::to_owned));
            continue;
        }
        let spans = part.split('`').skip(1).step_by(2);
        found.extend(spans.map(|span| span.replace('\n', " ")));
    }
    found
}

/// The documents of the repository, and the tables they point to.
fn documents() -> Vec<PathBuf> {
    let root = root();
    let mut found = Vec::new();
    let crates = std::fs::read_dir(root.join("crates")).unwrap();
    let crates = crates.map(|entry| entry.unwrap().path());
    let docs = root.join("docs");
    let directories = [root, docs.join("data"), docs].into_iter().chain(crates);
    for directory in directories {
        let entries = std::fs::read_dir(directory).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        let is_document = |file: &PathBuf| {
            let extension = file.extension();
            extension.is_some_and(|extension| extension == "md" || extension == "tsv")
        };
        found.extend(files.filter(is_document));
    }
    found.sort();
    found
}

/// A word that stands for others, as `ROW` or `[--full]` does.
fn stands_for_others(word: &str) -> bool {
    word.contains(['[', '…']) || word.chars().all(|c| c.is_ascii_uppercase())
}

/// What a command names in vain.
fn in_vain(command: &str) -> Vec<String> {
    let command = command.split('#').next().unwrap_or_default();
    let after = |start: &str| command.split_once(start).map(|(_, words)| words);
    let named = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    if let Some(words) = after("cargo test") {
        let words = words.split_whitespace().filter(|w| !stands_for_others(w));
        return named(&Asked::by(words).in_vain(&root()).unwrap());
    }
    let Some(words) = after("cargo xtask faults") else {
        return Vec::new();
    };
    let words = words.split_whitespace();
    let words = words.filter(|word| !word.starts_with('-') && !stands_for_others(word));
    let is_known = |word: &&str| crate::faults::is_known(word).unwrap();
    named(&words.filter(|word| !is_known(word)).collect::<Vec<_>>())
}

#[test]
fn every_documented_test_command_runs_a_test() {
    let mut dead = Vec::new();
    let mut commands = 0;
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for command in code(&text) {
            commands += usize::from(command.contains("cargo test -p"));
            let name = document.file_name().unwrap_or_default().display();
            let words = in_vain(&command);
            dead.extend(words.iter().map(|word| format!("{name}: `{command}`: {word}")));
        }
    }
    assert!(commands > 50, "only {commands} were found");
    assert!(dead.is_empty(), "no test is called so:\n{}", dead.join("\n"));
}

/// Every change that must make a test fail names a test that is there.
#[test]
fn every_harmful_change_has_its_test() {
    let crates = std::fs::read_dir(root().join("crates")).unwrap();
    let names = crates.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let packages =
        names.map(|name| if name == "cli" { "herma".into() } else { "herma-".to_owned() + &name });
    let tests = packages.flat_map(|package| of_package(&root(), &package, None).unwrap());
    let tests: Vec<Test> = tests.collect();
    let table = std::fs::read_to_string(root().join("docs/data/harmful-changes.tsv")).unwrap();
    let rows: Vec<&str> = table.lines().skip(1).collect();
    assert!(rows.len() >= 100, "only {} are left", rows.len());
    for row in rows {
        let (_, test) = row.rsplit_once('\t').expect(row);
        let test = test.trim_matches('`');
        assert!(tests.iter().any(|known| known.name.contains(test)), "{row}");
    }
}

#[test]
fn a_command_that_runs_nothing_is_noticed() {
    for command in [
        "cargo test -p herma --test faults strace",
        "cargo test -p herma-core --test engine swap",
        "cargo test -p herma --test no_such_program",
        "cargo test -p herma --test cli -- steps no_such_test",
        "cargo test -p herma --test faults cap::",
        "cargo xtask faults no_such_row",
    ] {
        assert_eq!(in_vain(command).len(), 1, "{command}");
    }
    for command in [
        "cargo test --workspace",
        "HERMA_FAULT_STEP=1 cargo test -p herma --test faults -- --nocapture kill:: errors::",
        "cargo test -p herma --test faults -- --include-ignored cap::",
        "cargo test -p herma-core --test rows FILTER",
        "cargo test -p herma --bin herma a_directory_that_is_not_absolute",
        "cargo xtask faults [--full] ROW…",
        "cargo xtask faults --full 16 # a word",
    ] {
        assert!(in_vain(command).is_empty(), "{command}");
    }
}

#[test]
fn code_is_found_in_blocks_and_between_backticks() {
    let document = "a `b c`, `d\ne`\n\n```sh\nf `g`\nh\n```\n`i`\n";
    let expected = ["b c", "d e", "sh", "f `g`", "h", "i"];
    assert_eq!(code(document), expected);
}

/// The list is what the harness itself would say, of a program that is there anyway.
#[test]
fn the_names_are_those_of_the_harness() {
    let mut program = std::process::Command::new(std::env::current_exe().unwrap());
    let output = herma_testkit::Bounded::bounded_output(program.arg("--list")).unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let mut expected: Vec<&str> = said.lines().filter_map(|l| l.strip_suffix(": test")).collect();
    let tests = of_package(&root(), "xtask", Some("--bins")).unwrap();
    let mut found: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
}

/// A program that a test starts may never end, and what waits for it then waits for ever.
#[test]
fn no_test_waits_without_a_bound() {
    const ENDLESS: [&str; 5] =
        [".spawn()", ".output()", ".status()", ".wait_with_output()", ".recv()"];
    let mut found = Vec::new();
    let crates = std::fs::read_dir(root().join("crates")).unwrap();
    let mut directories: Vec<PathBuf> = crates.map(|c| c.unwrap().path().join("tests")).collect();
    directories.push(root().join("crates/testkit/src"));
    while let Some(directory) = directories.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else {
            continue;
        };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|e| e == "rs")
                && !path.ends_with("src/bounded.rs")
            {
                let text = std::fs::read_to_string(&path).unwrap();
                let lines = (1..).zip(text.lines());
                let endless = lines.filter(|(_, line)| ENDLESS.iter().any(|e| line.contains(e)));
                // The server of a file system in this very process.
                let endless = endless.filter(|(_, line)| !line.contains("session.spawn()"));
                found.extend(
                    endless.map(|(at, line)| format!("{}:{at}: {}", path.display(), line.trim())),
                );
            }
        }
    }
    assert!(found.is_empty(), "use `herma_testkit::Bounded`:\n{}", found.join("\n"));
}
