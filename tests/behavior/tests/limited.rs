//! Limits of the process, and a spool that another process cuts: the program continues, and losses are reported.

mod common;

use common::{Stage, TraceFile, recover};
use ferrum_trace_testkit::process::run;
use std::os::unix::process::ExitStatusExt;

const MIB: u64 = 1 << 20;

#[test]
fn a_spool_beyond_the_file_size_limit_loses_events_and_the_program_continues() {
    let stage = Stage::new();
    let spool = stage.path("trace.spool");
    let mut command = stage.scene("file-size-limit");
    let finished = run(command.env("FERRUM_TRACE_OUT", &spool).env("LIMIT", (2 * MIB + 5000).to_string()));
    let finished = finished.expect_success();
    let (trace, summary) = recover(&spool);
    assert_eq!(summary.events + summary.dropped, finished.number("pushed"));
    assert!(summary.events > 50_000 && summary.dropped > 0, "{summary:?}");
    assert_eq!(trace.recorded().count() as u64, summary.events);
    assert_eq!(summary.stop_reason.map(|reason| reason.as_str()), Some("file_size"));
    let line = format!("{} events lost (the process may not write larger files)", summary.dropped);
    assert!(finished.stderr.contains(&line), "{finished}");
}

#[test]
fn an_output_beyond_the_file_size_limit_is_an_error_and_the_spool_stays() {
    let stage = Stage::new();
    let finished = run(stage.scene("file-size-limit").env("LIMIT", (10 * MIB).to_string())).expect_success();
    assert_eq!(finished.answer("flushed"), "false");
    assert!(finished.stderr.contains("the trace is kept: ferrum-trace recover"), "{finished}");
    let (_, summary) = recover(&stage.path("trace.json.spool"));
    assert_eq!((summary.events, summary.dropped), (finished.number("pushed"), 0));
}

#[test]
fn a_flush_works_again_when_the_file_size_limit_is_lifted() {
    let stage = Stage::new();
    let finished = stage.run("file-size-limit-during-recording").expect_success();
    assert_eq!(finished.answers("flushed").collect::<Vec<_>>(), ["false", "false"]);
    assert_eq!(finished.number("recorded"), 50_010);
    assert_eq!(stage.finished_trace().recorded().count(), 50_010);
}

#[test]
fn a_dump_beyond_the_file_size_limit_does_not_end_the_program() {
    let stage = Stage::new();
    let finished = run(&mut stage.scene_without_env("file-size-limit-of-dumps")).expect_success();
    let answers = ["flushed", "granted", "finished"].map(|question| finished.answer(question).to_owned());
    assert_eq!(answers, ["false", "true", "false"]);
    assert!(!stage.files().iter().any(|name| name.contains("dump")), "{:?}", stage.files());
}

#[test]
fn a_flush_with_little_address_space_fails_or_succeeds_and_the_program_continues() {
    let stage = Stage::new();
    let finished = stage.run("address-space-limit").expect_success();
    let flushed: Vec<&str> = finished.answers("flush").collect();
    assert_eq!(flushed.len(), 7, "{finished}");
    assert!(flushed[0].ends_with("false") && flushed[6].ends_with("true"), "{finished}");
    assert_eq!(finished.answer("started"), "false");
    assert_eq!(finished.number("recorded"), 300_007);
    assert_eq!(stage.finished_trace().recorded().count(), 300_007);
}

#[test]
fn a_spool_that_another_process_cuts_is_an_error_and_the_program_continues() {
    for scene in ["cut-spool", "cut-spool-in-the-middle", "cut-ring"] {
        let stage = Stage::new();
        let finished = run(&mut stage.scene_without_env(scene)).expect_success();
        for step in ["flush", "finish"] {
            let error = finished.answer(step);
            assert!(
                error.contains("cut.json.spool: events of the spool are lost: another process cut it"),
                "{finished}"
            );
        }
        assert_eq!(finished.number("next"), 1000);
        assert_eq!(TraceFile::read(&stage.path("next.json")).recorded().count(), 1000);
        // What is left of it can still be looked at.
        assert!(stage.path("cut.json.spool").exists() && !stage.path("cut.json").exists());
    }
}

#[test]
fn a_cut_spool_is_found_although_the_lost_part_is_not_used_again() {
    let stage = Stage::new();
    let finished = run(&mut stage.scene_without_env("cut-spool-and-nothing-recorded")).expect_success();
    assert!(finished.answer("finish").contains(&format!("found {}", 2 * MIB)), "{finished}");
}

#[test]
fn without_the_handler_a_cut_spool_ends_the_program() {
    let stage = Stage::new();
    let finished = run(stage.scene_without_env("cut-spool").env("FERRUM_TRACE_SIGBUS", "off"));
    assert_eq!(finished.status.signal(), Some(7), "{finished}");
}

#[test]
fn faults_of_the_program_are_left_to_the_program() {
    let stage = Stage::new();
    assert_eq!(stage.run("faults-of-the-program").status.code(), Some(7));
    let finished = stage.run("faults-of-a-program-without-handler");
    assert_eq!(finished.status.signal(), Some(7), "{finished}");
}
