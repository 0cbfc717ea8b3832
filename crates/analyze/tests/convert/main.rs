//! Conversions of traces: the output is correct, and nothing is lost.

mod anything;
mod collection;
mod csv_context;
mod formats;
mod layerwise;
mod round_trip;
mod torch;
mod tracelens;
mod viewers;

use ferrum_trace_analyze::Opener;
use ferrum_trace_analyze::convert::{Summary, Target, convert};
use std::io::{self, Read, Write};

/// Passes an opener of a text to a function.
fn with_text<T>(json: &str, read: impl FnOnce(Opener<'_>) -> T) -> T {
    let bytes = json.as_bytes().to_vec();
    read(&move || Ok(Box::new(std::io::Cursor::new(bytes.clone())) as Box<dyn Read + Send>))
}

/// Converts a text.
fn converted(target: Target, json: &str) -> (Vec<u8>, Summary) {
    let mut out = Vec::new();
    let summary = with_text(json, |open| convert(target, open, &mut out)).unwrap();
    (out, summary)
}

fn converted_text(target: Target, json: &str) -> String {
    String::from_utf8(converted(target, json).0).unwrap()
}

/// An output that is a closed pipe.
struct ClosedPipe;

impl Write for ClosedPipe {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
