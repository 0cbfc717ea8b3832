//! Bars of the causes of a change: slower to the right, faster to the left.

use super::svg::{CHAR_WIDTH, Drawing, MARGIN, Rect, WIDTH};
use crate::commands::diff::text::{calls, cause_name, causes_summary, signed};
use crate::render::axis::{short_time, tick_step};
use crate::render::table::{clean, shorten};
use crate::render::units::{number, time};
use ferrum_trace_analyze::compare::{Attribution, Cause};
use ferrum_trace_analyze::runs::{Place, Unit};

/// Largest number of causes with a bar of their own.
const CAUSES: usize = 15;
const ROW: f64 = 22.0;
const BAR_HEIGHT: f64 = 14.0;
/// Range of the bars.
const BARS_START: f64 = 400.0;
const BARS_END: f64 = 870.0;
/// Right ends of the columns of numbers.
const CHANGE_END: f64 = 960.0;
const SHARE_END: f64 = 1030.0;
const TIMES_START: f64 = 1044.0;

/// One bar: the change and its two parts.
#[derive(Clone, Debug, Default, PartialEq)]
struct Bar {
    name: String,
    /// Place, category and layer.
    about: String,
    change_ns: i64,
    /// Change by more calls and by longer ones; `None` if it does not come from operations.
    split: Option<(i64, i64)>,
    time_ns: Option<(i64, i64)>,
    calls: Option<(f64, f64)>,
}

/// Draws the split of a change.
pub(super) fn draw(drawing: &mut Drawing, attribution: &Attribution) {
    let title = match attribution.unit {
        Unit::Step => "Causes of the change of the mean step",
        Unit::Trace => "Causes of the change of the busy time",
    };
    drawing.section(title);
    for line in causes_summary(attribution) {
        let y = drawing.advance(17.0) + 12.0;
        drawing.text((MARGIN, y), "", line.trim_start(), ((WIDTH - 2.0 * MARGIN) / CHAR_WIDTH) as usize);
    }
    legend(drawing);
    let bars = bars(attribution);
    let top = drawing.advance(ROW * bars.len() as f64 + 26.0);
    let scale = Scale::of(&bars);
    axis(drawing, (top, top + ROW * bars.len() as f64), &scale);
    for (number, bar) in bars.iter().enumerate() {
        bar.draw(drawing, top + ROW * number as f64, &scale, attribution.common_mean_ns.0);
    }
}

fn legend(drawing: &mut Drawing) {
    let entries = [
        ("slow", "slower: longer"),
        ("slow-calls", "slower: more calls"),
        ("fast", "faster: shorter"),
        ("fast-calls", "faster: fewer calls"),
        ("neither", "outlier steps, batch mix"),
    ];
    let top = drawing.advance(26.0);
    let mut x = MARGIN;
    for (class, text) in entries {
        drawing.rect(Rect { x, y: top + 6.0, width: 11.0, height: 11.0 }, class);
        drawing.text((x + 16.0, top + 16.0), "faint", text, 40);
        x += 16.0 + text.len() as f64 * CHAR_WIDTH + 14.0;
    }
}

/// Returns the bars: the largest causes, the sum of the others, outlier steps and the batch mix.
fn bars(attribution: &Attribution) -> Vec<Bar> {
    // Causes are sorted by change, so those without a change are the last ones.
    let n_changed = attribution.causes.iter().take_while(|cause| cause.change_ns != 0).count();
    let (shown, rest) = attribution.causes.split_at(n_changed.min(CAUSES));
    let mut bars: Vec<Bar> = shown.iter().map(Bar::of).collect();
    bars.extend((!rest.is_empty()).then(|| Bar::of_rest(rest)));
    if attribution.unit == Unit::Step {
        let (base, new) = attribution.n_outliers;
        let about = format!("{} and {} steps", number(base), number(new));
        bars.push(Bar::unsplit("(outlier steps)", about, attribution.outliers_ns));
        bars.push(Bar::unsplit("(batch mix)", String::new(), attribution.mix_ns));
    }
    bars
}

fn axis(drawing: &mut Drawing, (top, bottom): (f64, f64), scale: &Scale) {
    let step = tick_step(scale.left.saturating_add(scale.right), BARS_END - BARS_START);
    let (first, last) = (-(scale.left / step), scale.right / step);
    for tick in first..=last {
        let at = tick.saturating_mul(step);
        let x = scale.x(at);
        drawing.path(if tick == 0 { "axis" } else { "grid" }, &format!("M{x:.1} {top:.1}V{bottom:.1}"));
        let sign = if at > 0 { "+" } else { "" };
        drawing.text((x, bottom + 15.0), "faint middle", &format!("{sign}{}", short_time(at)), 20);
    }
}

impl Bar {
    fn of(cause: &Cause) -> Self {
        let has_calls = matches!(cause.place, Place::Host | Place::Device);
        let mut about = vec![cause.place.name().to_owned()];
        about.extend((has_calls && !cause.category.is_empty()).then(|| cause.category.clone()));
        about.extend(cause.layer.map(|layer| format!("layer {layer}")));
        Self {
            name: clean(&cause_name(cause)),
            about: clean(&about.join(", ")),
            change_ns: cause.change_ns,
            split: Some((cause.calls_ns, cause.longer_ns)),
            time_ns: Some(cause.time_ns),
            calls: has_calls.then_some(cause.calls),
        }
    }

    fn of_rest(rest: &[Cause]) -> Self {
        let sum = |value: fn(&Cause) -> i64| rest.iter().map(value).fold(0, i64::saturating_add);
        Self {
            name: format!("… {} more", number(rest.len() as u64)),
            change_ns: sum(|cause| cause.change_ns),
            split: Some((sum(|cause| cause.calls_ns), sum(|cause| cause.longer_ns))),
            time_ns: Some((sum(|cause| cause.time_ns.0), sum(|cause| cause.time_ns.1))),
            ..Self::default()
        }
    }

    fn unsplit(name: &str, about: String, change_ns: i64) -> Self {
        Self { name: name.to_owned(), about, change_ns, ..Self::default() }
    }

    /// Returns the parts with their classes, those next to zero first.
    fn parts(&self) -> Vec<(i64, &'static str)> {
        let class = |part: i64, slower, faster| if part > 0 { slower } else { faster };
        match self.split {
            Some((calls, longer)) => {
                vec![(longer, class(longer, "slow", "fast")), (calls, class(calls, "slow-calls", "fast-calls"))]
            }
            None => vec![(self.change_ns, "neither")],
        }
    }

    /// Returns the lengths to the left and to the right of zero. Parts of opposite directions do not cancel out.
    fn extent(&self) -> (i64, i64) {
        self.parts().iter().fold((0, 0), |(left, right), &(part, _)| {
            (i64::saturating_sub(left, part.min(0)), i64::saturating_add(right, part.max(0)))
        })
    }

    fn draw(&self, drawing: &mut Drawing, top: f64, scale: &Scale, step_ns: i64) {
        let y = top + 15.0;
        let about_chars = self.about.chars().count().min(26);
        let name_chars = ((BARS_START - MARGIN - 14.0) / CHAR_WIDTH) as usize - about_chars - 1;
        drawing.text((MARGIN, y), "", &shorten(&self.name, name_chars), name_chars);
        drawing.text((BARS_START - 14.0, y), "faint end small", &self.about, about_chars);
        self.draw_parts(drawing, top + (ROW - BAR_HEIGHT) / 2.0, scale);
        drawing.text((CHANGE_END, y), "end strong", &signed(self.change_ns), 16);
        if step_ns > 0 {
            let share = 100.0 * self.change_ns as f64 / step_ns as f64;
            drawing.text((SHARE_END, y), "end faint", &format!("{share:+.2} %"), 12);
        }
        if let Some((base, new)) = self.time_ns {
            drawing.text((TIMES_START, y), "faint small", &format!("{} → {}", time(base), time(new)), 32);
        }
    }

    fn draw_parts(&self, drawing: &mut Drawing, y: f64, scale: &Scale) {
        let tooltip = self.tooltip();
        let (mut left, mut right) = (0_i64, 0_i64);
        for (part, class) in self.parts().into_iter().filter(|(part, _)| *part != 0) {
            let end = if part < 0 { &mut left } else { &mut right };
            let from = *end;
            *end = end.saturating_add(part);
            let (one, two) = (scale.x(from), scale.x(*end));
            let rect = Rect { x: one.min(two), y, width: (two - one).abs(), height: BAR_HEIGHT };
            drawing.bar(rect, class, &tooltip);
        }
        if left < 0 && right > 0 {
            let x = scale.x(self.change_ns);
            drawing.path("axis whisker", &format!("M{x:.1} {:.1}V{:.1}", y - 2.0, y + BAR_HEIGHT + 2.0));
        }
    }

    fn tooltip(&self) -> String {
        let mut lines = vec![self.name.clone()];
        lines.extend((!self.about.is_empty()).then(|| self.about.clone()));
        lines.push(format!("change {}", signed(self.change_ns)));
        if let Some((more, longer)) = self.split.filter(|_| self.calls.is_some()) {
            lines.push(format!("from more calls {}, from longer calls {}", signed(more), signed(longer)));
        }
        lines.extend(self.time_ns.map(|(base, new)| format!("time {} to {}", time(base), time(new))));
        lines.extend(self.calls.map(|(base, new)| format!("calls {} to {}", calls(base), calls(new))));
        lines.join("\n")
    }
}

/// Scale of times, with zero between both sides.
struct Scale {
    /// Longest bar to the left, in nanoseconds.
    left: i64,
    /// Longest bar to the right.
    right: i64,
}

impl Scale {
    fn of(bars: &[Bar]) -> Self {
        let longest = |one: (i64, i64), two: (i64, i64)| (one.0.max(two.0), one.1.max(two.1));
        let (left, right) = bars.iter().map(Bar::extent).fold((0, 0), longest);
        Self { left, right }
    }

    fn x(&self, ns: i64) -> f64 {
        let (left, right) = (self.left as f64, self.right as f64);
        BARS_START + (ns as f64 + left) / (left + right).max(1.0) * (BARS_END - BARS_START)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(calls: i64, longer: i64) -> Bar {
        Bar { change_ns: calls + longer, split: Some((calls, longer)), ..Bar::default() }
    }

    #[test]
    fn lengths_are_proportional() {
        let bars = [bar(0, 300), bar(50, 100), bar(0, -100)];
        let scale = Scale::of(&bars);
        let length = |ns: i64| (scale.x(ns) - scale.x(0)).abs();
        assert_eq!((scale.left, scale.right), (100, 300));
        assert!((length(300) - 3.0 * length(-100)).abs() < 1e-9);
        assert!((length(300) + length(-100) - (BARS_END - BARS_START)).abs() < 1e-9);
    }

    #[test]
    fn parts_of_opposite_directions_are_on_both_sides() {
        assert_eq!(bar(50, -20).extent(), (20, 50));
        assert_eq!(bar(50, -20).parts(), [(-20, "fast"), (50, "slow-calls")]);
        assert_eq!(bar(i64::MAX, i64::MAX - 1 - i64::MAX).extent().1, i64::MAX);
    }

    #[test]
    fn a_scale_without_changes_is_finite() {
        let scale = Scale::of(&[bar(0, 0)]);
        assert!(scale.x(0).is_finite());
    }
}
