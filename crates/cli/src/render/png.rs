//! Renders SVG as PNG.

use crate::user_error::UserError;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Family, Query};
use resvg::usvg::{Options, Tree};
use std::sync::Arc;

/// Pixels of the PNG per unit of the SVG, for sharp text on high-resolution screens.
const SCALE: f32 = 2.0;
/// Largest height at which [`SCALE`] is used.
const HEIGHT_MAX: f32 = 12_000.0;
/// Fonts that are readable at a small size, the best first.
const FONTS: [&str; 9] = [
    "Inter",
    "Noto Sans",
    "DejaVu Sans",
    "Liberation Sans",
    "Open Sans",
    "Roboto",
    "Segoe UI",
    "Helvetica Neue",
    "Arial",
];

/// Renders an SVG.
pub(crate) fn render(svg: &str) -> Result<Vec<u8>, UserError> {
    let failed = |what: String| UserError::new("png", what).hint("write .svg or .html instead");
    let options = Options { fontdb: Arc::new(fonts()?), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| failed(format!("cannot draw: {error}")))?;
    let size = tree.size();
    let scale = if size.height() * SCALE > HEIGHT_MAX { 1.0 } else { SCALE };
    let (width, height) = ((size.width() * scale).ceil() as u32, (size.height() * scale).ceil() as u32);
    let mut pixels =
        Pixmap::new(width, height).ok_or_else(|| failed(format!("{width} by {height} points are too many")))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| failed(format!("cannot encode: {error}")))
}

/// Loads the fonts of the system. Without any, the texts would be missing.
fn fonts() -> Result<Database, UserError> {
    let mut fonts = Database::new();
    fonts.load_system_fonts();
    let has = |name: &&str| fonts.query(&Query { families: &[Family::Name(name)], ..Query::default() }).is_some();
    let known = FONTS.iter().find(|name| has(name)).map(|name| (*name).to_owned());
    let any = || fonts.faces().find_map(|face| face.families.first().map(|(name, _)| name.clone()));
    let Some(name) = known.or_else(any) else {
        let error = UserError::new("png", "expected a font on this system to write texts with, found none");
        return Err(error.hint("install one, such as DejaVu Sans, or write .svg or .html instead"));
    };
    fonts.set_sans_serif_family(name);
    Ok(fonts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_drawn_if_there_are_fonts() {
        let with = |text: &str| {
            render(&format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\" height=\"20\" font-family=\"sans-serif\">\
                 <rect width=\"100\" height=\"20\" fill=\"#fff\"/><text x=\"2\" y=\"15\">{text}</text></svg>"
            ))
        };
        match (with("layer 12"), with("")) {
            (Ok(text), Ok(empty)) => assert_ne!(text, empty),
            (Err(error), Err(_)) => assert!(error.to_string().contains("found none"), "{error}"),
            _ => panic!("one has fonts, the other has none"),
        }
    }
}
