//! The picture of a comparison, as SVG or as an HTML page.
//!
//! ```text
//! base.json → new.json
//! step is 4.8 % slower (+3.9 % to +5.7 %)          headline, then notes
//! step   10.0 ms  10.5 ms  +4.8 %  ----|--o--      metrics, ratios with whiskers around 1
//! matmul              |█████▓▓▓ +300 µs            causes: longer calls and more calls
//! norm           ▓███ |         -40 µs
//! | decode                                   |     flame graph: width is the time of the new side,
//! | matmul             | norm | attention |        color is the change
//! ```

mod bars;
mod flame;
mod html;
mod metrics;
mod output;
mod script;
mod style;
mod svg;

pub(crate) use output::PictureOutput;

use super::text::headline;
use ferrum_trace_analyze::compare::{Comparison, FlameDiff};
use std::path::Path;
use svg::Drawing;

/// File format of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PictureKind {
    Svg,
    Html,
}

impl PictureKind {
    /// Returns the format that the extension of a file asks for.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_ascii_lowercase().to_str()? {
            "svg" => Some(Self::Svg),
            "html" | "htm" => Some(Self::Html),
            _ => None,
        }
    }
}

/// Draws a comparison. `titles` are the names of the base and of the new side.
pub(crate) fn picture(
    comparison: &Comparison,
    titles: (&str, &str),
    flame: Option<&FlameDiff>,
    kind: PictureKind,
) -> String {
    let head = Head::of(comparison, titles);
    let mut drawing = Drawing::default();
    if kind == PictureKind::Svg {
        head.draw(&mut drawing);
    }
    metrics::draw(&mut drawing, &comparison.metrics);
    if let Some(attribution) = &comparison.attribution {
        bars::draw(&mut drawing, attribution);
    }
    if let Some(flame) = flame {
        flame::draw(&mut drawing, flame);
    }
    match kind {
        PictureKind::Svg => svg::document(&drawing, &head.title),
        PictureKind::Html => html::page(&drawing, &head),
    }
}

/// Largest number of notes.
const NOTES: usize = 6;
/// Largest number of characters of the name of a side. Two of them fit into a line.
const TITLE_CHARS: usize = 58;

/// Texts above the picture.
struct Head {
    title: String,
    headline: String,
    notes: Vec<String>,
}

impl Head {
    fn of(comparison: &Comparison, titles: (&str, &str)) -> Self {
        let [base, new] = [titles.0, titles.1].map(|title| crate::render::table::cut(title, TITLE_CHARS));
        let (n_shown, n_notes) = (comparison.concerns.len().min(NOTES), comparison.concerns.len());
        let mut notes: Vec<String> = comparison.concerns.iter().take(NOTES).map(|it| it.text.clone()).collect();
        notes.extend((n_shown < n_notes).then(|| format!("… and {} more notes", n_notes - n_shown)));
        Self { title: format!("{base} → {new}"), headline: headline(comparison), notes }
    }

    fn draw(&self, drawing: &mut Drawing) {
        let left = svg::MARGIN;
        let room = svg::WIDTH - 2.0 * svg::MARGIN;
        let mut line = |class: &str, height: f64, char_width: f64, text: &str| {
            let top = drawing.advance(height);
            drawing.text((left, top + height - 6.0), class, text, (room / char_width) as usize);
        };
        line("h1", 28.0, 9.5, &self.title);
        line("h2", 22.0, 7.5, &self.headline);
        for note in &self.notes {
            line("faint", 17.0, svg::CHAR_WIDTH, &format!("note: {note}"));
        }
    }
}

#[cfg(test)]
mod tests;
