//! Secrets made up while the test runs: nothing in this repository looks like one, or every scanner that is
//! let loose on it would say so.

use herma_testkit::secrets::planted;
use proptest::prelude::*;

use super::*;

fn kind(text: &str) -> Option<SecretKind> {
    find(text.as_bytes()).map(|finding| finding.kind)
}

#[test]
fn every_planted_secret_is_found_with_its_kind_and_line() {
    let all = planted(1);
    assert!(all.len() >= 60, "{}", all.len());
    for seed in 1..=20 {
        for (word, secret) in planted(seed) {
            let text = format!("# settings\n\n{secret}\nmore = 1\n");
            let found = find(text.as_bytes());
            let found = found.unwrap_or_else(|| panic!("{word}, seed {seed}: {secret}"));
            assert_eq!((found.kind.word(), found.line), (word, 3), "{secret}");
        }
    }
}

#[test]
fn secrets_are_found_wherever_they_stand() {
    for (word, secret) in planted(7) {
        if secret.contains('\n') {
            continue;
        }
        let in_json = format!("{{\"text\": \"{}\"}}", secret.replace('"', "\\\""));
        let escaped = format!("\"one line\\n{}\\nanother\"", secret.replace('"', "\\\""));
        let alone = secret.clone();
        let windows = format!("a\r\n{secret}\r\nb");
        for text in [in_json, escaped, alone, windows] {
            assert_eq!(kind(&text).map(SecretKind::word), Some(word), "{text}");
        }
    }
}

#[test]
fn a_secret_in_utf_16_is_found() {
    let (word, secret) = planted(3).remove(0);
    for order in [u16::to_le_bytes, u16::to_be_bytes] {
        let text = format!("\u{feff}first\n{secret}\n");
        let bytes: Vec<u8> = text.encode_utf16().flat_map(order).collect();
        let found = find(&bytes).unwrap();
        assert_eq!((found.kind.word(), found.line), (word, 2));
    }
}

#[test]
fn what_is_no_text_or_too_large_is_not_looked_into() {
    let (_, secret) = planted(3).remove(0);
    assert_eq!(find(format!("\0\n{secret}").as_bytes()), None);
    let padded = format!("{}\n{secret}", "a b\n".repeat(MAX_SEARCHED_BYTES / 4));
    assert_eq!(find(padded.as_bytes()), None);
    assert!(find(&padded.as_bytes()[1 << 19..]).is_some(), "half of it is not too large");
}

/// A prefix with something behind it, put together here.
fn shown(prefix: &str, rest: &str) -> String {
    format!("{prefix}{rest}")
}

#[test]
fn placeholders_and_what_only_looks_similar_are_no_secrets() {
    let begin = shown("-----BEGIN", " RSA PRIVATE KEY-----");
    let end = shown("-----END", " RSA PRIVATE KEY-----");
    let texts = [
        shown("AKIA", "IOSFODNN7EXAMPLE"),
        shown("ghp_", &"x".repeat(36)),
        shown("ghp_", "your_token_here"),
        shown("ghp_", "<token>"),
        shown("ghp_", "${GITHUB_TOKEN}"),
        shown("ghp_", "1234567890abcdefghijklmnopqrstuvwxyz"),
        shown("sk_live_", "..."),
        shown("sk-ant-", &format!("api03-{}", "a".repeat(90))),
        shown("npm_", "config_registry_is_a_variable_of_npm"),
        shown("hf_", "hub_download_and_a_name_in_a_program"),
        format!("{begin}\n...\n{end}\n"),
        format!("starts with `{begin}` and ends with `{end}`"),
        format!("{begin}\n{}\n{end}\n", "A".repeat(300)),
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n".to_owned(),
        "postgres://postgres:postgres@localhost:5432/app".to_owned(),
        "postgres://user:${DB_PASSWORD}@db.prod.internal/app".to_owned(),
        "postgres://user:password@db.prod.internal/app".to_owned(),
        "mysql://app:s3cr3t-w0rd-9@localhost/app".to_owned(),
        "redis://cache.prod.internal:6379/0".to_owned(),
        "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=".to_owned(),
        "9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de".to_owned(),
    ];
    for text in texts {
        assert_eq!(kind(&text), None, "{text}");
    }
}

#[test]
fn the_web_token_that_documents_show_is_no_secret() {
    let header = shown("eyJhbGciOiJIUzI1NiIs", "InR5cCI6IkpXVCJ9");
    let claims = shown("eyJzdWIiOiIxMjM0NTY3", "ODkwIiwibmFtZSI6IkpvaG4gRG9lIn0");
    let signature = "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV-adQssw5c";
    assert_eq!(kind(&format!("{header}.{claims}.{signature}")), None);
}

#[test]
fn what_is_full_of_beginnings_takes_no_longer_than_its_size() {
    // Quadratic time would make this test take hours.
    for word in [
        "-----BEGIN PRIVATE KEY-----\n",
        "eyJ.",
        "eyJ-",
        "sk-",
        "ghp_-",
        "glpat-.",
        "AIza-",
        "SG.",
        "postgres://a:b@",
        ":AA",
        "AccountKey=",
        "PuTTY-User-Key-File-2",
        "hooks.slack.com/services/",
        "heroku_api_key=",
        "-",
        "a",
        "0",
        "xoxb-1",
    ] {
        let text = word.repeat(MAX_SEARCHED_BYTES / word.len());
        assert_eq!(find(text.as_bytes()), None, "{word}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = find(&bytes);
    }

    #[test]
    fn no_piece_of_a_secret_makes_it_panic(
        seed in 1u64..200, which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let all = planted(seed);
        let mut bytes = which.get(&all).1.clone().into_bytes();
        let at = at.index(bytes.len());
        let _ = find(&bytes[at..]);
        let _ = find(&bytes[..at]);
        bytes[at] = byte;
        let _ = find(&bytes);
    }

    #[test]
    fn words_are_no_secrets(words in prop::collection::vec("[a-z]{1,12}", 1..40), by in "[ _/.-]") {
        prop_assert_eq!(find(words.join(&by).as_bytes()), None);
    }
}
