//! All output formats of one spool have the same content.
#![cfg(all(feature = "read", feature = "gzip", feature = "zstd"))]

use ferrum_trace_format::Packing;
use ferrum_trace_format::open::open;
use ferrum_trace_format::perfetto::read::to_chrome;
use ferrum_trace_format::spool::{Converter, Encoding, OutputFormat, to_format};
use serde_json::Value;
use std::io::Read;
use std::path::PathBuf;

const PACKINGS: [Packing; 3] = [Packing::Plain, Packing::Gzip, Packing::Zstd];

fn spool() -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/spool-v1.spool");
    std::fs::read(path).unwrap()
}

fn written(spool: &[u8], format: OutputFormat, n_workers: usize) -> Vec<u8> {
    let mut out = Vec::new();
    to_format(spool, &mut out, format, n_workers).unwrap();
    out
}

/// Decompresses like a browser, which reads only the first gzip member.
fn unpacked(packing: Packing, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    match packing {
        Packing::Plain => out = bytes.to_vec(),
        Packing::Gzip => {
            let mut rest = bytes;
            flate2::bufread::GzDecoder::new(&mut rest).read_to_end(&mut out).unwrap();
            assert!(rest.is_empty(), "there is more than one member");
        }
        Packing::Zstd => _ = zstd::Decoder::new(bytes).unwrap().read_to_end(&mut out).unwrap(),
    }
    out
}

#[test]
fn compressed_formats_contain_the_uncompressed_one() {
    let spool = spool();
    for encoding in [Encoding::Chrome, Encoding::Perfetto] {
        let plain = written(&spool, OutputFormat { encoding, packing: Packing::Plain }, 1);
        for packing in PACKINGS {
            for n_workers in [1, 3] {
                let bytes = written(&spool, OutputFormat { encoding, packing }, n_workers);
                assert!(unpacked(packing, &bytes) == plain, "{encoding:?} {packing:?} {n_workers}");
            }
        }
    }
}

/// Converts prefixes of a spool, which are spools too, as if it grew.
#[test]
fn a_file_is_complete_after_every_batch() {
    let spool = spool();
    for encoding in [Encoding::Chrome, Encoding::Perfetto] {
        for packing in PACKINGS {
            let mut converter = Converter::open(&spool[..4096], OutputFormat { encoding, packing }).unwrap();
            let (mut body, mut n_events) = (Vec::new(), 0);
            for len in [40 * 1024, 48 * 1024, spool.len(), spool.len()] {
                let n_before = body.len();
                let batch = converter.convert_new(&spool[..len], &mut body, 2).unwrap();
                assert_eq!((body.len() - n_before) as u64, batch.bytes);
                n_events += batch.events;
                let file = [&body[..], &converter.tail(&spool[..len]).unwrap()].concat();
                let plain = unpacked(packing, &file);
                if encoding == Encoding::Chrome {
                    let events: Vec<Value> = serde_json::from_slice(&plain).unwrap();
                    let is_recorded = |event: &&Value| event["ph"] != "M" && event["args"]["unclosed"].is_null();
                    assert_eq!(events.iter().filter(is_recorded).count() as u64, n_events);
                }
            }
            assert!(n_events > 0);
        }
    }
}

fn events_of(bytes: Vec<u8>) -> Vec<Value> {
    let mut json = String::new();
    open(std::io::Cursor::new(bytes)).unwrap().read_to_string(&mut json).unwrap();
    match serde_json::from_str(&json).unwrap() {
        Value::Array(events) => events,
        Value::Object(mut document) => match document.remove("traceEvents") {
            Some(Value::Array(events)) => events,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// Returns all events except names of rows, each as a line; values of counters one by one, as in Perfetto.
fn lines(events: &[Value]) -> Vec<String> {
    let names = ["process_name", "thread_name", "thread_sort_index", "process_sort_index"];
    let mut lines = Vec::new();
    for event in events.iter().filter(|event| names.iter().all(|name| event["name"] != *name)) {
        let phase = event["ph"].as_str().unwrap();
        let place = match phase {
            "C" | "M" => String::new(),
            _ if event["s"] == "p" => String::new(),
            // A process without an id gets one in Perfetto.
            _ => format!("{}/{}", event["pid"].as_u64().unwrap() % (1 << 30), event["tid"]),
        };
        let what = format!("{phase} {place} ts={} dur={} {}", event["ts"], event["dur"], event["id"]);
        match event["args"].as_object() {
            Some(values) if phase == "C" => {
                for (key, value) in values {
                    let name = event["name"].as_str().unwrap();
                    let name = if key == "value" { name.to_owned() } else { format!("{name} {key}") };
                    lines.push(format!("{what} {name} {}", value.as_f64().unwrap()));
                }
            }
            _ => {
                let ids = [&event["name"], &event["cat"], &event["id2"], &event["s"], &event["bp"]];
                lines.push(format!("{what} {ids:?} {}", event["args"]));
            }
        }
    }
    lines.sort();
    lines
}

#[test]
fn perfetto_has_the_same_content_as_json() {
    let spool = spool();
    let [json, perfetto] = [Encoding::Chrome, Encoding::Perfetto]
        .map(|encoding| events_of(written(&spool, OutputFormat { encoding, packing: Packing::Plain }, 1)));
    let (json, perfetto) = (lines(&json), lines(&perfetto));
    assert!(json.len() > 25);
    assert_eq!(json, perfetto);
}

#[test]
fn damaged_and_truncated_spools_give_valid_files_of_every_format() {
    let spool = spool();
    for len in (0..spool.len()).step_by(3001) {
        let mut damaged = spool[..len].to_vec();
        damaged.iter_mut().skip(600).step_by(997).for_each(|byte| *byte ^= 0xa5);
        for packing in PACKINGS {
            let mut out = Vec::new();
            if to_format(&damaged[..], &mut out, OutputFormat { encoding: Encoding::Perfetto, packing }, 2).is_ok() {
                let packets = unpacked(packing, &out);
                if !packets.is_empty() {
                    let read = to_chrome(&packets[..], std::io::sink()).unwrap();
                    assert_eq!((read.losses.n, read.n_without_state, read.n_undefined), (0, 0, 0));
                }
            }
        }
    }
}
