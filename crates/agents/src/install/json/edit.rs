//! The three edits: append an item, remove one, replace a value.

use std::ops::Range;

use super::parse::{Item, Node, comments_after};
use super::render::{Json, Layout, quoted};

impl Layout {
    /// The layout of a text, as its first lines show it.
    pub(crate) fn of(text: &str, root: &Node) -> Self {
        let own = Self::own();
        let line_end = match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let Some(first) = root.items().first() else { return Self { line_end, ..own } };
        let outer = indent_at(text, root.span.start);
        let unit = own_line(text, root, first.start);
        let unit = unit.map(|indent| indent.strip_prefix(outer).unwrap_or(&indent).to_owned());
        let between = &text[first.start..first.node.span.start];
        let (colon, comma) =
            if unit.is_some() || between.ends_with(' ') { (": ", ", ") } else { (":", ",") };
        Self { line_end, unit, colon, comma }
    }

    /// The same with one item per line.
    fn on_lines(&self) -> Self {
        Self { unit: self.unit.clone().or(Self::own().unit), colon: ": ", ..self.clone() }
    }
}

/// The beginning of the line with this place.
fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// What the line with this place is indented by.
fn indent_at(text: &str, at: usize) -> &str {
    let line = text[line_start(text, at)..at].trim_start_matches('\u{feff}');
    let end = line.find(|character| !matches!(character, ' ' | '\t'));
    &line[..end.unwrap_or(line.len())]
}

/// The indentation of an item that begins on another line than its container; `None` if on the same.
fn own_line(text: &str, container: &Node, item_start: usize) -> Option<String> {
    let is_own = container.span.start < line_start(text, item_start);
    is_own.then(|| indent_at(text, item_start).to_owned())
}

/// The place behind the comments that follow `from`, and whether the last of them needs a line end.
fn behind_comments(text: &str, from: usize) -> (usize, bool) {
    match comments_after(text, from).last() {
        Some(last) => (last.end, text[last.clone()].starts_with("//")),
        None => (from, false),
    }
}

/// Appends an item to an object (with a key) or an array (without).
pub(crate) fn append(
    text: &str,
    root: &Node,
    container: &Node,
    key: Option<&str>,
    value: &Json,
) -> String {
    let layout = Layout::of(text, root);
    let render = |layout: &Layout, indent: &str| {
        let name = key.map(|key| quoted(key) + layout.colon);
        name.unwrap_or_default() + &value.render(layout, indent)
    };
    let Some(last) = container.items().last() else {
        return fill(text, container, &layout, &render);
    };
    let own_line = own_line(text, container, last.start);
    let end = last.comma.map_or(last.node.span.end, |comma| comma + 1);
    let (place, after_line_comment) = behind_comments(text, end);
    let (separator, item) = if let Some(indent) = own_line {
        let separator = format!("{}{indent}", layout.line_end);
        (separator, render(&layout.on_lines(), &indent))
    } else {
        let layout = layout.on_one_line();
        let separator = match container.items() {
            _ if after_line_comment => layout.line_end,
            [.., before, last] => {
                let from = before.comma.map_or(last.start, |comma| comma + 1);
                let between = &text[from..last.start];
                &between[between.trim_end().len()..]
            }
            _ => layout.comma.trim_start_matches(','),
        };
        (separator.to_owned(), render(&layout, ""))
    };
    let (before, behind) = match last.comma {
        Some(_) => ("", ","),
        None => (",", ""),
    };
    format!(
        "{}{before}{}{separator}{item}{behind}{}",
        &text[..end],
        &text[end..place],
        &text[place..]
    )
}

/// Puts the first item into an empty container. The space in front of the bracket says that it was empty.
fn fill(
    text: &str,
    container: &Node,
    layout: &Layout,
    render: &dyn Fn(&Layout, &str) -> String,
) -> String {
    let (place, after_line_comment) = behind_comments(text, container.span.start + 1);
    let layout = if after_line_comment { layout.on_lines() } else { layout.clone() };
    let indent = indent_at(text, container.span.start);
    let item = render(&layout, &layout.deeper(indent));
    let (opening, closing) = (layout.opening(indent), layout.closing(indent));
    format!("{}{opening}{item}{closing} {}", &text[..place], &text[place..])
}

/// Puts another value in the place of one.
pub(crate) fn replace(text: &str, root: &Node, span: &Range<usize>, value: &Json) -> String {
    let layout = Layout::of(text, root);
    let layout =
        if text[span.clone()].contains('\n') { layout.on_lines() } else { layout.on_one_line() };
    let value = value.render(&layout, indent_at(text, span.start));
    splice(text, span, &value)
}

fn splice(text: &str, span: &Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..span.start], &text[span.end..])
}

/// Removes the item at this path of places from the root, and what was made only to hold it.
pub(crate) fn remove(text: &str, root: &Node, path: &[usize]) -> String {
    let Some((place, above)) = path.split_last() else { return text.to_owned() };
    let Some(container) = node_at(root, above) else { return text.to_owned() };
    match container.items() {
        [only] if *place == 0 => remove_only(text, root, container, only, above),
        items if *place < items.len() => remove_one(text, items, *place),
        _ => text.to_owned(),
    }
}

/// The value at a path of places.
pub(crate) fn node_at<'n>(root: &'n Node, path: &[usize]) -> Option<&'n Node> {
    path.iter().try_fold(root, |node, place| Some(&node.items().get(*place)?.node))
}

/// Removes an item that has others beside it.
fn remove_one(text: &str, items: &[Item], place: usize) -> String {
    let item = &items[place];
    if let Some(next) = items.get(place + 1) {
        let end = item.comma.map_or(item.node.span.end, |comma| comma + 1);
        let comments = comments_after(text, end);
        let end = comments.first().map_or(next.start, |comment| comment.start);
        return splice(text, &(item.start..end), "");
    }
    // The last one: what we put between it and the item before goes with it.
    let comma = items[place - 1].comma.unwrap_or(item.start - 1);
    let (start, _) = behind_comments(text, comma + 1);
    match item.comma {
        Some(trailing) => splice(text, &(start..trailing + 1), ""),
        None => {
            format!("{}{}{}", &text[..comma], &text[comma + 1..start], &text[item.node.span.end..])
        }
    }
}

/// What stands behind the last item of a container that we found empty.
fn empty_mark(text: &str, root: &Node, container: &Node, last: &Item) -> String {
    let layout = match own_line(text, container, last.start) {
        Some(_) => Layout::of(text, root).on_lines(),
        None => Layout::of(text, root).on_one_line(),
    };
    layout.closing(indent_at(text, container.span.start)) + " "
}

/// Was the root empty before we put something in?
pub(crate) fn root_was_empty(text: &str, root: &Node) -> bool {
    root.items().last().is_some_and(|last| {
        let mark = empty_mark(text, root, root, last);
        text[last.node.span.end..root.span.end].starts_with(&mark)
    })
}

/// Removes the only item of a container; also the container, if that was made for it.
fn remove_only(text: &str, root: &Node, container: &Node, only: &Item, above: &[usize]) -> String {
    let open = container.span.start + 1;
    let close = container.span.end - 1;
    let (start, _) = behind_comments(text, open);
    let end = only.comma.map_or(only.node.span.end, |comma| comma + 1);
    let mark = empty_mark(text, root, container, only);
    if text[end..close].starts_with(&mark) {
        return splice(text, &(start..end + mark.len()), "");
    }
    let has_comments = start > open || !text[end..close].trim().is_empty();
    if has_comments {
        return splice(text, &(start..end), "");
    }
    if above.is_empty() {
        return splice(text, &(open..close), "");
    }
    remove(text, root, above)
}
