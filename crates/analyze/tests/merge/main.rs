//! Merges of traces: separate processes, joined events, and clocks within the stated error.

mod clocks;
mod collection;
mod handovers;
mod hostile;
mod identity;
mod parts;
mod skew;
mod viewers;
mod world;

use ferrum_trace_analyze::check::check;
use ferrum_trace_analyze::merge::{Align, Error, Input, MergeOptions, Merged, MergedForm, merge};
use ferrum_trace_analyze::rank_in;
use serde_json::Value;
use std::io::Read;
use std::sync::Arc;

/// An input with this name and content.
fn input(name: &str, json: &str) -> Input {
    let bytes: Arc<[u8]> = json.as_bytes().into();
    let open = move || Ok(Box::new(std::io::Cursor::new(Arc::clone(&bytes))) as Box<dyn Read + Send>);
    Input { name: name.to_owned(), rank: None, rank_if_unknown: rank_in(name), open: Arc::new(open) }
}

/// Replaces a text in a trace.
fn with(trace: &Input, from: &str, to: &str) -> Input {
    let mut json = String::new();
    (trace.open)().unwrap().read_to_string(&mut json).unwrap();
    input(&trace.name, &json.replace(from, to))
}

/// A merged trace.
struct Made {
    bytes: Vec<u8>,
    document: Value,
    merged: Merged,
}

impl Made {
    /// Its events.
    fn events(&self) -> &[Value] {
        self.document["traceEvents"].as_array().unwrap()
    }

    /// Events with a name.
    fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events().iter().filter(move |event| event["name"] == name)
    }

    /// Panics if a viewer would not accept it.
    #[track_caller]
    fn assert_clean(&self) {
        let bytes = self.bytes.clone();
        let report = check(&move || Ok(Box::new(std::io::Cursor::new(bytes.clone())) as _)).unwrap();
        let errors: Vec<_> = report.errors().map(|finding| (finding.rule.code, finding.n)).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
}

fn merge_aligned(inputs: &[Input], align: Align) -> Result<Made, Error> {
    let mut bytes = Vec::new();
    let merged = merge(inputs, &mut bytes, &MergeOptions { align, form: MergedForm::Chrome })?;
    let document: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(document["traceEvents"].as_array().unwrap().len() as u64, merged.n_events);
    Ok(Made { bytes, document, merged })
}

fn merged(inputs: &[Input]) -> Made {
    merge_aligned(inputs, Align::Auto).unwrap()
}

/// Nanoseconds of a time of a merged event.
fn nanos(micros: &Value) -> i64 {
    // Doubles keep these to the nanosecond.
    (micros.as_f64().unwrap() * 1000.0).round() as i64
}
