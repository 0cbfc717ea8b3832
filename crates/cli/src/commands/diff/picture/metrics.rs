//! Table of the headline metrics, with their ratios drawn around 1.

use super::svg::{CHAR_WIDTH, Drawing, MARGIN, WIDTH};
use crate::commands::diff::text::{change_in_percent, figure, interval_or_range, verdict};
use ferrum_trace_analyze::compare::{MetricComparison, RatioInterval, Verdict};

const ROW: f64 = 22.0;
/// Right ends of the columns of numbers.
const BASE_END: f64 = 245.0;
const NEW_END: f64 = 330.0;
const CHANGE_END: f64 = 405.0;
/// Range of the drawn ratios.
const RATIO_START: f64 = 435.0;
const RATIO_END: f64 = 655.0;
const INTERVAL_START: f64 = 690.0;
const VERDICT_START: f64 = 880.0;
/// Largest changes that the scale may show.
const LIMITS: [f64; 10] = [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 9.0, 99.0];

/// Draws a row for each metric.
pub(super) fn draw(drawing: &mut Drawing, metrics: &[MetricComparison]) {
    let top = drawing.section("Metrics") + 4.0;
    drawing.advance(ROW * (metrics.len() as f64 + 1.0) + 4.0);
    let scale = Scale::of(metrics);
    head(drawing, top, &scale, metrics.len());
    for (number, metric) in metrics.iter().enumerate() {
        row(drawing, top + ROW * (number as f64 + 1.0), &scale, metric);
    }
}

fn head(drawing: &mut Drawing, top: f64, scale: &Scale, n_rows: usize) {
    let y = top + 13.0;
    for (end, title) in [(BASE_END, "base"), (NEW_END, "new"), (CHANGE_END, "change")] {
        drawing.text((end, y), "faint end", title, 20);
    }
    let bottom = top + ROW * (n_rows as f64 + 1.0);
    for ratio in [1.0 / (1.0 + scale.limit), 1.0, 1.0 + scale.limit] {
        let x = scale.x(ratio);
        drawing.text((x, y), "faint middle", &ratio_text(ratio), 20);
        let class = if ratio == 1.0 { "axis" } else { "grid" };
        drawing.path(class, &format!("M{x:.1} {:.1}V{bottom:.1}", top + 18.0));
    }
    drawing.text((INTERVAL_START, y), "faint", "interval", 20);
    drawing.text((VERDICT_START, y), "faint", "verdict", 20);
}

fn ratio_text(ratio: f64) -> String {
    if ratio < 10.0 { format!("×{ratio:.2}") } else { format!("×{ratio:.0}") }
}

fn row(drawing: &mut Drawing, top: f64, scale: &Scale, metric: &MetricComparison) {
    let y = top + 15.0;
    let chars = |room: f64| (room / CHAR_WIDTH) as usize;
    drawing.text((MARGIN, y), "", &metric.name, chars(BASE_END - MARGIN - 70.0));
    drawing.text((BASE_END, y), "end", &figure(metric.base, metric.unit), 16);
    drawing.text((NEW_END, y), "end", &figure(metric.new, metric.unit), 14);
    drawing.text((CHANGE_END, y), "end strong", &change_in_percent(metric.ratio), 12);
    whisker(drawing, top + 11.0, scale, metric);
    drawing.text((INTERVAL_START, y), "faint small", &interval_or_range(metric), chars(VERDICT_START - INTERVAL_START));
    drawing.text((VERDICT_START, y), "", &verdict(&metric.verdict), chars(WIDTH - MARGIN - VERDICT_START));
}

/// Draws the interval of a ratio as a line with ends, and the ratio as a dot. The range within single runs is dotted.
fn whisker(drawing: &mut Drawing, y: f64, scale: &Scale, metric: &MetricComparison) {
    let Some(ratio) = metric.ratio.filter(|ratio| *ratio > 0.0) else { return };
    let (dot, line) = match metric.verdict {
        Verdict::Slower => ("slow", "slow-line"),
        Verdict::Faster => ("fast", "fast-line"),
        _ => ("neither", "neither-line"),
    };
    if let Some(interval) = metric.interval {
        drawing.path(&format!("whisker {line}"), &whisker_path(scale, &interval, y));
    } else if let Some(range) = metric.instability {
        drawing.path(&format!("range {line}"), &whisker_path(scale, &range, y));
    }
    drawing.dot((scale.x(ratio), y), dot);
}

/// Returns a line with a bar at each end; an arrow at ends outside of the scale.
fn whisker_path(scale: &Scale, RatioInterval { low, high }: &RatioInterval, y: f64) -> String {
    let (left, right) = (scale.x(*low), scale.x(*high));
    let end = |ratio: f64, x: f64, inwards: f64| match scale.contains(ratio) {
        true => format!("M{x:.1} {:.1}V{:.1}", y - 5.0, y + 5.0),
        false => {
            let back = x + inwards;
            format!("M{back:.1} {:.1}L{x:.1} {y:.1}L{back:.1} {:.1}", y - 4.0, y + 4.0)
        }
    };
    format!("M{left:.1} {y:.1}H{right:.1}{}{}", end(*low, left, 5.0), end(*high, right, -5.0))
}

/// Logarithmic scale of ratios, symmetric around 1.
struct Scale {
    /// Largest change, as a share.
    limit: f64,
}

impl Scale {
    /// Returns the smallest scale that shows all ratios and bounds that are known.
    fn of(metrics: &[MetricComparison]) -> Self {
        let bounds = |it: &RatioInterval| [it.low, it.high];
        let of_metric = |metric: &MetricComparison| {
            let range = metric.interval.or(metric.instability);
            metric.ratio.into_iter().chain(range.iter().flat_map(bounds)).collect::<Vec<f64>>()
        };
        let logs = metrics.iter().flat_map(of_metric).map(f64::ln).filter(|log| log.is_finite());
        let largest = logs.map(f64::abs).fold(0.0, f64::max);
        let limit = LIMITS.into_iter().find(|limit| limit.ln_1p() >= largest);
        Self { limit: limit.unwrap_or(LIMITS[LIMITS.len() - 1]) }
    }

    /// Returns true if a ratio is on the scale.
    fn contains(&self, ratio: f64) -> bool {
        ratio.ln().abs() <= self.limit.ln_1p() + 1e-9
    }

    /// Returns the position of a ratio, or the end of the scale if it lies beyond.
    fn x(&self, ratio: f64) -> f64 {
        let middle = (RATIO_START + RATIO_END) / 2.0;
        let part = (ratio.ln() / self.limit.ln_1p()).clamp(-1.0, 1.0);
        if part.is_nan() { middle } else { middle + part * (RATIO_END - RATIO_START) / 2.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_symmetric_and_ends_are_clipped() {
        let scale = Scale { limit: 0.1 };
        let middle = scale.x(1.0);
        assert!((scale.x(1.1) - middle - (middle - scale.x(1.0 / 1.1))).abs() < 1e-9);
        assert_eq!((scale.x(0.0), scale.x(f64::INFINITY)), (RATIO_START, RATIO_END));
        assert!(scale.contains(1.1) && !scale.contains(1.2) && !scale.contains(0.0));
    }

    #[test]
    fn unknown_bounds_end_in_arrows() {
        let path = whisker_path(&Scale { limit: 0.1 }, &RatioInterval { low: 0.0, high: 1.05 }, 10.0);
        assert_eq!((path.matches('L').count(), path.matches('V').count()), (2, 1), "{path}");
    }
}
