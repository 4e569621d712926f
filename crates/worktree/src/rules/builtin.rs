//! The built-in list: what no project wants saved, the same as in Hermes.
//!
//! The list is the documentation and the reference; [`leaves_out`] is the same list compiled by hand into
//! comparisons of names, because it is asked for every entry of every directory that is listed anew.
//! A test holds the two together.

use bstr::ByteSlice;

/// What is left out unless a rule of the project says otherwise, as gitignore patterns.
#[rustfmt::skip]
pub const DEFAULT_EXCLUDES: [&str; 50] = [
    "node_modules/", "dist/", "build/", "target/", "out/", ".next/", ".nuxt/", "__pycache__/",
    "*.pyc", "*.pyo", ".cache/", ".pytest_cache/", ".mypy_cache/", ".ruff_cache/", "coverage/",
    ".coverage", ".venv/", "venv/", "env/", ".git/", ".hg/", ".svn/", ".worktrees/", "*.so",
    "*.dylib", "*.dll", "*.o", "*.a", "*.jar", "*.class", "*.exe", "*.obj", "*.mp4", "*.mov",
    "*.mkv", "*.webm", "*.zip", "*.tar", "*.tar.gz", "*.tgz", "*.7z", "*.rar", "*.iso", ".env",
    ".env.*", ".env.local", ".env.*.local", ".DS_Store", "Thumbs.db", "*.log",
];

/// What the list takes in again: they document a configuration and hold none.
pub const DEFAULT_INCLUDES: [&str; 4] =
    [".env.example", ".env.sample", ".env.template", ".env.dist"];

/// Does the built-in list leave out an entry of this name?
pub(crate) fn leaves_out(name: &[u8], is_dir: bool) -> bool {
    (is_dir && is_left_out_directory(name)) || is_left_out_name(name) || has_left_out_ending(name)
}

#[rustfmt::skip]
fn is_left_out_directory(name: &[u8]) -> bool {
    matches!(
        name,
        b"node_modules" | b"dist" | b"build" | b"target" | b"out" | b".next" | b".nuxt"
            | b"__pycache__" | b".cache" | b".pytest_cache" | b".mypy_cache" | b".ruff_cache"
            | b"coverage" | b".venv" | b"venv" | b"env" | b".git" | b".hg" | b".svn" | b".worktrees"
    )
}

fn is_left_out_name(name: &[u8]) -> bool {
    match name.strip_prefix(b".env.") {
        Some(rest) => !matches!(rest, b"example" | b"sample" | b"template" | b"dist"),
        None => matches!(name, b".coverage" | b".env" | b".DS_Store" | b"Thumbs.db"),
    }
}

#[rustfmt::skip]
fn has_left_out_ending(name: &[u8]) -> bool {
    let Some(dot) = name.rfind_byte(b'.') else { return false };
    match &name[dot + 1..] {
        b"gz" => name.ends_with(b".tar.gz"),
        ending => matches!(
            ending,
            b"pyc" | b"pyo" | b"so" | b"dylib" | b"dll" | b"o" | b"a" | b"jar" | b"class" | b"exe"
                | b"obj" | b"mp4" | b"mov" | b"mkv" | b"webm" | b"zip" | b"tar" | b"tgz" | b"7z"
                | b"rar" | b"iso" | b"log"
        ),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_gix(name: &[u8], is_dir: bool) -> bool {
        let includes = DEFAULT_INCLUDES.iter().map(|include| format!("!{include}"));
        let lines: Vec<_> =
            DEFAULT_EXCLUDES.iter().map(ToString::to_string).chain(includes).collect();
        let mut search = gix_ignore::Search::default();
        let parse = gix_ignore::search::Ignore::default();
        search.add_patterns_buffer(lines.join("\n").as_bytes(), "list", None, parse).unwrap();
        let case = gix_glob::pattern::Case::Sensitive;
        search
            .pattern_matching_relative_path(name.into(), Some(is_dir), case)
            .is_some_and(|found| !found.pattern.is_negative())
    }

    fn names() -> impl Strategy<Value = String> {
        let stems: Vec<&str> =
            DEFAULT_EXCLUDES.iter().map(|p| p.trim_matches(['*', '/'])).collect();
        let affix =
            prop::sample::select(vec!["", "", "", ".", "x", ".env.", ".local", "*", "example"]);
        (affix.clone(), prop::sample::select(stems), affix)
            .prop_map(|(before, stem, after)| format!("{before}{stem}{after}"))
    }

    proptest! {
        #[test]
        fn the_compiled_list_decides_like_the_patterns(name in names(), is_dir: bool) {
            let compiled = leaves_out(name.as_bytes(), is_dir);
            prop_assert_eq!(compiled, by_gix(name.as_bytes(), is_dir), "{}", name);
        }
    }

    #[test]
    fn every_line_of_the_list_is_compiled() {
        for line in DEFAULT_EXCLUDES {
            let name = line.trim_end_matches('/').replace('*', "x");
            assert!(leaves_out(name.as_bytes(), true), "{line}");
            assert_eq!(leaves_out(name.as_bytes(), false), !line.ends_with('/'), "{line}");
        }
    }

    #[test]
    fn the_example_of_an_environment_file_is_kept() {
        for name in DEFAULT_INCLUDES {
            assert!(!leaves_out(name.as_bytes(), false), "{name}");
        }
        assert!(leaves_out(b".env.example.local", false));
    }
}
