//! Secrets that begin with letters nobody else uses: the prefix says whose it is, the alphabet and the
//! length say whether it is one.

use std::ops::RangeInclusive;

use super::kind::SecretKind;
#[allow(clippy::enum_glob_use, reason = "the tables below name nearly every kind")]
use super::kind::SecretKind::*;
use super::plausible::is_random;

/// The characters the random part of a secret is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alphabet {
    /// `0-9 a-f`, either case
    Hex,
    /// `a-z A-Z`
    Letters,
    /// `A-Z 0-9`
    Upper,
    /// `a-z A-Z 0-9`
    Alnum,
    /// and `_`
    Word,
    /// and `-`
    Dash,
    /// `_ - . =` besides letters and digits
    Dotted,
    /// `+ / =` besides letters and digits
    Base64,
}

#[allow(clippy::enum_glob_use, reason = "the tables below name every alphabet")]
use Alphabet::*;

impl Alphabet {
    /// Does this character belong to it?
    pub(crate) fn has(self, byte: u8) -> bool {
        match self {
            Hex => byte.is_ascii_hexdigit(),
            Letters => byte.is_ascii_alphabetic(),
            Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Alnum => byte.is_ascii_alphanumeric(),
            Word => is_word(byte),
            Dash => is_word(byte) || byte == b'-',
            Dotted => is_word(byte) || matches!(byte, b'-' | b'.' | b'='),
            Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
        }
    }

    /// The run of this alphabet that `text` begins with, cut after `most` characters.
    pub(crate) fn run(self, text: &[u8], most: usize) -> &[u8] {
        let text = &text[..text.len().min(most)];
        let end = text.iter().position(|byte| !self.has(*byte));
        &text[..end.unwrap_or(text.len())]
    }
}

/// Letters, digits and `_`: what a name in a program is made of.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// A secret with a prefix of its own.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: SecretKind,
    pub(crate) prefix: &'static str,
    alphabet: Alphabet,
    length: RangeInclusive<usize>,
}

const fn token(
    kind: SecretKind,
    prefix: &'static str,
    alphabet: Alphabet,
    length: RangeInclusive<usize>,
) -> Token {
    Token { kind, prefix, alphabet, length }
}

impl Token {
    /// Is there such a secret where its prefix was found?
    pub(crate) fn is_at(&self, text: &[u8], start: usize) -> bool {
        let Some(rest) = text.get(start + self.prefix.len()..) else { return false };
        begins_at(text, start, self.alphabet) && self.fits(rest)
    }

    fn fits(&self, rest: &[u8]) -> bool {
        let run = self.alphabet.run(rest, self.length.end() + 2);
        let behind = rest.get(run.len()).copied();
        // A sentence may end right behind it.
        let run = run.strip_suffix(b".").unwrap_or(run);
        // Base64 is padded at its end only.
        let padding = run.iter().rev().take_while(|byte| **byte == b'=').count();
        let padded_inside = self.alphabet == Base64 && run[..run.len() - padding].contains(&b'=');
        self.length.contains(&run.len())
            && !behind.is_some_and(is_word)
            && !padded_inside
            && is_random(run)
    }
}

/// The letter of an escaped line break belongs to no word: how many characters of a word that begins at
/// `start` are one.
pub(crate) fn escape_before(text: &[u8], start: usize) -> usize {
    let escapes = start > 0 && text[start - 1] == b'\\';
    usize::from(escapes && matches!(text.get(start), Some(b'n' | b'r' | b't')))
}

/// Does something new begin here, or is this the middle of something longer?
///
/// A dash before a secret that may hold dashes is taken for a part of it, so that no run of characters
/// is looked at from more than one place.
pub(crate) fn begins_at(text: &[u8], start: usize, alphabet: Alphabet) -> bool {
    let Some(before) = start.checked_sub(1).and_then(|at| text.get(at).copied()) else {
        return true;
    };
    let is_escape = start >= 2 && escape_before(text, start - 1) > 0;
    is_escape || !(is_word(before) || (before == b'-' && alphabet.has(b'-')))
}

/// Most secrets have a known length; where only the least is known, this is the most.
const MAX_TOKEN_LENGTH: usize = 400;

/// Secrets found by their prefix alone.
#[rustfmt::skip]
pub(crate) const TOKENS: &[Token] = &[
    token(AgeKey, "AGE-SECRET-KEY-1", Upper, 58..=58),
    token(GoogleCloud, "AIza", Dash, 35..=35),
    token(GoogleCloud, "GOCSPX-", Dash, 28..=28),
    token(Alibaba, "LTAI", Alnum, 20..=20),
    token(DigitalOcean, "dop_v1_", Hex, 64..=64),
    token(DigitalOcean, "doo_v1_", Hex, 64..=64),
    token(DigitalOcean, "dor_v1_", Hex, 64..=64),
    token(Heroku, "HRKU-", Dash, 36..=65),
    token(Supabase, "sbp_", Hex, 40..=40),
    token(PlanetScale, "pscale_tkn_", Dotted, 32..=64),
    token(PlanetScale, "pscale_pw_", Dotted, 32..=64),
    token(Databricks, "dapi", Hex, 32..=32),
    token(GitHub, "ghp_", Alnum, 36..=36),
    token(GitHub, "gho_", Alnum, 36..=36),
    token(GitHub, "ghu_", Alnum, 36..=36),
    token(GitHub, "ghs_", Alnum, 36..=36),
    token(GitHub, "ghr_", Alnum, 36..=76),
    token(GitHub, "github_pat_", Word, 82..=82),
    token(GitLab, "glpat-", Dotted, 20..=60),
    token(GitLab, "glptt-", Hex, 40..=40),
    token(GitLab, "gldt-", Dash, 20..=40),
    token(GitLab, "glrt-", Dotted, 20..=60),
    token(Bitbucket, "ATBB", Alnum, 32..=32),
    token(Anthropic, "sk-ant-", Dash, 80..=130),
    token(OpenRouter, "sk-or-v1-", Hex, 64..=64),
    token(HuggingFace, "hf_", Letters, 34..=34),
    token(Groq, "gsk_", Alnum, 52..=52),
    token(Xai, "xai-", Alnum, 80..=80),
    token(Replicate, "r8_", Dash, 37..=37),
    token(Perplexity, "pplx-", Alnum, 48..=48),
    token(Nvidia, "nvapi-", Dash, 60..=70),
    token(LangSmith, "lsv2_", Word, 40..=50),
    token(Tavily, "tvly-", Dash, 32..=60),
    token(Slack, "xoxb-", Dash, 40..=MAX_TOKEN_LENGTH),
    token(Slack, "xoxp-", Dash, 40..=MAX_TOKEN_LENGTH),
    token(Slack, "xoxa-", Dash, 40..=MAX_TOKEN_LENGTH),
    token(Slack, "xoxr-", Dash, 40..=MAX_TOKEN_LENGTH),
    token(Slack, "xoxs-", Dash, 40..=MAX_TOKEN_LENGTH),
    token(Slack, "xapp-", Dash, 60..=MAX_TOKEN_LENGTH),
    token(Stripe, "sk_live_", Alnum, 24..=120),
    token(Stripe, "rk_live_", Alnum, 24..=120),
    token(Stripe, "whsec_", Alnum, 32..=64),
    token(Square, "sq0atp-", Dash, 22..=22),
    token(Square, "sq0csp-", Dash, 43..=43),
    token(Shopify, "shpat_", Hex, 32..=32),
    token(Shopify, "shpca_", Hex, 32..=32),
    token(Shopify, "shppa_", Hex, 32..=32),
    token(Shopify, "shpss_", Hex, 32..=32),
    token(Npm, "npm_", Alnum, 36..=36),
    token(PyPi, "pypi-AgE", Dash, 80..=MAX_TOKEN_LENGTH),
    token(RubyGems, "rubygems_", Hex, 48..=48),
    token(Clojars, "CLOJARS_", Alnum, 60..=60),
    token(DockerHub, "dckr_pat_", Dash, 27..=27),
    token(Artifactory, "AKCp", Alnum, 69..=69),
    token(Tailscale, "tskey-", Dash, 24..=80),
    token(Pulumi, "pul-", Hex, 40..=40),
    token(Postman, "PMAK-", Dash, 59..=59),
    token(Linear, "lin_api_", Alnum, 40..=40),
    token(Notion, "ntn_", Alnum, 46..=46),
    token(Figma, "figd_", Dash, 38..=46),
    token(Atlassian, "ATATT3", Dotted, 150..=220),
    token(Atlassian, "ATCTT3", Dotted, 150..=220),
    token(NewRelic, "NRAK-", Upper, 27..=27),
    token(Grafana, "glsa_", Word, 41..=41),
    token(Grafana, "glc_", Base64, 60..=MAX_TOKEN_LENGTH),
    token(Sentry, "sntrys_", Dotted, 80..=MAX_TOKEN_LENGTH),
    token(Sentry, "sntryu_", Hex, 64..=64),
];

/// Secrets whose prefix ends in a dot; the random part is a run of its own.
#[rustfmt::skip]
pub(crate) const DOTTED: &[Token] = &[
    token(GoogleCloud, "ya29.", Dash, 60..=MAX_TOKEN_LENGTH),
    token(Doppler, "dp.pt.", Alnum, 40..=44),
    token(Vault, "hvs.", Dash, 90..=120),
    token(Vault, "hvb.", Dash, 138..=300),
];

/// A secret in two parts, of which only the second is a long word.
pub(crate) const SENDGRID: Token = token(SendGrid, "SG.", Dotted, 66..=66);
/// How far before its second part it begins.
pub(crate) const SENDGRID_FRONT: usize = "SG.".len() + 22 + ".".len();

/// Prefixes that are too common by themselves: they count only in a file that names their owner.
#[rustfmt::skip]
pub(crate) const OWNED: &[(&str, Token)] = &[
    ("twilio", token(Twilio, "SK", Hex, 32..=32)),
    ("mailgun", token(Mailgun, "key-", Hex, 32..=32)),
    ("deepseek", token(DeepSeek, "sk-", Hex, 32..=32)),
    ("notion", token(Notion, "secret_", Alnum, 43..=43)),
];

/// Secrets without a prefix: they count only where they are given to a variable of this name, in
/// whatever case.
#[rustfmt::skip]
pub(crate) const ASSIGNED: &[Token] = &[
    token(Heroku, "heroku_api_key", Dash, 36..=36),
    token(Twilio, "twilio_auth_token", Hex, 32..=32),
    token(Cloudflare, "cloudflare_api_token", Dash, 40..=40),
    token(Mistral, "mistral_api_key", Alnum, 32..=32),
    token(Discord, "discord_token", Dotted, 58..=80),
    token(Discord, "discord_bot_token", Dotted, 58..=80),
    token(CratesIo, "cargo_registry_token", Alnum, 32..=40),
    token(NuGet, "nuget_api_key", Alnum, 46..=46),
];

/// Secrets that are too short for a long word, or are base64, whose `+` and `/` cut words short.
#[rustfmt::skip]
pub(crate) const SHORT_TOKENS: &[Token] = &[
    token(Aws, "AKIA", Upper, 16..=16),
    token(Aws, "ASIA", Upper, 16..=16),
];

/// Secrets in base64, given to a name.
#[rustfmt::skip]
pub(crate) const NAMED: &[Token] = &[
    token(Azure, "AccountKey=", Base64, 86..=88),
    token(Aws, "secret_access_key", Base64, 40..=40),
    token(Aws, "SECRET_ACCESS_KEY", Base64, 40..=40),
    token(Aws, "secretAccessKey", Base64, 40..=40),
    token(Aws, "SecretAccessKey", Base64, 40..=40),
];

/// What stands between a name and its value.
pub(crate) fn assigns(byte: u8) -> bool {
    b" \t:=\"'`>(\\".contains(&byte)
}

/// This much may stand between a name and its value.
const BETWEEN: usize = 16;

impl Token {
    /// Is a value of this shape given to the name that was found at `start`?
    pub(crate) fn follows(&self, text: &[u8], start: usize) -> bool {
        let Some(rest) = text.get(start + self.prefix.len()..) else { return false };
        let mut between = rest.iter().take(BETWEEN);
        let value = between.position(|byte| !assigns(*byte));
        let joined = self.prefix.ends_with('=');
        value.is_some_and(|at| (at > 0 || joined) && self.fits(&rest[at..]))
    }

    /// Is the value at `start` one of this shape, given to a variable of this name?
    pub(crate) fn is_assigned(&self, text: &[u8], start: usize, variable: &[u8]) -> bool {
        let prefix = self.prefix.as_bytes();
        let name = variable.len().checked_sub(prefix.len()).map(|from| &variable[from..]);
        name.is_some_and(|name| name.eq_ignore_ascii_case(prefix)) && self.fits(&text[start..])
    }
}

/// What stands before a value at `start`, up to the end of the variable's name.
pub(crate) fn variable_before(text: &[u8], start: usize) -> &[u8] {
    let between = text[..start].iter().rev().take(BETWEEN).take_while(|byte| assigns(**byte));
    &text[..start - between.count()]
}
