//! A recording with rotation: each file is complete, and every event is in exactly one.

mod common;

use common::{Finished, Running, Stage, TraceFile, assert_counts_up, recover};
use ferrum_trace_testkit::process::run;
use std::path::PathBuf;
use std::process::Command;

/// A scene with rotation.
fn scene(stage: &Stage, name: &str, rotate: &str) -> Command {
    let mut command = stage.scene(name);
    command.env("FERRUM_TRACE_ROTATE", rotate);
    command
}

#[track_caller]
fn run_scene(stage: &Stage, name: &str, rotate: &str) -> Finished {
    run(&mut scene(stage, name, rotate)).expect_success()
}

/// All files of a scene that has ended by itself, in order. Panics if there are fewer than `at_least`, or other files.
#[track_caller]
fn parts(stage: &Stage, at_least: usize) -> Vec<TraceFile> {
    let files: Vec<String> = stage.files().into_iter().filter(|name| name != "counters").collect();
    let expected: Vec<String> = (1..=files.len()).map(|n| format!("trace.{n:03}.json")).collect();
    assert_eq!(files, expected);
    assert!(files.len() >= at_least, "{files:?}");
    files.iter().map(|name| TraceFile::read(&stage.path(name))).collect()
}

/// The numbers of all `work` in some files.
fn work(parts: &[TraceFile]) -> Vec<u64> {
    let mut work: Vec<u64> = parts.iter().flat_map(|part| part.numbers("work", "n")).collect();
    work.sort_unstable();
    work
}

#[test]
fn every_event_of_many_threads_is_in_exactly_one_of_many_files() {
    let stage = Stage::new();
    let finished = run_scene(&stage, "rotate-amid-everything", "1MiB");
    let parts = parts(&stage, 5);
    let work = work(&parts);
    assert_counts_up(&work);
    assert_eq!(work.len() as u64, finished.number("work"));
    let others = |part: &TraceFile| part.recorded().filter(|event| event.name != "work").count() as u64;
    assert_eq!(parts.iter().map(others).sum::<u64>(), finished.number("others"));
    for (part, number) in parts.iter().zip(1..) {
        part.assert_nested();
        assert_eq!((part.about("part"), part.about("dropped")), (number, 0));
        assert_eq!(part.about("recorded") as usize, part.recorded().count());
        let is_named =
            |name: &str| name.starts_with("dynamic ") || ["work", "point", "on track", "born"].contains(&name);
        assert!(part.recorded().all(|event| is_named(&event.name)));
        let rows = part.thread_names();
        assert!(part.named("on track").all(|event| rows[&event.tid].starts_with("track ")));
    }
}

#[test]
fn events_across_a_part_boundary_keep_their_times_and_tracks() {
    let stage = Stage::new();
    run_scene(&stage, "rotate-across-boundaries", "1MiB");
    let parts = parts(&stage, 2);
    let [first, second, ..] = &parts[..] else { panic!("two files") };
    assert_eq!(first.about("start_monotonic_ns"), second.about("start_monotonic_ns"));
    // The spans began in the first file, and all files count from the same moment.
    let departure = first.named("departure").find(|event| event.phase == 'X').unwrap();
    let [outer, inner] = ["outer", "inner"].map(|name| second.named(name).next().unwrap());
    assert!(outer.start_ns < inner.start_ns && inner.start_ns < departure.start_ns);
    assert!(inner.end_ns <= outer.end_ns && inner.end_ns > departure.end_ns);
    parts.iter().for_each(TraceFile::assert_nested);
    // A request ends at the end of a file and begins at the start of the next; a flow without a start is left out.
    let phases = |part: &TraceFile, name: &str| part.named(name).map(|event| event.phase).collect::<String>();
    assert_eq!((phases(first, "request"), phases(second, "request")), ("be".into(), "be".into()));
    let n_unclosed =
        |part: &TraceFile| part.named("request").filter(|event| event.args.contains_key("unclosed")).count();
    assert_eq!((n_unclosed(first), n_unclosed(second)), (1, 0));
    assert_eq!((phases(first, "flow"), phases(second, "flow")), ("s".into(), String::new()));
    let begin = second.named("request").next().unwrap();
    assert!(begin.start_ns > departure.end_ns && begin.start_ns < second.named("arrival").next().unwrap().start_ns);
    for part in &parts {
        let names: Vec<String> = part.thread_names().into_values().collect();
        assert_eq!(names, ["decode loop"]);
        let process = part.events.iter().find(|event| event.name == "process_name").unwrap();
        assert_eq!(process.text("name"), "renamed");
    }
}

#[test]
fn files_rotate_by_time_too() {
    let stage = Stage::new();
    run_scene(&stage, "rotate-by-time", "150ms");
    let parts = parts(&stage, 3);
    assert_eq!(work(&parts), (1..=30).collect::<Vec<u64>>());
}

#[test]
fn a_last_file_without_events_has_its_number() {
    let stage = Stage::new();
    run_scene(&stage, "rotate-at-the-end", "100ms");
    let parts = parts(&stage, 2);
    let reported: Vec<[u64; 3]> =
        parts.iter().map(|part| ["part", "recorded", "dropped"].map(|key| part.about(key))).collect();
    assert_eq!(reported, [[1, 1, 0], [2, 0, 0]]);
}

#[test]
fn after_kill_9_all_files_but_the_last_are_complete_and_the_last_can_be_recovered() {
    let stage = Stage::new();
    let mut running = Running::start(&mut scene(&stage, "rotate-until-killed", "1MiB"));
    running.wait_for_line("ready");
    running.tell("go");
    while !stage.path("trace.002.json").exists() {
        std::thread::yield_now();
    }
    running.kill();
    running.finish().expect_signal(libc::SIGKILL);
    let counted = stage.counters();
    let mut parts = Vec::new();
    for n in 1.. {
        let path = stage.path(&format!("trace.{n:03}.json"));
        let spool = stage.path(&format!("trace.{n:03}.json.spool"));
        match (path.exists(), spool.exists()) {
            (true, _) => parts.push(TraceFile::read(&path)),
            (false, true) => parts.push(recover(&spool).0),
            (false, false) => break,
        }
    }
    assert!(parts.len() > 2);
    for (worker, &counted) in counted.iter().enumerate() {
        let of_worker = |part: &TraceFile| {
            let events: Vec<_> = part.named("work").filter(|event| event.number("worker") == worker as u64).collect();
            events.into_iter().map(|event| event.number("n")).collect::<Vec<u64>>()
        };
        let mut numbers: Vec<u64> = parts.iter().flat_map(of_worker).collect();
        numbers.sort_unstable();
        assert_counts_up(&numbers);
        assert!((counted..=counted + 1).contains(&(numbers.len() as u64)), "{} of {counted}", numbers.len());
    }
}

#[test]
fn the_builder_sets_the_number_of_files_to_keep() {
    let stage = Stage::new();
    run(&mut stage.scene_without_env("rotate-by-builder")).expect_success();
    let files: Vec<String> = stage.files().into_iter().collect();
    let [one, two, last] = &files[..] else { panic!("{files:?}") };
    assert!([one, two, last].iter().all(|name| name.starts_with("built.0") && name.ends_with(".json.zst")));
    assert_ne!(one, "built.001.json.zst");
}

#[test]
fn a_recording_that_is_stopped_ends_in_its_last_file() {
    let stage = Stage::new();
    let finished = run_scene(&stage, "rotate-and-stop", "1MiB");
    let parts = parts(&stage, 2);
    let last = PathBuf::from(finished.answer("last"));
    assert_eq!(last, stage.path(&format!("trace.{:03}.json", parts.len())));
    assert!(parts.iter().all(|part| part.count("after") == 0));
}

#[test]
fn a_forked_child_has_separate_files() {
    let stage = Stage::new();
    let finished = run_scene(&stage, "rotate-and-fork", "1MiB");
    let child = finished.number("child");
    let of_child = format!("trace.{child}.");
    let (children, parents): (Vec<String>, Vec<String>) =
        stage.files().into_iter().partition(|name| name.starts_with(&of_child));
    assert!(children.len() >= 2 && parents.len() >= 2, "{children:?} {parents:?}");
    assert_eq!(children[0], format!("trace.{child}.001.json"));
    for name in children.iter().chain(&parents) {
        TraceFile::read(&stage.path(name)).assert_nested();
    }
}

#[test]
fn a_second_process_uses_other_files_and_reports_it() {
    let stage = Stage::new();
    let mut first = Running::start(&mut scene(&stage, "rotate-until-killed", "1MiB"));
    first.wait_for_line("ready");
    first.tell("go");
    while !stage.path("trace.001.json.spool").exists() {
        std::thread::yield_now();
    }
    let second = run_scene(&stage, "return", "1MiB");
    assert!(second.stderr.contains("it is being recorded to already"), "{}", second.stderr);
    let own: Vec<String> = stage.files().into_iter().filter(|name| name.ends_with(".001.json")).collect();
    assert_eq!(own.len(), 1, "{own:?}");
    assert_eq!(TraceFile::read(&stage.path(&own[0])).count("work"), 100);
    first.kill();
    first.finish();
    // The files of the first process are not overwritten: the next one takes another number.
    let n_before = stage.files().len();
    run_scene(&stage, "return", "1MiB");
    assert!(
        stage.files().len() > n_before
            && stage.path("trace.001.json.spool").exists() != stage.path("trace.001.json").exists()
    );
}

#[test]
fn rotation_of_a_ring_is_reported_and_ignored() {
    let stage = Stage::new();
    let finished = run(scene(&stage, "return", "1MiB").env("FERRUM_TRACE_RING", "1MiB")).expect_success();
    assert!(finished.stderr.contains("FERRUM_TRACE_ROTATE: "), "{}", finished.stderr);
    assert_eq!(stage.finished_trace().count("work"), 100);
}
