//! A shell command line as words, as far as needed to know our own again.

/// Longer lines are not ours.
const MAX_BYTES: usize = 64 * 1024;

/// The words and operators of a line; `None` if a quote is not closed. Nothing is expanded.
pub(super) fn split(line: &str) -> Option<Vec<String>> {
    if line.len() > MAX_BYTES {
        return None;
    }
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '\'' => break,
                        quoted => word.push(quoted),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '"' => break,
                        '\\' => match rest.next()? {
                            escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                            other => word.extend(['\\', other]),
                        },
                        quoted => word.push(quoted),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(rest.next()?),
            space if space.is_whitespace() => words.extend(word.take()),
            operator @ (';' | '|' | '&' | '<' | '>' | '(' | ')') => {
                words.extend(word.take());
                let mut operator = operator.to_string();
                while let Some(next) = rest.next_if(|next| operator.starts_with(*next)) {
                    operator.push(next);
                }
                words.push(operator);
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_resolved_and_operators_stand_alone() {
        let words = split(r#"[ -x 'a b' ]||exit 0;"c\"d"e\ f>>x"#).unwrap();
        assert_eq!(words, ["[", "-x", "a b", "]", "||", "exit", "0", ";", "c\"de f", ">>", "x"]);
        assert_eq!(split("a 'b"), None);
        assert_eq!(split("''"), Some(vec![String::new()]));
    }
}
