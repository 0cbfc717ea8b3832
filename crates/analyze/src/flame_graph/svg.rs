//! The document.

use super::colors::{Colors, OTHER};
use super::frames::Frames;
use super::layout::{Content, Layout, Place};
use super::style::style;
use super::text::{self, count, percent, time};
use crate::xml::escape_xml;
use std::io::{self, Write};

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 16.0;
const FRAME_HEIGHT: f64 = 17.0;
/// Average width of a character of the normal font, rounded up.
const CHAR_WIDTH: f64 = 6.6;
/// Height of a line of the heading.
const LINE: f64 = 18.0;
/// Largest number of columns of a category in the legend.
const CATEGORY_COLUMNS: usize = 24;

/// Zooming and searching. It contains nothing of a trace.
const SCRIPT: &str = include_str!("script.js");

/// Text above the graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heading {
    pub(crate) title: String,
    /// A remark below the title.
    pub(crate) note: Option<String>,
}

/// Writes the graph of these frames.
pub(crate) fn write(frames: &impl Frames, heading: &Heading, out: &mut dyn Write) -> io::Result<()> {
    let layout = Layout::of(frames);
    let colors = Colors::of(frames);
    let whole = layout.places.first().map_or(0, |root| root.total_ns);
    let mut lines = vec![match whole {
        0 => "no slices with a duration".to_owned(),
        _ => format!("{} in all; the width of a frame is the time of its stack, the color its category", time(whole)),
    }];
    lines.extend(heading.note.clone());
    let merged = count(layout.n_merged, "frame");
    lines.extend((layout.n_merged > 0).then(|| format!("{merged} too narrow to be drawn one by one")));
    let legend = legend(&colors, whole);
    let legend_top = MARGIN + 26.0 + lines.len() as f64 * LINE;
    // One more line for the figures of the frame under the pointer.
    let top = legend_top + (legend.n_lines + 1) as f64 * LINE + 6.0;
    let height = top + layout.n_levels as f64 * FRAME_HEIGHT + MARGIN;
    begin(out, &heading.title, height)?;
    for (line, n) in lines.iter().zip(0..) {
        write_text(out, (MARGIN, MARGIN + 34.0 + f64::from(n) * LINE), "class=\"faint\"", line)?;
    }
    legend.write(out, legend_top)?;
    write_text(out, (MARGIN, top - 8.0), "id=\"details\"", "")?;
    writeln!(out, "<g id=\"flame\">")?;
    for place in &layout.places {
        let scale = (WIDTH - 2.0 * MARGIN) / whole as f64;
        write_place(out, frames, &colors, (place, whole), (top, scale))?;
    }
    write!(out, "</g>\n<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>\n")
}

/// Writes everything up to the title, and the buttons beside it.
fn begin(out: &mut dyn Write, title: &str, height: f64) -> io::Result<()> {
    let label = escape_xml(&text::name(title));
    write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {WIDTH:.0} {height:.0}\" role=\"img\" aria-label=\"{label}\">\n<style>\n{}</style>\n\
         <rect class=\"page\" width=\"100%\" height=\"100%\"/>\n",
        style()
    )?;
    let (y, end) = (MARGIN + 12.0, WIDTH - MARGIN);
    write_text(out, (MARGIN, y), "class=\"h1\"", &text::name(title))?;
    write_text(out, (end, y), "id=\"search\" class=\"button\"", "Search")?;
    write_text(out, (end - 60.0, y), "id=\"reset\" class=\"button\"", "Reset zoom")?;
    write_text(out, (end, y + LINE), "id=\"matched\" class=\"end\"", "")
}

fn write_text(out: &mut dyn Write, (x, y): (f64, f64), attributes: &str, text: &str) -> io::Result<()> {
    writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{}</text>", escape_xml(&text::name(text)))
}

/// Categories with their colors.
struct Legend {
    /// Class, text, left border and line of each.
    entries: Vec<(String, String, f64, usize)>,
    n_lines: usize,
}

fn legend(colors: &Colors<'_>, whole: u64) -> Legend {
    let mut named: Vec<(String, String)> = Vec::new();
    for &(category, ns) in colors.legend.iter().filter(|(_, ns)| *ns > 0) {
        let name = text::cut(&text::name(category), CATEGORY_COLUMNS);
        named.push((colors.class(category), format!("{name} {}", percent(ns, whole))));
    }
    let other = format!("other or none {}", percent(colors.other_ns, whole));
    named.extend((colors.other_ns > 0 && !named.is_empty()).then(|| (OTHER.to_owned(), other)));
    let mut legend = Legend { entries: Vec::new(), n_lines: usize::from(!named.is_empty()) };
    let mut x = MARGIN;
    for (class, text) in named {
        let width = 18.0 + text.chars().count() as f64 * CHAR_WIDTH + 16.0;
        if x > MARGIN && x + width > WIDTH - MARGIN {
            (x, legend.n_lines) = (MARGIN, legend.n_lines + 1);
        }
        legend.entries.push((class, text, x, legend.n_lines - 1));
        x += width;
    }
    legend
}

impl Legend {
    fn write(&self, out: &mut dyn Write, top: f64) -> io::Result<()> {
        for (class, text, x, line) in &self.entries {
            let y = top + *line as f64 * LINE;
            writeln!(out, "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\"/>", y + 2.0)?;
            write_text(out, (x + 18.0, y + 12.0), "", text)?;
        }
        Ok(())
    }
}

fn write_place(
    out: &mut dyn Write,
    frames: &impl Frames,
    colors: &Colors<'_>,
    (place, whole): (&Place, u64),
    (top, scale): (f64, f64),
) -> io::Result<()> {
    let share = format!("{} ({})", time(place.total_ns), percent(place.total_ns, whole));
    let (class, name, figures) = match place.content {
        Content::Merged(n) => ("merged".to_owned(), count(n, "narrower frame"), share),
        Content::Frame(frame) => {
            let name = if frame == 0 { "all".to_owned() } else { text::name(frames.name(frame)) };
            (colors.class(frames.category(frame)), name, figures(frames, frame, &share))
        }
    };
    let (x, width) = (MARGIN + place.start_ns as f64 * scale, place.total_ns as f64 * scale);
    let y = top + place.level as f64 * FRAME_HEIGHT;
    let title = escape_xml(&format!("{name}\n{figures}"));
    write!(
        out,
        "<g class=\"n {class}\"><title>{title}</title>\
         <rect x=\"{x:.3}\" y=\"{y:.1}\" width=\"{width:.3}\" height=\"{FRAME_HEIGHT:.0}\"/>"
    )?;
    if let Some(label) = text::label(&name, width) {
        write!(out, "<text x=\"{:.2}\" y=\"{:.1}\">{}</text>", x + 3.0, y + 12.5, escape_xml(&label))?;
    }
    writeln!(out, "</g>")
}

/// Returns the lines of a tooltip below the name.
fn figures(frames: &impl Frames, frame: usize, share: &str) -> String {
    let mut lines = vec![share.to_owned()];
    let category = text::name(frames.category(frame));
    lines.extend((!category.is_empty()).then(|| format!("category {category}")));
    lines.push(format!("outside of the frames in it {}", time(frames.self_ns(frame))));
    let n_slices = frames.n_slices(frame);
    lines.extend((n_slices > 0).then(|| count(n_slices, "slice")));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::frames::test_frames::{TestFrame, frames};
    use super::*;

    const EVIL: &str = "</text></g><script>alert(1)</script>]]>&amp;\"'\u{202e}\u{2028}\n\0\u{9b}\u{ffff}";

    fn graph(stacks: &Vec<TestFrame>, note: Option<&str>) -> String {
        let heading = Heading { title: "Time of <it>".to_owned(), note: note.map(str::to_owned) };
        let mut out = Vec::new();
        write(stacks, &heading, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Returns x and width of each frame.
    fn rects(svg: &str) -> Vec<(f64, f64)> {
        let number = |line: &str, name: &str| -> f64 {
            let (_, rest) =
                line.split_once(&format!("<rect {name}=\"")).or(line.split_once(&format!(" {name}=\""))).unwrap();
            rest.split('"').next().unwrap().parse().unwrap()
        };
        let lines = svg.lines().filter(|line| {
            line.starts_with("<rect x=") || line.contains("</title><rect") || line.starts_with("outside")
        });
        let with_rect = lines.filter_map(|line| line.split_once("<rect ").map(|(_, rect)| format!("<rect {rect}")));
        with_rect.map(|line| (number(&line, "x"), number(&line, "width"))).collect()
    }

    #[test]
    fn widths_are_proportional_to_times() {
        let svg = graph(&frames(&[(0, "", "", 0), (0, "a", "x", 30), (1, "b", "", 45), (0, "c", "", 25)]), None);
        let widths: Vec<f64> = rects(&svg).iter().map(|(_, width)| width / (WIDTH - 2.0 * MARGIN)).collect();
        let expected = [1.0, 0.75, 0.45, 0.25];
        assert!(widths.len() == 4 && widths.iter().zip(expected).all(|(one, two)| (one - two).abs() < 1e-5), "{svg}");
    }

    #[test]
    fn texts_of_a_trace_are_no_markup() {
        let mut stacks = frames(&[(0, "", "", 0), (0, EVIL, EVIL, 50)]);
        stacks.push((1, EVIL.repeat(500), "", 10));
        let svg = graph(&stacks, Some(EVIL));
        assert_eq!(svg.matches("<script>").count(), 1, "its own");
        assert_eq!((svg.matches("]]>").count(), svg.matches("<![CDATA[").count()), (1, 1));
        let (drawn, _) = svg.split_once("<script>").unwrap();
        assert!(!drawn.chars().any(|char| crate::visible::is_hidden(char) && char != '\n'), "{drawn:?}");
        assert!(drawn.contains("&lt;script&gt;alert(1)&lt;/script&gt;]]&gt;&amp;amp;&quot;&#39;"), "{drawn}");
        assert!(svg.len() < 20_000, "long names are cut");
    }

    #[test]
    fn a_tooltip_has_the_figures_of_the_stack() {
        let svg = graph(&frames(&[(0, "", "", 0), (0, "a", "gemm", 30_000), (1, "b", "", 90_000)]), None);
        let expected =
            "<title>a\n120.000 µs (100.0 %)\ncategory gemm\noutside of the frames in it 30.000 µs\n2 slices</title>";
        assert!(svg.contains(expected), "{svg}");
        assert!(svg.contains(">gemm 25.0 %</text>") && svg.contains(">other or none 75.0 %</text>"), "{svg}");
    }

    #[test]
    fn merged_frames_and_notes_are_stated() {
        let mut stacks = frames(&[(0, "", "", 0), (0, "long", "", 12_000_000)]);
        stacks.extend((0..30).map(|n| (0, format!("narrow {n}"), "", 100)));
        let svg = graph(&stacks, Some("5 events lost"));
        assert!(svg.contains("<title>30 narrower frames\n3.000 µs (0.0 %)</title>"), "{svg}");
        assert!(
            svg.contains(">5 events lost</text>") && svg.contains(">30 frames too narrow to be drawn one by one<"),
            "{svg}"
        );
    }

    #[test]
    fn a_graph_without_time_is_a_document_too() {
        for stacks in [frames(&[]), frames(&[(0, "", "", 0)])] {
            let svg = graph(&stacks, None);
            assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
            assert!(svg.contains("no slices") && svg.contains("Time of &lt;it&gt;"), "{svg}");
        }
    }

    #[test]
    fn the_script_can_be_embedded() {
        assert!(!SCRIPT.contains("]]>") && SCRIPT.ends_with('\n'));
        assert!(SCRIPT.contains(&format!("(width - 6) / {}", text::CHAR_WIDTH)));
    }
}
