//! Puts the rules together: long words first, then the few secrets that have none.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use bstr::ByteSlice;

use super::kind::{Finding, SecretKind};
use super::runs::runs;
use super::shapes;
use super::tokens::{
    ASSIGNED, DOTTED, NAMED, OWNED, SENDGRID, SENDGRID_FRONT, SHORT_TOKENS, TOKENS, Token, assigns,
    escape_before, variable_before,
};

/// The rules, ready to be asked. Made when the first file is looked into.
pub(crate) struct Detector {
    /// The tokens that begin with each byte, those that need an owner with its name.
    by_first: Vec<Vec<(&'static Token, Option<&'static str>)>>,
    keywords: AhoCorasick,
    rules: Vec<(&'static str, Keyword)>,
}

/// What a keyword leads to.
#[derive(Clone, Copy)]
enum Keyword {
    Token(&'static Token),
    Named(&'static Token),
    PrivateKey,
    PuttyKey,
    DatabaseAddress,
}

/// The endings of the schemes under which databases and queues are reached.
const DATABASES: [&str; 9] = [
    "gres://",
    "sql://",
    "godb://",
    "iadb://",
    "+srv://",
    "redis://",
    "rediss://",
    "amqp://",
    "amqps://",
];

pub(crate) static DETECTOR: LazyLock<Detector> = LazyLock::new(Detector::new);

impl Detector {
    fn new() -> Self {
        let mut by_first = vec![Vec::new(); 256];
        let alone = TOKENS.iter().map(|token| (token, None));
        let owned = OWNED.iter().map(|(owner, token)| (token, Some(*owner)));
        for (token, owner) in alone.chain(owned) {
            let first = token.prefix.as_bytes()[0];
            by_first[usize::from(first)].push((token, owner));
        }
        let databases = DATABASES.map(|word| (word, Keyword::DatabaseAddress));
        let named = NAMED.iter().map(|token| (token.prefix, Keyword::Named(token)));
        let short = SHORT_TOKENS.iter().map(|token| (token.prefix, Keyword::Token(token)));
        let mut rules =
            vec![("-----BEGIN", Keyword::PrivateKey), ("PuTTY-User-Key-File-", Keyword::PuttyKey)];
        rules.extend(short);
        rules.extend(databases.into_iter().chain(named));
        let keywords = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            .build(rules.iter().map(|(word, _)| word))
            .expect("a few short words are few enough for any automaton");
        Self { by_first, keywords, rules }
    }

    /// The first secret in a text.
    pub(crate) fn find(&self, text: &[u8]) -> Option<Finding> {
        let in_words = runs(text).find_map(|(start, end)| self.in_run(text, start, end));
        let beside = self.by_keyword(text);
        let first = [in_words, beside].into_iter().flatten();
        let (start, kind) = first.min_by_key(|(start, _)| *start)?;
        let before = text[..start].iter().filter(|byte| **byte == b'\n');
        let line = before.count() as u32 + 1;
        Some(Finding { kind, line })
    }

    /// The secret that a long word is, or is a part of.
    fn in_run(&self, text: &[u8], start: usize, end: usize) -> Option<(usize, SecretKind)> {
        let start = start + escape_before(text, start);
        let run = &text[start..end];
        // Long names in programs have no digits; these secrets have.
        let has_digit = || run.iter().any(u8::is_ascii_digit);
        self.token_at(text, start)
            .or_else(|| value_at(text, start, run))
            .or_else(|| has_digit().then(|| self.in_middle(text, start, run)).flatten())
    }

    fn in_middle(&self, text: &[u8], start: usize, run: &[u8]) -> Option<(usize, SecretKind)> {
        self.after_dash(text, start, run).or_else(|| shape_at(text, start, run))
    }

    fn token_at(&self, text: &[u8], start: usize) -> Option<(usize, SecretKind)> {
        let rest = &text[start..];
        let candidates = &self.by_first[usize::from(*rest.first()?)];
        let found = candidates.iter().find(|(token, owner)| {
            rest.starts_with(token.prefix.as_bytes())
                && token.is_at(text, start)
                && owner.is_none_or(|owner| names_owner(text, owner))
        });
        found.map(|(token, _)| (start, token.kind))
    }

    /// A token may stand behind a dash, too: `--token-...`.
    fn after_dash(&self, text: &[u8], start: usize, run: &[u8]) -> Option<(usize, SecretKind)> {
        run.find_iter(b"-").find_map(|dash| self.token_at(text, start + dash + 1))
    }

    fn by_keyword(&self, text: &[u8]) -> Option<(usize, SecretKind)> {
        self.keywords.find_iter(text).find_map(|found| {
            let start = found.start();
            let (word, rule) = self.rules[found.pattern().as_usize()];
            let (is_secret, kind) = match rule {
                Keyword::Token(token) => (token.is_at(text, start), token.kind),
                Keyword::Named(token) => (token.follows(text, start), token.kind),
                Keyword::PrivateKey => (shapes::private_key(text, start), SecretKind::PrivateKey),
                Keyword::PuttyKey => (shapes::putty_key(text, start), SecretKind::PrivateKey),
                Keyword::DatabaseAddress => {
                    let kind = SecretKind::DatabaseUrl;
                    (shapes::database_address(text, start, word), kind)
                }
            };
            is_secret.then_some((start, kind))
        })
    }
}

fn names_owner(text: &[u8], owner: &str) -> bool {
    let capital = owner[..1].to_ascii_uppercase() + &owner[1..];
    [owner, &owner.to_ascii_uppercase(), &capital].iter().any(|name| text.contains_str(name))
}

/// The secret of several parts that begins with this word, or has it in its middle.
fn shape_at(text: &[u8], start: usize, run: &[u8]) -> Option<(usize, SecretKind)> {
    match run.first()? {
        b'e' => shapes::web_token(text, start, run).map(|start| (start, SecretKind::Jwt)),
        b's' => shapes::marked_key(run).then_some((start, SecretKind::OpenAi)),
        _ => None,
    }
}

/// The secret that this word is the value or the last part of, by what stands before it.
fn value_at(text: &[u8], start: usize, run: &[u8]) -> Option<(usize, SecretKind)> {
    match start.checked_sub(1).map(|before| text[before])? {
        b'.' => {
            let dotted = DOTTED.iter().map(|token| (token, token.prefix.len()));
            let mut tokens = dotted.chain([(&SENDGRID, SENDGRID_FRONT)]);
            tokens.find_map(|(token, front)| {
                let start = start.checked_sub(front)?;
                let begins = text[start..].starts_with(token.prefix.as_bytes());
                (begins && token.is_at(text, start)).then_some((start, token.kind))
            })
        }
        b':' if shapes::bot_token(text, start, run) => Some((start, SecretKind::Telegram)),
        b'/' => shapes::chat_address(text, start, run).map(|kind| (start, kind)),
        before if assigns(before) => {
            let variable = variable_before(text, start);
            let mut assigned = ASSIGNED.iter();
            let token = assigned.find(|token| token.is_assigned(text, start, variable));
            token.map(|token| (start, token.kind))
        }
        _ => None,
    }
}
