//! Files of every released version stay readable. `BLESS=1` accepts the current output.

use ferrum_trace_format::spool;
use std::path::PathBuf;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name)
}

/// Converts the sample of a version, and compares the result with what that version wrote.
#[track_caller]
fn assert_same_as_before(version: u32, n_events: u64) {
    let bytes = std::fs::read(data(&format!("spool-v{version}.spool"))).unwrap();
    assert!(spool::is_spool(&bytes));
    let (json, summary) = spool::to_chrome_bytes(&bytes).unwrap();
    assert_eq!((summary.events, summary.dropped, summary.n_diagnostics), (n_events, 0, 0));
    assert!(summary.finished);
    let json = String::from_utf8(json).unwrap();
    let expected = data(&format!("spool-v{version}.json"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&expected, &json).unwrap();
    }
    assert_eq!(json, std::fs::read_to_string(expected).unwrap());
}

#[test]
fn a_spool_of_version_1_gives_the_same_trace_as_before() {
    assert_same_as_before(1, 30);
}

/// The sample has arguments, texts, counters, async events, a flow, names made at run time, a track and open spans.
#[test]
fn a_spool_of_version_2_gives_the_same_trace_as_before() {
    assert_same_as_before(2, 33);
}

#[test]
fn a_spool_cut_at_any_offset_gives_json_or_an_error() {
    let bytes = std::fs::read(data("spool-v1.spool")).unwrap();
    for len in (0..bytes.len()).step_by(509) {
        if let Ok((json, _)) = spool::to_chrome_bytes(&bytes[..len]) {
            serde_json::from_slice::<Vec<serde_json::Value>>(&json).unwrap();
        }
    }
}

#[test]
fn damage_in_the_middle_is_reported_and_the_rest_is_kept() {
    let mut bytes = std::fs::read(data("spool-v1.spool")).unwrap();
    let (_, whole) = spool::to_chrome_bytes(&bytes).unwrap();
    // In the middle of the main thread's events.
    bytes[32 * 1024 + 400..32 * 1024 + 464].fill(0xff);
    let (json, damaged) = spool::to_chrome_bytes(&bytes).unwrap();
    serde_json::from_slice::<Vec<serde_json::Value>>(&json).unwrap();
    assert!(damaged.n_diagnostics > 0 && damaged.events < whole.events && damaged.events > 0);
    assert!(damaged.diagnostics[0].offset >= 32 * 1024 + 400 - 64);
}
