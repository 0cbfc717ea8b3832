//! Memory of the host: recording adds less than 64 MiB to its peak until the file is finished, whatever is recorded.

use content::child;
use content::child::{Child, Outcome};
use std::io::{BufRead, BufReader};
use std::path::Path;
use tempfile::tempdir;

const GROWTH_KIB: u64 = 64 * 1024;

/// Runs a scene with and without recording, and panics if recording adds much to the peak.
#[track_caller]
fn assert_little_memory(child: impl Fn() -> Child, out: &Path) -> Outcome {
    let without = child().run().expect_quiet();
    let with = child().out(out).run().expect_quiet();
    let (with_kib, without_kib) = (with.reported("peak_kib"), without.reported("peak_kib"));
    assert!(with_kib < without_kib + GROWTH_KIB, "{with_kib} KiB with recording, {without_kib} KiB without");
    with
}

/// Number of lines of a file that is too large to be read at once.
fn n_lines(path: &Path) -> u64 {
    let mut reader = BufReader::with_capacity(1 << 20, std::fs::File::open(path).unwrap());
    let mut n_lines = 0;
    while reader.skip_until(b'\n').unwrap() > 0 {
        n_lines += 1;
    }
    n_lines
}

#[test]
fn thirty_million_spans_on_two_threads_take_little_memory() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.spool");
    let outcome = assert_little_memory(|| child!("memory").number(2).number(15_000_000), &path);
    assert_eq!((outcome.reported("recorded"), outcome.reported("dropped")), (30_000_000, 0));
    assert!(outcome.reported("bytes") >= 30_000_000 * 16);
}

#[test]
fn finishing_eight_million_spans_as_json_takes_little_memory() {
    const SPANS: u64 = 8_000_000;
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let outcome = assert_little_memory(|| child!("memory").number(2).number(SPANS / 2), &path);
    assert_eq!((outcome.reported("recorded"), outcome.reported("dropped")), (SPANS, 0));
    // One line per span, two brackets, the names of the process and of two threads, and the recorder's metadata.
    assert_eq!(n_lines(&path), SPANS + 6);
}

#[test]
fn finishing_pushes_with_long_arguments_takes_little_memory() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let outcome = assert_little_memory(|| child!("memory of texts").number(10_000), &path);
    assert_eq!((outcome.reported("recorded"), outcome.reported("dropped")), (10_000, 0));
}

#[test]
fn finishing_a_track_on_which_a_thousand_slices_overlap_takes_little_memory() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let outcome = assert_little_memory(|| child!("memory of overlaps").number(100_000), &path);
    assert_eq!((outcome.reported("recorded"), outcome.reported("dropped")), (100_000, 0));
}
