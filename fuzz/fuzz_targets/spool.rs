//! Reads arbitrary bytes as a spool: a killed host leaves incomplete ones, a full disk truncated ones. The reader
//! returns a file or an error; its output is JSON with a size in proportion to the input.

#![no_main]

mod framing;

use ferrum_trace_format::perfetto::read::to_chrome;
use ferrum_trace_format::spool;
use ferrum_trace_format::spool::layout::CHUNK_BYTES;
use ferrum_trace_format::spool::record::HEADER_BYTES;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// The smallest record may have a name that fills a chunk, and each of its bytes may have to be escaped as `\u0001`.
const OUTPUT_PER_INPUT_BYTE: usize = CHUNK_BYTES * 6 / HEADER_BYTES;

/// Output without events: the brackets, the names of the process and its threads.
const OUTPUT_AT_REST: usize = 64 << 10;

fuzz_target!(|bytes: &[u8]| {
    convert(bytes);
    convert(&framing::framed(bytes));
});

fn convert(spool: &[u8]) {
    let Ok((json, summary)) = spool::to_chrome_bytes(spool) else {
        return;
    };
    let events: Vec<Value> = serde_json::from_slice(&json).expect("the output is JSON");
    let n_recorded = events.iter().filter(|event| is_recorded(event)).count() as u64;
    let n_doubled = events.iter().filter(|event| may_be_second(event)).count() as u64;
    assert!((n_recorded - n_doubled..=n_recorded).contains(&summary.events));
    let limit = spool.len() * OUTPUT_PER_INPUT_BYTE + OUTPUT_AT_REST;
    assert!(json.len() <= limit, "{} bytes became {}", spool.len(), json.len());
    let mut perfetto = Vec::new();
    let form = spool::OutputFormat { encoding: spool::Encoding::Perfetto, ..spool::OutputFormat::default() };
    let written =
        spool::to_format(spool, &mut perfetto, form, 1).expect("a spool that can be JSON can have any format");
    assert_eq!((written.events, written.n_diagnostics), (summary.events, summary.n_diagnostics));
    if !perfetto.is_empty() {
        let read = to_chrome(&perfetto[..], &mut std::io::sink()).expect("the output consists of packets");
        assert_eq!((read.losses.n, read.n_without_state, read.n_undefined, read.n_unknown_clock), (0, 0, 0, 0));
    }
}

/// Returns true for events that are written in addition to another: the instant for a counter value that is not a
/// number, the flow to a device slice, the begin of an event from before a ring, the end of an event without one.
fn may_be_second(event: &Value) -> bool {
    ["C", "f", "b", "e"].iter().any(|phase| event["ph"] == *phase)
}

/// Returns false for metadata and the note about lost events, which the converter adds.
fn is_recorded(event: &Value) -> bool {
    event["ph"] != "M" && event["cat"] != "ferrum_trace"
}
