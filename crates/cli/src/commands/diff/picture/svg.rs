//! Shapes of a picture, and the document around them.

use super::style;
use crate::render::xml::escaped;
use std::fmt::Write as _;

/// Width of a picture in pixels.
pub(super) const WIDTH: f64 = 1200.0;
/// Space at its borders.
pub(super) const MARGIN: f64 = 16.0;
/// Average width of a character of the normal font, rounded up.
pub(super) const CHAR_WIDTH: f64 = 6.6;
/// Largest number of characters of a tooltip.
const TOOLTIP_CHARS: usize = 600;

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Shapes that are drawn from top to bottom. Texts are escaped here, and nowhere else.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    shapes: String,
    height: f64,
}

impl Drawing {
    /// Reserves space below all others. Returns its top.
    pub(super) fn advance(&mut self, height: f64) -> f64 {
        self.height += height;
        self.height - height
    }

    /// Reserves space for a section and writes its title. Returns the top below the title.
    pub(super) fn section(&mut self, title: &str) -> f64 {
        let top = self.advance(38.0);
        self.text((MARGIN, top + 28.0), "h3", title, 150);
        self.height
    }

    /// Writes a text with its baseline at a point, cut to `chars`.
    pub(super) fn text(&mut self, (x, y): (f64, f64), class: &str, text: &str, chars: usize) {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let text = escaped(text, chars);
        let _ = writeln!(self.shapes, "<text x=\"{x:.1}\" y=\"{y:.1}\"{class}>{text}</text>");
    }

    /// Draws a rectangle with a tooltip.
    pub(super) fn bar(&mut self, rect: Rect, class: &str, tooltip: &str) {
        let (shape, tooltip) = (rect_start(rect, class), lines(tooltip));
        let _ = writeln!(self.shapes, "{shape}><title>{tooltip}</title></rect>");
    }

    /// Draws a rectangle without a tooltip.
    pub(super) fn rect(&mut self, rect: Rect, class: &str) {
        let shape = rect_start(rect, class);
        let _ = writeln!(self.shapes, "{shape}/>");
    }

    /// Draws a line by the commands of a path.
    pub(super) fn path(&mut self, class: &str, commands: &str) {
        let _ = writeln!(self.shapes, "<path class=\"{class}\" d=\"{commands}\"/>");
    }

    /// Draws a dot.
    pub(super) fn dot(&mut self, (x, y): (f64, f64), class: &str) {
        let _ = writeln!(self.shapes, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>");
    }

    /// Draws a frame of a flame graph. The tooltip begins with the whole name; the label is the visible part of it.
    pub(super) fn frame(&mut self, rect: Rect, class: &str, tooltip: &str, label: &str) {
        let (shape, tooltip) = (rect_start(rect, ""), lines(tooltip));
        let (x, y, label) = (rect.x + 3.0, rect.y + rect.height - 4.5, escaped(label, usize::MAX));
        let _ = writeln!(
            self.shapes,
            "<g class=\"n {class}\"><title>{tooltip}</title>{shape}/><text x=\"{x:.2}\" y=\"{y:.1}\">{label}</text></g>"
        );
    }

    /// Begins a group of shapes with an id.
    pub(super) fn begin_group(&mut self, id: &str) {
        let _ = writeln!(self.shapes, "<g id=\"{id}\">");
    }

    /// Ends the group that began last.
    pub(super) fn end_group(&mut self) {
        self.shapes.push_str("</g>\n");
    }
}

fn rect_start(Rect { x, y, width, height }: Rect, class: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    format!("<rect{class} x=\"{x:.3}\" y=\"{y:.1}\" width=\"{width:.3}\" height=\"{height:.1}\"")
}

/// Escapes each line of a tooltip.
fn lines(text: &str) -> String {
    text.lines().map(|line| escaped(line, TOOLTIP_CHARS)).collect::<Vec<_>>().join("\n")
}

/// Returns the picture as an element of an HTML page, or of a document of its own.
pub(super) fn element(drawing: &Drawing, title: &str, style: &str) -> String {
    let height = drawing.height + MARGIN;
    let style = if style.is_empty() { String::new() } else { format!("<style>\n{style}</style>\n") };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {WIDTH:.0} {height:.0}\" role=\"img\" aria-label=\"{}\">\n{style}\
         <rect class=\"page\" width=\"100%\" height=\"100%\"/>\n{}</svg>\n",
        escaped(title, TOOLTIP_CHARS),
        drawing.shapes
    )
}

/// Returns the picture as a document of its own.
pub(super) fn document(drawing: &Drawing, title: &str) -> String {
    element(drawing, title, &style::light())
}
