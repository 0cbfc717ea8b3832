//! A disk that something else fills while events are recorded, and that has room again later.

use super::report::report;
use ferrum_trace::control::{self, Status};
use ferrum_trace::span;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Time for which the disk stays full.
const FULL_FOR: Duration = Duration::from_secs(3);
/// More than a very busy machine needs.
const PATIENCE: Duration = Duration::from_secs(120);
/// Room that is left for the spools of some parts, but not for the JSON of one.
const LEFT_BYTES: u64 = 4 << 20;

#[allow(clippy::disallowed_methods, reason = "measures how long a scene waits")]
fn now() -> Instant {
    Instant::now()
}

/// Writes zeros to the end of a file until its disk is full.
pub(crate) fn fill(path: impl AsRef<Path>) {
    let mut file = OpenOptions::new().create(true).append(true).open(path).expect("the file can be made");
    let zeros = [0; 4096];
    let why = loop {
        if let Err(error) = file.write_all(&zeros) {
            break error;
        }
    };
    assert_eq!(why.kind(), ErrorKind::StorageFull);
}

/// Cuts the end off a file.
fn shorten(path: &str, n_bytes: u64) {
    let file = OpenOptions::new().write(true).open(path).expect("it is there");
    let len = file.metadata().expect("it is open").len();
    file.set_len(len.saturating_sub(n_bytes)).expect("it is ours");
}

/// Records until a condition on the status holds, slowly, and returns the number of events and the status.
fn record_until(is_met: impl Fn(&Status) -> bool) -> (u64, Status) {
    let begin = now();
    for n in 0.. {
        let status = control::status();
        if is_met(&status) {
            return (200 * n, status);
        }
        assert!(begin.elapsed() < PATIENCE, "still waiting for another {status:?}");
        (0..200).for_each(|_| drop(span!("span", "full disk")));
        thread::sleep(Duration::from_millis(1));
    }
    unreachable!("it ends only there")
}

/// The same for as long as the disk stays full.
fn record_while_full() -> (u64, Status) {
    let begin = now();
    record_until(|_| begin.elapsed() >= FULL_FOR)
}

/// Records to one file before, while and after the disk is full.
pub(crate) fn until_there_is_room(filler: &str) {
    let (before, _) = record_until(|status| status.spool_bytes > 1 << 20);
    fill(filler);
    let (until_lost, _) = record_until(|status| status.full.is_some() && status.dropped > 0);
    let (while_full, status) = record_while_full();
    report("dropped_while_full", status.dropped);
    report("is_full", u64::from(status.full == Some("no space was left on the device")));
    std::fs::remove_file(filler).expect("it is there");
    let (until_room, status) = record_until(|status| status.full.is_none());
    let dropped = status.dropped;
    const AFTER: u64 = 1000;
    (0..AFTER).for_each(|_| drop(span!("after", "full disk")));
    assert_eq!(control::status().dropped, dropped, "nothing is lost any more");
    report("after", AFTER);
    report("pushed", before + until_lost + while_full + until_room + AFTER);
}

/// Records to one file after the other before, while and after the disk is full.
pub(crate) fn rotate_until_there_is_room(filler: &str) {
    let (before, _) = record_until(|status| part_of(status) == 3);
    fill(filler);
    shorten(filler, LEFT_BYTES);
    let (until_failed, _) = record_until(|status| status.unwritten > 0);
    fill(filler);
    let (until_lost, _) = record_until(|status| status.full.is_some() && status.dropped > 0 && status.unwritten > 0);
    let (while_full, status) = record_while_full();
    report("dropped_while_full", status.dropped);
    let error = status.error.as_deref().unwrap_or_default();
    report("says_why", u64::from(error.contains("No space left on device")));
    report("files_while_full", n_files(&status));
    std::fs::remove_file(filler).expect("it is there");
    let is_well = |status: &Status| status.full.is_none() && status.unwritten == 0 && status.error.is_none();
    let (until_room, status) = record_until(is_well);
    let full_part = part_of(&status);
    let (after, status) = record_until(|status| part_of(status) == full_part + 3);
    report("files_after", n_files(&status));
    report("pushed", before + until_failed + until_lost + while_full + until_room + after);
}

/// Number of the part that is being recorded.
fn part_of(status: &Status) -> u64 {
    let path = status.path.as_deref().expect("it records");
    let name = path.file_name().expect("a name").to_string_lossy();
    name.split('.').find_map(|word| word.parse().ok()).expect("a number")
}

/// Number of parts that have files.
fn n_files(status: &Status) -> u64 {
    let folder = status.path.as_deref().and_then(Path::parent).expect("it records");
    let names = folder.read_dir().expect("a folder").map(|entry| entry.expect("it can be read").file_name());
    let mut parts: Vec<String> =
        names.filter_map(|name| name.to_string_lossy().split('.').nth(1).map(str::to_owned)).collect();
    parts.sort_unstable();
    parts.dedup();
    parts.retain(|part| part.parse::<u64>().is_ok());
    parts.len() as u64
}
