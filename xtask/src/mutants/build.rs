//! One build of the clone with all mutants in it, as switches, but for those that do not compile.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use serde::Deserialize;

use super::parts::{PACKAGES, PROGRAMS};
use super::switch::{self, Mutant, Owner};
use super::{Lab, Result};

/// What came of a build.
#[derive(Default)]
pub struct Built {
    programs: Vec<Program>,
    /// The mutants that can be switched on, by number, and their numbers.
    pub switched: Vec<usize>,
    /// Those that do not compile.
    pub unviable: BTreeSet<usize>,
}

/// A test program.
#[derive(Deserialize)]
pub struct Program {
    manifest_path: PathBuf,
    profile: Profile,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// What cargo says, one a line.
#[derive(Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Said {
    CompilerArtifact(Program),
    CompilerMessage {
        message: Diagnostic,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    code: Option<Code>,
    spans: Vec<Span>,
    children: Vec<Diagnostic>,
    rendered: Option<String>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    is_primary: bool,
    expansion: Option<Box<Expansion>>,
}

#[derive(Deserialize)]
struct Expansion {
    span: Span,
}

impl Built {
    /// The programs with tests, and where they are run.
    pub fn programs(&self) -> Vec<(PathBuf, PathBuf)> {
        let tests = self.programs.iter().filter(|program| program.profile.test);
        let found = tests.filter_map(|program| {
            let directory = program.manifest_path.parent()?;
            Some((program.executable.clone()?, directory.to_owned()))
        });
        found.collect()
    }
}

impl Lab {
    /// Builds the tests with these mutants, numbered from 1.
    pub fn build(&self, mutants: &[&Mutant]) -> Result<Built> {
        let mut sources = Sources::read(self, mutants)?;
        let mut built = Built::default();
        // Those whose switch does not compile, although they might.
        let mut left_out = BTreeSet::new();
        loop {
            let without: BTreeSet<usize> = left_out.union(&built.unviable).copied().collect();
            built.switched = sources.write(self, mutants, &without, &mut built.unviable)?;
            eprintln!("── one build with {} mutants", built.switched.len());
            let errors = match self.programs()? {
                Ok(programs) => return Ok(Built { programs, ..built }),
                Err(errors) => errors,
            };
            let before = left_out.len() + built.unviable.len();
            for error in &errors {
                match error.owner(&sources.written) {
                    Some(Owner::Mutant(number)) if error.is_about_types() => {
                        built.unviable.insert(number);
                    }
                    Some(Owner::Mutant(number)) => drop(left_out.insert(number)),
                    Some(Owner::Switch(numbers)) => left_out.extend(numbers),
                    None => {}
                }
            }
            if before == left_out.len() + built.unviable.len() {
                // Nobody's fault is the fault of all that are near.
                let files: BTreeSet<&str> = errors.iter().flat_map(Diagnostic::files).collect();
                let is_near = |number: &&usize| files.contains(mutants[*number - 1].file.as_str());
                left_out.extend(built.switched.iter().filter(is_near));
            }
            if before == left_out.len() + built.unviable.len() {
                let said: String = errors.into_iter().filter_map(|error| error.rendered).collect();
                return Err(format!("mutants: the clone does not build\n{said}").into());
            }
        }
    }

    /// Builds the tests; returns their programs, or what is wrong.
    fn programs(&self) -> Result<std::result::Result<Vec<Program>, Vec<Diagnostic>>> {
        let mut cargo = self.cargo()?;
        cargo.args(["test", "--no-run", "--quiet", "--message-format=json"]);
        cargo.args(PACKAGES.map(|package| format!("--package={package}"))).args(PROGRAMS);
        let output = cargo.output()?;
        let (mut programs, mut errors) = (Vec::new(), Vec::new());
        for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice(line)? {
                Said::CompilerArtifact(program) => programs.push(program),
                Said::CompilerMessage { message } if message.level == "error" => {
                    errors.push(message)
                }
                Said::CompilerMessage { .. } | Said::Other => {}
            }
        }
        match (output.status.success(), errors.is_empty()) {
            (true, _) => Ok(Ok(programs)),
            (false, false) => Ok(Err(errors)),
            (false, true) => Err(String::from_utf8_lossy(&output.stderr).into()),
        }
    }
}

impl Diagnostic {
    /// What is wrong here would be wrong without the switch, too. What is borrowed may depend on it.
    fn is_about_types(&self) -> bool {
        self.code.as_ref().is_some_and(|code| !code.code.starts_with("E05"))
    }

    /// Whose fault it is. The place that is wrong is better evidence than those that explain it.
    fn owner(&self, written: &BTreeMap<String, String>) -> Option<Owner> {
        let owner = |span: &Span| {
            let text = written.get(&span.file_name)?;
            switch::owner(text, &Range { start: span.byte_start, end: span.byte_end })
        };
        let spans = self.all_spans();
        let (first, rest): (Vec<_>, Vec<_>) = spans.into_iter().partition(|span| span.is_primary);
        first.into_iter().chain(rest).find_map(owner)
    }

    fn files(&self) -> impl Iterator<Item = &str> {
        self.all_spans().into_iter().map(|span| span.file_name.as_str())
    }

    /// With the places that macros were called from.
    fn all_spans(&self) -> Vec<&Span> {
        let below = self.children.iter().flat_map(Self::all_spans);
        let mut spans: Vec<&Span> = self.spans.iter().chain(below).collect();
        let mut at = 0;
        while let Some(span) = spans.get(at) {
            spans.extend(span.expansion.as_ref().map(|expansion| &expansion.span));
            at += 1;
        }
        spans
    }
}

/// The files with mutants, and the roots of their crates.
struct Sources {
    /// As they are in the commit.
    read: BTreeMap<String, String>,
    /// As they are now.
    written: BTreeMap<String, String>,
    roots: BTreeSet<String>,
}

impl Sources {
    fn read(lab: &Lab, mutants: &[&Mutant]) -> Result<Self> {
        let mut names: BTreeSet<String> = mutants.iter().map(|m| m.file.clone()).collect();
        let crates = names.iter().filter_map(|name| Some(name.split_once("/src/")?.0.to_owned()));
        let crates: BTreeSet<String> = crates.collect();
        let roots =
            crates.iter().flat_map(|at| [format!("{at}/src/lib.rs"), format!("{at}/src/main.rs")]);
        let roots: BTreeSet<String> = roots.filter(|root| lab.clone.join(root).exists()).collect();
        names.extend(roots.iter().cloned());
        let mut read = BTreeMap::new();
        for name in names {
            let text = fs::read_to_string(lab.clone.join(&name))?;
            read.insert(name, text);
        }
        Ok(Self { written: read.clone(), read, roots })
    }

    /// Writes the mutants, but for some; returns which can be switched on.
    fn write(
        &mut self,
        lab: &Lab,
        mutants: &[&Mutant],
        without: &BTreeSet<usize>,
        unviable: &mut BTreeSet<usize>,
    ) -> Result<Vec<usize>> {
        let mut numbers = Vec::new();
        for (name, source) in &self.read {
            let numbered = mutants.iter().enumerate().map(|(at, mutant)| (at + 1, *mutant));
            let here =
                numbered.filter(|(at, mutant)| mutant.file == *name && !without.contains(at));
            let mut done = switch::switch(source, &here.collect::<Vec<_>>())?;
            if self.roots.contains(name) {
                done.text += switch::MUTANT_IS;
            }
            numbers.append(&mut done.numbers);
            unviable.extend(done.unviable);
            if self.written[name] != done.text {
                fs::write(lab.clone.join(name), &done.text)?;
                self.written.insert(name.clone(), done.text);
            }
        }
        Ok(numbers)
    }
}
