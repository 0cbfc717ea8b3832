//! Output that is packed on its way, if its name asks for it.

use super::target::{Failure, TraceWriter};
use ferrum_trace_format::Packing;
use flate2::write::GzEncoder;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// What is written at a time.
const BUFFER_BYTES: usize = 1 << 18;

/// An output that is packed on its way.
pub enum Packed {
    Plain(BufWriter<TraceWriter>),
    Gzip(GzEncoder<BufWriter<TraceWriter>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<TraceWriter>>),
}

impl Packed {
    /// Begins to pack.
    pub fn new(output: TraceWriter, packing: Packing) -> io::Result<Self> {
        let output = BufWriter::with_capacity(BUFFER_BYTES, output);
        Ok(match packing {
            Packing::Plain => Self::Plain(output),
            Packing::Gzip => Self::Gzip(GzEncoder::new(output, flate2::Compression::default())),
            Packing::Zstd => Self::Zstd(zstd::stream::write::Encoder::new(output, zstd::DEFAULT_COMPRESSION_LEVEL)?),
        })
    }

    /// Why writing has failed, if it has.
    pub fn failure(&mut self) -> Option<Failure> {
        let output = match self {
            Self::Plain(output) => output,
            Self::Gzip(encoder) => encoder.get_mut(),
            Self::Zstd(encoder) => encoder.get_mut(),
        };
        output.get_mut().failure()
    }

    /// The output is complete. `name` is what it is called.
    pub fn commit(self, name: &str) -> Result<(), Failure> {
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

/// The name of a trace without what says how it is written: `run` for `run.json.gz` and for `run.json.spool`.
pub fn bare_name(path: &Path) -> String {
    const ENDINGS: [&str; 7] =
        [".gz", ".zst", ".zip", ferrum_trace_format::spool::FILE_ENDING, ".json", ".pftrace", ".perfetto-trace"];
    let full = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut name = full.as_str();
    // In the order in which they stand, from the right.
    for ending in ENDINGS {
        match name.strip_suffix(ending) {
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
    fn a_bare_name_has_no_ending_of_a_trace() {
        let of = |name: &str| bare_name(Path::new(name));
        assert_eq!([of("d/run.json.gz"), of("run.json.spool"), of("run.pftrace"), of("run.spool")], ["run"; 4]);
        assert_eq!([of("run.7.json"), of("run.7"), of(".json")], ["run.7", "run.7", ".json"]);
    }
}
