//! Writes a chart as SVG.
//!
//! ```text
//! title
//! subtitle
//! ■ attn  ■ mlp  ■ norm                     legend, one or more lines
//!      prefill            decode            titles of the panels
//!   0  ██████▓▓░ 1.2 ms   ███▓▓ 90 µs       a row per layer
//!   1  █████▓▓░  1.1 ms   ███▓▓ 89 µs
//!      0   500 µs   1 ms  0  50 µs          axes, each with its own scale
//! ```

use super::{Chart, Panel};
use crate::render::axis::{short_time, tick_step};
use crate::render::units::{percent, time};
use crate::render::xml::escaped;
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr;

/// Colors for a white background that color-blind people can tell apart. The last one is for all other series.
const COLORS: [&str; 10] =
    ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#ee8866", "#44bb99", "#9970ab", "#bbbbbb"];
const INK: &str = "#222222";
const FAINT: &str = "#777777";
const GRID: &str = "#e4e4e4";

const MARGIN: f64 = 16.0;
/// Average width of a character of the small font, rounded up.
const CHAR_WIDTH: f64 = 6.6;
const FONT: f64 = 11.0;
const LEGEND_LINE: f64 = 18.0;
const LABEL_CHARS: usize = 12;
/// Space at the end of bars for their length as text.
const SUM_WIDTH: f64 = 66.0;
const PANEL_GAP: f64 = 12.0;
const AXIS_HEIGHT: f64 = 24.0;
/// Number of colors.
pub(crate) const SERIES_MAX: usize = COLORS.len();

/// Positions and sizes.
struct Layout {
    width: f64,
    height: f64,
    legend_top: f64,
    rows_top: f64,
    rows_height: f64,
    row_height: f64,
    first_panel: f64,
    /// Width of the longest bar of a panel.
    bar_width: f64,
}

impl Layout {
    fn of(chart: &Chart) -> Self {
        let bar_width = match chart.panels.len() {
            0 | 1 => 720.0,
            2 => 420.0,
            _ => 300.0,
        };
        let label_chars = chart.rows.iter().map(|row| row.width()).max().unwrap_or(0).min(LABEL_CHARS);
        let first_panel = MARGIN + label_chars as f64 * CHAR_WIDTH + 8.0;
        let n_panels = chart.panels.len().max(1) as f64;
        let width = first_panel + n_panels * (bar_width + SUM_WIDTH + PANEL_GAP) - PANEL_GAP + MARGIN;
        let legend_top = MARGIN + 44.0;
        let n_lines = legend_places(chart, width).last().map_or(0.0, |(_, line)| line + 1.0);
        let has_titles = chart.panels.iter().any(|panel| !panel.title.is_empty());
        let rows_top = legend_top + n_lines * LEGEND_LINE + if has_titles { 26.0 } else { 8.0 };
        // Few layers get high bars; above 400 layers, there is no space for text.
        let row_height = match chart.rows.len() {
            0..=40 => 20.0,
            41..=100 => 16.0,
            101..=400 => 13.0,
            _ => 4.0,
        };
        let rows_height = chart.rows.len() as f64 * row_height;
        let height = rows_top + rows_height + AXIS_HEIGHT + MARGIN;
        Self { width, height, legend_top, rows_top, rows_height, row_height, first_panel, bar_width }
    }

    fn panel_left(&self, panel: usize) -> f64 {
        self.first_panel + panel as f64 * (self.bar_width + SUM_WIDTH + PANEL_GAP)
    }

    fn row_top(&self, row: usize) -> f64 {
        self.rows_top + row as f64 * self.row_height
    }

    /// Returns true if texts fit into a row.
    fn has_texts(&self) -> bool {
        self.row_height > FONT + 1.0
    }
}

/// Returns the document.
pub(crate) fn document(chart: &Chart) -> String {
    let layout = Layout::of(chart);
    let (width, height) = (layout.width, layout.height);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"{FONT}\" fill=\"{INK}\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    push_head(&mut svg, chart, &layout);
    push_labels(&mut svg, chart, &layout);
    for (place, panel) in chart.panels.iter().enumerate() {
        push_panel(&mut svg, chart, panel, &layout, layout.panel_left(place));
    }
    svg.push_str("</svg>\n");
    svg
}

fn push_head(svg: &mut String, chart: &Chart, layout: &Layout) {
    let room = ((layout.width - 2.0 * MARGIN) / 9.0) as usize;
    let _ = writeln!(
        svg,
        "<text x=\"{MARGIN}\" y=\"{}\" font-size=\"15\" font-weight=\"bold\">{}</text>",
        MARGIN + 13.0,
        escaped(&chart.title, room)
    );
    let _ = writeln!(
        svg,
        "<text x=\"{MARGIN}\" y=\"{}\" fill=\"{FAINT}\">{}</text>",
        MARGIN + 31.0,
        escaped(&chart.subtitle, room * 9 / 7)
    );
    for ((place, line), (number, name)) in legend_places(chart, layout.width).zip(chart.series.iter().enumerate()) {
        let top = layout.legend_top + line * LEGEND_LINE;
        let color = color(number);
        let _ = writeln!(svg, "<rect x=\"{place:.1}\" y=\"{top:.1}\" width=\"11\" height=\"11\" fill=\"{color}\"/>");
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            place + 16.0,
            top + 9.5,
            escaped(name, LEGEND_CHARS)
        );
    }
}

/// Largest number of characters of a name in the legend.
const LEGEND_CHARS: usize = 40;

/// Returns the x position and the line of each entry of the legend.
fn legend_places(chart: &Chart, width: f64) -> impl Iterator<Item = (f64, f64)> {
    let (mut place, mut line) = (MARGIN, 0.0);
    chart.series.iter().map(move |name| {
        let needed = 16.0 + name.width().min(LEGEND_CHARS) as f64 * CHAR_WIDTH + 14.0;
        if place > MARGIN && place + needed > width - MARGIN {
            (place, line) = (MARGIN, line + 1.0);
        }
        let here = (place, line);
        place += needed;
        here
    })
}

fn push_labels(svg: &mut String, chart: &Chart, layout: &Layout) {
    let _ = writeln!(svg, "<g text-anchor=\"end\">");
    // If rows are lower than texts, not all have a label.
    let every = if layout.has_texts() { 1 } else { (2.0 * FONT / layout.row_height).ceil() as usize };
    for (row, label) in chart.rows.iter().enumerate().step_by(every) {
        let middle = layout.row_top(row) + layout.row_height / 2.0 + 4.0;
        let (end, label) = (layout.first_panel - 6.0, escaped(label, LABEL_CHARS));
        let _ = writeln!(svg, "<text x=\"{end:.1}\" y=\"{middle:.1}\">{label}</text>");
    }
    svg.push_str("</g>\n");
}

fn push_panel(svg: &mut String, chart: &Chart, panel: &Panel, layout: &Layout, left: f64) {
    let longest = panel.longest();
    if !panel.title.is_empty() {
        let room = ((layout.bar_width + SUM_WIDTH) / 7.5) as usize;
        let (y, title) = (layout.rows_top - 9.0, escaped(&panel.title, room));
        let _ = writeln!(svg, "<text x=\"{left:.1}\" y=\"{y:.1}\" font-weight=\"bold\">{title}</text>");
    }
    push_axis(svg, longest, layout, left);
    let scale = if longest > 0 { layout.bar_width / longest as f64 } else { 0.0 };
    for row in 0..panel.bars.len() {
        push_bar(svg, chart, panel, row, layout, left, scale);
    }
}

fn push_axis(svg: &mut String, longest: i64, layout: &Layout, left: f64) {
    let (top, bottom) = (layout.rows_top, layout.rows_top + layout.rows_height);
    let step = tick_step(longest, layout.bar_width);
    let n_ticks = if step > 0 { longest / step } else { 0 };
    for tick in 0..=n_ticks {
        let at = tick.saturating_mul(step);
        let x = left + if longest > 0 { at as f64 / longest as f64 * layout.bar_width } else { 0.0 };
        let _ = writeln!(svg, "<path d=\"M{x:.1} {top:.1}V{bottom:.1}\" stroke=\"{GRID}\"/>");
        let (y, label) = (bottom + 15.0, short_time(at));
        let anchor = if tick == 0 { "start" } else { "middle" };
        let _ =
            writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{FAINT}\" text-anchor=\"{anchor}\">{label}</text>");
    }
}

fn push_bar(svg: &mut String, chart: &Chart, panel: &Panel, row: usize, layout: &Layout, left: f64, scale: f64) {
    let (sum, gap) = (panel.sum(row), if layout.has_texts() { 1.5 } else { 0.0 });
    let (top, height) = (layout.row_top(row) + gap, layout.row_height - 2.0 * gap);
    let mut x = left;
    for (series, &part) in panel.bars[row].iter().enumerate().filter(|(_, part)| **part > 0) {
        let width = part as f64 * scale;
        let color = color(series);
        let share = percent(part as f64 / sum as f64);
        let (label, name) = (escaped(&chart.rows[row], LABEL_CHARS), escaped(&chart.series[series], 80));
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.2}\" y=\"{top:.1}\" width=\"{width:.2}\" height=\"{height:.1}\" fill=\"{color}\">\
             <title>{label}, {name}: {} ({share} %)</title></rect>",
            time(part)
        );
        x += width;
    }
    if sum > 0 && layout.has_texts() {
        let (x, y) = (x + 4.0, layout.row_top(row) + layout.row_height / 2.0 + 4.0);
        let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{FAINT}\">{}</text>", time(sum));
    }
}

fn color(series: usize) -> &'static str {
    COLORS[series.min(COLORS.len() - 1)]
}
