//! Draws a terminal's screen as SVG: text that can be selected, in colours that suit a light or a dark page.

use std::fmt::Write;

use vt100::{Cell, Color, Screen};

use crate::Result;

/// The advance of a character at [`FONT_SIZE`] in the usual fixed fonts; others are stretched to it.
const CELL_WIDTH: f64 = 8.4;
const LINE_HEIGHT: f64 = 20.0;
const FONT_SIZE: f64 = 14.0;
const MARGIN: f64 = 18.0;
const TITLE_BAR: f64 = 34.0;

/// Each of the 16 colours on a light page and on a dark one, in the terminal's order; the bright ones look like the others,
/// but for what stands back.
const COLOURS: [(&str, &str); 9] = [
    ("#1f2328", "#484f58"),
    ("#cf222e", "#ff7b72"),
    ("#116329", "#56d364"),
    ("#7d4e00", "#e3b341"),
    ("#0550ae", "#79c0ff"),
    ("#8250df", "#d2a8ff"),
    ("#0b6a72", "#56d4dd"),
    ("#57606a", "#c9d1d9"),
    ("#57606a", "#9198a1"),
];

/// Text in one style, and where it stands.
struct Run {
    column: u16,
    columns: u16,
    class: String,
    text: String,
}

/// The picture of a screen, with what is to be read in its place.
pub fn draw(screen: &Screen, title: &str, description: &str) -> Result<String> {
    let (lines, columns) = screen.size();
    let rows: Vec<Vec<Run>> =
        (0..lines.get()).map(|line| runs(screen, line, columns.get())).collect::<Result<_>>()?;
    let used = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1);
    let width = f64::from(columns.get()) * CELL_WIDTH + 2.0 * MARGIN;
    let height = TITLE_BAR + used as f64 * LINE_HEIGHT + 2.0 * MARGIN - LINE_HEIGHT / 2.0;
    let mut svg = head(width, height, title, description)?;
    for (number, row) in rows.iter().take(used).enumerate() {
        let y = TITLE_BAR + MARGIN + (number as f64 + 0.5) * LINE_HEIGHT;
        for run in row {
            write_run(&mut svg, run, y)?;
        }
    }
    svg.push_str("</g>\n</svg>\n");
    Ok(svg)
}

fn head(width: f64, height: f64, title: &str, description: &str) -> Result<String> {
    let mut svg = String::new();
    writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.0} {height:.0}" role="img" aria-label="{}">
<!-- Made by `cargo xtask picture`. -->
<style>
.window {{ fill: #ffffff; stroke: #d0d7de }}
.bar {{ stroke: #d0d7de }}
.dot {{ fill: #d0d7de }}
text {{ font: {FONT_SIZE}px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace; fill: #1f2328; white-space: pre }}
.title {{ fill: #57606a; text-anchor: middle }}
.b {{ font-weight: 600 }}
.d {{ opacity: .7 }}
.i {{ font-style: italic }}
.u {{ text-decoration: underline }}"#,
        escape(description)
    )?;
    for (number, (light, _)) in COLOURS.iter().enumerate() {
        writeln!(svg, ".c{number} {{ fill: {light} }}")?;
    }
    svg.push_str(
        "@media (prefers-color-scheme: dark) {
.window { fill: #0d1117; stroke: #3d444d }
.bar { stroke: #3d444d }
.dot { fill: #3d444d }
text { fill: #e6edf3 }
.title { fill: #9198a1 }\n",
    );
    for (number, (_, dark)) in COLOURS.iter().enumerate() {
        writeln!(svg, ".c{number} {{ fill: {dark} }}")?;
    }
    writeln!(
        svg,
        r#"}}
</style>
<rect class="window" x=".5" y=".5" width="{:.0}" height="{:.0}" rx="9"/>
<path class="bar" d="M.5 {TITLE_BAR}.5h{:.0}"/>"#,
        width - 1.0,
        height - 1.0,
        width - 1.0
    )?;
    for x in [20, 40, 60] {
        writeln!(svg, r#"<circle class="dot" cx="{x}" cy="17.5" r="6"/>"#)?;
    }
    writeln!(svg, r#"<text class="title" x="{:.0}" y="22">{}</text>"#, width / 2.0, escape(title))?;
    svg.push_str("<g xml:space=\"preserve\">\n");
    Ok(svg)
}

fn write_run(svg: &mut String, run: &Run, y: f64) -> Result<()> {
    let x = MARGIN + f64::from(run.column) * CELL_WIDTH;
    let length = f64::from(run.columns) * CELL_WIDTH;
    let class = match &*run.class {
        "" => String::new(),
        class => format!(r#" class="{class}""#),
    };
    let text = escape(&run.text);
    // The length keeps columns below each other whatever font there is.
    writeln!(
        svg,
        r#"<text{class} x="{x:.1}" y="{y:.0}" textLength="{length:.1}" lengthAdjust="spacingAndGlyphs">{text}</text>"#
    )?;
    Ok(())
}

/// What a line shows, in pieces of one style, without the blanks between them.
fn runs(screen: &Screen, line: u16, columns: u16) -> Result<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    for column in 0..columns {
        let Some(cell) = screen.cell(line, column) else { continue };
        if cell.is_wide_continuation() {
            continue;
        }
        let (class, text) = (class(cell)?, if cell.has_contents() { cell.contents() } else { " " });
        let columns = if cell.is_wide() { 2 } else { 1 };
        match runs.last_mut() {
            Some(last) if last.class == class => {
                last.text.push_str(text);
                last.columns += columns;
            }
            _ => runs.push(Run { column, columns, class, text: text.to_owned() }),
        }
    }
    Ok(runs.into_iter().filter_map(trimmed).collect())
}

/// A piece without blanks around it, if anything is left of it.
fn trimmed(mut run: Run) -> Option<Run> {
    let ahead = run.text.len() - run.text.trim_start_matches(' ').len();
    let behind = run.text.len() - run.text.trim_end_matches(' ').len();
    if ahead == run.text.len() {
        return None;
    }
    run.text = run.text.trim_matches(' ').to_owned();
    run.column += ahead as u16;
    run.columns -= (ahead + behind) as u16;
    Some(run)
}

fn class(cell: &Cell) -> Result<String> {
    let colour = match cell.fgcolor() {
        Color::Default => None,
        Color::Idx(number @ 0..=8) => Some(number),
        Color::Idx(number @ 9..=15) => Some(number - 8),
        other => return Err(format!("the picture has no colour {other:?}").into()),
    };
    if cell.bgcolor() != Color::Default || cell.inverse() {
        return Err("the picture has no backgrounds".into());
    }
    let mut names: Vec<String> = colour.map(|number| format!("c{number}")).into_iter().collect();
    let styles =
        [(cell.bold(), "b"), (cell.dim(), "d"), (cell.italic(), "i"), (cell.underline(), "u")];
    names.extend(styles.into_iter().filter(|(is_so, _)| *is_so).map(|(_, name)| name.to_owned()));
    Ok(names.join(" "))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(bytes: &[u8]) -> Result<String> {
        let size = |length| std::num::NonZeroU16::new(length).unwrap();
        let mut parser = vt100::Parser::new(size(5), size(20), 0);
        parser.process(bytes);
        draw(parser.screen(), "shop", "a session")
    }

    fn texts(bytes: &[u8]) -> Vec<String> {
        let svg = drawn(bytes).unwrap();
        let pieces = svg.lines().filter(|line| line.starts_with("<text") && line.contains("x=\""));
        pieces.skip(1).map(str::to_owned).collect()
    }

    #[test]
    fn text_is_escaped_and_stands_where_the_terminal_has_it() {
        let length = r#"lengthAdjust="spacingAndGlyphs""#;
        assert_eq!(
            texts(b"a <b>\r\n  \x1b[1;31m&  \"x\"\x1b[0m"),
            [
                format!(r#"<text x="18.0" y="62" textLength="42.0" {length}>a &lt;b&gt;</text>"#),
                format!(
                    r#"<text class="c1 b" x="34.8" y="82" textLength="50.4" {length}>&amp;  &quot;x&quot;</text>"#
                ),
            ]
        );
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let texts = texts("日本\x1b[32mok".as_bytes());
        assert!(texts[0].contains(r#"textLength="33.6""#), "{texts:?}");
        assert!(texts[1].contains(r#"x="51.6""#), "{texts:?}");
    }

    #[test]
    fn what_cannot_be_drawn_is_an_error() {
        assert!(drawn(b"\x1b[41mred").is_err());
        assert!(drawn(b"\x1b[38;5;200mpink").is_err());
    }
}
