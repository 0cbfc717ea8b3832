//! Computes steps and requests of arbitrary traces. The parts of a request's time add up to its latency.

#![no_main]

use ferrum_trace_analyze::{
    Nesting, REQUEST_ARGS, RequestsOptions, STEP_ARGS, Selected, StepsOptions, requests, steps,
};
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let args = STEP_ARGS.iter().chain(&REQUEST_ARGS).map(|&key| key.to_owned()).collect();
    let Ok(loaded) = load(bytes, &LoadOptions { args, n_workers: 1 }) else { return };
    let trace = &loaded.trace;
    let nesting = Nesting::with_workers(trace, 1);
    let found =
        steps(trace, &nesting, &Selected::all(trace), &StepsOptions { n_slowest: 3, ..StepsOptions::default() });
    assert_eq!(found.groups.iter().map(|group| group.count).sum::<u64>(), found.steps.len() as u64);
    let found = requests(trace, &nesting, &RequestsOptions::default());
    for (request, parts) in found.requests.iter().zip(&found.parts) {
        assert_eq!(request.latency().unwrap_or(0), parts.sum());
    }
});
