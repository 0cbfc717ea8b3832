//! File formats of charts.

use std::path::Path;

/// File format of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChartFormat {
    Svg,
    Png,
    Html,
}

impl ChartFormat {
    /// Returns the format that the extension of a file asks for.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_ascii_lowercase().to_str()? {
            "svg" => Some(Self::Svg),
            "png" => Some(Self::Png),
            "html" | "htm" => Some(Self::Html),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_selects_the_format() {
        let of = |name: &str| ChartFormat::of(Path::new(name));
        assert_eq!(
            [of("a.svg"), of("a.PNG"), of("a.html")],
            [ChartFormat::Svg, ChartFormat::Png, ChartFormat::Html].map(Some)
        );
        assert_eq!([of("a.gif"), of("svg")], [None, None]);
    }
}
