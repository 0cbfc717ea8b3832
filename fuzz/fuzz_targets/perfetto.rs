//! Reads arbitrary bytes as a Perfetto trace. The result is a valid Chrome trace, and reading that loses nothing.

#![no_main]

use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_format::perfetto::read::to_chrome;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut json = Vec::new();
    let Ok(summary) = to_chrome(bytes, &mut json) else {
        return;
    };
    let events: serde_json::Value = serde_json::from_slice(&json).expect("the output is JSON");
    assert!(events.is_array() || events["traceEvents"].is_array());
    let loaded = load(&json[..], &LoadOptions { args: Vec::new(), n_workers: 1 }).expect("the output is a trace");
    assert_eq!(loaded.losses.n, 0, "{:?}", loaded.losses);
    assert!(loaded.trace.census.events >= summary.n_events);
});
