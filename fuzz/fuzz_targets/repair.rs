//! Whatever a file holds, it can be summed up, checked, converted and repaired, and what was repaired is sound: no viewer
//! minds anything in it, no slice is lost, and repairing it again changes nothing.

#![no_main]

use ferrum_trace_analyze::check::check;
use ferrum_trace_analyze::convert::{LayerwiseOptions, Target, TorchOptions, convert, layerwise, torch};
use ferrum_trace_analyze::repair::{RepairOptions, repair};
use ferrum_trace_analyze::{Nesting, Selected, SummaryOptions, summarize};
use ferrum_trace_format::Error;
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_model::Trace;
use libfuzzer_sys::fuzz_target;
use std::io::{Cursor, Read};

const TARGETS: [Target; 4] = [Target::Perfetto, Target::Speedscope, Target::Folded, Target::Csv];

fuzz_target!(|bytes: &[u8]| {
    let Some(trace) = loaded(bytes) else {
        return;
    };
    let nesting = Nesting::with_workers(&trace, 1);
    let summary = summarize(&trace, &nesting, &Selected::all(&trace), &SummaryOptions::default());
    assert_eq!(summary.all.count, trace.slices.len() as u64);
    check(&|| reopened(bytes)).expect("what is a trace can be checked");
    for target in TARGETS {
        convert(target, &|| reopened(bytes), &mut Vec::new()).expect("what is a trace can be converted");
    }
    torch(&|| reopened(bytes), &mut Vec::new(), &TorchOptions::default()).expect("what is a trace can be converted");
    // A trace without slices has no profile.
    let _ = layerwise(&|| reopened(bytes), &mut Vec::new(), &LayerwiseOptions::default());
    let repaired = repair_of(bytes);
    let report = check(&|| reopened(&repaired)).expect("what was repaired is a trace");
    let left: Vec<_> = report.errors().collect();
    assert!(left.is_empty(), "{left:?} in {}", String::from_utf8_lossy(&repaired));
    let after = loaded(&repaired).expect("what was repaired is a trace");
    assert!(after.slices.len() >= trace.slices.len(), "slices are lost");
    assert_eq!(repair_of(&repaired), repaired, "a second repair changes something");
});

fn loaded(bytes: &[u8]) -> Option<Trace> {
    Some(load(bytes, &LoadOptions { args: Vec::new(), n_workers: 1 }).ok()?.trace)
}

fn reopened(bytes: &[u8]) -> Result<Box<dyn Read + Send>, Error> {
    Ok(Box::new(Cursor::new(bytes.to_vec())))
}

fn repair_of(bytes: &[u8]) -> Vec<u8> {
    let mut repaired = Vec::new();
    repair(&|| reopened(bytes), &mut repaired, &RepairOptions::default()).expect("what is a trace can be repaired");
    repaired
}
