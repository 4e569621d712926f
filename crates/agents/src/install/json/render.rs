//! Writes values in the layout of the text around them.

/// A value to be written. Objects keep the order they are given in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    Object(Vec<(String, Json)>),
    Array(Vec<Json>),
    Text(String),
    Number(u64),
}

impl Json {
    /// An object of these members.
    pub(crate) fn object<'k>(members: impl IntoIterator<Item = (&'k str, Self)>) -> Self {
        let members = members.into_iter();
        Self::Object(members.map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// The same as data.
    pub(crate) fn data(&self) -> serde_json::Value {
        match self {
            Self::Object(members) => members
                .iter()
                .map(|(key, value)| (key.clone(), value.data()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Self::Array(items) => items.iter().map(Self::data).collect(),
            Self::Text(text) => text.as_str().into(),
            Self::Number(number) => (*number).into(),
        }
    }

    /// Writes it; lines after the first are indented by `indent`.
    pub(crate) fn render(&self, layout: &Layout, indent: &str) -> String {
        match self {
            Self::Object(members) => {
                let items = members.iter().map(|(key, value)| {
                    let inner = layout.deeper(indent);
                    format!("{}{}{}", quoted(key), layout.colon, value.render(layout, &inner))
                });
                layout.wrap('{', &items.collect::<Vec<_>>(), '}', indent)
            }
            Self::Array(items) => {
                let inner = layout.deeper(indent);
                let items = items.iter().map(|item| item.render(layout, &inner));
                layout.wrap('[', &items.collect::<Vec<_>>(), ']', indent)
            }
            Self::Text(text) => quoted(text),
            Self::Number(number) => number.to_string(),
        }
    }
}

/// The text as JSON has it.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// How a text is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The end of a line.
    pub(crate) line_end: &'static str,
    /// What one level is indented by; `None` where everything stands on one line.
    pub(crate) unit: Option<String>,
    /// What stands between a name and its value.
    pub(crate) colon: &'static str,
    /// What stands between the items of one line.
    pub(crate) comma: &'static str,
}

impl Layout {
    /// The layout of files we write ourselves.
    pub(crate) fn own() -> Self {
        Self { line_end: "\n", unit: Some("  ".to_owned()), colon: ": ", comma: ", " }
    }

    /// The same on one line.
    pub(crate) fn on_one_line(&self) -> Self {
        Self { unit: None, ..self.clone() }
    }

    pub(crate) fn deeper(&self, indent: &str) -> String {
        format!("{indent}{}", self.unit.as_deref().unwrap_or_default())
    }

    /// What stands between the last item of a list that we made and its closing bracket.
    pub(crate) fn closing(&self, indent: &str) -> String {
        match self.unit {
            Some(_) => format!("{}{indent}", self.line_end),
            None => String::new(),
        }
    }

    /// What stands in front of the first item of a list.
    pub(crate) fn opening(&self, indent: &str) -> String {
        match self.unit {
            Some(_) => format!("{}{}", self.line_end, self.deeper(indent)),
            None => String::new(),
        }
    }

    /// Items in a row, as they stand in a list.
    pub(crate) fn join(&self, items: &[String], indent: &str) -> String {
        let separator = match self.unit {
            Some(_) => format!(",{}{}", self.line_end, self.deeper(indent)),
            None => self.comma.to_owned(),
        };
        items.join(&separator)
    }

    fn wrap(&self, open: char, items: &[String], close: char, indent: &str) -> String {
        if items.is_empty() {
            return format!("{open}{close}");
        }
        let joined = self.join(items, indent);
        let (before, after) = (self.opening(indent), self.closing(indent));
        format!("{open}{before}{joined}{after}{close}")
    }
}
