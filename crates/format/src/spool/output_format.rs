//! The output formats of a spool.

use crate::pack::Packing;

/// The encoding of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// A JSON array of Chrome trace events.
    #[default]
    Chrome,
    /// The same with times in whole microseconds and `dur` in every event, for readers that require this.
    ChromeWholeMicros,
    /// Perfetto packets.
    Perfetto,
}

/// The output format of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputFormat {
    /// The encoding of events.
    pub encoding: Encoding,
    /// The compression.
    pub packing: Packing,
}

impl OutputFormat {
    /// Returns the same format with times in whole microseconds, if it is JSON.
    pub fn in_whole_micros(self) -> Self {
        match self.encoding {
            Encoding::Chrome => Self { encoding: Encoding::ChromeWholeMicros, ..self },
            _ => self,
        }
    }

    /// Returns the format for the ending of a file name, such as `.json.gz` or `.PFTRACE`; Chrome trace events for any
    /// other name. The second value is the recognized ending: empty, or starting with a dot.
    pub fn of_name(name: &str) -> (Self, &str) {
        let lowercase = name.to_ascii_lowercase();
        let (packing, packed_at) = Packing::of_name(&lowercase);
        let unpacked = &lowercase[..packed_at];
        let encoding_at = unpacked.rfind('.').filter(|&at| at > 0).unwrap_or(packed_at);
        let (encoding, at) = match &unpacked[encoding_at..] {
            ".pftrace" | ".perfetto-trace" => (Encoding::Perfetto, encoding_at),
            ".json" => (Encoding::Chrome, encoding_at),
            _ => (Encoding::Chrome, packed_at),
        };
        (Self { encoding, packing }, &name[at..])
    }
}

impl Packing {
    /// Returns the compression for a name in lowercase, and the offset of its ending.
    fn of_name(name: &str) -> (Self, usize) {
        let stem = |ending: &str| name.strip_suffix(ending).filter(|stem| !stem.is_empty()).map(str::len);
        #[cfg(feature = "gzip")]
        if let Some(at) = stem(".gz") {
            return (Self::Gzip, at);
        }
        #[cfg(feature = "zstd")]
        if let Some(at) = stem(".zst") {
            return (Self::Zstd, at);
        }
        let _ = stem;
        (Self::Plain, name.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_of_a_name_determines_the_format() {
        let chrome = |packing| OutputFormat { encoding: Encoding::Chrome, packing };
        let perfetto = |packing| OutputFormat { encoding: Encoding::Perfetto, packing };
        for (name, format, ending) in [
            ("trace.json", chrome(Packing::Plain), ".json"),
            ("trace", chrome(Packing::Plain), ""),
            ("trace.txt", chrome(Packing::Plain), ""),
            (".json", chrome(Packing::Plain), ""),
            ("a.b.pftrace", perfetto(Packing::Plain), ".pftrace"),
            ("a.perfetto-trace", perfetto(Packing::Plain), ".perfetto-trace"),
            ("É.PFTrace", perfetto(Packing::Plain), ".PFTrace"),
        ] {
            assert_eq!(OutputFormat::of_name(name), (format, ending), "{name}");
        }
        #[cfg(feature = "gzip")]
        for (name, format, ending) in [
            ("trace.json.gz", chrome(Packing::Gzip), ".json.gz"),
            ("trace.gz", chrome(Packing::Gzip), ".gz"),
            ("trace.log.gz", chrome(Packing::Gzip), ".gz"),
            ("trace.pftrace.gz", perfetto(Packing::Gzip), ".pftrace.gz"),
            ("A.JSON.GZ", chrome(Packing::Gzip), ".JSON.GZ"),
            (".gz", chrome(Packing::Plain), ""),
        ] {
            assert_eq!(OutputFormat::of_name(name), (format, ending), "{name}");
        }
        #[cfg(feature = "zstd")]
        for (name, ending) in [("trace.json.zst", ".json.zst"), ("trace.json.Zst", ".json.Zst")] {
            assert_eq!(OutputFormat::of_name(name), (chrome(Packing::Zstd), ending), "{name}");
        }
    }
}
