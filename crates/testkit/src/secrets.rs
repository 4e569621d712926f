//! Made-up secrets of public formats, put together from pieces while a test runs, so that no file of this
//! repository holds anything a scanner would take for one.

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";
const HEX: &str = "0123456789abcdef";

/// Random text, the same for the same seed.
struct Maker(u64);

impl Maker {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn text(&mut self, alphabet: &str, length: usize) -> String {
        let letters = alphabet.as_bytes();
        let mut letter = || char::from(letters[self.next() as usize % letters.len()]);
        (0..length).map(|_| letter()).collect()
    }

    fn alnum(&mut self, length: usize) -> String {
        self.text(&[LOWER, UPPER, DIGITS].concat(), length)
    }

    fn base64(&mut self, length: usize) -> String {
        self.text(&[LOWER, UPPER, DIGITS, "+/"].concat(), length)
    }

    fn dash(&mut self, length: usize) -> String {
        // A dash at either end would be cut off where a sentence is read.
        let inner = self.text(&[LOWER, UPPER, DIGITS, "_-"].concat(), length - 2);
        format!("{}{inner}{}", self.alnum(1), self.alnum(1))
    }

    fn hex(&mut self, length: usize) -> String {
        self.text(HEX, length)
    }

    fn upper(&mut self, length: usize) -> String {
        self.text(&[UPPER, "234567"].concat(), length)
    }

    fn lines(&mut self, count: usize) -> String {
        let lines: Vec<_> = (0..count).map(|_| self.base64(64)).collect();
        lines.join("\n")
    }

    fn armour(&mut self, title: &str) -> String {
        let dashes = "-".repeat(5);
        let body = self.lines(8);
        format!("{dashes}BEGIN {title}{dashes}\n{body}\n{dashes}END {title}{dashes}")
    }
}

/// More than sixty secrets: the word for the kind, and a line of a file (or several) that holds one.
pub fn planted(seed: u64) -> Vec<(&'static str, String)> {
    let mut make = Maker(seed);
    let mut all = clouds(&mut make);
    all.extend(code_and_models(&mut make));
    all.extend(chats_and_payments(&mut make));
    all.extend(services(&mut make));
    all.extend(armoured(&mut make));
    all
}

#[rustfmt::skip]
fn clouds(m: &mut Maker) -> Vec<(&'static str, String)> {
    vec![
        ("github-token", format!("token: {}{}", "ghp_", m.alnum(36))),
        ("aws-key", format!("aws_access_key_id = {}{}", "AKIA", m.upper(16))),
        ("aws-key", format!("key={}{}", "ASIA", m.upper(16))),
        ("aws-key", format!("aws_secret_access_key = {}", m.base64(40))),
        ("aws-key", format!("\"SecretAccessKey\": \"{}\"", m.base64(40))),
        ("google-key", format!("apiKey: '{}{}'", "AIza", m.dash(35))),
        ("google-key", format!("client_secret={}{}", "GOCSPX-", m.dash(28))),
        ("google-key", format!("bearer {}{}", "ya29.", m.dash(120))),
        ("azure-key", format!("AccountName=a;{}={}==;Suffix=x", "AccountKey", m.base64(86))),
        ("alibaba-key", format!("id: {}{}", "LTAI", m.alnum(20))),
        ("digitalocean-token", format!("DO={}{}", "dop_v1_", m.hex(64))),
        ("heroku-key", format!("k: {}{}", "HRKU-", m.dash(60))),
        ("heroku-key", format!("HEROKU_API_KEY={}-{}-{}-{}-{}", m.hex(8), m.hex(4), m.hex(4), m.hex(4), m.hex(12))),
        ("supabase-token", format!("s = {}{}", "sbp_", m.hex(40))),
        ("planetscale-token", format!("p = {}{}", "pscale_tkn_", m.dash(43))),
        ("databricks-token", format!("d = {}{}", "dapi", m.hex(32))),
        ("cloudflare-token", format!("CLOUDFLARE_API_TOKEN=\"{}\"", m.dash(40))),
        ("database-url", format!("DATABASE_URL={}://app:{}7x@db.prod.internal:5432/app", "postgres", m.alnum(16))),
        ("database-url", format!("url: {}://app:{}7x@cluster0.ab1cd.mongodb.net/x", "mongodb+srv", m.alnum(16))),
        ("vault-token", format!("VAULT={}{}", "hvs.", m.dash(95))),
        ("tailscale-key", format!("ts {}auth-{}-{}", "tskey-", m.alnum(17), m.alnum(32))),
        ("pulumi-token", format!("P={}{}", "pul-", m.hex(40))),
        ("doppler-token", format!("D={}{}", "dp.pt.", m.alnum(43))),
    ]
}

#[rustfmt::skip]
fn code_and_models(m: &mut Maker) -> Vec<(&'static str, String)> {
    vec![
        ("github-token", format!("{}{}", "gho_", m.alnum(36))),
        ("github-token", format!("x {}{}", "ghs_", m.alnum(36))),
        ("github-token", format!("https://u:{}{}@github.com/a/b.git", "ghu_", m.alnum(36))),
        ("github-token", format!("{}{}_{}", "github_pat_", m.alnum(22), m.alnum(59))),
        ("gitlab-token", format!("{}{}", "glpat-", m.dash(20))),
        ("gitlab-token", format!("{}{}", "glptt-", m.hex(40))),
        ("bitbucket-token", format!("b: {}{}", "ATBB", m.alnum(32))),
        ("anthropic-key", format!("k={}api03-{}AA", "sk-ant-", m.dash(93))),
        ("openai-key", format!("k={}{}{}{}", "sk-", m.alnum(20), "T3BlbkFJ", m.alnum(20))),
        ("openai-key", format!("k='{}proj-{}{}{}'", "sk-", m.dash(74), "T3BlbkFJ", m.dash(74))),
        ("openrouter-key", format!("{}{}", "sk-or-v1-", m.hex(64))),
        ("huggingface-token", format!("HF_TOKEN={}{}", "hf_", m.text(&[LOWER, UPPER].concat(), 34))),
        ("groq-key", format!("{}{}", "gsk_", m.alnum(52))),
        ("xai-key", format!("{}{}", "xai-", m.alnum(80))),
        ("replicate-token", format!("{}{}", "r8_", m.alnum(37))),
        ("perplexity-key", format!("{}{}", "pplx-", m.alnum(48))),
        ("nvidia-key", format!("{}{}", "nvapi-", m.dash(64))),
        ("deepseek-key", format!("deepseek: {}{}", "sk-", m.hex(32))),
        ("mistral-key", format!("MISTRAL_API_KEY={}", m.alnum(32))),
        ("npm-token", format!("//registry.npmjs.org/:_authToken={}{}", "npm_", m.alnum(36))),
        ("pypi-token", format!("password = {}IcHlwaS5vcmc{}", "pypi-AgE", m.dash(140))),
        ("rubygems-key", format!(":key: {}{}", "rubygems_", m.hex(48))),
        ("docker-token", format!("{}{}", "dckr_pat_", m.dash(27))),
        ("crates-io-token", format!("CARGO_REGISTRY_TOKEN={}{}", "cio", m.alnum(32))),
    ]
}

#[rustfmt::skip]
fn chats_and_payments(m: &mut Maker) -> Vec<(&'static str, String)> {
    vec![
        ("slack-token", format!("{}{}-{}-{}", "xoxb-", m.text(DIGITS, 12), m.text(DIGITS, 13), m.alnum(24))),
        ("slack-token", format!("{}1-A{}-{}-{}", "xapp-", m.upper(10), m.text(DIGITS, 13), m.hex(64))),
        ("slack-token", format!("https://hooks.{}/services/T{}/B{}/{}", "slack.com", m.upper(8), m.upper(10), m.alnum(24))),
        ("discord-token", format!("https://discord.com/api/{}/{}/{}", "webhooks", m.text(DIGITS, 18), m.dash(68))),
        ("discord-token", format!("DISCORD_TOKEN={}.{}.{}", m.alnum(26), m.alnum(6), m.dash(38))),
        ("telegram-token", format!("bot = '{}:{}{}'", m.text(DIGITS, 10), "AA", m.dash(33))),
        ("stripe-key", format!("{}{}", "sk_live_", m.alnum(99))),
        ("stripe-key", format!("{}{}", "rk_live_", m.alnum(24))),
        ("stripe-key", format!("{}{}", "whsec_", m.alnum(32))),
        ("square-token", format!("{}{}", "sq0atp-", m.dash(22))),
        ("shopify-token", format!("{}{}", "shpat_", m.hex(32))),
    ]
}

#[rustfmt::skip]
fn services(m: &mut Maker) -> Vec<(&'static str, String)> {
    vec![
        ("sendgrid-key", format!("{}{}.{}", "SG.", m.dash(22), m.dash(43))),
        ("twilio-key", format!("twilio: {}{}", "SK", m.hex(32))),
        ("mailgun-key", format!("MAILGUN={}{}", "key-", m.hex(32))),
        ("postman-key", format!("{}{}-{}", "PMAK-", m.hex(24), m.hex(34))),
        ("linear-key", format!("{}{}", "lin_api_", m.alnum(40))),
        ("notion-token", format!("{}{}{}", "ntn_", m.text(DIGITS, 11), m.alnum(35))),
        ("figma-token", format!("{}{}", "figd_", m.dash(40))),
        ("atlassian-token", format!("{}xFfGF0{}={}", "ATATT3", m.dash(170), m.upper(8))),
        ("new-relic-key", format!("{}{}", "NRAK-", m.upper(27))),
        ("grafana-token", format!("{}{}_{}", "glsa_", m.alnum(32), m.hex(8))),
        ("sentry-token", format!("{}{}", "sntryu_", m.hex(64))),
        ("jwt", format!("{}bGciOiJSUzI1NiJ9.{}pc3MiOiJhIiwic3ViIjoi{}.{}", "eyJh", "eyJ", m.alnum(30), m.dash(86))),
    ]
}

fn armoured(m: &mut Maker) -> Vec<(&'static str, String)> {
    let service_account = m.armour("PRIVATE KEY").replace('\n', "\\n");
    vec![
        ("private-key", m.armour("RSA PRIVATE KEY")),
        ("private-key", m.armour("OPENSSH PRIVATE KEY")),
        ("private-key", m.armour("EC PRIVATE KEY")),
        ("private-key", m.armour("PGP PRIVATE KEY BLOCK")),
        ("private-key", format!("\"private_key\": \"{service_account}\\n\"")),
        (
            "private-key",
            format!(
                "PuTTY-User-Key-{}-3: ssh-ed25519\nPrivate-{}: 3\n{}",
                "File",
                "Lines",
                m.lines(3)
            ),
        ),
        (
            "age-key",
            format!("{}-KEY-1{}", "AGE-SECRET", m.text("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)),
        ),
    ]
}
