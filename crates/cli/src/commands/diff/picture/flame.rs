//! Differential flame graph: the width is the time of the new side, the color is the change.

use super::svg::{CHAR_WIDTH, Drawing, MARGIN, Rect, WIDTH};
use crate::commands::diff::text::{calls, change_in_percent, signed};
use crate::render::table::{clean, shorten};
use crate::render::units::{count, number, time};
use ferrum_trace_analyze::compare::{FlameDiff, FlameNode};
use ferrum_trace_analyze::runs::Unit;

const FRAME_HEIGHT: f64 = 17.0;
/// Width of a character in a frame.
const FRAME_CHAR: f64 = 6.7;
/// Narrowest frame, in pixels.
const NARROWEST: f64 = 0.5;
/// Largest depth.
const LEVELS: usize = 80;
/// Largest number of calls that are listed as gone.
const GONE: usize = 10;
/// Changes from which a frame has the next stronger color, as ratios.
const SHADES: [f64; 4] = [1.02, 1.05, 1.15, 1.4];
const SLOWER: [&str; 5] = ["same", "s1", "s2", "s3", "s4"];
const FASTER: [&str; 5] = ["same", "f1", "f2", "f3", "f4"];

/// Draws the graph, and lists the calls that only the base has.
pub(super) fn draw(drawing: &mut Drawing, diff: &FlameDiff) {
    let unit = match diff.unit {
        Unit::Step => "typical step",
        Unit::Trace => "trace",
    };
    drawing.section(&format!("Time of a {unit} by call stack: width is the new time, color is the change"));
    legend(drawing);
    let layout = Layout::of(diff);
    let top = drawing.advance(layout.n_levels as f64 * FRAME_HEIGHT + 6.0);
    drawing.begin_group("flame");
    for frame in &layout.frames {
        draw_frame(drawing, diff, frame, top);
    }
    drawing.end_group();
    for line in layout.left_out() {
        note(drawing, &line);
    }
    draw_gone(drawing, diff);
}

fn legend(drawing: &mut Drawing) {
    let percents = SHADES.map(|ratio| format!("{:.0} %", 100.0 * (ratio - 1.0)));
    let top = drawing.advance(26.0);
    let mut x = MARGIN;
    let mut text = |drawing: &mut Drawing, text: &str| {
        drawing.text((x, top + 16.0), "faint", text, 60);
        x += text.chars().count() as f64 * CHAR_WIDTH + 6.0;
        x
    };
    let mut left = text(drawing, "faster");
    let classes = FASTER.iter().rev().chain(&SLOWER[1..]);
    for class in classes {
        drawing.rect(Rect { x: left, y: top + 5.0, width: 22.0, height: 13.0 }, class);
        left += 23.0;
    }
    let limits = format!("slower; from {} of the base; dashed: only in new, with all calls in it", percents.join(", "));
    drawing.text((left + 6.0, top + 16.0), "faint", &limits, 100);
}

/// A node with its place.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Frame {
    node: usize,
    level: usize,
    x: f64,
    width: f64,
}

/// Frames that are drawn, outer before inner.
#[derive(Debug, Default)]
struct Layout {
    frames: Vec<Frame>,
    n_levels: usize,
    /// Number of calls that are too narrow, or inside of one that is.
    n_narrow: usize,
    /// Number of calls that are too deep.
    n_deep: usize,
}

impl Layout {
    fn of(diff: &FlameDiff) -> Self {
        let mut layout = Self::default();
        let Some(root) = diff.nodes.first().filter(|root| root.total_ns.1 > 0.0) else { return layout };
        let scale = (WIDTH - 2.0 * MARGIN) / root.total_ns.1;
        layout.frames.push(Frame { node: 0, level: 0, x: MARGIN, width: root.total_ns.1 * scale });
        let mut next = 0;
        while let Some(&frame) = layout.frames.get(next) {
            next += 1;
            layout.n_levels = layout.n_levels.max(frame.level + 1);
            layout.place_children(diff, frame, scale);
        }
        let n_new = diff.nodes.iter().filter(|node| node.total_ns.1 > 0.0).count();
        layout.n_narrow = n_new.saturating_sub(layout.frames.len() + layout.n_deep);
        layout
    }

    fn place_children(&mut self, diff: &FlameDiff, frame: Frame, scale: f64) {
        let mut x = frame.x;
        let children = diff.nodes.get(frame.node).map_or(&[][..], |node| &node.children);
        for &child in children {
            let width = diff.nodes.get(child).map_or(0.0, |node| node.total_ns.1 * scale);
            if width >= NARROWEST {
                match frame.level + 1 < LEVELS {
                    true => self.frames.push(Frame { node: child, level: frame.level + 1, x, width }),
                    false => self.n_deep += 1,
                }
            }
            x += width;
        }
    }

    /// Returns sentences about calls that are not drawn.
    fn left_out(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.n_narrow > 0 {
            lines.push(format!("Not drawn: {} narrower than half a pixel", count(self.n_narrow as u64, "call")));
        }
        if self.n_deep > 0 {
            lines.push(format!("Not drawn: {} deeper than {LEVELS} levels", count(self.n_deep as u64, "call")));
        }
        lines
    }
}

fn draw_frame(drawing: &mut Drawing, diff: &FlameDiff, frame: &Frame, top: f64) {
    let Some(node) = diff.nodes.get(frame.node) else { return };
    let whole = diff.nodes.first().map_or(0.0, |root| root.total_ns.1);
    let rect =
        Rect { x: frame.x, y: top + frame.level as f64 * FRAME_HEIGHT, width: frame.width, height: FRAME_HEIGHT };
    let chars = ((frame.width - 6.0) / FRAME_CHAR).max(0.0) as usize;
    let name = name(node);
    let label = if chars >= 3 { shorten(name, chars) } else { String::new() };
    let class = format!("{}{}", shade(node.ratio()), if is_outermost_new(diff, node) { " new" } else { "" });
    drawing.frame(rect, &class, &tooltip(node, whole), &label);
}

/// Returns true if only the new side has a call, and both sides have the call around it.
fn is_outermost_new(diff: &FlameDiff, node: &FlameNode) -> bool {
    let is_new = |node: &FlameNode| node.ratio().is_infinite();
    let around = node.parent.and_then(|parent| diff.nodes.get(parent));
    is_new(node) && !around.is_some_and(is_new)
}

fn name(node: &FlameNode) -> &str {
    if node.parent.is_none() { "all" } else { &node.name }
}

/// Returns the class of a change.
fn shade(ratio: f64) -> &'static str {
    let strength = if ratio < 1.0 { 1.0 / ratio } else { ratio };
    let step = SHADES.iter().filter(|&&limit| strength >= limit).count();
    if ratio < 1.0 { FASTER[step] } else { SLOWER[step] }
}

/// Returns the name, and lines with figures. The script of the page takes the name from the first line.
fn tooltip(node: &FlameNode, whole: f64) -> String {
    let [base, new] = [node.total_ns.0, node.total_ns.1].map(|ns| ns.round() as i64);
    let change = match node.ratio() {
        ratio if ratio.is_infinite() => "only in new".to_owned(),
        ratio => change_in_percent(Some(ratio)),
    };
    let mut lines = vec![clean(name(node))];
    lines.extend((!node.category.is_empty()).then(|| format!("category {}", clean(&node.category))));
    lines.push(format!("base {}, new {} ({:.1} % of all)", time(base), time(new), 100.0 * node.total_ns.1 / whole));
    lines.push(format!("change {} ({change})", signed(new.saturating_sub(base))));
    let [own_base, own_new] = [node.self_ns.0, node.self_ns.1].map(|ns| ns.round() as i64);
    if !node.children.is_empty() {
        lines.push(format!("outside of the calls in it {} to {}", time(own_base), time(own_new)));
    }
    if node.calls != (0.0, 0.0) {
        lines.push(format!("calls {} to {}", calls(node.calls.0), calls(node.calls.1)));
    }
    lines.join("\n")
}

fn note(drawing: &mut Drawing, line: &str) {
    let y = drawing.advance(17.0) + 12.0;
    drawing.text((MARGIN, y), "faint", line, ((WIDTH - 2.0 * MARGIN) / CHAR_WIDTH) as usize);
}

/// Lists calls that only the base has, the longest first.
fn draw_gone(drawing: &mut Drawing, diff: &FlameDiff) {
    let gone = gone(diff);
    if gone.is_empty() {
        return;
    }
    let y = drawing.advance(24.0) + 18.0;
    drawing.text((MARGIN, y), "strong", "Only in base", 40);
    for &node in gone.iter().take(GONE) {
        let ns = diff.nodes.get(node).map_or(0.0, |node| node.total_ns.0);
        note(drawing, &format!("{}: {}", time(ns.round() as i64), diff.path(node).join(" > ")));
    }
    if gone.len() > GONE {
        note(drawing, &format!("… {} more", number((gone.len() - GONE) as u64)));
    }
}

/// Returns the outermost calls that only the base has, the longest first.
fn gone(diff: &FlameDiff) -> Vec<usize> {
    let is_gone = |node: usize| diff.nodes.get(node).is_some_and(FlameNode::is_gone);
    let is_outermost = |&node: &usize| !diff.nodes[node].parent.is_some_and(is_gone);
    let mut gone: Vec<usize> = (0..diff.nodes.len()).filter(|&node| is_gone(node)).filter(is_outermost).collect();
    gone.sort_by(|&one, &two| diff.nodes[two].total_ns.0.total_cmp(&diff.nodes[one].total_ns.0));
    gone
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a tree of parents and times. The first node is the root.
    fn tree(nodes: &[(usize, &str, f64, f64)]) -> FlameDiff {
        let mut diff = FlameDiff::default();
        for (idx, &(parent, name, base, new)) in nodes.iter().enumerate() {
            let parent = (idx > 0).then_some(parent);
            if let Some(parent) = parent {
                diff.nodes[parent].children.push(idx);
            }
            diff.nodes.push(FlameNode { parent, name: name.to_owned(), total_ns: (base, new), ..Default::default() });
        }
        diff
    }

    #[test]
    fn widths_are_proportional_to_the_new_time() {
        let diff = tree(&[(0, "", 90.0, 100.0), (0, "a", 50.0, 75.0), (0, "b", 40.0, 25.0), (1, "c", 5.0, 0.01)]);
        let layout = Layout::of(&diff);
        let widths: Vec<f64> = layout.frames.iter().map(|frame| frame.width / (WIDTH - 2.0 * MARGIN)).collect();
        assert!(widths.iter().zip([1.0, 0.75, 0.25]).all(|(one, two)| (one - two).abs() < 1e-9), "{widths:?}");
        assert!((layout.frames[2].x - layout.frames[1].x - layout.frames[1].width).abs() < 1e-9);
        assert_eq!((layout.n_levels, layout.n_narrow, layout.n_deep), (2, 1, 0));
        assert_eq!(layout.left_out(), ["Not drawn: 1 call narrower than half a pixel"]);
    }

    #[test]
    fn deep_stacks_are_cut() {
        let chain: Vec<(usize, &str, f64, f64)> =
            (0..200_usize).map(|level| (level.saturating_sub(1), "x", 1.0, 1.0)).collect();
        let layout = Layout::of(&tree(&chain));
        assert_eq!((layout.n_levels, layout.frames.len(), layout.n_deep), (LEVELS, LEVELS, 1));
    }

    #[test]
    fn an_empty_new_side_has_no_frames() {
        assert!(Layout::of(&tree(&[(0, "", 5.0, 0.0)])).frames.is_empty());
        assert!(Layout::of(&FlameDiff::default()).frames.is_empty());
    }

    #[test]
    fn colors_follow_the_change() {
        assert_eq!([0.5, 0.9, 0.97, 0.99, 1.0, 1.01].map(shade), ["f4", "f2", "f1", "same", "same", "same"]);
        assert_eq!([1.03, 1.06, 1.2, 2.0, f64::INFINITY].map(shade), ["s1", "s2", "s3", "s4", "s4"]);
        assert_eq!(shade(0.0), "f4");
    }

    #[test]
    fn only_the_outermost_gone_calls_are_listed() {
        let diff = tree(&[(0, "", 9.0, 1.0), (0, "a", 3.0, 0.0), (1, "b", 3.0, 0.0), (0, "c", 5.0, 0.0)]);
        assert_eq!(gone(&diff), [3, 1]);
    }
}
