//! Draws the roofline as SVG: FLOP per byte on one axis, FLOP per second on the other, both logarithmic.
//!
//! ```text
//! TFLOP/s        _________________ peak of a type
//!               /      o
//!      memory  /   O
//!             / o
//!                    FLOP/byte
//! ```

use crate::render::units::{count, rate, time};
use crate::render::xml::escaped;
use ferrum_trace_analyze::{DataType, DeviceSpec, OpKind, Roofline, RooflineRow, Unit};
use std::fmt::Write as _;

const INK: &str = "#222222";
const FAINT: &str = "#777777";
const GRID: &str = "#e4e4e4";
/// White border around texts that may lie on points.
const HALO: &str = "paint-order=\"stroke\" stroke=\"#ffffff\" stroke-width=\"3\"";
/// Colors by kind, for a white background, that color-blind people can tell apart.
const COLORS: [(OpKind, &str); 8] = [
    (OpKind::Gemm, "#4477aa"),
    (OpKind::Attention, "#ee6677"),
    (OpKind::Norm, "#228833"),
    (OpKind::Elementwise, "#ccbb44"),
    (OpKind::Moe, "#66ccee"),
    (OpKind::Reduction, "#aa3377"),
    (OpKind::Copy, "#ee8866"),
    (OpKind::Convolution, "#44bb99"),
];
const OTHER_COLOR: &str = "#bbbbbb";

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 600.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 92.0;
const BOTTOM: f64 = 52.0;
/// Radius of the point with the most time.
const RADIUS_MAX: f64 = 24.0;
const RADIUS_MIN: f64 = 2.5;

/// Data of a picture.
pub(super) struct Picture<'a> {
    title: String,
    subtitle: String,
    points: Vec<Point<'a>>,
    /// Peaks of arithmetic units: name, FLOP per second.
    peaks: Vec<(String, f64)>,
    /// Bandwidth of the memory in bytes per second.
    memory: Option<f64>,
}

/// An operation with one shape.
struct Point<'a> {
    row: &'a RooflineRow,
    /// FLOP per byte.
    intensity: f64,
    /// FLOP per second.
    rate: f64,
}

impl<'a> Picture<'a> {
    /// Collects the points and roofs of a trace.
    pub(super) fn of(title: &str, roofline: &'a Roofline, device: Option<&DeviceSpec>) -> Self {
        let counted = roofline.rows.iter().filter(|row| row.counted_time > 0);
        let points: Vec<Point<'a>> = counted.clone().filter_map(Point::of).collect();
        let n_left_out = counted.count() - points.len();
        let left_out = match n_left_out {
            0 => String::new(),
            n => format!("; {} without FLOP or bytes", count(n as u64, "row")),
        };
        let name = device.map_or("unknown device", |device| device.name.as_str());
        Self {
            title: title.to_owned(),
            subtitle: format!("{name}; area of a point: time of the operation{left_out}"),
            peaks: device.map(|device| peaks(device, &points)).unwrap_or_default(),
            memory: device.and_then(|device| device.memory),
            points,
        }
    }
}

impl<'a> Point<'a> {
    fn of(row: &'a RooflineRow) -> Option<Self> {
        let (intensity, rate) = (row.intensity()?, row.flop_rate()?);
        (intensity > 0.0 && rate > 0.0).then_some(Self { row, intensity, rate })
    }
}

/// Returns the peaks of the types of the points, each rate once.
fn peaks(device: &DeviceSpec, points: &[Point<'_>]) -> Vec<(String, f64)> {
    let mut peaks: Vec<(String, f64)> = Vec::new();
    for (unit, name) in [(Unit::Matrix, "matrix"), (Unit::Vector, "vector")] {
        let of_unit = points.iter().filter(|point| point.row.kind.unit() == unit);
        let mut types: Vec<DataType> = of_unit.filter_map(|point| point.row.data_type).collect();
        types.sort_unstable();
        types.dedup();
        for data_type in types {
            let Some(peak) = device.peak(unit, data_type) else { continue };
            let label = format!("{name} {}", data_type.name());
            match peaks.iter_mut().find(|(_, known)| *known == peak) {
                Some((labels, _)) => labels.push_str(&format!(", {label}")),
                None => peaks.push((label, peak)),
            }
        }
    }
    peaks
}

/// A logarithmic axis.
#[derive(Clone, Copy)]
struct Axis {
    /// Smallest and largest power of ten.
    powers: (i32, i32),
    /// Pixels of both.
    pixels: (f64, f64),
}

impl Axis {
    /// Returns an axis that contains all values.
    fn of(values: impl Iterator<Item = f64>, pixels: (f64, f64)) -> Self {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            (least, most) = (least.min(value.log10()), most.max(value.log10()));
        }
        if least > most {
            (least, most) = (0.0, 1.0);
        }
        let (from, to) = ((least - 0.1).floor() as i32, (most + 0.1).ceil() as i32);
        Self { powers: (from, to.max(from + 1)), pixels }
    }

    /// Returns the pixel of a value.
    fn at(&self, value: f64) -> f64 {
        let (from, to) = (f64::from(self.powers.0), f64::from(self.powers.1));
        let part = (value.log10() - from) / (to - from);
        self.pixels.0 + part * (self.pixels.1 - self.pixels.0)
    }

    /// Returns the values at both ends.
    fn ends(&self) -> (f64, f64) {
        (10_f64.powi(self.powers.0), 10_f64.powi(self.powers.1))
    }
}

/// Returns the document.
pub(super) fn document(picture: &Picture<'_>) -> String {
    let points = &picture.points;
    let ridges = picture.peaks.iter().filter_map(|(_, peak)| Some(peak / picture.memory?));
    let x = Axis::of(points.iter().map(|point| point.intensity).chain(ridges), (LEFT, WIDTH - RIGHT));
    let rates = points.iter().map(|point| point.rate).chain(picture.peaks.iter().map(|(_, peak)| *peak));
    let y = Axis::of(rates, (HEIGHT - BOTTOM, TOP));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH:.0}\" height=\"{HEIGHT:.0}\" \
         viewBox=\"0 0 {WIDTH:.0} {HEIGHT:.0}\" font-family=\"sans-serif\" font-size=\"11\" fill=\"{INK}\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    push_head(&mut svg, picture);
    push_grid(&mut svg, x, y);
    push_points(&mut svg, points, x, y);
    push_roofs(&mut svg, picture, x, y);
    svg.push_str("</svg>\n");
    svg
}

fn push_head(svg: &mut String, picture: &Picture<'_>) {
    let (title, subtitle) = (escaped(&picture.title, 100), escaped(&picture.subtitle, 140));
    let _ = writeln!(svg, "<text x=\"16\" y=\"29\" font-size=\"15\" font-weight=\"bold\">{title}</text>");
    let _ = writeln!(svg, "<text x=\"16\" y=\"47\" fill=\"{FAINT}\">{subtitle}</text>");
    let mut kinds: Vec<OpKind> = picture.points.iter().map(|point| point.row.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut x = 16.0;
    for kind in kinds {
        let (color, name) = (color(kind), kind.name());
        let _ = writeln!(svg, "<circle cx=\"{:.1}\" cy=\"65\" r=\"5\" fill=\"{color}\"/>", x + 5.0);
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"69\">{name}</text>", x + 14.0);
        x += 30.0 + name.len() as f64 * 6.6;
    }
}

fn push_grid(svg: &mut String, x: Axis, y: Axis) {
    let (top, bottom) = (TOP, HEIGHT - BOTTOM);
    for power in x.powers.0..=x.powers.1 {
        let (at, label) = (x.at(10_f64.powi(power)), power_text(power));
        let _ = writeln!(svg, "<path d=\"M{at:.1} {top:.1}V{bottom:.1}\" stroke=\"{GRID}\"/>");
        let _ = writeln!(
            svg,
            "<text x=\"{at:.1}\" y=\"{:.1}\" fill=\"{FAINT}\" text-anchor=\"middle\">{label}</text>",
            bottom + 15.0
        );
    }
    for power in y.powers.0..=y.powers.1 {
        // The axis is labeled in TFLOP/s.
        let (at, label) = (y.at(10_f64.powi(power)), power_text(power - 12));
        let _ = writeln!(svg, "<path d=\"M{LEFT} {at:.1}H{:.1}\" stroke=\"{GRID}\"/>", WIDTH - RIGHT);
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{FAINT}\" text-anchor=\"end\">{label}</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    let (middle_x, middle_y) = ((LEFT + WIDTH - RIGHT) / 2.0, (top + bottom) / 2.0);
    let _ =
        writeln!(svg, "<text x=\"{middle_x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">FLOP/byte</text>", HEIGHT - 14.0);
    let _ = writeln!(
        svg,
        "<text x=\"18\" y=\"{middle_y:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 18 {middle_y:.1})\">TFLOP/s</text>"
    );
}

/// Formats a power of ten: `0.01`, `100`, `1e6`.
fn power_text(power: i32) -> String {
    match power {
        -3..=-1 => format!("{:.*}", power.unsigned_abs() as usize, 10_f64.powi(power)),
        0..=4 => format!("{:.0}", 10_f64.powi(power)),
        _ => format!("1e{power}"),
    }
}

/// Draws the operations, the largest first, so that small points stay visible.
fn push_points(svg: &mut String, points: &[Point<'_>], x: Axis, y: Axis) {
    let longest = points.iter().map(|point| point.row.counted_time).max().unwrap_or(1).max(1) as f64;
    let mut sorted: Vec<&Point<'_>> = points.iter().collect();
    sorted.sort_by_key(|point| std::cmp::Reverse(point.row.counted_time));
    for point in sorted {
        let radius = (RADIUS_MAX * (point.row.counted_time as f64 / longest).sqrt()).max(RADIUS_MIN);
        let (name, shape) = (escaped(&point.row.name, 120), escaped(&point.row.shape, 120));
        let _ = writeln!(
            svg,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius:.1}\" fill=\"{}\" fill-opacity=\"0.65\" stroke=\"#ffffff\">\
             <title>{name} {shape}: {}, {} TFLOP/s, {} FLOP/byte</title></circle>",
            x.at(point.intensity),
            y.at(point.rate),
            color(point.row.kind),
            time(point.row.counted_time),
            rate(point.rate / 1e12),
            rate(point.intensity)
        );
    }
}

/// Draws the memory's roof up to the highest peak, and each peak from the memory's roof on.
fn push_roofs(svg: &mut String, picture: &Picture<'_>, x: Axis, y: Axis) {
    let (x_from, x_to) = x.ends();
    let (y_from, y_to) = y.ends();
    if let Some(memory) = picture.memory {
        let highest = picture.peaks.iter().map(|(_, peak)| *peak).fold(0.0, f64::max);
        let end = if highest > 0.0 { (highest / memory).min(x_to) } else { x_to.min(y_to / memory) };
        let begin = x_from.max(y_from / memory);
        push_line(svg, (x.at(begin), y.at(begin * memory)), (x.at(end), y.at(end * memory)));
        let slope = -((y.at(end * memory) - y.at(begin * memory)) / (x.at(end) - x.at(begin))).atan().to_degrees();
        let (at_x, at_y) = (x.at(begin) + 14.0, y.at(begin * memory) - 18.0);
        let _ = writeln!(
            svg,
            "<text x=\"{at_x:.1}\" y=\"{at_y:.1}\" {HALO} transform=\"rotate({:.1} {at_x:.1} {at_y:.1})\">memory {} GB/s</text>",
            -slope,
            rate(memory / 1e9)
        );
    }
    for (label, peak) in &picture.peaks {
        let begin = picture.memory.map_or(x_from, |memory| (peak / memory).max(x_from));
        push_line(svg, (x.at(begin), y.at(*peak)), (x.at(x_to), y.at(*peak)));
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" {HALO} text-anchor=\"end\">{} {} TFLOP/s</text>",
            WIDTH - RIGHT - 4.0,
            y.at(*peak) - 5.0,
            escaped(label, 80),
            rate(peak / 1e12)
        );
    }
}

fn push_line(svg: &mut String, from: (f64, f64), to: (f64, f64)) {
    let _ = writeln!(
        svg,
        "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"{INK}\" stroke-width=\"1.5\" fill=\"none\"/>",
        from.0, from.1, to.0, to.1
    );
}

fn color(kind: OpKind) -> &'static str {
    COLORS.iter().find(|(known, _)| *known == kind).map_or(OTHER_COLOR, |(_, color)| color)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_contains_its_values_in_whole_powers() {
        let axis = Axis::of([3.0, 4000.0].into_iter(), (0.0, 100.0));
        assert_eq!((axis.powers, axis.at(1.0), axis.at(10_000.0)), ((0, 4), 0.0, 100.0));
        let empty = Axis::of(std::iter::empty(), (0.0, 100.0));
        assert!(empty.powers.0 < empty.powers.1);
    }

    #[test]
    fn an_empty_picture_can_be_drawn() {
        let svg = document(&Picture::of("a <trace>", &Roofline::default(), None));
        assert!(svg.contains("a &lt;trace&gt;") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn powers_of_ten_are_short() {
        assert_eq!([-5, -2, 0, 3, 6].map(power_text), ["1e-5", "0.01", "1", "1000", "1e6"]);
    }
}
