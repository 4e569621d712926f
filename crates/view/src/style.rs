//! How rows look: colours by meaning, and how wide they may be. Only the 16 colours every terminal lets its user choose.

/// How many names are shown to a person before "and N more".
pub const SHOWN_NAMES: usize = 20;

/// How rows are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// The colours.
    pub theme: Theme,
    /// Is a person reading, whose terminal must not act on what is in files?
    pub is_terminal: bool,
    /// Columns, when a person is reading.
    pub width: Option<usize>,
}

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// `Error:`
    Error,
    /// `Warning:`
    Warning,
    /// `Hint:`
    Hint,
    /// It worked.
    Success,
    /// The part of an id that is enough to name it.
    Id,
    /// A number from the list.
    Number,
    /// A name given to a checkpoint, or a pin.
    Name,
    /// Times and other things that may stand back.
    Faint,
    /// A line or file that came.
    Added,
    /// A line or file that went.
    Removed,
    /// A file that changed.
    Changed,
    /// Which file a patch is about.
    Header,
    /// Where in the file.
    HunkHeader,
}

impl Label {
    /// The parameters of the escape sequence that starts it.
    const fn code(self) -> &'static str {
        match self {
            Self::Error => "1;31",
            Self::Warning => "33",
            Self::Success | Self::Added => "32",
            Self::Id | Self::Hint | Self::HunkHeader | Self::Changed => "36",
            Self::Number | Self::Header => "1",
            Self::Name => "35",
            // Bright black is the background of Solarized.
            Self::Faint => "",
            Self::Removed => "31",
        }
    }
}

/// Paints text, or leaves it as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Theme {
    is_colored: bool,
}

impl Theme {
    /// A theme that paints, or one that does not.
    pub const fn new(is_colored: bool) -> Self {
        Self { is_colored }
    }

    /// The text in the colour of its meaning.
    pub fn paint(self, label: Label, text: &str) -> String {
        if self.is_colored && !text.is_empty() && !label.code().is_empty() {
            format!("\x1b[{}m{text}\x1b[0m", label.code())
        } else {
            text.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A background with the text colours that this theme uses on it, as three numbers each: red, green, yellow, magenta, cyan.
    type Palette = ([u8; 3], [[u8; 3]; 5]);

    /// What people look at: a black terminal, a white one, and Solarized, dark and light.
    const PALETTES: [Palette; 4] = [
        ([0, 0, 0], [[205, 0, 0], [0, 205, 0], [205, 205, 0], [205, 0, 205], [0, 205, 205]]),
        ([255, 255, 255], [[153, 0, 0], [0, 166, 0], [153, 153, 0], [178, 0, 178], [0, 166, 178]]),
        (
            [0, 43, 54],
            [[220, 50, 47], [133, 153, 0], [181, 137, 0], [211, 54, 130], [42, 161, 152]],
        ),
        (
            [253, 246, 227],
            [[220, 50, 47], [133, 153, 0], [181, 137, 0], [211, 54, 130], [42, 161, 152]],
        ),
    ];

    /// How bright a colour is, as WCAG has it.
    fn luminance(colour: [u8; 3]) -> f64 {
        let [red, green, blue] = colour.map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.03928 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    fn contrast(one: [u8; 3], other: [u8; 3]) -> f64 {
        let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
        one.max(other) / one.min(other)
    }

    #[test]
    fn every_colour_can_be_read_on_every_background() {
        let all = [
            Label::Error,
            Label::Warning,
            Label::Hint,
            Label::Success,
            Label::Id,
            Label::Number,
            Label::Name,
            Label::Faint,
            Label::Added,
            Label::Removed,
            Label::Changed,
            Label::Header,
            Label::HunkHeader,
        ];
        for label in all {
            let codes = label.code().split(';').filter(|code| !matches!(*code, "" | "1"));
            for code in codes {
                let at = ["31", "32", "33", "35", "36"].iter().position(|known| *known == code);
                let at =
                    at.unwrap_or_else(|| panic!("{label:?}: {code} is dark blue, or bright black"));
                for (background, colours) in PALETTES {
                    let contrast = contrast(background, colours[at]);
                    assert!(contrast >= 2.6, "{label:?} on {background:?}: {contrast:.2}");
                }
            }
        }
    }

    #[test]
    fn without_colour_the_text_is_untouched() {
        assert_eq!(Theme::new(false).paint(Label::Error, "Error:"), "Error:");
        assert_eq!(Theme::new(true).paint(Label::Added, "+x"), "\x1b[32m+x\x1b[0m");
        assert_eq!(Theme::new(true).paint(Label::Added, ""), "");
    }
}
