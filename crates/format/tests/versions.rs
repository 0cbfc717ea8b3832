//! Files of every released version stay readable. `BLESS=1` accepts the current output.

use ferrum_trace_format::spool;
use std::path::PathBuf;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name)
}

#[test]
fn a_spool_of_version_1_gives_the_same_trace_as_before() {
    let bytes = std::fs::read(data("spool-v1.spool")).unwrap();
    assert!(spool::is_spool(&bytes));
    let (json, summary) = spool::to_chrome_bytes(&bytes).unwrap();
    assert_eq!((summary.events, summary.dropped, summary.n_diagnostics), (30, 0, 0));
    assert!(summary.finished);
    let json = String::from_utf8(json).unwrap();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(data("spool-v1.json"), &json).unwrap();
    }
    assert_eq!(json, std::fs::read_to_string(data("spool-v1.json")).unwrap());
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
