//! Secrets that a prefix and a length do not describe: keys in armour, tokens of several parts, addresses.
//!
//! Each function is asked at a place where its keyword was found, and looks no further than a bounded
//! number of bytes.

use bstr::ByteSlice;

use super::kind::SecretKind;
use super::plausible::{entropy, is_placeholder, is_random};
use super::tokens::{Alphabet, escape_before};

/// An armoured key is looked at this far.
const ARMOUR: usize = 4096;
/// This much of it must be there: a document that only shows the first line has none.
const MIN_BODY_BYTES: usize = 60;
/// Random data in base64 has about six bits for each character; a body that was made up has less.
const BODY_ENTROPY: f64 = 4.5;

/// Is there a private key with a body behind `-----BEGIN` at `start`?
pub(crate) fn private_key(text: &[u8], start: usize) -> bool {
    let armour = window(text, start, ARMOUR);
    let head = &armour[b"-----BEGIN".len().min(armour.len())..];
    let Some(title_end) = head.find(b"-----") else { return false };
    let title = &head[..title_end];
    let names_key = title.ends_with(b"PRIVATE KEY") || title == b" PGP PRIVATE KEY BLOCK";
    names_key && title.len() < 40 && is_body(&head[title_end + 5..])
}

/// Is this a `PuTTY` key file with its private part?
pub(crate) fn putty_key(text: &[u8], start: usize) -> bool {
    let file = window(text, start, 4 * ARMOUR);
    let private = file.find(b"Private-Lines:");
    private.is_some_and(|at| {
        let lines = &file[at + b"Private-Lines:".len()..];
        is_body(lines.find_byte(b'\n').map_or(&[], |end| &lines[end..]))
    })
}

/// Is this the base64 of a key, on one line or many, perhaps quoted line by line in a program?
fn is_body(armour: &[u8]) -> bool {
    let end = armour.find(b"-----END").unwrap_or(armour.len());
    let armour = armour[..end].replace(b"\\n", b"\n").replace(b"\\r", b"");
    let mut body = Vec::new();
    for line in armour.lines() {
        let line = line.trim_with(|c| c.is_whitespace() || "\"'`+,;#/*|>\\".contains(c));
        let is_data = line.iter().all(|byte| Alphabet::Base64.has(*byte));
        if is_data {
            body.extend_from_slice(line);
        }
    }
    body.len() >= MIN_BODY_BYTES && entropy(&body) >= BODY_ENTROPY && !is_placeholder(&body[..40])
}

/// Are these the claims of a signed web token, with a header before and a signature behind them? Where
/// does it begin?
pub(crate) fn web_token(text: &[u8], start: usize, claims: &[u8]) -> Option<usize> {
    const PART: usize = 2048;
    // What `{"` is in base64.
    if !claims.starts_with(b"eyJ") {
        return None;
    }
    let before = text[..start].strip_suffix(b".")?;
    let mut header = before.iter().rev().take(PART);
    let begins = header.position(|byte| !Alphabet::Dash.has(*byte));
    let begins = before.len() - begins.unwrap_or(before.len().min(PART));
    let header = &before[begins + escape_before(before, begins)..];
    let signature = text[start + claims.len()..].strip_prefix(b".")?;
    let signature = Alphabet::Dash.run(signature, PART);
    let is_token = header.starts_with(b"eyJ") && signature.len() >= 40;
    let is_real = is_token && !is_known_sample(claims) && is_random(signature);
    is_real.then(|| before.len() - header.len())
}

/// The claims that documentation shows, from the tool everybody tries tokens with: the subject 1234567890.
fn is_known_sample(claims: &[u8]) -> bool {
    [&b"IxMjM0NTY3ODkw"[..], b"MTIzNDU2Nzg5M", b"EyMzQ1Njc4OT"]
        .iter()
        .any(|sample| claims.contains_str(sample))
}

/// Is this run a key that begins with `sk-` and has the base64 of `OpenAI` in its middle?
pub(crate) fn marked_key(run: &[u8]) -> bool {
    let key = run.strip_prefix(b"sk-").and_then(|key| key.split_once_str(b"T3BlbkFJ"));
    key.is_some_and(|(front, behind)| {
        let parts = [front, behind];
        parts.iter().all(|part| part.len() >= 20 && is_random(part))
    })
}

/// Is this run the second part of a bot's token: digits, colon, `AA` and 33 characters?
pub(crate) fn bot_token(text: &[u8], start: usize, run: &[u8]) -> bool {
    if run.len() != 35 || !run.starts_with(b"AA") {
        return false;
    }
    let Some(before) = text[..start].strip_suffix(b":") else { return false };
    let before = &before[before.len().saturating_sub(12)..];
    let digits = before.iter().rev().take_while(|byte| byte.is_ascii_digit());
    let number = &before[before.len() - digits.count()..];
    (8..=10).contains(&number.len()) && !is_placeholder(number) && is_random(run)
}

/// Where chats take messages from whoever knows the address.
const CHATS: [(&[u8], SecretKind); 3] = [
    (b"hooks.slack.com/services/", SecretKind::Slack),
    (b"hooks.slack.com/workflows/", SecretKind::Slack),
    (b"/api/webhooks/", SecretKind::Discord),
];

/// Is this run the secret at the end of an address to post to?
pub(crate) fn chat_address(text: &[u8], start: usize, run: &[u8]) -> Option<SecretKind> {
    const BEFORE: usize = 100;
    let before = text[..start].strip_suffix(b"/")?;
    let before = &before[before.len().saturating_sub(BEFORE)..];
    let (place, kind) = CHATS.iter().find_map(|(chat, kind)| {
        let place = before.rfind(chat)?;
        Some((&before[place + chat.len()..], *kind))
    })?;
    let mut ids = place.split(|byte| *byte == b'/');
    let are_ids = ids
        .all(|id| id.len() >= 8 && id.iter().all(u8::is_ascii_alphanumeric) && !is_placeholder(id));
    (are_ids && is_random(run)).then_some(kind)
}

/// Passwords everybody uses on their own machine.
#[rustfmt::skip]
const COMMON_WORDS: [&[u8]; 12] = [
    b"password", b"passwd", b"postgres", b"mysql", b"mongo", b"redis", b"guest", b"admin", b"root", b"test",
    b"pass", b"local",
];

/// Is there an address with a user and a password for a server that is not this machine?
///
/// `start` is where the keyword is found that ends in `://`.
pub(crate) fn database_address(text: &[u8], start: usize, keyword: &str) -> bool {
    let rest = window(text, start + keyword.len(), 300);
    let end = rest
        .iter()
        .position(|byte| byte.is_ascii_whitespace() || b"\"'`<>\\{}$()[],;".contains(byte));
    let address = &rest[..end.unwrap_or(rest.len())];
    let authority = address.split_once_str(b"/").map_or(address, |(first, _)| first);
    let Some((login, host)) = authority.rsplit_once_str(b"@") else { return false };
    let Some((user, password)) = login.split_once_str(b":") else { return false };
    !user.is_empty() && is_password(password) && is_server(host)
}

fn is_password(password: &[u8]) -> bool {
    let lower = password.to_ascii_lowercase();
    let has = |wanted: fn(&u8) -> bool| password.iter().any(wanted);
    (8..=128).contains(&password.len())
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !COMMON_WORDS.iter().any(|word| lower.contains_str(word))
        && is_random(password)
}

fn is_server(host: &[u8]) -> bool {
    let name = host.split_once_str(b":").map_or(host, |(name, _)| name);
    let lower = name.to_ascii_lowercase();
    let is_local = lower.starts_with(b"127.")
        || lower == b"0.0.0.0"
        || lower.ends_with(b".local")
        || lower.ends_with(b".test")
        || lower.starts_with(b"host.")
        || lower.starts_with(b"localhost");
    let is_shown = lower.contains_str("example") || is_placeholder(&lower);
    lower.contains(&b'.') && !is_local && !is_shown
}

/// At most `most` bytes from `start` on.
fn window(text: &[u8], start: usize, most: usize) -> &[u8] {
    let rest = text.get(start..).unwrap_or_default();
    &rest[..rest.len().min(most)]
}
