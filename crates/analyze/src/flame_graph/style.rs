//! Colors and fonts.

use std::fmt::Write as _;

/// Number of colors for categories.
pub(super) const N_COLORS: usize = 8;

/// Fills of frames on a light and on a dark background. Color-blind people can tell them apart, and text is readable on
/// each of them.
const FILLS: [[&str; 2]; N_COLORS] = [
    ["#77aadd", "#2c5f91"],
    ["#ee8866", "#94472b"],
    ["#eedd88", "#75661f"],
    ["#ffaabb", "#8d4658"],
    ["#99ddff", "#256a86"],
    ["#44bb99", "#1c6d56"],
    ["#bbcc33", "#5d661a"],
    ["#c3a5d8", "#634a7d"],
];

/// Colors of everything else: selector, property, and its value on both backgrounds.
const COLORS: [(&str, &str, [&str; 2]); 9] = [
    (".page", "fill", ["#ffffff", "#16181c"]),
    ("text", "fill", ["#222222", "#e6e6e6"]),
    (".faint", "fill", ["#666666", "#a3a7ad"]),
    (".other rect,rect.other", "fill", ["#e0e0e0", "#3a3d43"]),
    (".merged rect", "fill", ["#f0f0f0", "#26282d"]),
    (".n rect", "stroke", ["#ffffff", "#16181c"]),
    (".n.found rect", "fill", ["#d62fd6", "#c026d3"]),
    (".n:hover rect", "stroke", ["#222222", "#ffffff"]),
    (".button", "fill", ["#1f5fa8", "#7db7f0"]),
];

/// Fonts and lines, the same on every background. Buttons are shown by the script, which they need.
const SHAPES: &str = "\
svg{color-scheme:light dark}
text{font:12px sans-serif}
.h1{font-size:18px;font-weight:bold}
.end{text-anchor:end}
.button{display:none;text-anchor:end;text-decoration:underline;cursor:pointer}
.scripted .button{display:inline}
.scripted .n{cursor:pointer}
.n text{font:11px monospace;pointer-events:none;white-space:pre}
.n rect{stroke-width:.5}
.n.around{opacity:.55}
.n.found text{fill:#fff}
";

/// Returns the style.
pub(super) fn style() -> String {
    format!("{SHAPES}{}@media (prefers-color-scheme:dark){{\n{}}}\n", colors(0), colors(1))
}

fn colors(background: usize) -> String {
    let mut rules = String::new();
    for (class, values) in FILLS.iter().enumerate() {
        let _ = writeln!(rules, ".c{class} rect,rect.c{class}{{fill:{}}}", values[background]);
    }
    for (selector, property, values) in COLORS {
        let _ = writeln!(rules, "{selector}{{{property}:{}}}", values[background]);
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_backgrounds_have_every_color() {
        let style = style();
        for (class, [light, dark]) in FILLS.iter().enumerate() {
            for color in [light, dark] {
                assert!(style.contains(&format!(".c{class} rect,rect.c{class}{{fill:{color}}}")), "{class}");
            }
        }
        assert_eq!(style.matches('{').count(), style.matches('}').count());
    }
}
