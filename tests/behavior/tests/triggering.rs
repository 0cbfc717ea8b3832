//! A flight recorder with triggers writes a dump if one fires, and only then, with the reason in it.

mod common;

use common::{Finished, Running, Stage, TraceFile, assert_counts_up, build_with_panic_abort, recover, send};
use ferrum_trace_testkit::process::run;
use ferrum_trace_testkit::trace_file::Event;
use std::io::{Cursor, Read};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A scene with a ring and a trigger; dumps are written immediately, without a limit on their rate.
fn watched(stage: &Stage, scene: &str, trigger: &str) -> Command {
    watched_of(stage.scene(scene), trigger)
}

fn watched_of(mut command: Command, trigger: &str) -> Command {
    command.env("FERRUM_TRACE_RING", "1MiB").env("FERRUM_TRACE_TRIGGER", trigger);
    command.env("FERRUM_TRACE_DUMPS", "every=0s,after=0s");
    command
}

/// The dumps, each a valid trace.
fn dumps(stage: &Stage) -> Vec<TraceFile> {
    let names = stage.files().into_iter().filter(|name| name.contains(".dump-"));
    names.map(|name| valid_trace(&stage.path(&name))).collect()
}

#[track_caller]
fn valid_trace(path: &Path) -> TraceFile {
    let bytes = std::fs::read(path).unwrap();
    let open = || Ok(Box::new(Cursor::new(bytes.clone())) as Box<dyn Read + Send>);
    let report = ferrum_trace_analyze::check::check(&open).unwrap();
    // Requests in progress have no end yet, and viewers draw them so.
    let errors: Vec<_> = report.errors().filter(|error| error.rule.code != "unmatched-async").collect();
    assert!(errors.is_empty(), "{}: {errors:?}", path.display());
    let trace = TraceFile::read(path);
    trace.assert_nested();
    trace
}

/// Runs a scene with one dump.
#[track_caller]
fn dump_of(stage: &Stage, scene: &str, trigger: &str) -> TraceFile {
    run(&mut watched(stage, scene, trigger)).expect_success();
    let [dump] = dumps(stage).try_into().unwrap_or_else(|dumps: Vec<_>| panic!("{} files", dumps.len()));
    dump
}

/// The recorder's metadata.
#[track_caller]
fn facts_of(trace: &TraceFile) -> &serde_json::Map<String, serde_json::Value> {
    &trace.events.iter().find(|event| event.phase == 'M' && event.name == "ferrum_trace").unwrap().args
}

/// Reason of a dump, its number, and the description.
#[track_caller]
fn trigger_of(trace: &TraceFile) -> (String, u64, String) {
    let mut triggers = trace.named("trigger").filter(|event| event.category == "trigger");
    let trigger = triggers.next().expect("expected a trigger in the dump");
    assert!(triggers.next().is_none());
    let what = trigger.args.get("what").and_then(|what| what.as_str()).unwrap_or_default();
    (trigger.text("reason"), trigger.number("dump"), what.to_owned())
}

/// Batch sizes of the marked steps, and their reasons.
fn marked_steps(trace: &TraceFile) -> Vec<(u64, String)> {
    let steps = trace.recorded().filter(|event| event.category == "step" && event.args.contains_key("trigger"));
    steps.map(|step| (step.number("batch"), step.text("trigger"))).collect()
}

#[test]
fn a_slow_step_triggers_a_dump_and_is_marked_in_it() {
    let stage = Stage::new();
    let dump = dump_of(&stage, "slow-step", "step>1s");
    let (reason, number, what) = trigger_of(&dump);
    assert_eq!((reason.as_str(), number), ("step>1s", 1));
    assert!(what.starts_with("decode step 200 took 1.") && what.ends_with("s > 1s"), "{what}");
    assert_eq!(marked_steps(&dump), [(77, "step>1s".into())]);
    assert_eq!(dump.count("decode"), 201, "the steps before it are in the dump");
    let slow = dump.named("decode").find(|step| step.number("batch") == 77).unwrap();
    assert_eq!(slow.text("phase"), "decode");
    let trigger = dump.named("trigger").next().unwrap();
    assert!(trigger.start_ns >= slow.end_ns && trigger.tid == slow.tid);
    let whole = stage.finished_trace();
    assert_eq!((whole.count("decode"), whole.count("mixed")), (201, 50), "recording continued");
    leave_for_viewers(&stage.path("trace.dump-001.json"), &dump);
}

/// Leaves a dump for the step `viewers` of `cargo xtask check`.
fn leave_for_viewers(path: &Path, dump: &TraceFile) {
    let room = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("viewer-check");
    std::fs::create_dir_all(&room).unwrap();
    std::fs::copy(path, room.join("dump.json")).unwrap();
    let slices = dump.recorded().count();
    std::fs::write(room.join("dump.json.expect"), format!("slices={slices}\ninstants=1\nunended=0\n")).unwrap();
}

#[test]
fn every_slow_step_is_marked_and_has_a_dump_if_limits_allow() {
    let stage = Stage::new();
    let finished = run(&mut watched(&stage, "slow-steps", "decode>1s")).expect_success();
    let dumps = dumps(&stage);
    let numbers = dumps.iter().map(|dump| dump.numbers("trigger", "dump").last().copied().unwrap());
    assert_counts_up(&numbers.collect::<Vec<_>>());
    // On a very busy machine, one dump may still be in progress when the next is requested.
    assert!(dumps.len() == 3 || finished.stderr.contains(" refused"), "{finished}");
    assert_eq!(marked_steps(&stage.finished_trace()).len(), 3);
}

#[test]
fn slow_steps_shortly_after_a_dump_are_marked_and_counted() {
    let stage = Stage::new();
    let mut scene = watched(&stage, "slow-steps", "step>1s");
    let finished = run(scene.env("FERRUM_TRACE_DUMPS", "every=1h,after=0s")).expect_success();
    assert_eq!(dumps(&stage).len(), 1);
    let trace = stage.finished_trace();
    assert_eq!((marked_steps(&trace).len(), trace.count("trigger")), (3, 1));
    let refused = "2 dumps refused (2 too soon after another dump), 1 granted";
    assert_eq!(finished.stderr, format!("ferrum-trace: {}: {refused}\n", stage.trace().display()));
    let facts = facts_of(&trace);
    assert_eq!((&facts["dumps_refused"]["too_soon"], facts.contains_key("trigger")), (&2.into(), false));
    let dumps = dumps(&stage);
    let of_dump = &facts_of(&dumps[0])["trigger"];
    assert_eq!((&of_dump["reason"], &of_dump["dump"]), (&"step>1s".into(), &1.into()));
    assert!(of_dump["what"].as_str().unwrap().starts_with("decode step 200 took 1."), "{of_dump}");
}

#[test]
fn triggers_also_apply_to_categories_that_are_not_recorded() {
    let stage = Stage::new();
    run(watched(&stage, "slow-step", "step>1s").env("FERRUM_TRACE_CATEGORIES", "-step,-trigger")).expect_success();
    let (reason, _, what) = trigger_of(&dumps(&stage)[0]);
    assert_eq!(reason, "step>1s");
    assert!(what.starts_with("decode step 200 took 1."), "{what}");
    assert_eq!(stage.finished_trace().count("decode"), 0);
}

#[test]
fn nothing_is_written_while_nothing_is_slow() {
    let stage = Stage::new();
    let finished = run(&mut watched(&stage, "slow-steps", "step>1h,prefill>1ms,request>1ns,panic")).expect_success();
    assert_eq!((dumps(&stage).len(), finished.stderr.as_str()), (0, ""));
    assert_eq!(marked_steps(&stage.finished_trace()), []);
}

#[test]
fn a_step_that_is_slow_for_its_phase_triggers_a_dump() {
    let dump = dump_of(&Stage::new(), "slow-step-amid-steady-ones", "step>100xp99");
    let (reason, _, what) = trigger_of(&dump);
    assert_eq!(reason, "step>100xp99");
    assert!(what.starts_with("decode step 153 took 2.") && what.ends_with(" (p99)"), "{what}");
    assert_eq!(marked_steps(&dump), [(77, "step>100xp99".into())]);
}

#[test]
fn a_step_that_the_program_marks_as_wrong_triggers_a_dump() {
    let stage = Stage::new();
    let finished = run(&mut stage.scene_without_env("wrong-step")).expect_success();
    assert_eq!(finished.number("dumps"), 1);
    let (reason, _, what) = trigger_of(&dumps(&stage)[0]);
    assert_eq!(reason, "seventy-seven");
    assert!(what.starts_with("decode step 77 took "), "{what}");
    assert_eq!(marked_steps(&stage.finished_trace()), [(77, "seventy-seven".into())]);
}

/// Number of events with a name on the row of a request that have a reason as an argument.
fn count_marks(trace: &TraceFile, name: &str, key: &str, id: u64, reason: &str) -> usize {
    let is_it = |event: &&Event| event.extra.get("id2").is_some_and(|known| known["local"] == format!("{id:#x}"));
    let events = trace.named(name).filter(|event| event.category == "request").filter(is_it);
    events.filter(|event| event.args.get(key).is_some_and(|why| why == reason)).count()
}

/// Checks the request of the scene, the reason, and the description in the trace.
#[track_caller]
fn assert_request_is_marked(trigger: &str, id: u64, reason: &str, what: [&str; 2]) {
    let stage = Stage::new();
    run(&mut watched(&stage, "slow-requests", trigger)).expect_success();
    let found = dumps(&stage).iter().map(trigger_text).find(|(found, ..)| found == reason);
    let found = found.unwrap_or_else(|| panic!("no dump has the reason {reason}"));
    assert!(found.1.starts_with(&format!("request {id} {}", what[0])) && found.1.ends_with(what[1]), "{found:?}");
    let trace = stage.finished_trace();
    assert_eq!(count_marks(&trace, "request", "trigger", id, reason), 1, "its end is marked");
    assert_eq!(count_marks(&trace, "trigger", "reason", id, reason), 1, "the moment is marked");
}

/// Reason and description of the last trigger in the file.
fn trigger_text(trace: &TraceFile) -> (String, String) {
    let trigger = trace.named("trigger").filter(|event| event.category == "trigger").last().unwrap();
    (trigger.text("reason"), trigger.text("what"))
}

#[test]
fn a_request_that_takes_too_long_is_marked() {
    assert_request_is_marked("request>1s", 2, "request>1s", ["took 1.", "s > 1s"]);
}

#[test]
fn a_request_that_waits_too_long_for_its_first_token_is_marked() {
    assert_request_is_marked("ttft>1s", 2, "ttft>1s", ["waited 1.", "s for its first token > 1s"]);
}

#[test]
fn a_request_whose_tokens_take_too_long_is_marked() {
    assert_request_is_marked("tpot>1s", 3, "tpot>1s", ["took 1.", "s a token > 1s"]);
}

#[test]
fn a_request_that_misses_its_own_objective_is_marked() {
    assert_request_is_marked("panic", 4, "slo>600ms", ["took 1.", "s > 600ms"]);
}

#[test]
fn the_number_of_dumps_is_limited() {
    let stage = Stage::new();
    let mut scene = watched(&stage, "dump-after-dump", "");
    let finished = run(scene.env("FERRUM_TRACE_DUMPS", "files=3,every=0s,after=0s")).expect_success();
    assert_eq!((finished.number("granted"), dumps(&stage).len()), (3, 3));
    let refused = format!(": {} dumps refused (", finished.number("refused"));
    assert!(finished.stderr.contains(&refused), "{}", finished.stderr);
    assert!(finished.stderr.ends_with(" beyond the number of files allowed), 3 granted\n"), "{}", finished.stderr);
}

#[test]
fn the_size_of_all_dumps_is_limited() {
    const BYTES: u64 = 500_000;
    let stage = Stage::new();
    let mut scene = watched(&stage, "dump-after-dump", "");
    let limits = format!("files=1000,bytes={BYTES},every=0s,after=0s");
    let finished = run(scene.env("FERRUM_TRACE_DUMPS", limits)).expect_success();
    let names = stage.files().into_iter().filter(|name| name.contains(".dump-"));
    let sizes: Vec<u64> = names.map(|name| stage.path(&name).metadata().unwrap().len()).collect();
    assert_eq!(sizes.len() as u64, finished.number("granted"));
    let (all, largest) = (sizes.iter().sum::<u64>(), sizes.iter().max().unwrap());
    // Each is slightly larger than the previous one, because of its own mark.
    assert!(all <= BYTES + 1000 && all + largest + 1000 > BYTES, "{sizes:?}");
}

#[test]
fn dumps_of_an_earlier_run_stay() {
    let stage = Stage::new();
    run(&mut watched(&stage, "slow-step", "step>1s")).expect_success();
    let before = std::fs::read(stage.path("trace.dump-001.json")).unwrap();
    run(&mut watched(&stage, "slow-step", "step>1s")).expect_success();
    assert_eq!(std::fs::read(stage.path("trace.dump-001.json")).unwrap(), before);
    assert_eq!(trigger_of(&valid_trace(&stage.path("trace.dump-002.json"))).1, 2);
}

/// Sends signals to a scene that waits for them, until there are three dumps. Returns the number of signals.
#[track_caller]
fn finish_after_signals(stage: &Stage, scene: &str) -> (Finished, u64) {
    let mut scene = Running::start(&mut watched(stage, scene, "signal=SIGUSR2"));
    scene.wait_for_line("ready");
    let mut n_sent = 0;
    while !stage.path("trace.dump-003.json").exists() {
        assert!(n_sent < 1000, "{:?}", stage.files());
        send("USR2", &scene);
        n_sent += 1;
        // The next one is granted when the previous one is written.
        std::thread::sleep(Duration::from_millis(50));
    }
    scene.tell("go on");
    (scene.finish().expect_success(), n_sent)
}

#[test]
fn a_signal_triggers_a_dump_and_the_program_continues() {
    let stage = Stage::new();
    finish_after_signals(&stage, "wait-for-signal");
    let dumps = dumps(&stage);
    let (reason, number, _) = trigger_of(&dumps[0]);
    assert_eq!((reason.as_str(), number, dumps[0].count("work")), ("signal=SIGUSR2", 1, 100));
    assert_counts_up(&stage.finished_trace().numbers("work", "n"));
}

#[test]
fn the_programs_own_signal_handler_is_called_too() {
    for scene in ["wait-for-signal-with-handler", "wait-for-signal-with-info-handler"] {
        let stage = Stage::new();
        let (finished, n_sent) = finish_after_signals(&stage, scene);
        // Signals that arrive while another is pending are merged.
        assert!((3..=n_sent).contains(&finished.number("handled")), "{n_sent} sent: {finished}");
        assert!(dumps(&stage).len() >= 3);
    }
}

#[test]
fn the_recorder_handles_no_signal_by_default() {
    let stage = Stage::new();
    let mut scene = Running::start(&mut watched(&stage, "wait-for-signal", "panic"));
    scene.wait_for_line("ready");
    send("USR2", &scene);
    scene.finish().expect_signal(libc::SIGUSR2);
}

#[test]
fn a_signal_to_a_forked_child_triggers_a_dump_of_the_child_only() {
    let stage = Stage::new();
    let finished = run(&mut watched(&stage, "signal-to-a-forked-child", "signal=usr2")).expect_success();
    let dump = valid_trace(&stage.path(&format!("trace.{}.dump-001.json", finished.number("child"))));
    assert_eq!(dump.count("work"), 50);
    assert!(!stage.files().contains("trace.dump-001.json"));
}

/// Checks that a dump reports a panic of the scene.
#[track_caller]
fn assert_reports_panic(trace: &TraceFile, message: &str) {
    let (reason, _, what) = trigger_of(trace);
    assert_eq!(reason, "panic");
    assert!(what.starts_with("panicked at ") && what.ends_with(&format!(": {message}")), "{what}");
    assert_counts_up(&trace.numbers("work", "n"));
}

#[test]
fn a_panic_that_ends_the_program_triggers_a_dump() {
    let stage = Stage::new();
    // The delay is too long to wait for: the exit writes the dump.
    let mut scene = watched(&stage, "panic", "panic");
    let finished = run(scene.env("FERRUM_TRACE_DUMPS", "after=1h")).expect_code(101);
    assert!(finished.stderr.contains("a planned panic"), "the program's own hook has run: {}", finished.stderr);
    assert_reports_panic(&dumps(&stage)[0], "a planned panic");
    assert_eq!(stage.finished_trace().count("unwound"), 1);
}

#[test]
fn a_panic_that_is_caught_triggers_a_dump_and_the_program_continues() {
    let stage = Stage::new();
    run(&mut watched(&stage, "panic-that-is-caught", "panic")).expect_success();
    let dumps = dumps(&stage);
    assert_eq!(dumps.len(), 1);
    assert_reports_panic(&dumps[0], "a planned panic");
    assert_counts_up(&stage.finished_trace().numbers("work", "n"));
    assert_eq!(stage.finished_trace().count("work"), 200);
}

/// Checks the files of a scene that aborts: the dump, whose delay is too long to wait for, and the spool.
#[track_caller]
fn assert_is_written_before_abort(mut scene: Command, stage: &Stage) {
    let finished = run(scene.env("FERRUM_TRACE_DUMPS", "after=1h")).expect_signal(libc::SIGABRT);
    assert!(finished.stderr.contains("a planned panic"), "{}", finished.stderr);
    let dumps = dumps(stage);
    assert_eq!(dumps.len(), 1, "{:?}", stage.files());
    assert_reports_panic(&dumps[0], "a planned panic");
    let (recovered, _) = recover(&stage.path("trace.json.spool"));
    assert_eq!(recovered.count("work"), 100);
}

#[test]
fn a_panic_that_cannot_unwind_triggers_a_dump_before_the_program_aborts() {
    let stage = Stage::new();
    assert_is_written_before_abort(watched(&stage, "panic-that-cannot-unwind", "panic"), &stage);
}

#[test]
fn a_panic_that_aborts_triggers_a_dump_first() {
    let program = build_with_panic_abort();
    for scene in ["panic", "panic-on-another-thread"] {
        let stage = Stage::new();
        assert_is_written_before_abort(watched_of(stage.scene_of(&program, scene), "panic"), &stage);
    }
}

#[test]
fn the_programs_own_panic_hook_is_called_too() {
    let stage = Stage::new();
    let finished = run(&mut watched(&stage, "panic-with-a-hook", "panic")).expect_code(101);
    assert_eq!(finished.answers("hook").collect::<Vec<_>>(), ["one", "two"]);
    assert!(!finished.stderr.contains("panicked"), "{}", finished.stderr);
    assert!(!dumps(&stage).is_empty());
}

#[test]
fn an_invalid_trigger_is_reported_in_one_line_and_the_others_are_used() {
    let stage = Stage::new();
    let mut scene = watched(&stage, "slow-step", "layer>3s, step>1s, signal=SIGKILL");
    let finished = run(scene.env("FERRUM_TRACE_DUMPS", "after=0s")).expect_success();
    let lines: Vec<&str> = finished.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{}", finished.stderr);
    assert!(lines[0].starts_with("ferrum-trace: FERRUM_TRACE_TRIGGER: expected `step`, "), "{}", lines[0]);
    assert!(lines[0].ends_with(", found `layer>3s`; it is left out"), "{}", lines[0]);
    assert!(lines[1].contains("found `signal=SIGKILL`"), "{}", lines[1]);
    assert_eq!(dumps(&stage).len(), 1);
}

#[test]
fn triggers_without_a_ring_are_reported_in_one_line() {
    let stage = Stage::new();
    let finished = run(watched(&stage, "slow-step", "step>1s").env_remove("FERRUM_TRACE_RING")).expect_success();
    assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
    assert!(finished.stderr.contains("FERRUM_TRACE_RING"));
    assert_eq!((dumps(&stage).len(), stage.finished_trace().count("decode")), (0, 201));
}
