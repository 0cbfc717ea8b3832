//! The memory of the host: recording adds less than 64 MiB to its peak, whatever is recorded, until the file is
//! finished.

use content::child;
use content::child::{Child, Outcome};
use std::io::{BufRead, BufReader};
use std::path::Path;
use tempfile::tempdir;

const GROWTH_KIB: u64 = 64 * 1024;

/// Plays a scene with and without recording; the peak with it is not much higher.
#[track_caller]
fn takes_little_memory(child: impl Fn() -> Child, out: &Path) -> Outcome {
    let without = child().run().is_quiet();
    let with = child().out(out).run().is_quiet();
    let (with_kib, without_kib) = (with.said("peak_kib"), without.said("peak_kib"));
    assert!(with_kib < without_kib + GROWTH_KIB, "{with_kib} KiB with recording, {without_kib} KiB without");
    with
}

/// Lines of a file that is too large to be read at once.
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
    let outcome = takes_little_memory(|| child!("memory").number(2).number(15_000_000), &path);
    assert_eq!((outcome.said("recorded"), outcome.said("dropped")), (30_000_000, 0));
    assert!(outcome.said("bytes") >= 30_000_000 * 16);
}

#[test]
fn finishing_eight_million_spans_as_json_takes_little_memory() {
    const SPANS: u64 = 8_000_000;
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let outcome = takes_little_memory(|| child!("memory").number(2).number(SPANS / 2), &path);
    assert_eq!((outcome.said("recorded"), outcome.said("dropped")), (SPANS, 0));
    // A line each; also the two brackets, the names of the process and of two threads, and what the recorder says of itself.
    assert_eq!(n_lines(&path), SPANS + 6);
}

#[test]
fn finishing_pushes_with_long_arguments_takes_little_memory() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let outcome = takes_little_memory(|| child!("memory of texts").number(10_000), &path);
    assert_eq!((outcome.said("recorded"), outcome.said("dropped")), (10_000, 0));
}

#[test]
fn finishing_a_track_on_which_a_thousand_slices_overlap_takes_little_memory() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let outcome = takes_little_memory(|| child!("memory of overlaps").number(100_000), &path);
    assert_eq!((outcome.said("recorded"), outcome.said("dropped")), (100_000, 0));
}
