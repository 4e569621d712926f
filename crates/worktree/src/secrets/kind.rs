//! The kinds of secrets that can be told from content, and where one was found.

/// Lists every kind with its word, for records, and its name, for people. The numbers are only used
/// inside one version of the stat cache.
macro_rules! kinds {
    ($($kind:ident $word:literal $about:literal;)*) => {
        /// What kind of secret a file looks like it holds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum SecretKind {
            $(#[doc = concat!("It looks like ", $about, ".")] $kind,)*
        }

        impl SecretKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// The word receipts and JSON use.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$kind => $word,)* }
            }

            /// What it is, with its article.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$kind => $about,)* }
            }
        }
    };
}

kinds! {
    PrivateKey "private-key" "a private key";
    AgeKey "age-key" "an age secret key";
    Jwt "jwt" "a signed web token (JWT)";
    DatabaseUrl "database-url" "a database password in a URL";
    Aws "aws-key" "an AWS key";
    GoogleCloud "google-key" "a Google key";
    Azure "azure-key" "an Azure key";
    Alibaba "alibaba-key" "an Alibaba Cloud key";
    DigitalOcean "digitalocean-token" "a DigitalOcean token";
    Heroku "heroku-key" "a Heroku key";
    Supabase "supabase-token" "a Supabase token";
    PlanetScale "planetscale-token" "a PlanetScale token";
    Databricks "databricks-token" "a Databricks token";
    Cloudflare "cloudflare-token" "a Cloudflare token";
    GitHub "github-token" "a GitHub token";
    GitLab "gitlab-token" "a GitLab token";
    Bitbucket "bitbucket-token" "a Bitbucket token";
    Anthropic "anthropic-key" "an Anthropic key";
    OpenAi "openai-key" "an OpenAI key";
    OpenRouter "openrouter-key" "an OpenRouter key";
    HuggingFace "huggingface-token" "a Hugging Face token";
    Groq "groq-key" "a Groq key";
    Xai "xai-key" "an xAI key";
    Replicate "replicate-token" "a Replicate token";
    Perplexity "perplexity-key" "a Perplexity key";
    Nvidia "nvidia-key" "an NVIDIA key";
    LangSmith "langsmith-key" "a LangSmith key";
    Tavily "tavily-key" "a Tavily key";
    DeepSeek "deepseek-key" "a DeepSeek key";
    Mistral "mistral-key" "a Mistral key";
    Slack "slack-token" "a Slack token";
    Discord "discord-token" "a Discord token";
    Telegram "telegram-token" "a Telegram bot token";
    Stripe "stripe-key" "a Stripe key";
    Square "square-token" "a Square token";
    Shopify "shopify-token" "a Shopify token";
    Npm "npm-token" "an npm token";
    PyPi "pypi-token" "a PyPI token";
    RubyGems "rubygems-key" "a RubyGems key";
    CratesIo "crates-io-token" "a crates.io token";
    NuGet "nuget-key" "a NuGet key";
    Clojars "clojars-token" "a Clojars token";
    DockerHub "docker-token" "a Docker Hub token";
    Artifactory "artifactory-key" "an Artifactory key";
    SendGrid "sendgrid-key" "a SendGrid key";
    Twilio "twilio-key" "a Twilio key";
    Mailgun "mailgun-key" "a Mailgun key";
    Doppler "doppler-token" "a Doppler token";
    Vault "vault-token" "a Vault token";
    Tailscale "tailscale-key" "a Tailscale key";
    Pulumi "pulumi-token" "a Pulumi token";
    Postman "postman-key" "a Postman key";
    Linear "linear-key" "a Linear key";
    Notion "notion-token" "a Notion token";
    Figma "figma-token" "a Figma token";
    Atlassian "atlassian-token" "an Atlassian token";
    NewRelic "new-relic-key" "a New Relic key";
    Grafana "grafana-token" "a Grafana token";
    Sentry "sentry-token" "a Sentry token";
}

impl SecretKind {
    /// The kind with this word.
    pub fn from_word(word: &[u8]) -> Option<Self> {
        let mut kinds = Self::ALL.iter();
        kinds.find(|kind| kind.word().as_bytes() == word).copied()
    }
}

/// Which secret a file looks like it holds, and where; never the secret itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// What it looks like.
    pub kind: SecretKind,
    /// The line it begins on; the first is 1.
    pub line: u32,
}

/// Lines beyond this are not told apart; a file that is looked into has no more.
const LAST_LINE: u32 = (1 << 24) - 1;

impl Finding {
    /// As one number that is not 0, for the stat cache.
    pub(crate) fn to_number(self) -> u32 {
        (self.kind as u32 + 1) << 24 | self.line.min(LAST_LINE)
    }

    /// The finding with this number; `None` for 0 and for what is none.
    pub(crate) fn from_number(number: u32) -> Option<Self> {
        let kind = (number >> 24).checked_sub(1)?;
        Some(Self { kind: *SecretKind::ALL.get(kind as usize)?, line: number & LAST_LINE })
    }

    /// As a receipt notes it: `github-token:12`.
    pub(crate) fn to_word(self) -> String {
        format!("{}:{}", self.kind.word(), self.line)
    }

    /// Reads what a receipt notes.
    pub(crate) fn from_word(word: &[u8]) -> Option<Self> {
        let colon = word.iter().position(|byte| *byte == b':')?;
        Some(Self {
            kind: SecretKind::from_word(&word[..colon])?,
            line: std::str::from_utf8(&word[colon + 1..]).ok()?.parse().ok()?,
        })
    }
}

/// `a GitHub token in line 12`
impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} in line {}", self.kind.about(), self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_read_back_from_the_cache_and_from_receipts() {
        for kind in SecretKind::ALL {
            let finding = Finding { kind: *kind, line: 70_000 };
            assert_eq!(Finding::from_number(finding.to_number()), Some(finding));
            let word = finding.to_word();
            assert_eq!(Finding::from_word(word.as_bytes()), Some(finding));
            assert!(!word.contains([' ', '\0']), "{word} stands in a record");
        }
        assert_eq!(Finding::from_number(0), None);
        assert_eq!(Finding::from_number(u32::MAX), None);
        for word in [&b"jwt"[..], b"jwt:", b"jwt:x", b"jwt:-1", b"new:1", b":1", b"jwt:99999999999"]
        {
            assert_eq!(Finding::from_word(word), None);
        }
    }
}
