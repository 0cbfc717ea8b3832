//! Opening traces of every format and container.
#![cfg(feature = "read")]

use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_format::open::{Container, Opened, TraceFormat, open};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{Cursor, Read, Write};
use zip::write::SimpleFileOptions;

const TRACE: &str = r#"[{"name":"a","ph":"X","ts":1,"dur":5,"pid":1,"tid":1}]"#;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn opened(bytes: Vec<u8>) -> Opened {
    open(Cursor::new(bytes)).unwrap()
}

fn n_slices(bytes: Vec<u8>) -> usize {
    load(opened(bytes), &LoadOptions::default()).unwrap().trace.slices.len()
}

#[test]
fn containers_are_detected_by_content_even_when_nested() {
    let plain = TRACE.as_bytes();
    let zstd = zstd::encode_all(plain, 1).unwrap();
    let twice = gzip(&zstd);
    let cases = [
        (plain.to_vec(), vec![]),
        ([b"\xef\xbb\xbf", plain].concat(), vec![]),
        (gzip(plain), vec![Container::Gzip]),
        (zstd, vec![Container::Zstd]),
        (twice, vec![Container::Gzip, Container::Zstd]),
        (zip(&[("trace.json", plain)]), vec![Container::Zip]),
        (zip(&[("trace.json.gz", &gzip(plain))]), vec![Container::Zip]),
    ];
    for (bytes, containers) in cases {
        let opened = opened(bytes.clone());
        assert_eq!((&opened.containers, opened.kind), (&containers, TraceFormat::Json));
        assert_eq!(n_slices(bytes), 1);
    }
}

#[test]
fn several_members_and_frames_are_one_stream() {
    let (first, second) = TRACE.as_bytes().split_at(20);
    assert_eq!(n_slices([gzip(first), gzip(second)].concat()), 1);
    let frames = [first, second].map(|part| zstd::encode_all(part, 1).unwrap());
    assert_eq!(n_slices(frames.concat()), 1);
}

#[test]
fn the_files_of_a_zip_are_read_as_one_trace() {
    let object = format!("{{\"traceEvents\":{TRACE},\"x\":1}}");
    let bytes = zip(&[("a.json", TRACE.as_bytes()), ("b.json", object.as_bytes()), ("c/d.json", TRACE.as_bytes())]);
    let opened = opened(bytes);
    let notes = opened.notes.clone();
    let loaded = load(opened, &LoadOptions::default()).unwrap();
    assert_eq!((loaded.trace.slices.len(), loaded.losses.n), (3, 0));
    assert_eq!(notes.all(), ["3 files of the zip are read as one trace"]);
}

#[test]
fn a_truncated_file_is_read_up_to_the_end_and_reported() {
    let events: Vec<String> =
        (0..20_000).map(|n| TRACE[1..TRACE.len() - 1].replace("\"a\"", &format!("\"{n}\""))).collect();
    let packed = gzip(format!("[{}]", events.join(",")).as_bytes());
    let opened = opened(packed[..packed.len() / 2].to_vec());
    let notes = opened.notes.clone();
    let loaded = load(opened, &LoadOptions::default()).unwrap();
    assert!(loaded.trace.slices.len() > 5_000, "{}", loaded.trace.slices.len());
    assert!(notes.all()[0].contains("gzip data break off"), "{:?}", notes.all());
}

#[test]
fn a_file_that_decompresses_to_too_much_is_refused() {
    let bomb = gzip(&vec![b' '; 80 << 20]);
    assert!(bomb.len() < 100_000);
    let mut opened = opened(bomb);
    let error = std::io::copy(&mut opened, &mut std::io::sink()).unwrap_err();
    assert!(error.to_string().contains("more than 400 times as many"), "{error}");
}

#[test]
fn a_spool_is_read_as_its_recorded_events() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/spool-v1.spool");
    let opened = opened(std::fs::read(path).unwrap());
    assert_eq!(opened.kind, TraceFormat::Spool);
    let loaded = load(opened, &LoadOptions::default()).unwrap();
    let json = std::fs::read(path.replace(".spool", ".json")).unwrap();
    let expected = load(&json[..], &LoadOptions::default()).unwrap();
    assert!(!expected.trace.slices.is_empty());
    assert_eq!(loaded.trace.slices.len(), expected.trace.slices.len());
}

#[test]
fn arbitrary_first_bytes_do_not_panic() {
    for bytes in [&b"\x1f\x8b"[..], b"\x1f\x8b\x08\0\0", b"\x28\xb5\x2f\xfd", b"PK\x03\x04garbage", b"PK\x03\x04", b""]
    {
        if let Ok(mut opened) = open(Cursor::new(bytes.to_vec())) {
            let _ = opened.read_to_end(&mut Vec::new());
        }
    }
}
