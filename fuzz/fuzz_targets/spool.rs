//! Any bytes may stand where a spool should be: a killed host leaves half-written ones, a full disk cut ones. The reader
//! owes a file or an error; what it writes is JSON, of a size that the input accounts for.

#![no_main]

mod framing;

use ferrum_trace_format::perfetto::read::to_chrome;
use ferrum_trace_format::spool;
use ferrum_trace_format::spool::layout::CHUNK_BYTES;
use ferrum_trace_format::spool::record::HEADER_BYTES;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// The smallest record may carry a name that fills a chunk, and each of its bytes may have to be spelled as `\u0001`.
const OUTPUT_PER_INPUT_BYTE: usize = CHUNK_BYTES * 6 / HEADER_BYTES;

/// What a file holds whatever was recorded: the brackets, the names of the process and its threads.
const OUTPUT_AT_REST: usize = 64 << 10;

fuzz_target!(|bytes: &[u8]| {
    convert(bytes);
    convert(&framing::framed(bytes));
});

fn convert(spool: &[u8]) {
    let Ok((json, summary)) = spool::to_chrome_bytes(spool) else {
        return;
    };
    let events: Vec<Value> = serde_json::from_slice(&json).expect("what was written is JSON");
    let n_recorded = events.iter().filter(|event| is_recorded(event)).count() as u64;
    let n_doubled = events.iter().filter(|event| may_be_second(event)).count() as u64;
    assert!((n_recorded - n_doubled..=n_recorded).contains(&summary.events));
    let limit = spool.len() * OUTPUT_PER_INPUT_BYTE + OUTPUT_AT_REST;
    assert!(json.len() <= limit, "{} bytes became {}", spool.len(), json.len());
    let mut perfetto = Vec::new();
    let form = spool::OutputFormat { encoding: spool::Encoding::Perfetto, ..spool::OutputFormat::default() };
    let told = spool::to_format(spool, &mut perfetto, form, 1).expect("what can be JSON can be any form");
    assert_eq!((told.events, told.n_diagnostics), (summary.events, summary.n_diagnostics));
    if !perfetto.is_empty() {
        let read = to_chrome(&perfetto[..], &mut std::io::sink()).expect("what was written are packets");
        assert_eq!((read.losses.n, read.n_without_state, read.n_undefined, read.n_unknown_clock), (0, 0, 0, 0));
    }
}

/// What may be written for an event besides another one: the counter of which a value is no number, the arrow that arrives at what a device
/// measured, the begin of what began before a ring, the end of what has none.
fn may_be_second(event: &Value) -> bool {
    ["C", "f", "b", "e"].iter().any(|phase| event["ph"] == *phase)
}

/// Metadata, and the note on what was lost, are the converter's own.
fn is_recorded(event: &Value) -> bool {
    event["ph"] != "M" && event["cat"] != "ferrum_trace"
}
