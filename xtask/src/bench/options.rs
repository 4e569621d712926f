//! What `cargo xtask bench` is asked to measure.

use std::path::PathBuf;

use crate::Result;

/// The command line, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub sections: Vec<Section>,
    pub sizes: Vec<Size>,
    pub tree: Option<PathBuf>,
    pub rounds: usize,
    pub is_full: bool,
    pub herma: Option<PathBuf>,
    /// The program of an earlier day, which does the same in turns.
    pub before: Option<PathBuf>,
    pub history: Option<PathBuf>,
    pub sessions: usize,
    /// Programs that are not asked.
    pub without: Vec<String>,
    /// Where the report goes; the documents of the project if not said.
    pub out: Option<PathBuf>,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Saving,
    BigFile,
    Checkpoints,
    Keeping,
    Sessions,
    Hooks,
    Lists,
    Search,
    Copies,
    Python,
    /// Nothing: the report is written anew from what is known.
    Report,
}

/// Which tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Size {
    Small,
    Medium,
    Large,
    Huge,
    /// Generated, of so many files.
    Files(usize),
    /// Debian's kernel source, which the benchmark installs.
    Kernel,
    /// Somebody's own.
    Given,
}

const SECTIONS: [(&str, Section); 11] = [
    ("saving", Section::Saving),
    ("big-file", Section::BigFile),
    ("checkpoints", Section::Checkpoints),
    ("keeping", Section::Keeping),
    ("sessions", Section::Sessions),
    ("hooks", Section::Hooks),
    ("lists", Section::Lists),
    ("search", Section::Search),
    ("copies", Section::Copies),
    ("python", Section::Python),
    ("report", Section::Report),
];

/// What a run does that was not told.
const USUAL_SECTIONS: [Section; 5] =
    [Section::Saving, Section::Hooks, Section::Lists, Section::Checkpoints, Section::Keeping];
const USUAL_SIZES: [Size; 4] = [Size::Small, Size::Medium, Size::Large, Size::Kernel];

impl Size {
    fn parse(word: &str) -> Result<Self> {
        Ok(match word {
            "small" => Self::Small,
            "medium" => Self::Medium,
            "large" => Self::Large,
            "huge" => Self::Huge,
            "kernel" => Self::Kernel,
            number => match number.parse() {
                Ok(files) if files > 0 => Self::Files(files),
                _ => return Err(format!("bench: no size {word}").into()),
            },
        })
    }

    /// How many files a generated tree has.
    pub const fn files(&self) -> usize {
        match self {
            Self::Small => 250,
            Self::Medium => 6_500,
            Self::Large => 80_000,
            Self::Huge => 1_000_000,
            Self::Files(files) => *files,
            Self::Kernel | Self::Given => 0,
        }
    }

    /// What it is called in the results.
    pub fn name(&self) -> String {
        match self {
            Self::Small => "small".to_owned(),
            Self::Medium => "medium".to_owned(),
            Self::Large => "large".to_owned(),
            Self::Huge => "huge".to_owned(),
            Self::Files(files) => files.to_string(),
            Self::Kernel => "kernel".to_owned(),
            Self::Given => "given".to_owned(),
        }
    }

    /// Whether all programs do all their work here; elsewhere only Herma and git save.
    pub const fn is_for_everybody(&self) -> bool {
        matches!(self, Self::Medium | Self::Large | Self::Kernel | Self::Given)
    }
}

impl Options {
    /// Understands the arguments.
    pub fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self {
            sections: Vec::new(),
            sizes: Vec::new(),
            tree: None,
            rounds: 11,
            is_full: false,
            herma: None,
            before: None,
            history: None,
            sessions: 300_000,
            without: Vec::new(),
            out: None,
        };
        let mut args = args.iter();
        while let Some(name) = args.next() {
            if name == "--full" {
                options.is_full = true;
                continue;
            }
            let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
            match name.as_str() {
                "--only" => options.sections.push(section(value)?),
                "--size" => options.sizes.push(Size::parse(value)?),
                "--without" => options.without.push(value.clone()),
                "--sessions" => options.sessions = value.parse()?,
                "--rounds" => options.rounds = value.parse()?,
                "--tree" => options.tree = Some(PathBuf::from(value).canonicalize()?),
                "--history" => options.history = Some(PathBuf::from(value).canonicalize()?),
                "--herma" => options.herma = Some(PathBuf::from(value).canonicalize()?),
                "--before" => options.before = Some(PathBuf::from(value).canonicalize()?),
                "--out" => options.out = Some(value.into()),
                _ => return Err(format!("bench: unknown option {name}").into()),
            }
        }
        if options.rounds == 0 || options.sessions == 0 {
            return Err("bench: --rounds and --sessions must be at least 1".into());
        }
        options.choose_what_is_usual();
        Ok(options)
    }

    fn choose_what_is_usual(&mut self) {
        if self.sections.is_empty() {
            self.sections = USUAL_SECTIONS.into();
            if self.is_full {
                self.sections.extend([Section::BigFile, Section::Sessions]);
            }
        }
        if self.tree.is_some() {
            self.sizes.push(Size::Given);
        }
        if self.sizes.is_empty() {
            self.sizes = USUAL_SIZES.into();
            if self.is_full {
                self.sizes.push(Size::Huge);
            }
        }
    }
}

fn section(word: &str) -> Result<Section> {
    let found = SECTIONS.iter().find(|(name, _)| *name == word);
    match found {
        Some((_, section)) => Ok(*section),
        None => Err(format!("bench: no section {word}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words)
    }

    #[test]
    fn without_options_the_usual_is_measured() {
        let usual = parse("").unwrap();
        assert_eq!(usual.sections, USUAL_SECTIONS);
        assert_eq!(usual.sizes, USUAL_SIZES);
        let full = parse("--full").unwrap();
        assert!(full.sections.contains(&Section::BigFile));
        assert_eq!(full.sizes.last(), Some(&Size::Huge));
    }

    #[test]
    fn sections_and_sizes_are_those_asked_for() {
        let asked = parse("--only saving --only hooks --size large --size 300 --rounds 5").unwrap();
        assert_eq!(asked.sections, [Section::Saving, Section::Hooks]);
        assert_eq!(asked.sizes, [Size::Large, Size::Files(300)]);
        assert_eq!(asked.rounds, 5);
        assert_eq!(parse("--without jj").unwrap().without, ["jj"]);
        let given = parse("--tree /").unwrap();
        assert_eq!(given.sizes, [Size::Given], "nothing but that tree");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in [
            "--only everything",
            "--size tiny",
            "--size 0",
            "--rounds 0",
            "--rounds",
            "--files 3",
            "--tree /nonexistent/tree",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
