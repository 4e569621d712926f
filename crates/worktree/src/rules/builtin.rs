//! The built-in list: what no project wants saved, the same as in Hermes.
//!
//! It is asked for every entry of every directory that is listed anew, so names are compared without a matcher of globs; a test
//! holds both against each other.

/// What is left out unless a rule of the project says otherwise, as gitignore patterns.
pub use herma_store::layout::HERMES_EXCLUDES as DEFAULT_EXCLUDES;

/// What the list takes in again: they document a configuration and hold none.
pub const DEFAULT_INCLUDES: [&str; 4] =
    [".env.example", ".env.sample", ".env.template", ".env.dist"];

/// Does the built-in list leave out an entry of this name? A pattern of it has no slash but at its end, and one star at most.
pub(crate) fn leaves_out(name: &[u8], is_dir: bool) -> bool {
    let is_like = |pattern: &&str| {
        let only_directories = pattern.ends_with('/');
        let pattern = pattern.trim_end_matches('/');
        let is_match = match pattern.split_once('*') {
            None => name == pattern.as_bytes(),
            Some((start, end)) => {
                let rest = name.strip_prefix(start.as_bytes());
                rest.is_some_and(|rest| rest.ends_with(end.as_bytes()))
            }
        };
        is_match && (is_dir || !only_directories)
    };
    DEFAULT_EXCLUDES.iter().any(is_like)
        && !DEFAULT_INCLUDES.iter().any(|include| include.as_bytes() == name)
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
