//! Traces for the step `viewers` of `cargo xtask check`: recorded as a user would, and left in the target folder with
//! the counts that Perfetto must find.

use content::child;
use content::texts::strange;
use ferrum_trace_testkit::strict_trace::{Event, Phase, Trace, is_pushed};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::tempdir;

/// Counts of a trace as Perfetto has them, see CONTRIBUTING.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    slices: usize,
    instants: usize,
    flows: usize,
    counters: usize,
    threads: usize,
    processes: usize,
}

/// The same counts from the file.
fn counted(trace: &Trace) -> Counts {
    let of = |wanted: fn(&&Event) -> bool| trace.events.iter().filter(wanted);
    let is_begin = |event: &&Event| matches!(event.phase, Phase::AsyncBegin(_));
    let is_arrow = |event: &&Event| matches!(event.phase, Phase::FlowStep(_) | Phase::FlowEnd(_));
    // Instants and events of zero length are slices of zero duration.
    let is_instant = |event: &&Event| matches!(event.phase, Phase::Instant(_) | Phase::AsyncInstant(_));
    let slices: Vec<&Event> = trace.slices_by_track().into_values().flatten().collect();
    let n_empty = slices.iter().filter(|slice| slice.start == slice.end).count();
    let tracks: BTreeSet<(u32, u32)> =
        trace.thread_names().into_keys().chain(slices.iter().map(|slice| slice.track())).collect();
    let processes: BTreeSet<u32> = trace.events.iter().map(|event| event.pid).collect();
    Counts {
        slices: slices.len() + of(is_begin).count() + of(is_instant).count(),
        instants: of(is_instant).count() + n_empty,
        flows: of(is_arrow).count(),
        counters: of(|event| event.phase == Phase::Counter).map(|event| event.args.0.len()).sum(),
        threads: tracks.len(),
        processes: processes.len(),
    }
}

/// Leaves a trace for the step `viewers`.
fn leave(name: &str, trace: &Path, counts: &Counts) {
    let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("viewer-check");
    fs::create_dir_all(&folder).unwrap();
    let Counts { slices, instants, flows, counters, threads, processes } = counts;
    let expectation = format!(
        "slices={slices}\ninstants={instants}\nunended=0\nflows={flows}\ncounters={counters}\nthreads={threads}\n\
         processes={processes}\n"
    );
    fs::copy(trace, folder.join(name)).unwrap();
    fs::write(folder.join(format!("{name}.expect")), expectation).unwrap();
}

#[test]
fn a_trace_with_everything_in_it_is_left_for_the_viewers() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("everything.json");
    child!("everything").out(&path).run().expect_quiet();
    let trace = Trace::read(&path);
    trace.check_order().unwrap();
    let n_strange = strange().iter().filter(|text| text.len() < 100).count();
    let counts = counted(&trace);
    // As in the scene: steps with their layers, two laps and a norm each; the scheduler; guards out of order; strange
    // names and an instant each; kernels on two streams; a token per step; a counter without a number; two requests
    // with an instant each.
    let slices = 3 * (1 + 4 * 4) + 1 + 4 + (1 + n_strange) + 11;
    let instants = 3 + n_strange + 1;
    assert_eq!(trace.slices().count(), slices);
    assert_eq!(
        (counts.slices, counts.flows, counts.counters, counts.processes),
        (slices + trace.unfinished().count() + instants + 4, 1, 8, 1),
        "{counts:?}"
    );
    let names: BTreeSet<String> = trace.thread_names().into_values().collect();
    let expected = [
        "GPU 0 / stream 7",
        "GPU 0 / stream 8",
        "GPU 0 / stream 8 (2)",
        "main",
        "out of order",
        "out of order (2)",
        "out of order (3)",
        "scheduler",
        "strange \"names\" 🦀",
    ];
    assert_eq!(names, expected.map(String::from).into());
    leave("everything.json", &path, &counts);
}

/// The same scene in other formats. The counts are those of JSON, plus one instant for the metadata in Perfetto's
/// format.
#[test]
fn traces_in_other_formats_are_left_for_the_viewers() {
    let folder = tempdir().unwrap();
    let json = folder.path().join("trace.json");
    child!("everything").out(&json).run().expect_quiet();
    let counts = counted(&Trace::read(&json));
    for name in ["everything.json.gz", "everything.pftrace", "everything.pftrace.gz"] {
        let path = folder.path().join(name);
        child!("everything").out(&path).run().expect_quiet();
        let more = usize::from(name.contains("pftrace"));
        leave(name, &path, &Counts { slices: counts.slices + more, instants: counts.instants + more, ..counts });
    }
}

#[test]
fn a_trace_of_the_original_interface_is_left_for_the_viewers() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("original-interface.json");
    child!("original interface").out(&path).run().expect_quiet();
    let trace = Trace::read(&path);
    trace.check_order().unwrap();
    let counts = counted(&trace);
    assert_eq!((trace.slices().count(), counts.slices, counts.processes), (26, 26, 3), "{counts:?}");
    assert!(trace.slices().all(|slice| is_pushed(slice.pid)));
    leave("original-interface.json", &path, &counts);
}

#[test]
fn a_trace_recovered_from_a_killed_program_is_left_for_the_viewers() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("recovered.json");
    let outcome = child!("wait to be killed").number(1000).out(&path).run_until_line_then_kill();
    assert!(!outcome.status.success() && !path.exists());
    let spool = fs::read(folder.path().join("recovered.json.spool")).unwrap();
    let (json, summary) = ferrum_trace_format::spool::to_chrome_bytes(&spool).unwrap();
    assert!(!summary.finished);
    fs::write(&path, json).unwrap();
    let counts = counted(&Trace::read(&path));
    assert_eq!((counts.slices, counts.threads, counts.processes), (1000, 1, 1), "{counts:?}");
    leave("recovered.json", &path, &counts);
}
