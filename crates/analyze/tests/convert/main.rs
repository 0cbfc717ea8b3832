//! Traces in other formats: what is written, and that nothing is lost on the way.

mod collection;
mod formats;
mod round_trip;
mod viewers;

use ferrum_trace_analyze::convert::{Summary, Target, convert};
use std::io::Read;

/// Converts a text.
fn converted(target: Target, json: &str) -> (Vec<u8>, Summary) {
    let bytes = json.as_bytes().to_vec();
    let open = move || Ok(Box::new(std::io::Cursor::new(bytes.clone())) as Box<dyn Read + Send>);
    let mut out = Vec::new();
    let summary = convert(target, &open, &mut out).unwrap();
    (out, summary)
}

fn converted_text(target: Target, json: &str) -> String {
    String::from_utf8(converted(target, json).0).unwrap()
}
