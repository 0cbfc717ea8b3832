//! Consecutive recordings: in the run after one that was killed, and in one process.

mod common;

use common::{Finished, Stage, TraceFile, recover};
use ferrum_trace_testkit::process::run;
use std::collections::BTreeSet;

/// Starts a scene, lets it record for a moment, and kills it. Returns its process id.
#[track_caller]
fn kill_a_recording(stage: &Stage) -> u32 {
    let mut scene = stage.start("full-speed");
    scene.wait_for_line("ready");
    scene.tell("go");
    while stage.counters().iter().all(|&counted| counted == 0) {
        std::thread::yield_now();
    }
    scene.kill();
    let finished = scene.finish().expect_signal(libc::SIGKILL);
    finished.pid
}

#[test]
fn the_spool_of_a_killed_process_is_kept_and_can_be_recovered() {
    let stage = Stage::new();
    let mut killed = Vec::new();
    for n_before in 0..3 {
        let pid = kill_a_recording(&stage);
        let n_counted: u64 = stage.counters().iter().sum();
        killed.push((pid, n_counted));
        // The next run uses the path, and reports the spool that it found.
        let next = stage.run("return").expect_success();
        let (spool, kept) = (stage.path("trace.json.spool"), stage.path(&format!("trace.{pid}.json.spool")));
        let (shown, kept_shown) = (spool.display(), kept.display());
        assert_eq!(
            next.stderr,
            format!(
                "ferrum-trace: {shown}: left by process {pid}, which was killed; kept as {kept_shown} for \
                 `ferrum-trace recover`\n"
            )
        );
        let trace = TraceFile::read(&stage.trace());
        assert_eq!(trace.count("work"), 100);
        assert!(!spool.exists());
        assert_eq!(stage.files().len(), 3 + n_before);
    }
    for (pid, n_counted) in killed {
        let (trace, summary) = recover(&stage.path(&format!("trace.{pid}.json.spool")));
        assert_eq!(summary.pid, pid);
        let n_found = trace.count("work") as u64;
        assert!((n_counted..=n_counted + 4).contains(&n_found), "{n_counted} recorded, {n_found} found");
    }
}

#[test]
fn one_of_two_simultaneous_processes_keeps_the_spool_of_a_killed_one() {
    for _ in 0..5 {
        let stage = Stage::new();
        let pid = kill_a_recording(&stage);
        let scenes: Vec<_> = (0..2).map(|_| stage.start("two-at-once")).collect();
        let finished: Vec<Finished> = scenes.into_iter().map(|scene| scene.finish().expect_success()).collect();
        let n_kept = finished.iter().filter(|finished| finished.stderr.contains("which was killed; kept as")).count();
        assert_eq!(n_kept, 1);
        recover(&stage.path(&format!("trace.{pid}.json.spool")));
        assert_eq!(TraceFile::read(&stage.trace()).count("work"), 200);
    }
}

/// The numbers that a scene reports for each recording.
fn runs(finished: &Finished) -> Vec<Vec<u64>> {
    let numbers = |line: &str| {
        let words = line.split(|ch: char| !ch.is_ascii_digit()).filter(|word| !word.is_empty());
        words.map(|word| word.parse().unwrap()).collect()
    };
    finished.answers("run").map(numbers).collect()
}

#[test]
fn each_recording_of_a_process_has_the_events_of_its_time() {
    let stage = Stage::new();
    let finished = run(&mut stage.scene_without_env("restart-amid-recording")).expect_success();
    let runs = runs(&finished);
    assert_eq!(runs.len(), 16);
    let mut seen = BTreeSet::new();
    for (n, run) in runs.iter().enumerate() {
        let (begun, ending, dropped) = (&run[..4], &run[4..8], run[9]);
        let trace = TraceFile::read(&stage.path(&format!("run.{n}.json")));
        assert_eq!(trace.about("recorded") as usize, trace.recorded().count());
        // At most one span of each worker may coincide with the end of the recording.
        assert!(dropped <= 4, "run {n}: {dropped} were lost");
        trace.assert_nested();
        for event in trace.named("work") {
            assert!(seen.insert((event.number("worker"), event.number("n"))), "twice: {event:?}");
        }
        for worker in 0..4 {
            // The next span after the begin may have begun before it, when nothing was recorded.
            let missing: Vec<u64> =
                (begun[worker] + 2..=ending[worker]).filter(|n| !seen.contains(&(worker as u64, *n))).collect();
            let n_missing = missing.len();
            assert!(missing.is_empty(), "run {n}: {n_missing} of worker {worker} are missing, from {}", missing[0]);
        }
    }
    assert_eq!(stage.files().len(), 16 + 1, "{:?}", stage.files());
}

#[test]
fn finish_returns_the_number_of_events_in_the_file() {
    let stage = Stage::new();
    let finished = run(&mut stage.scene_without_env("restart-amid-recording")).expect_success();
    for (n, run) in runs(&finished).iter().enumerate() {
        let trace = TraceFile::read(&stage.path(&format!("run.{n}.json")));
        assert_eq!(run[8], trace.about("recorded"), "run {n}");
    }
}

#[test]
fn recordings_of_one_process_may_share_a_path() {
    let stage = Stage::new();
    let finished = run(&mut stage.scene_without_env("restart-at-one-path")).expect_success();
    assert_eq!(finished.stderr, "");
    assert_eq!(TraceFile::read(&stage.path("run.0.json")).numbers("work", "n"), (1..=11).collect::<Vec<u64>>());
    assert_eq!(stage.files(), BTreeSet::from(["run.0.json".to_owned()]));
}

#[test]
fn recordings_of_one_process_may_share_a_spool() {
    let stage = Stage::new();
    let finished = run(&mut stage.scene_without_env("restart-at-one-spool")).expect_success();
    assert_eq!(finished.stderr, "");
    let (trace, summary) = recover(&stage.path("run.0.spool"));
    assert!(summary.finished);
    assert_eq!(trace.numbers("work", "n"), [1, 2, 3, 4, 5]);
    assert_eq!(stage.files(), BTreeSet::from(["run.0.spool".to_owned()]));
}

#[test]
fn a_recording_that_ended_during_flushes_does_not_change() {
    let stage = Stage::new();
    let finished = run(&mut stage.scene_without_env("restart-amid-flushes")).expect_success();
    let runs = runs(&finished);
    assert_eq!(runs.len(), 10);
    for (n, run) in runs.iter().enumerate() {
        let path = stage.path(&format!("run.{n}.json"));
        assert_eq!(std::fs::metadata(&path).unwrap().len(), run[1], "run {n} had {} bytes when it ended", run[1]);
        let trace = TraceFile::read(&path);
        assert_eq!(trace.recorded().count() as u64, run[0]);
        trace.assert_nested();
    }
    assert_eq!(stage.files().len(), 10 + 1, "{:?}", stage.files());
}

#[test]
fn events_are_not_lost_while_the_previous_recording_is_still_being_written() {
    let stage = Stage::new();
    let finished = run(&mut stage.scene_without_env("restart-while-finishing")).expect_success();
    let run = &runs(&finished)[0];
    let (begun, ending, dropped) = (run[0], run[1], run[3]);
    // A thread still records into the previous recording until that has taken back its memory, which a busy machine may
    // delay.
    let traces = ["run.0.json", "run.1.json"].map(|name| TraceFile::read(&stage.path(name)));
    let seen: BTreeSet<u64> = traces.iter().flat_map(|trace| trace.numbers("on", "n")).collect();
    let n_missing = (begun + 2..=ending).filter(|n| !seen.contains(n)).count() as u64;
    assert!(n_missing <= dropped, "{n_missing} are missing, {dropped} of them counted, from {begun} to {ending}");
}

#[test]
fn a_destructor_records_on_its_own_thread_in_the_next_recording() {
    let stage = Stage::new();
    let finished = run(&mut stage.scene_without_env("restart-and-end-threads")).expect_success();
    let trace = TraceFile::read(&stage.path("run.1.json"));
    assert_eq!((finished.number("recorded"), finished.number("dropped")), (4, 0));
    assert_eq!((trace.count("work"), trace.count("late")), (3, 1));
    let names = trace.thread_names();
    for event in trace.recorded() {
        let name = names.get(&event.tid).map_or("", |name| name.as_str());
        assert_eq!(name.starts_with("other"), event.name == "work", "`{}` is on `{name}`", event.name);
    }
}

#[test]
fn hundreds_of_recordings_lose_no_events_of_their_time() {
    let stage = Stage::new();
    let finished = run(&mut stage.scene_without_env("restart-very-often")).expect_success();
    assert_eq!(finished.number("lost"), 0);
}

#[test]
fn ended_recordings_hold_no_system_resources() {
    let stage = Stage::new();
    let finished = run(&mut stage.scene_without_env("restart-often")).expect_success();
    let holds: Vec<[u64; 3]> = finished.answers("holds").map(|it| serde_json::from_str(it).unwrap()).collect();
    let [half, whole] = holds[..] else { panic!("expected two lines, found {holds:?}") };
    // The same after 20 and after 40 recordings, except for resources in use at the moment.
    for (half, whole) in half.into_iter().zip(whole) {
        assert!(whole <= half + 10, "{holds:?}");
    }
}

#[test]
fn spans_that_are_open_across_recordings_do_no_harm() {
    let stage = Stage::new();
    let finished = run(&mut stage.scene_without_env("restart-with-open-spans")).expect_success();
    let first = TraceFile::read(&stage.path("run.0.json"));
    assert_eq!(first.recorded().count(), 0);
    let second = TraceFile::read(&stage.path("run.1.json"));
    assert_eq!(second.numbers("work", "n"), [1, 2]);
    assert_eq!(second.count("begun in none"), 0);
    assert_eq!(second.recorded().count() as u64, finished.number("recorded"));
    second.assert_nested();
}
