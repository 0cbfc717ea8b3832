//! Colors and fonts.

use std::fmt::Write as _;

/// Color of a class: the class, the property, and its value on a light and on a dark background.
///
/// Orange is slower and blue is faster, which color-blind people can tell apart.
const COLORS: [(&str, &str, [&str; 2]); 26] = [
    (".page", "fill", ["#ffffff", "#16181c"]),
    ("text", "fill", ["#222222", "#e6e6e6"]),
    (".faint", "fill", ["#666666", "#a3a7ad"]),
    (".grid", "stroke", ["#e2e2e2", "#34373d"]),
    (".axis", "stroke", ["#777777", "#9a9ea5"]),
    // Bars: the part of the change from longer calls, from more calls, and from neither.
    (".slow", "fill", ["#d9731a", "#e08a36"]),
    (".slow-calls", "fill", ["#f3bd88", "#8a5420"]),
    (".fast", "fill", ["#2f7dbd", "#4c9ad6"]),
    (".fast-calls", "fill", ["#a9cfec", "#2a557c"]),
    (".neither", "fill", ["#9a9a9a", "#8c9096"]),
    // Whiskers.
    (".slow-line", "stroke", ["#d9731a", "#e08a36"]),
    (".fast-line", "stroke", ["#2f7dbd", "#4c9ad6"]),
    (".neither-line", "stroke", ["#777777", "#a3a7ad"]),
    // Frames of the flame graph, by change.
    (".same", "fill", ["#e6e6e6", "#3a3d43"]),
    (".s1", "fill", ["#fbe3cb", "#55402c"]),
    (".s2", "fill", ["#f7c592", "#6f4820"]),
    (".s3", "fill", ["#efa052", "#8f5214"]),
    (".s4", "fill", ["#e0802a", "#a95b09"]),
    (".f1", "fill", ["#dbe9f6", "#2b3f53"]),
    (".f2", "fill", ["#b0d2ed", "#29506f"]),
    (".f3", "fill", ["#7fb6e0", "#27639a"]),
    (".f4", "fill", ["#5a9fd4", "#2773b8"]),
    (".n rect", "stroke", ["#ffffff", "#16181c"]),
    (".n.new rect", "stroke", ["#8a3f00", "#ffc58a"]),
    (".n:hover rect", "stroke", ["#222222", "#ffffff"]),
    (".zoomed", "opacity", ["0.55", "0.55"]),
];

/// Fonts and lines, the same on every background.
const SHAPES: &str = "\
text{font:12px sans-serif}
.h1{font-size:18px;font-weight:bold}
.h2{font-size:14px;font-weight:bold}
.h3{font-size:13px;font-weight:bold}
.strong{font-weight:bold}
.end{text-anchor:end}
.middle{text-anchor:middle}
.small{font-size:11px}
.n text{font:11px monospace;pointer-events:none}
.n rect{stroke-width:.5}
.n.new rect{stroke-dasharray:3 2;stroke-width:1}
path{fill:none}
.whisker{stroke-width:2}
.range{stroke-width:2;stroke-dasharray:2 3}
";

/// Returns the style for a light background.
pub(super) fn light() -> String {
    format!("{SHAPES}{}", colors(0))
}

/// Returns the colors for a dark background.
pub(super) fn dark_colors() -> String {
    colors(1)
}

fn colors(background: usize) -> String {
    let mut rules = String::new();
    for (selector, property, values) in COLORS {
        let value = values.get(background).copied().unwrap_or_default();
        let _ = writeln!(rules, "{selector}{{{property}:{value}}}");
    }
    rules
}
