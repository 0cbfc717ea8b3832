//! Compresses output if its name asks for it, and strips extensions from names.

use super::target::{Failure, TraceWriter};
use ferrum_trace_format::Packing;
use ferrum_trace_format::spool::FILE_ENDING;
use flate2::write::GzEncoder;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Size of the buffer before the destination.
const BUFFER_BYTES: usize = 1 << 18;

/// A writer that compresses.
pub(crate) enum Packed {
    Plain(BufWriter<TraceWriter>),
    Gzip(GzEncoder<BufWriter<TraceWriter>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<TraceWriter>>),
}

impl Packed {
    /// Creates a writer to `output`.
    pub(crate) fn new(output: TraceWriter, packing: Packing) -> io::Result<Self> {
        let output = BufWriter::with_capacity(BUFFER_BYTES, output);
        Ok(match packing {
            Packing::Plain => Self::Plain(output),
            Packing::Gzip => Self::Gzip(GzEncoder::new(output, flate2::Compression::default())),
            Packing::Zstd => Self::Zstd(zstd::stream::write::Encoder::new(output, zstd::DEFAULT_COMPRESSION_LEVEL)?),
        })
    }

    /// Returns the error of the last write, if it failed.
    pub(crate) fn failure(&mut self) -> Option<Failure> {
        let output = match self {
            Self::Plain(output) => output,
            Self::Gzip(encoder) => encoder.get_mut(),
            Self::Zstd(encoder) => encoder.get_mut(),
        };
        output.get_mut().failure()
    }

    /// Completes the output, which messages call `name`.
    pub(crate) fn commit(self, name: &str) -> Result<(), Failure> {
        let finished = match self {
            Self::Plain(output) => Ok(output),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        };
        let output = finished.and_then(|output| output.into_inner().map_err(|error| error.into_error()));
        output.map_err(|cause| Failure::of(name.to_owned(), &cause))?.commit()
    }
}

impl Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(output) => output.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the file name without the extensions of traces: `run` for `run.json.gz` and for `run.json.spool`.
pub(crate) fn bare_name(path: &Path) -> String {
    const EXTENSIONS: [&str; 7] = [".gz", ".zst", ".zip", FILE_ENDING, ".json", ".pftrace", ".perfetto-trace"];
    let full = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut name = full.as_str();
    // In the order in which they occur, from the right.
    for extension in EXTENSIONS {
        match name.strip_suffix(extension) {
            Some("") | None => {}
            Some(shorter) => name = shorter,
        }
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_has_no_extension_of_a_trace() {
        let of = |name: &str| bare_name(Path::new(name));
        assert_eq!([of("d/run.json.gz"), of("run.json.spool"), of("run.pftrace"), of("run.spool")], ["run"; 4]);
        assert_eq!([of("run.7.json"), of("run.7"), of(".json")], ["run.7", "run.7", ".json"]);
    }
}
