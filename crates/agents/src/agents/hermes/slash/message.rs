//! An answer, made fit for the place it is shown in.
//!
//! Names, reasons and file contents were written by somebody else, and a chat program acts on what it shows: it
//! pings people, makes links, ends a block of code where three backquotes stand. What is foreign is therefore
//! shown as code only, and spelled so that it stays code:
//!
//! | platform | markup | at most | foreign text |
//! |---|---|---|---|
//! | `cli` | none, lines indented by two | | as it is |
//! | `plain` | none | | as it is |
//! | `telegram` | HTML (`parse_mode=HTML`) | 4096 UTF-16 units | `&`, `<`, `>` as entities |
//! | `discord` | Markdown | 2000 characters | backquotes are kept apart, `@everyone` and `@here` too |
//! | `slack` | mrkdwn | 3000 characters, what a block takes | as Discord, and `&`, `<`, `>` as entities |
//!
//! Lengths are those of the text with its markup, in UTF-16 units, which is never less than a platform counts.
//! Hidden characters must be spelled out before they come here.

/// A foreign name or reason in a line is cut to this many characters in a chat; to fewer if there is no room.
const NAME_WIDTHS: [usize; 3] = [160, 48, 16];
/// A line of a block is cut to this many characters in a chat.
const MAX_LINE_CHARACTERS: usize = 400;
/// Keeps characters apart that mean something together.
const APART: char = '\u{200b}';

/// Where an answer is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// An agent's prompt in a terminal.
    Cli,
    /// Text as it is.
    Plain,
    /// Telegram.
    Telegram,
    /// Discord.
    Discord,
    /// Slack.
    Slack,
}

impl Platform {
    /// How the text is marked up: `text`, `html`, `markdown` or `mrkdwn`.
    pub const fn markup(self) -> &'static str {
        match self {
            Self::Cli | Self::Plain => "text",
            Self::Telegram => "html",
            Self::Discord => "markdown",
            Self::Slack => "mrkdwn",
        }
    }

    /// How many UTF-16 units a text may have.
    pub const fn limit(self) -> Option<usize> {
        match self {
            Self::Cli | Self::Plain => None,
            Self::Telegram => Some(4096),
            Self::Discord => Some(2000),
            Self::Slack => Some(3000),
        }
    }

    /// Is it a chat, which acts on what it shows?
    pub const fn is_chat(self) -> bool {
        self.limit().is_some()
    }

    /// Text without the characters that markup is made of, where it is made of these.
    fn escaped(self, text: &str) -> String {
        if !matches!(self, Self::Telegram | Self::Slack) {
            return text.to_owned();
        }
        let text = text.replace('&', "&amp;");
        text.replace('<', "&lt;").replace('>', "&gt;")
    }

    /// Foreign text, spelled so that it stays what it is within code.
    fn spelled(self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let fences = matches!(self, Self::Discord | Self::Slack);
        let text = self.escaped(text);
        let mut rest = text.as_str();
        while let Some(next) = rest.chars().next() {
            rest = &rest[next.len_utf8()..];
            match next {
                '`' if fences => out.extend(['`', APART]),
                '@' if fences && calls_everybody(rest) => out.extend(['@', APART]),
                _ => out.push(next),
            }
        }
        out
    }

    /// Foreign text within a line.
    fn inline(self, text: &str, longest: usize) -> String {
        let text = self.cut(text, longest);
        match self {
            _ if text.is_empty() => text,
            Self::Cli | Self::Plain => text,
            Self::Telegram => format!("<code>{}</code>", self.spelled(&text)),
            // A backquote within backquotes ends them, however it is kept apart.
            Self::Discord | Self::Slack => {
                format!("`{}`", self.spelled(&text.replace('`', "\u{2cb}")))
            }
        }
    }

    fn cut(self, text: &str, longest: usize) -> String {
        if !self.is_chat() || text.chars().count() <= longest {
            return text.to_owned();
        }
        let kept: String = text.chars().take(longest - 1).collect();
        format!("{kept}…")
    }

    const fn fences(self) -> (&'static str, &'static str) {
        match self {
            Self::Cli | Self::Plain => ("", ""),
            Self::Telegram => ("<pre>", "</pre>"),
            Self::Discord | Self::Slack => ("```\n", "\n```"),
        }
    }
}

/// Does what follows an `@` call more than one person?
fn calls_everybody(rest: &str) -> bool {
    let everybody = ["everyone", "here", "channel"];
    everybody.iter().any(|word| {
        let start = rest.get(..word.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(word))
    })
}

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Span {
    /// Our own words.
    Words(String),
    /// What somebody else wrote.
    Foreign(String),
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Line(Vec<Span>),
    Block {
        lines: Vec<String>,
        /// How many more lines there are than `lines` has.
        more: usize,
        /// May lines be left out if there is no room? Then it is said how many.
        may_be_cut: bool,
    },
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    pieces: Vec<Piece>,
}

impl Message {
    /// An answer with nothing in it yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a line of our own words.
    pub fn say(&mut self, words: impl Into<String>) {
        self.line([Span::Words(words.into())]);
    }

    /// Adds a line.
    pub fn line(&mut self, spans: impl Into<Vec<Span>>) {
        self.pieces.push(Piece::Line(spans.into()));
    }

    /// Adds lines that are shown as they are, whatever is in them; how many more there would be is said.
    pub fn block(&mut self, lines: Vec<String>, more: usize) {
        self.pieces.push(Piece::Block { lines, more, may_be_cut: true });
    }

    /// Like [`Self::block`], for a few short lines that are always shown.
    pub fn note(&mut self, lines: Vec<String>) {
        self.pieces.push(Piece::Block { lines, more: 0, may_be_cut: false });
    }

    /// The text for a platform, as long as the platform takes at most.
    pub fn render(&self, platform: Platform) -> String {
        let limit = platform.limit().unwrap_or(usize::MAX);
        let fits =
            NAME_WIDTHS.iter().find_map(|longest| self.render_within(platform, limit, *longest));
        // The lines we write are not that many. Half of a message may end within code, so nothing of it is shown.
        fits.unwrap_or_else(|| "The answer is too long for this place.".to_owned())
    }

    /// The text with as many lines of its blocks as there is room for, `None` if there is not even room for the rest.
    fn render_within(&self, platform: Platform, limit: usize, longest: usize) -> Option<String> {
        let mut pieces = self.pieces.clone();
        loop {
            let text = render(&pieces, platform, longest);
            let excess = text.encode_utf16().count().saturating_sub(limit);
            if excess == 0 {
                return Some(text);
            }
            if !shorten(&mut pieces, platform, excess) {
                return None;
            }
        }
    }
}

fn render(pieces: &[Piece], platform: Platform, longest: usize) -> String {
    let mut parts = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Line(spans) => parts.push(line(spans, platform, longest)),
            Piece::Block { lines, more, .. } => {
                if !lines.is_empty() {
                    parts.push(block(lines, platform));
                }
                if *more > 0 {
                    let indent = if platform.is_chat() { "" } else { "  " };
                    let shown = lines.len();
                    let plural = if *more == 1 { "" } else { "s" };
                    parts.push(format!(
                        "{indent}... ({more} more line{plural}, showing first {shown})"
                    ));
                }
            }
        }
    }
    parts.join("\n")
}

fn line(spans: &[Span], platform: Platform, longest: usize) -> String {
    let indent = if platform == Platform::Cli { "  " } else { "" };
    let parts = spans.iter().map(|span| match span {
        Span::Words(words) => platform.escaped(words),
        Span::Foreign(text) => platform.inline(text, longest),
    });
    format!("{indent}{}", parts.collect::<String>())
}

fn block(lines: &[String], platform: Platform) -> String {
    let (open, close) = platform.fences();
    let lines: Vec<String> = lines
        .iter()
        .map(|line| platform.spelled(&platform.cut(line, MAX_LINE_CHARACTERS)))
        .collect();
    format!("{open}{}{close}", lines.join("\n"))
}

/// Leaves out lines at the end of the longest block, `excess` units at least; `false` if there is none.
fn shorten(pieces: &mut [Piece], platform: Platform, excess: usize) -> bool {
    let blocks = pieces.iter_mut().filter_map(|piece| match piece {
        Piece::Block { lines, more, may_be_cut: true } if !lines.is_empty() => Some((lines, more)),
        _ => None,
    });
    let Some((lines, more)) = blocks.max_by_key(|(lines, _)| lines.len()) else { return false };
    let mut saved = 0;
    while saved < excess
        && let Some(line) = lines.pop()
    {
        *more += 1;
        let line = platform.spelled(&platform.cut(&line, MAX_LINE_CHARACTERS));
        saved += line.encode_utf16().count() + 1;
    }
    true
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
