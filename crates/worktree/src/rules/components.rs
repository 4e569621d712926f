//! The components of a glob, and the guard against many `**`.
//!
//! The glob of git tries every way to share the components of a path among the `**` of a pattern; with
//! sixteen of them and a deep path one comparison takes a second, with thirty it never ends. An ignore
//! file of a foreign project must not be able to stop a save, so from the second `**` on a pattern is
//! compared component by component, which needs no more steps than the one has times the other.

use bstr::ByteSlice;

/// The parts of a glob between slashes, escaped or not. A slash in a set separates nothing.
///
/// A `[:` in a set that begins no class is escaped: to git it is two characters, to the matcher an error.
pub(crate) fn split(glob: &[u8]) -> Vec<Vec<u8>> {
    let mut components = vec![];
    let mut component = Vec::new();
    // Where the set begins that we are in.
    let mut set = None;
    let mut at = 0;
    while at < glob.len() {
        let rest = &glob[at..];
        let mut length = 1;
        match (rest, set) {
            ([b'/', ..] | [b'\\', b'/', ..], None) => {
                length += usize::from(rest[0] != b'/');
                components.push(std::mem::take(&mut component));
                // Before an escaped slash `**` stands for one directory at least.
                if length == 2 && components.last().is_some_and(|last| is_any(last)) {
                    components.push(b"*".to_vec());
                }
                at += length;
                continue;
            }
            ([b'\\', _, ..], _) => length = 2,
            ([b'[', next, ..], None) => {
                length += usize::from(matches!(next, b'!' | b'^'));
                set = Some(at + length);
            }
            // A bracket that closes at once is a member.
            ([b']', ..], Some(start)) if at > start => set = None,
            ([b'[', b':', class @ ..], Some(_)) => match class.find_byte(b']') {
                Some(end) if end > 0 && class[end - 1] == b':' => length = end + 3,
                _ => component.push(b'\\'),
            },
            _ => {}
        }
        component.extend_from_slice(&rest[..length]);
        at += length;
    }
    components.push(component);
    components
}

/// Would the glob matcher take too long? `a/**` is what is inside of `a`, not `a` itself.
pub(crate) fn several_stars(mut components: Vec<Vec<u8>>) -> Option<Vec<Vec<u8>>> {
    if components.iter().filter(|part| is_any(part)).count() < 2 {
        return None;
    }
    if components.last().is_some_and(|last| is_any(last)) {
        components.push(b"*".to_vec());
    }
    Some(components)
}

/// Is it `**`: any number of directories?
fn is_any(component: &[u8]) -> bool {
    component.len() > 1 && component.iter().all(|b| *b == b'*')
}

/// Do these components match the whole path? `glob` compares one name.
pub(crate) fn match_path(
    components: &[Vec<u8>],
    path: &[u8],
    glob: impl Fn(&[u8], &[u8]) -> bool,
) -> bool {
    let mut names = path.split(|b| *b == b'/');
    let mut wanted = components;
    // Where to go on when a name does not fit: behind the last `**`, one name later.
    let mut retry = None;
    loop {
        if let [any, behind @ ..] = wanted
            && is_any(any)
        {
            wanted = behind;
            retry = Some((behind, names.clone()));
            continue;
        }
        let here = names.next();
        match (wanted, here) {
            ([], None) => return true,
            ([component, behind @ ..], Some(name)) if glob(component, name) => wanted = behind,
            (_, None) => return false,
            _ => {
                let Some((behind, later)) = &mut retry else { return false };
                later.next();
                (wanted, names) = (*behind, later.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn glob(pattern: &[u8], text: &[u8]) -> bool {
        let mode = gix_glob::wildmatch::Mode::NO_MATCH_SLASH_LITERAL;
        gix_glob::wildmatch(pattern.as_bstr(), text.as_bstr(), mode)
    }

    fn joined(parts: &'static [&'static str], count: usize) -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(parts.to_vec()), 1..count)
            .prop_map(|parts| parts.join("/"))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 5000, ..ProptestConfig::default() })]
        #[test]
        fn component_by_component_is_the_same_as_the_glob(
            pattern in joined(&["**", "**", "**", "***", "*", "a", "a*", "b", "?", "[ab]", "\\a", "a\\", "**\\", "***\\"], 7),
            path in joined(&["a", "b", "ab", "c"], 7),
        ) {
            if let Some(components) = several_stars(split(pattern.as_bytes())) {
                let expected = glob(pattern.as_bytes(), path.as_bytes());
                prop_assert_eq!(match_path(&components, path.as_bytes(), glob), expected);
            }
        }
    }

    #[test]
    fn many_stars_and_a_deep_path_come_to_an_end() {
        let path = vec!["a"; 3000].join("/");
        for pattern in ["**/", "*/**/", "**/a*/", "**\\/"] {
            let components = split(format!("{}b", pattern.repeat(300)).as_bytes());
            let components = several_stars(components).unwrap();
            assert!(!match_path(&components, path.as_bytes(), glob));
        }
    }

    #[test]
    fn a_slash_in_a_bracket_separates_nothing() {
        for (pattern, path, expected) in [
            ("**/[/[ab]/**", "b/x", true),
            ("**/[/[ab]/**", "c/x", false),
            ("**/[]/]/**", "]/x", true),
            ("**/[[:alpha:]/]/**", "q/x", true),
            ("**/**/[a/**", "a/x", false),
        ] {
            let components = several_stars(split(pattern.as_bytes())).unwrap();
            let found = match_path(&components, path.as_bytes(), glob);
            assert_eq!(found, expected, "{pattern} on {path}");
            assert_eq!(found, glob(pattern.as_bytes(), path.as_bytes()), "git on {pattern}");
        }
    }
}
