//! Ids depend on where and when a session is played; in a picture they are made up, the same each time.

use std::collections::HashMap;

use sha1::{Digest, Sha1};

/// Ids are shown with at least so many digits.
const MIN_DIGITS: usize = 7;

/// Gives every id in the texts of a picture another one: the first, the second, and so on.
pub fn replace(picture: &str) -> String {
    let mut known = HashMap::new();
    let mut replaced = String::with_capacity(picture.len());
    let mut rest = picture;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
        let (ahead, from) = rest.split_at(start);
        let end = from.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(from.len());
        let (word, behind) = from.split_at(end);
        replaced.push_str(ahead);
        if is_id(word) {
            let number = known.len();
            let prefix = &word[..MIN_DIGITS];
            let new = known.entry(prefix.to_owned()).or_insert_with(|| made_up(number));
            replaced.push_str(&new[..word.len()]);
        } else {
            replaced.push_str(word);
        }
        rest = behind;
    }
    replaced + rest
}

fn is_id(word: &str) -> bool {
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    (MIN_DIGITS..=40).contains(&word.len()) && word.chars().all(is_hex)
}

fn made_up(number: usize) -> String {
    let digest = Sha1::digest(format!("id {number}"));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_numbered_and_keep_their_length() {
        let one = replace("(fb2f2e5) 3b56c1b9 cabbage config fb2f2e5 #1f2328 2026");
        let other = replace("(0000aaa) 11112222 cabbage config 0000aaa #1f2328 2026");
        assert_eq!(one, other);
        assert!(one.contains("cabbage config"), "{one}");
        assert!(one.ends_with(" #1f2328 2026"), "{one}");
    }
}
