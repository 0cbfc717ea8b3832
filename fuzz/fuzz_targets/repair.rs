//! Summarizes, checks, converts and repairs arbitrary bytes. JSON output is valid JSON, and a repaired trace has no
//! findings, has all slices, and does not change when it is repaired again.

#![no_main]

use ferrum_trace_analyze::check::check;
use ferrum_trace_analyze::convert::{CsvTexts, LayerwiseOptions, Target, TorchOptions, convert, layerwise, torch};
use ferrum_trace_analyze::repair::{ChromeOptions, RepairOptions, chrome, repair};
use ferrum_trace_analyze::{Nesting, Selected, SummaryOptions, summarize};
use ferrum_trace_format::Error;
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_format::open::open;
use ferrum_trace_model::Trace;
use libfuzzer_sys::fuzz_target;
use std::io::{Cursor, Read};

const TARGETS: [Target; 4] = [Target::Perfetto, Target::Speedscope, Target::Folded, Target::Csv(CsvTexts::Guarded)];

fuzz_target!(|bytes: &[u8]| {
    let Some(trace) = loaded(bytes) else {
        return;
    };
    let nesting = Nesting::with_workers(&trace, 1);
    let summary = summarize(&trace, &nesting, &Selected::all(&trace), &SummaryOptions::default());
    assert_eq!(summary.all.count, trace.slices.len() as u64);
    check(&|| reopened(bytes)).expect("a trace can be checked");
    for target in TARGETS {
        let mut out = Vec::new();
        convert(target, &|| reopened(bytes), &mut out).expect("a trace can be converted");
        match target {
            Target::Speedscope => assert_json(&out),
            Target::Perfetto => assert_clean_perfetto(out),
            _ => {}
        }
    }
    let mut out = Vec::new();
    torch(&|| reopened(bytes), &mut out, &TorchOptions::default()).expect("a trace can be converted");
    assert_json(&out);
    let mut out = Vec::new();
    chrome(&|| reopened(bytes), &mut out, &ChromeOptions { as_is: true, ..ChromeOptions::default() })
        .expect("a trace can be converted");
    assert_json(&out);
    // A trace without slices has no profile.
    let mut out = Vec::new();
    if layerwise(&|| reopened(bytes), &mut out, &LayerwiseOptions::default()).is_ok() {
        assert_json(&out);
    }
    let repaired = repair_of(bytes);
    assert_json(&repaired);
    let report = check(&|| reopened(&repaired)).expect("a repaired file is a trace");
    let left: Vec<_> = report.errors().collect();
    assert!(left.is_empty(), "{left:?} in {}", String::from_utf8_lossy(&repaired));
    let after = loaded(&repaired).expect("a repaired file is a trace");
    assert!(after.slices.len() >= trace.slices.len(), "slices are lost");
    assert_eq!(repair_of(&repaired), repaired, "a second repair changes something");
});

fn loaded(bytes: &[u8]) -> Option<Trace> {
    Some(load(bytes, &LoadOptions { args: Vec::new(), n_workers: 1 }).ok()?.trace)
}

fn reopened(bytes: &[u8]) -> Result<Box<dyn Read + Send>, Error> {
    Ok(Box::new(Cursor::new(bytes.to_vec())))
}

fn assert_json(out: &[u8]) {
    let text = std::str::from_utf8(out).expect("the output is UTF-8");
    if let Err(error) = serde_json::from_str::<serde_json::Value>(text) {
        assert!(error.to_string().contains("recursion limit"), "{error} in {text}");
    }
}

fn assert_clean_perfetto(out: Vec<u8>) {
    // An empty trace has no packet that identifies the format.
    let Ok(report) = check(&|| Ok(Box::new(open(Cursor::new(out.clone()))?))) else {
        return;
    };
    let report = report.of_perfetto();
    let left: Vec<_> = report.errors().collect();
    assert!(left.is_empty(), "{left:?}");
}

fn repair_of(bytes: &[u8]) -> Vec<u8> {
    let mut repaired = Vec::new();
    repair(&|| reopened(bytes), &mut repaired, &RepairOptions::default()).expect("a trace can be repaired");
    repaired
}
