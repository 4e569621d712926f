//! Colours by meaning. Only the 16 colours every terminal lets its user choose.

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
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
            Self::Hint | Self::HunkHeader | Self::Changed => "36",
            Self::Id => "35",
            Self::Number | Self::Header => "1",
            Self::Name => "34",
            Self::Faint => "90",
            Self::Removed => "31",
        }
    }
}

/// Paints text, or leaves it as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Theme {
    is_colored: bool,
}

impl Theme {
    /// A theme that paints, or one that does not.
    pub(crate) const fn new(is_colored: bool) -> Self {
        Self { is_colored }
    }

    /// The text in the colour of its meaning.
    pub(crate) fn paint(self, label: Label, text: &str) -> String {
        if self.is_colored && !text.is_empty() {
            format!("\x1b[{}m{text}\x1b[0m", label.code())
        } else {
            text.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colour_the_text_is_untouched() {
        assert_eq!(Theme::new(false).paint(Label::Error, "Error:"), "Error:");
        assert_eq!(Theme::new(true).paint(Label::Added, "+x"), "\x1b[32m+x\x1b[0m");
        assert_eq!(Theme::new(true).paint(Label::Added, ""), "");
    }
}
