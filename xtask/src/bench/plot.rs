//! Plots as SVG, written by hand: bars and lines on logarithmic scales.
//!
//! They have no background and take their colours from the reader's choice of light or dark, so they can stand
//! in a document of either kind.

use std::fmt::Write;

const WIDTH: f64 = 760.0;
const FONT: &str = "system-ui, sans-serif";
const STYLE: &str = "\
text{fill:#24292f}.soft{fill:#57606a}.grid{stroke:#d0d7de;stroke-width:1}.bar{fill:#8c959f}.ours{fill:#0969da}\
path{fill:none;stroke-width:2}.c0{stroke:#0969da}.c1{stroke:#bc4c00}.c2{stroke:#1a7f37}.c3{stroke:#8250df}.c4{stroke:#bf3989}\
.d0{fill:#0969da}.d1{fill:#bc4c00}.d2{fill:#1a7f37}.d3{fill:#8250df}.d4{fill:#bf3989}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.soft{fill:#9198a1}.grid{stroke:#3d444d}.bar{fill:#6e7681}.ours{fill:#4493f8}\
.c0{stroke:#4493f8}.c1{stroke:#f0883e}.c2{stroke:#3fb950}.c3{stroke:#ab7df8}.c4{stroke:#f778ba}\
.d0{fill:#4493f8}.d1{fill:#f0883e}.d2{fill:#3fb950}.d3{fill:#ab7df8}.d4{fill:#f778ba}}";
/// Lines have so many colours.
const COLOURS: usize = 5;

/// One bar.
pub struct Bar {
    pub name: String,
    pub value: f64,
    /// What stands behind it.
    pub label: String,
    /// It is the one the plot is about.
    pub is_ours: bool,
}

/// One line.
pub struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// Horizontal bars, one below the other.
pub fn bars(title: &str, bars: &[Bar]) -> String {
    let (left, right, top, each) = (190.0, 100.0, 44.0, 26.0);
    let height = top + each * bars.len() as f64 + 26.0;
    let Some(scale) = Scale::around(bars.iter().map(|bar| bar.value), left, WIDTH - right) else {
        return page(title, height, "");
    };
    let bottom = height - 26.0;
    let mut body = String::new();
    for tick in scale.ticks() {
        let x = scale.place(tick);
        let label = number(tick);
        put(
            &mut body,
            format_args!(
                "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{top}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>"
            ),
        );
        put(
            &mut body,
            format_args!(
                "<text class=\"soft\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                bottom + 16.0
            ),
        );
    }
    for (at, bar) in bars.iter().enumerate() {
        let y = top + each * at as f64;
        let (end, middle) = (scale.place(bar.value).max(left + 1.0), y + 17.0);
        let class = if bar.is_ours { "ours" } else { "bar" };
        let (name, label) = (escape(&bar.name), escape(&bar.label));
        put(
            &mut body,
            format_args!(
                "<text x=\"{:.1}\" y=\"{middle:.1}\" text-anchor=\"end\">{name}</text>",
                left - 8.0
            ),
        );
        put(
            &mut body,
            format_args!(
                "<rect class=\"{class}\" x=\"{left}\" y=\"{:.1}\" width=\"{:.1}\" height=\"18\" rx=\"2\"/>",
                y + 4.0,
                end - left
            ),
        );
        put(
            &mut body,
            format_args!(
                "<text x=\"{:.1}\" y=\"{middle:.1}\">{label}</text>",
                end + 6.0
            ),
        );
    }
    page(title, height, &body)
}

/// Lines over a common axis, with their names above them.
pub fn lines(title: &str, across: &str, up: &str, lines: &[Line]) -> String {
    let (left, right, top, height) = (70.0, WIDTH - 24.0, 76.0, 400.0);
    let bottom = height - 52.0;
    let points = || lines.iter().flat_map(|line| line.points.iter());
    let scales = Scale::around(points().map(|point| point.0), left, right).zip(Scale::around(
        points().map(|point| point.1),
        bottom,
        top,
    ));
    let Some((x, y)) = scales else {
        return page(title, height, "");
    };
    let mut body = String::new();
    for tick in x.ticks() {
        let (at, label) = (x.place(tick), number(tick));
        put(
            &mut body,
            format_args!(
                "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{top}\" x2=\"{at:.1}\" y2=\"{bottom}\"/>"
            ),
        );
        put(
            &mut body,
            format_args!(
                "<text class=\"soft\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                bottom + 18.0
            ),
        );
    }
    for tick in y.ticks() {
        let (at, label) = (y.place(tick), number(tick));
        put(
            &mut body,
            format_args!(
                "<line class=\"grid\" x1=\"{left}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\"/>"
            ),
        );
        put(
            &mut body,
            format_args!(
                "<text class=\"soft\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                left - 8.0,
                at + 4.0
            ),
        );
    }
    put(
        &mut body,
        format_args!(
            "<text class=\"soft\" x=\"{right}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            height - 12.0,
            escape(across)
        ),
    );
    put(
        &mut body,
        format_args!(
            "<text class=\"soft\" x=\"8\" y=\"{:.1}\">{}</text>",
            top - 10.0,
            escape(up)
        ),
    );
    let mut name_at = left;
    for (at, line) in lines.iter().enumerate() {
        draw_line(&mut body, at % COLOURS, &line.points, &x, &y);
        let name = escape(&line.name);
        put(
            &mut body,
            format_args!(
                "<circle class=\"d{}\" cx=\"{name_at:.1}\" cy=\"42\" r=\"5\"/><text x=\"{:.1}\" y=\"46\">{name}</text>",
                at % COLOURS,
                name_at + 10.0
            ),
        );
        // Letters are about this wide.
        name_at += 34.0 + 7.2 * line.name.chars().count() as f64;
    }
    page(title, height, &body)
}

fn draw_line(body: &mut String, colour: usize, points: &[(f64, f64)], x: &Scale, y: &Scale) {
    let mut path = String::new();
    for (at, point) in points.iter().enumerate() {
        let (x, y) = (x.place(point.0), y.place(point.1));
        let command = if at == 0 { 'M' } else { 'L' };
        put(&mut path, format_args!("{command}{x:.1} {y:.1}"));
        put(
            body,
            format_args!("<circle class=\"d{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>"),
        );
    }
    put(
        body,
        format_args!(
            "<path class=\"c{colour}\" d=\"{}\"/>",
            path.replace('\n', "")
        ),
    );
}

/// Values on a logarithmic scale, between two places.
struct Scale {
    least: f64,
    most: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// A scale on which all of these have a place; `None` for no value that could have one.
    fn around(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let logs: Vec<f64> = values
            .filter(|value| value.is_finite() && *value > 0.0)
            .map(f64::log10)
            .collect();
        let least = logs.iter().copied().reduce(f64::min)?.floor();
        let most = logs.iter().copied().reduce(f64::max)?.ceil();
        Some(Self {
            least,
            most: most.max(least + 1.0),
            from,
            to,
        })
    }

    fn place(&self, value: f64) -> f64 {
        let share = (value.log10() - self.least) / (self.most - self.least);
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// The powers of ten, and what is between them if they are few.
    fn ticks(&self) -> Vec<f64> {
        let steps: &[f64] = match self.most - self.least {
            few if few <= 2.0 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let mut ticks = Vec::new();
        for power in self.least as i32..self.most as i32 {
            ticks.extend(steps.iter().map(|step| step * 10f64.powi(power)));
        }
        ticks.push(10f64.powi(self.most as i32));
        ticks
    }
}

fn page(title: &str, height: f64, body: &str) -> String {
    let title = escape(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"{FONT}\" font-size=\"13\" role=\"img\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         <text x=\"8\" y=\"20\" font-size=\"15\" font-weight=\"600\">{title}</text>\n{body}</svg>\n"
    )
}

fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{what}");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A number as people write it: `0.5`, `20`, `10,000`.
pub fn number(value: f64) -> String {
    if value < 1.0 {
        return format!("{value}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every element that is opened is closed, in order, and nothing is left unescaped.
    fn assert_well_formed(svg: &str) {
        let mut open: Vec<&str> = Vec::new();
        let mut rest = svg;
        while let Some(start) = rest.find('<') {
            let text = &rest[..start];
            assert!(!text.contains('>'), "{text}");
            let ampersands = text.split('&').skip(1);
            for after in ampersands {
                let known = ["amp;", "lt;", "gt;", "quot;"];
                assert!(known.iter().any(|name| after.starts_with(name)), "{text}");
            }
            let end = start + rest[start..].find('>').expect("a tag ends");
            let tag = &rest[start + 1..end];
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            assert!(
                !tag.contains('<') && !tag.contains("NaN") && !tag.contains("inf"),
                "{tag}"
            );
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name));
            } else if !tag.ends_with('/') {
                open.push(tag.split(' ').next().expect("a name"));
            }
            rest = &rest[end + 1..];
        }
        assert!(open.is_empty(), "{open:?}");
    }

    fn bar(name: &str, value: f64) -> Bar {
        Bar {
            name: name.to_owned(),
            value,
            label: format!("{value} <ms> & \"more\""),
            is_ours: name == "herma",
        }
    }

    #[test]
    fn bars_are_well_formed_whatever_they_are_called() {
        let svg = bars("a < b & \"c\"", &[bar("herma", 0.3), bar("<git>", 4_000.0)]);
        assert_well_formed(&svg);
        assert!(svg.contains("<title>a &lt; b &amp; &quot;c&quot;</title>"));
        assert!(svg.contains("&lt;git&gt;"));
    }

    #[test]
    fn longer_times_have_longer_bars() {
        let svg = bars("t", &[bar("a", 1.0), bar("b", 10.0), bar("c", 1_000.0)]);
        let widths: Vec<f64> = svg
            .split("<rect ")
            .skip(1)
            .map(|rest| rest.split("width=\"").nth(1).unwrap())
            .map(|rest| rest.split('"').next().unwrap().parse().unwrap())
            .collect();
        assert!(
            widths.is_sorted() && widths[2] > 2.9 * widths[1],
            "{widths:?}"
        );
    }

    #[test]
    fn lines_stay_within_the_page() {
        let line = |points: &[(f64, f64)]| Line {
            name: "x & y".to_owned(),
            points: points.to_vec(),
        };
        let svg = lines(
            "t",
            "files",
            "ms",
            &[line(&[(1.0, 0.2), (1e6, 3e4)]), line(&[(250.0, 7.0)])],
        );
        assert_well_formed(&svg);
        for place in svg.split("cy=\"").skip(1) {
            let y: f64 = place.split('"').next().unwrap().parse().unwrap();
            assert!((0.0..400.0).contains(&y));
        }
    }

    #[test]
    fn nothing_measured_is_an_empty_plot() {
        assert_well_formed(&bars("t", &[]));
        assert_well_formed(&bars("t", &[bar("a", 0.0), bar("b", f64::NAN)]));
        assert_well_formed(&lines("t", "a", "b", &[]));
    }

    #[test]
    fn numbers_have_separators() {
        assert_eq!(number(0.5), "0.5");
        assert_eq!(number(100.0), "100");
        assert_eq!(number(80_000.0), "80,000");
        assert_eq!(number(1_000_000.0), "1,000,000");
    }
}
