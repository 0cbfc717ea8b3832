//! A disk that is full, on a small file system that is really filled while recording.
//!
//! The host lives and ends as it would have, nothing is lost without being counted, and what was recorded before can be
//! had.

use content::child;
use content::child::Outcome;
use content::mount::Mount;
use content::trace::Trace;
use std::fs;
use std::path::Path;

const MIB: u64 = 1 << 20;

/// What can be had of a spool: its slices, and how many events it says were lost.
#[track_caller]
fn recovered(spool: &Path) -> (u64, u64) {
    let bytes = fs::read(spool).unwrap_or_else(|error| panic!("{}: {error}", spool.display()));
    let (json, summary) = ferrum_trace_format::spool::to_chrome_bytes(&bytes).unwrap();
    assert!(summary.diagnostics.is_empty(), "{:?}", summary.diagnostics);
    let trace = Trace::parse(&json).unwrap();
    let slices = trace.slices().count() as u64;
    assert_eq!(summary.events, slices);
    assert_eq!((trace.about().number("recorded"), trace.about().number("dropped")), (slices, summary.dropped));
    (slices, summary.dropped)
}

/// The one line tells how many were lost.
#[track_caller]
fn tells_loss(outcome: &Outcome, lost: u64) {
    let line = outcome.one_line();
    assert!(line.contains(&format!("{lost} events ")) && line.contains("lost"), "{lost} were lost: {line}");
    assert!(line.contains("no space was left on the device") || line.contains("No space left on device"), "{line}");
}

#[test]
fn a_disk_that_the_spool_fills_costs_only_what_does_not_fit() {
    let mount = Mount::small(4 * MIB);
    let spool = mount.file("trace.spool");
    let outcome = child!("spans on threads").number(2).number(300_000).out(&spool).run();
    let (recorded, lost) = recovered(&spool);
    assert!(recorded > 100_000 && lost > 0, "{recorded} {lost}");
    assert_eq!(recorded + lost, outcome.said("pushed"));
    tells_loss(&outcome, lost);
}

#[test]
fn a_disk_that_something_else_fills_while_recording_costs_only_what_does_not_fit() {
    let mount = Mount::small(16 * MIB);
    let spool = mount.file("trace.spool");
    let outcome = child!("fill the disk").arg(mount.file("filler")).out(&spool).run();
    let (recorded, lost) = recovered(&spool);
    assert!(recorded >= 40_000 && lost > 0, "{recorded} {lost}");
    assert_eq!(recorded + lost, outcome.said("pushed"));
    tells_loss(&outcome, lost);
}

#[test]
fn a_disk_too_full_for_the_json_as_well_leaves_the_spool_and_tells_what_was_lost() {
    let mount = Mount::small(4 * MIB);
    let path = mount.file("trace.json");
    let outcome = child!("spans on threads").number(2).number(300_000).out(&path).run();
    assert!(!path.exists(), "half a file is no file");
    assert!(!mount.file("trace.json.next").exists());
    let spool = mount.file("trace.json.spool");
    let (recorded, lost) = recovered(&spool);
    assert!(recorded > 100_000 && lost > 0, "{recorded} {lost}");
    assert_eq!(recorded + lost, outcome.said("pushed"));
    let line = outcome.one_line();
    assert!(line.ends_with(&format!("ferrum-trace recover {}", spool.display())), "{line}");
    tells_loss(&outcome, lost);
}

#[test]
fn a_disk_with_room_for_the_spool_but_not_for_the_json_leaves_the_spool_whole() {
    const SPANS: u64 = 60_000;
    let mount = Mount::small(8 * MIB);
    let path = mount.file("trace.json");
    let outcome = child!("some spans").number(SPANS).out(&path).run();
    let line = outcome.one_line();
    let spool = mount.file("trace.json.spool");
    assert!(line.contains("No space left on device"), "{line}");
    assert!(line.ends_with(&format!("ferrum-trace recover {}", spool.display())), "{line}");
    assert!(!path.exists(), "half a file is no file");
    assert!(!mount.file("trace.json.next").exists());
    assert_eq!(recovered(&spool), (SPANS, 0));
}

#[test]
fn a_file_that_exists_survives_a_disk_too_full_for_the_new_one() {
    const SPANS: u64 = 60_000;
    let mount = Mount::small(8 * MIB);
    let path = mount.file("trace.json");
    fs::write(&path, "what was here before").unwrap();
    let outcome = child!("some spans").number(SPANS).out(&path).run();
    assert!(outcome.one_line().contains("No space left on device"), "{outcome:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "what was here before");
    assert_eq!(recovered(&mount.file("trace.json.spool")), (SPANS, 0));
}

#[test]
fn a_disk_that_is_full_from_the_start_is_told_and_the_program_runs_on() {
    let mount = Mount::small(64 << 10);
    let path = mount.file("trace.json");
    let outcome = child!("some spans").number(10).out(&path).run();
    let line = outcome.one_line();
    assert!(line.contains(path.to_str().unwrap()) && line.ends_with("; nothing is recorded"), "{line}");
    assert_eq!(outcome.said("pushed"), 10);
    assert!(fs::read_dir(mount.path()).unwrap().next().is_none(), "nothing is left behind");
}
