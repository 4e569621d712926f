//! Keys that were made for a test.
//!
//! Test suites carry private keys, signed tokens and addresses of servers that protect nothing; leaving such
//! a file out would take source from undo. In places that tests are kept in, these are saved, with a warning.
//! A token of a service is one wherever it stands.

use super::kind::SecretKind;

/// Is a secret of this kind, in the file at this path, most likely made for a test?
pub fn is_fixture(path: &[u8], kind: SecretKind) -> bool {
    let made_up =
        matches!(kind, SecretKind::PrivateKey | SecretKind::Jwt | SecretKind::DatabaseUrl);
    made_up && is_test_path(path)
}

fn is_test_path(path: &[u8]) -> bool {
    let lower = path.to_ascii_lowercase();
    let mut names = lower.rsplit(|byte| *byte == b'/');
    let file = names.next().unwrap_or_default();
    is_test_file(file) || names.any(is_test_directory)
}

#[rustfmt::skip]
fn is_test_directory(name: &[u8]) -> bool {
    matches!(
        name,
        b"test" | b"tests" | b"testing" | b"testdata" | b"test-data" | b"test_data" | b"test_keys"
            | b"fixture" | b"fixtures" | b"__tests__" | b"__fixtures__" | b"spec" | b"specs" | b"mocks"
            | b"__mocks__" | b"e2e"
    )
}

/// `test_login.py`, `login_test.go`, `login.test.ts`, `login.spec.ts`
fn is_test_file(name: &[u8]) -> bool {
    let inside: [&[u8]; 4] = [b"_test.", b".test.", b".spec.", b"_spec."];
    let has = |part: &[u8]| bstr::ByteSlice::contains_str(name, part);
    name.starts_with(b"test_") || inside.into_iter().any(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_made_for_tests_where_tests_are() {
        for path in [
            "tests/data/rsa.txt",
            "pkg/testdata/a.txt",
            "src/Fixtures/a.json",
            "lib/test_ssh.rs",
            "auth/login_test.go",
            "src/login.spec.ts",
        ] {
            assert!(is_fixture(path.as_bytes(), SecretKind::PrivateKey), "{path}");
            assert!(!is_fixture(path.as_bytes(), SecretKind::GitHub), "{path}");
        }
        for path in ["conf.txt", "src/latest/a.rs", "contest.rs", "deploy/key.txt", "tests"] {
            assert!(!is_fixture(path.as_bytes(), SecretKind::PrivateKey), "{path}");
        }
    }
}
