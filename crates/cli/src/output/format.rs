//! The formats that traces are converted to, and their file extensions.

use clap::ValueEnum;
use std::path::Path;

/// A format to convert to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Chrome trace JSON: an object with a list `traceEvents`
    Chrome,
    /// Chrome trace JSON: a list of events
    ChromeArray,
    /// Perfetto's protobuf
    Perfetto,
    /// Profile for speedscope
    Speedscope,
    /// Folded stacks
    Folded,
    /// Flame graph
    Svg,
    /// A row per slice
    Csv,
    /// Chrome trace JSON as torch.profiler writes it
    Torch,
    /// vLLM's profile by module
    VllmLayerwise,
}

impl Format {
    /// Returns the name in flags and in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Chrome => "chrome",
            Self::ChromeArray => "chrome-array",
            Self::Perfetto => "perfetto",
            Self::Speedscope => "speedscope",
            Self::Folded => "folded",
            Self::Svg => "svg",
            Self::Csv => "csv",
            Self::Torch => "torch",
            Self::VllmLayerwise => "vllm-layerwise",
        }
    }

    /// Returns the extension of its files.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Chrome | Self::ChromeArray => "json",
            Self::Perfetto => "pftrace",
            Self::Speedscope => "speedscope.json",
            Self::Folded => "folded",
            Self::Svg => "svg",
            Self::Csv => "csv",
            Self::Torch => "pt.trace.json",
            Self::VllmLayerwise => "layerwise.json",
        }
    }

    /// Returns the format that the extension of a file asks for.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        const EXTENSIONS: [(&str, Format); 10] = [
            (".layerwise.json", Format::VllmLayerwise),
            (".pt.trace.json", Format::Torch),
            (".speedscope.json", Format::Speedscope),
            (".json", Format::Chrome),
            (".pftrace", Format::Perfetto),
            (".perfetto-trace", Format::Perfetto),
            (".folded", Format::Folded),
            (".txt", Format::Folded),
            (".svg", Format::Svg),
            (".csv", Format::Csv),
        ];
        let name = path.file_name()?.to_string_lossy().to_lowercase();
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
        EXTENSIONS.iter().find(|(extension, _)| name.ends_with(extension)).map(|(_, format)| *format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_selects_the_format() {
        let of = |name: &str| Format::of(Path::new(name));
        assert_eq!(of("d/a.json"), Some(Format::Chrome));
        assert_eq!(of("a.JSON.gz"), Some(Format::Chrome));
        assert_eq!(of("a.speedscope.json.zst"), Some(Format::Speedscope));
        assert_eq!(of("a.pftrace.gz"), Some(Format::Perfetto));
        assert_eq!(of("a.txt"), Some(Format::Folded));
        assert_eq!([of("a"), of("a.gz"), of("json"), of("d.json/a")], [None; 4]);
    }

    #[test]
    fn each_format_is_selected_by_its_own_extension() {
        for format in Format::value_variants() {
            let found = Format::of(Path::new(&format!("a.{}", format.extension())));
            assert!(found == Some(*format) || *format == Format::ChromeArray, "{format:?}");
            assert_eq!(format.to_possible_value().unwrap().get_name(), format.name());
        }
    }
}
