//! A full disk: a small file system that is really filled while recording.
//!
//! The host program must run and end as usual, every loss must be counted, and everything recorded before must be
//! recoverable.

use content::child;
use content::child::Outcome;
use content::mount::Mount;
use ferrum_trace_testkit::strict_trace::Trace;
use std::fs;
use std::path::Path;

const MIB: u64 = 1 << 20;

/// Slices that can be recovered from a spool, and the number of events that it reports as lost.
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

/// Panics unless the only line reports this number of lost events.
#[track_caller]
fn assert_loss_is_reported(outcome: &Outcome, lost: u64) {
    let line = outcome.one_line();
    assert!(line.contains(&format!("{lost} events ")) && line.contains("lost"), "expected {lost} lost events: {line}");
    assert!(line.contains("no space was left on the device") || line.contains("No space left on device"), "{line}");
}

#[test]
fn only_events_that_do_not_fit_are_lost_if_the_spool_fills_the_disk() {
    let mount = Mount::small(4 * MIB);
    let spool = mount.file("trace.spool");
    let outcome = child!("spans on threads").number(2).number(300_000).out(&spool).run();
    let (recorded, lost) = recovered(&spool);
    assert!(recorded > 100_000 && lost > 0, "{recorded} {lost}");
    assert_eq!(recorded + lost, outcome.reported("pushed"));
    assert_loss_is_reported(&outcome, lost);
}

#[test]
fn only_events_that_do_not_fit_are_lost_if_something_else_fills_the_disk() {
    let mount = Mount::small(16 * MIB);
    let spool = mount.file("trace.spool");
    let outcome = child!("fill the disk").arg(mount.file("filler")).out(&spool).run();
    let (recorded, lost) = recovered(&spool);
    assert!(recorded >= 40_000 && lost > 0, "{recorded} {lost}");
    assert_eq!(recorded + lost, outcome.reported("pushed"));
    assert_loss_is_reported(&outcome, lost);
}

#[test]
fn the_spool_stays_and_the_loss_is_reported_if_the_json_does_not_fit_either() {
    let mount = Mount::small(4 * MIB);
    let path = mount.file("trace.json");
    let outcome = child!("spans on threads").number(2).number(300_000).out(&path).run();
    assert!(!path.exists(), "an incomplete file must not stay");
    assert!(!mount.file("trace.json.next").exists());
    let spool = mount.file("trace.json.spool");
    let (recorded, lost) = recovered(&spool);
    assert!(recorded > 100_000 && lost > 0, "{recorded} {lost}");
    assert_eq!(recorded + lost, outcome.reported("pushed"));
    let line = outcome.one_line();
    assert!(line.ends_with(&format!("ferrum-trace recover {}", spool.display())), "{line}");
    assert_loss_is_reported(&outcome, lost);
}

#[test]
fn the_spool_is_complete_if_only_the_json_does_not_fit() {
    const SPANS: u64 = 60_000;
    let mount = Mount::small(8 * MIB);
    let path = mount.file("trace.json");
    let outcome = child!("some spans").number(SPANS).out(&path).run();
    let line = outcome.one_line();
    let spool = mount.file("trace.json.spool");
    assert!(line.contains("No space left on device"), "{line}");
    assert!(line.ends_with(&format!("ferrum-trace recover {}", spool.display())), "{line}");
    assert!(!path.exists(), "an incomplete file must not stay");
    assert!(!mount.file("trace.json.next").exists());
    assert_eq!(recovered(&spool), (SPANS, 0));
}

#[test]
fn an_existing_file_stays_if_the_new_one_does_not_fit() {
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
fn a_disk_that_is_full_from_the_start_is_reported_and_the_program_continues() {
    let mount = Mount::small(64 << 10);
    let path = mount.file("trace.json");
    let outcome = child!("some spans").number(10).out(&path).run();
    let line = outcome.one_line();
    assert!(line.contains(path.to_str().unwrap()) && line.ends_with("; nothing is recorded"), "{line}");
    assert_eq!(outcome.reported("pushed"), 10);
    assert!(fs::read_dir(mount.path()).unwrap().next().is_none(), "no file must stay");
}

#[test]
fn recording_continues_when_the_disk_has_room_again() {
    let mount = Mount::small(16 * MIB);
    let spool = mount.file("trace.spool");
    let outcome = child!("a full disk that has room again").arg(mount.file("filler")).out(&spool).run();
    assert_eq!(outcome.reported("is_full"), 1);
    assert!(outcome.reported("dropped_while_full") > 0);
    let (recorded, lost) = recovered(&spool);
    assert_eq!(recorded + lost, outcome.reported("pushed"));
    assert_loss_is_reported(&outcome, lost);
    let (json, _) = ferrum_trace_format::spool::to_chrome_bytes(&fs::read(&spool).unwrap()).unwrap();
    let n_after = Trace::parse(&json).unwrap().slices().filter(|slice| slice.name == "after").count();
    assert_eq!(n_after as u64, outcome.reported("after"));
}

/// Runs a rotating recording on a disk that is full for some time. Returns the outcome and the files that remain.
fn rotate_on_a_full_disk(mount: &Mount, rotate: &str) -> (Outcome, Vec<String>) {
    let filler = mount.file("filler");
    let child = child!("a full disk and other files").arg(filler).out(mount.file("trace.json"));
    let outcome = child.env("FERRUM_TRACE_ROTATE", rotate).run();
    assert!(outcome.reported("dropped_while_full") > 0, "{outcome:#?}");
    assert_eq!(outcome.reported("says_why"), 1, "{outcome:#?}");
    let entries = fs::read_dir(mount.path()).unwrap();
    let mut files: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    files.sort_unstable();
    (outcome, files)
}

#[test]
fn a_rotating_recording_continues_and_writes_all_files_when_the_disk_has_room_again() {
    let mount = Mount::small(160 * MIB);
    let (outcome, files) = rotate_on_a_full_disk(&mount, "1MiB");
    let expected: Vec<String> = (1..=files.len()).map(|n| format!("trace.{n:03}.json")).collect();
    assert_eq!(files, expected, "each part has its output, and no spool is left");
    let (mut recorded, mut lost) = (0, 0);
    for name in &files {
        let trace = Trace::parse(&fs::read(mount.file(name)).unwrap()).unwrap();
        let slices = trace.slices().count() as u64;
        assert_eq!(trace.about().number("recorded"), slices);
        (recorded, lost) = (recorded + slices, lost + trace.about().number("dropped"));
    }
    assert_eq!(recorded + lost, outcome.reported("pushed"));
    assert!(lost >= outcome.reported("dropped_while_full"));
    assert_loss_is_reported(&outcome, lost);
    assert!(outcome.one_line().ends_with(&format!("{recorded} recorded")), "{outcome:#?}");
}

#[test]
fn parts_whose_output_does_not_fit_count_for_the_files_that_are_kept() {
    const KEPT: u64 = 2;
    let mount = Mount::small(160 * MIB);
    let (outcome, files) = rotate_on_a_full_disk(&mount, &format!("1MiB,keep={KEPT}"));
    // Besides those that are kept, up to two are being written, and one is being recorded.
    for key in ["files_while_full", "files_after"] {
        assert!((KEPT..=KEPT + 3).contains(&outcome.reported(key)), "{outcome:#?}");
    }
    assert_eq!(files.len() as u64, KEPT + 1, "{files:?}");
    assert!(files.iter().all(|name| name.ends_with(".json")), "{files:?}");
}
