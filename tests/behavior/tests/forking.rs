//! Processes that fork, processes that start others, and processes with the same path.

mod common;

use common::{Finished, Stage, TraceFile, assert_counts_up, recover};
use ferrum_trace_testkit::process::run;
use std::collections::BTreeSet;

const CHILD_SPANS: usize = 20;

/// Process ids of the children that a scene reports under `key`. All of them must have ended with code 0.
#[track_caller]
fn children(finished: &Finished, key: &str) -> Vec<String> {
    let child = |line: &str| {
        let (pid, ending) = line.split_once(' ').unwrap();
        assert_eq!(ending, "Code(0)", "child {pid}\n{finished}");
        pid.to_owned()
    };
    finished.answers(key).map(child).collect()
}

/// Checks that the trace of a child has the child's events, and nothing else.
#[track_caller]
fn assert_is_childs(trace: &TraceFile, pid: &str) {
    let numbers = trace.numbers("child", "n");
    assert_counts_up(&numbers);
    assert_eq!(numbers.len(), CHILD_SPANS);
    assert_eq!(trace.recorded().count(), CHILD_SPANS);
    assert!(trace.events.iter().all(|event| event.pid.to_string() == pid));
    assert!(trace.named("child").all(|event| event.number("pid").to_string() == pid));
}

/// Checks that a trace has `work` from 1 to `n_work`, and no events of children.
#[track_caller]
fn assert_is_parents(trace: &TraceFile, n_work: usize) {
    let numbers = trace.numbers("work", "n");
    assert_counts_up(&numbers);
    assert_eq!(numbers.len(), n_work);
    assert_eq!(trace.count("child"), 0);
    assert_eq!(trace.about("recorded") as usize, trace.recorded().count());
    assert_eq!(trace.about("dropped"), 0);
}

#[test]
fn parent_and_child_of_a_fork_have_separate_files() {
    let stage = Stage::new();
    let finished = stage.run("fork-amid-recording").expect_success();
    let (exited, gone) = (children(&finished, "exited"), children(&finished, "gone"));
    assert_eq!((exited.len(), gone.len()), (10, 10));
    for pid in &exited {
        assert_is_childs(&TraceFile::read(&stage.path(&format!("trace.{pid}.json"))), pid);
        assert!(!stage.path(&format!("trace.{pid}.json.spool")).exists());
    }
    for pid in &gone {
        assert!(!stage.path(&format!("trace.{pid}.json")).exists());
        let (trace, _) = recover(&stage.path(&format!("trace.{pid}.json.spool")));
        assert_is_childs(&trace, pid);
    }
    for pid in exited.iter().chain(&gone) {
        let words =
            format!("this is a forked child; recording to {}", stage.path(&format!("trace.{pid}.json")).display());
        assert_eq!(finished.stderr.matches(&words).count(), 1, "{}", finished.stderr);
    }
    let trace = stage.finished_trace();
    let done: Vec<u64> = serde_json::from_str(finished.answer("done")).unwrap();
    for (worker, &done) in done.iter().enumerate() {
        let numbers = trace.numbers_on(trace.tid_of(&format!("worker {worker}")), "work", "n");
        assert_counts_up(&numbers);
        assert_eq!(numbers.len() as u64, done);
    }
    assert_eq!(trace.numbers("parent", "n"), (1..=10).collect::<Vec<u64>>());
    assert_eq!(trace.count("child"), 0);
    assert_eq!(trace.about("recorded") as usize, trace.recorded().count());
    trace.assert_nested();
}

#[test]
fn a_path_with_the_process_id_is_different_for_each_child() {
    let stage = Stage::new();
    let mut scene = stage.scene("fork-and-fork-again");
    // Relative, to check that the children do not depend on the working directory.
    let finished = run(scene.env("FERRUM_TRACE_OUT", "t-%p.spool")).expect_success();
    for key in ["child", "grandchild-before", "grandchild-after"] {
        let pid = &children(&finished, key)[0];
        let (trace, summary) = recover(&stage.path(&format!("t-{pid}.spool")));
        assert_is_childs(&trace, pid);
        assert!(summary.finished);
    }
    let (trace, _) = recover(&stage.path(&format!("t-{}.spool", finished.pid)));
    assert_is_parents(&trace, 20);
    assert_eq!(stage.files().len(), 4);
    assert_eq!(finished.stderr, "", "there is no conflict to report");
}

#[test]
fn a_child_that_records_nothing_leaves_no_file() {
    let stage = Stage::new();
    let finished = stage.run("fork-and-record-nothing").expect_success();
    assert_eq!((children(&finished, "exited").len(), children(&finished, "gone").len()), (1, 1));
    assert_eq!(stage.files(), BTreeSet::from(["trace.json".to_owned()]));
    assert_is_parents(&stage.finished_trace(), 20);
}

#[test]
fn children_of_children_have_separate_files() {
    let stage = Stage::new();
    let finished = stage.run("fork-and-fork-again").expect_success();
    for key in ["child", "grandchild-before", "grandchild-after"] {
        let pids = children(&finished, key);
        assert_eq!(pids.len(), 1, "{finished}");
        assert_is_childs(&TraceFile::read(&stage.path(&format!("trace.{}.json", pids[0]))), &pids[0]);
    }
    assert_is_parents(&stage.finished_trace(), 20);
    assert_eq!(stage.files().len(), 4);
}

#[test]
fn a_fork_before_the_first_event_leaves_two_independent_recordings() {
    let stage = Stage::new();
    let finished = stage.run("fork-before-recording").expect_success();
    assert_eq!(children(&finished, "exited").len(), 1);
    // The child used the path and has ended; then the parent started.
    assert_is_parents(&stage.finished_trace(), 10);
    assert_eq!(stage.files(), BTreeSet::from(["trace.json".to_owned()]));
}

#[test]
fn a_fork_while_another_thread_starts_the_recorder_does_not_hang() {
    for step in 0..60 {
        let stage = Stage::new();
        let finished = run(stage.scene("fork-at-the-start").arg((step * step * 40).to_string())).expect_success();
        assert_eq!(children(&finished, "exited").len(), 1);
        // Either process may have either file; each has its own, or none if the fork was during the start.
        let mut n_parents = 0;
        for name in stage.files() {
            let trace = TraceFile::read(&stage.path(&name));
            match trace.count("child") {
                0 => {
                    assert_is_parents(&trace, 10);
                    n_parents += 1;
                }
                _ => assert_eq!((trace.count("child"), trace.count("work")), (CHILD_SPANS, 0)),
            }
        }
        assert_eq!(n_parents, 1, "{:?}\n{finished}", stage.files());
    }
}

#[test]
fn a_fork_during_a_slow_start_of_the_recorder_does_not_hang() {
    let stage = Stage::new();
    let finished = stage.run("fork-during-a-slow-start").expect_success();
    assert_eq!(children(&finished, "exited").len(), 1);
    assert_is_parents(&stage.finished_trace(), 10);
}

#[test]
fn a_fork_during_flushes_does_not_hang_and_all_files_are_complete() {
    let stage = Stage::new();
    let finished = stage.run("fork-amid-flushes").expect_success();
    let exited = children(&finished, "exited");
    assert_eq!(exited.len(), 20);
    for pid in &exited {
        assert_is_childs(&TraceFile::read(&stage.path(&format!("trace.{pid}.json"))), pid);
    }
    assert_is_parents(&stage.finished_trace(), 1000);
    assert_eq!(stage.files().len(), 21, "{:?}", stage.files());
}

#[test]
fn a_fork_during_writes_to_stderr_does_not_hang() {
    let stage = Stage::new();
    let finished = stage.run("fork-amid-writes-to-stderr").expect_success();
    let exited = children(&finished, "exited");
    assert_eq!(exited.len(), 20);
    for pid in &exited {
        assert_is_childs(&TraceFile::read(&stage.path(&format!("trace.{pid}.json"))), pid);
    }
}

#[test]
fn a_fork_while_names_and_threads_are_registered_does_not_hang() {
    let stage = Stage::new();
    let finished = stage.run("fork-amid-new-sites").expect_success();
    let exited = children(&finished, "exited");
    assert_eq!(exited.len(), 20);
    for pid in &exited {
        let trace = TraceFile::read(&stage.path(&format!("trace.{pid}.json")));
        assert_eq!((trace.count("child"), trace.count("name")), (CHILD_SPANS, 1));
        assert_eq!(trace.recorded().count(), CHILD_SPANS + 1);
    }
    assert_is_parents(&stage.finished_trace(), 10);
}

#[test]
fn a_fork_while_threads_start_and_end_does_not_hang() {
    let stage = Stage::new();
    let finished = stage.run("fork-amid-new-threads").expect_success();
    let exited = children(&finished, "exited");
    assert_eq!(exited.len(), 50);
    for pid in &exited {
        let trace = TraceFile::read(&stage.path(&format!("trace.{pid}.json")));
        assert_eq!(trace.recorded().count(), 20_000);
    }
    assert_is_parents(&stage.finished_trace(), 10);
}

#[test]
fn a_span_that_is_open_at_a_fork_is_once_in_each_file() {
    let stage = Stage::new();
    let finished = stage.run("fork-in-a-span").expect_success();
    let pid = &children(&finished, "exited")[0];
    let trace = TraceFile::read(&stage.path(&format!("trace.{pid}.json")));
    assert_eq!((trace.count("child"), trace.count("work")), (CHILD_SPANS, 0));
    // Each process has recorded the end of each span once.
    assert_eq!((trace.count("outer"), trace.count("inner")), (1, 1));
    trace.assert_nested();
    let trace = stage.finished_trace();
    assert_is_parents(&trace, 10);
    assert_eq!((trace.count("outer"), trace.count("inner")), (1, 1));
    trace.assert_nested();
}

#[test]
fn only_the_parent_writes_with_a_writer_from_before_the_fork() {
    let stage = Stage::new();
    let finished = stage.run("fork-with-a-writer").expect_success();
    assert_eq!(children(&finished, "exited").len(), 2);
    assert_eq!(finished.answer("written"), "false");
    let trace = TraceFile::read(&stage.path("writer.json"));
    let names: Vec<&str> = trace.recorded().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["before", "after"]);
    assert!(!stage.files().iter().any(|name| name.starts_with("writer.json.")), "{:?}", stage.files());
}

#[test]
fn a_child_forked_in_a_destructor_does_not_touch_the_parents_files() {
    let stage = Stage::new();
    let finished = stage.run("fork-in-a-destructor").expect_success();
    assert_eq!((children(&finished, "gone").len(), children(&finished, "exited").len()), (1, 1));
    assert_eq!((finished.answer("spool"), finished.answer("trace")), ("true", "false"));
    assert_is_parents(&stage.finished_trace(), 20);
}

#[test]
fn a_child_forked_in_an_exit_handler_has_a_file_of_its_own() {
    let stage = Stage::new();
    let finished = stage.run("fork-in-an-exit-handler").expect_success();
    let gone = children(&finished, "gone");
    assert_eq!(gone.len(), 1);
    let (trace, _) = recover(&stage.path(&format!("trace.{}.json.spool", gone[0])));
    assert_is_childs(&trace, &gone[0]);
    assert_is_parents(&TraceFile::read(&stage.trace()), 10);
}

#[test]
fn a_child_of_a_killed_parent_does_not_block_the_parents_path() {
    let stage = Stage::new();
    let mut scene = stage.start("fork-and-outlive");
    let line = scene.next_line().unwrap();
    assert!(line.starts_with("child "), "{line}");
    let parent = scene.pid();
    scene.kill();
    while !scene.has_ended() {
        std::thread::yield_now();
    }
    // The child lives, but does not hold the parent's recording.
    let next = stage.run("return").expect_success();
    let kept = stage.path(&format!("trace.{parent}.json.spool"));
    assert!(stage.trace().exists(), "{next}");
    assert_is_parents(&TraceFile::read(&stage.trace()), 100);
    assert_is_parents(&recover(&kept).0, 10);
    // Ends the child.
    scene.tell("");
    scene.finish().expect_signal(libc::SIGKILL);
}

#[test]
fn a_program_started_by_another_records_to_a_separate_file_and_reports_it() {
    let stage = Stage::new();
    let finished = stage.run("spawn").expect_success();
    let spawned: Vec<(&str, &str)> = finished.answers("spawned").map(|line| line.split_once(' ').unwrap()).collect();
    assert_eq!(spawned.len(), 5);
    for (pid, words) in spawned {
        let own = stage.path(&format!("trace.{pid}.json"));
        let wanted = stage.trace();
        let (wanted, shown) = (wanted.display(), own.display());
        assert_eq!(words, format!("ferrum-trace: {wanted}: it is being recorded to already; recording to {shown}"));
        assert_is_parents(&TraceFile::read(&own), 100);
    }
    let trace = stage.finished_trace();
    let done: Vec<u64> = serde_json::from_str(finished.answer("done")).unwrap();
    for (worker, &done) in done.iter().enumerate() {
        let numbers = trace.numbers_on(trace.tid_of(&format!("worker {worker}")), "work", "n");
        assert_counts_up(&numbers);
        assert_eq!(numbers.len() as u64, done);
    }
}

#[test]
fn simultaneous_processes_with_one_path_have_separate_files() {
    let stage = Stage::new();
    let mut scenes: Vec<_> = (0..6).map(|_| stage.start("two-at-once")).collect();
    for scene in &mut scenes {
        scene.wait_for_line("ready");
    }
    let mut n_elsewhere = 0;
    let mut pids = BTreeSet::new();
    for scene in scenes {
        let finished = scene.finish().expect_success();
        pids.insert(u64::from(finished.pid));
        let own = stage.path(&format!("trace.{}.json", finished.pid));
        if own.exists() {
            assert!(finished.stderr.contains("it is being recorded to already"), "{finished}");
            n_elsewhere += 1;
        } else {
            assert_eq!(finished.stderr, "");
        }
    }
    assert_eq!(n_elsewhere, 5);
    assert_eq!(stage.files().len(), 6, "{:?}", stage.files());
    let mut found = BTreeSet::new();
    for name in stage.files() {
        let trace = TraceFile::read(&stage.path(&name));
        assert_is_parents(&trace, 200);
        found.insert(trace.events[0].pid);
    }
    assert_eq!(found, pids);
}
