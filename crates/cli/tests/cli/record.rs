use crate::scene::{Run, Scene};
use ferrum_trace_testkit::process::{self, Finished, Running};
use ferrum_trace_testkit::trace_file::TraceFile;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Returns the program to record, `tests/behavior/src/gathering.rs`. Only it may fork.
fn program() -> &'static str {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--offline", "--locked", "--package", "behavior", "--bin", "behavior-child"]);
        cargo.arg("--manifest-path").arg(manifest).arg("--target-dir").arg(target);
        process::run(&mut cargo).expect_success();
        target.join("debug/behavior-child")
    });
    program.to_str().unwrap()
}

/// Returns the command `record FLAGS -- program PLAY`.
fn record(scene: &Scene, flags: &str, play: &str) -> Command {
    scene.command(&format!("record {flags} -- {} {play}", program()))
}

/// Runs it to its end, and returns the object of `--json` and the number of spans by name.
#[track_caller]
fn gather(scene: &Scene, flags: &str, play: &str, code: i32) -> (Value, BTreeMap<String, u64>) {
    let finished = process::run(&mut record(scene, &format!("--json {flags}"), play)).expect_code(code);
    let object = object_of(&finished);
    let spans = match object["output"].as_str() {
        Some(output) => spans_in(&scene.read(output)),
        None => BTreeMap::new(),
    };
    (object, spans)
}

/// Returns the object of `--json`.
#[track_caller]
fn object_of(finished: &Finished) -> Value {
    let last = finished.stdout.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {last}\n{finished}"))
}

/// Returns the number of spans of the program by name.
fn spans_in(json: &[u8]) -> BTreeMap<String, u64> {
    let trace: Value = serde_json::from_slice(json).unwrap();
    let events = trace.as_array().or_else(|| trace["traceEvents"].as_array()).unwrap();
    let mut spans = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X" && event["cat"] == "gathered") {
        *spans.entry(event["name"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    spans
}

fn spans<const N: usize>(expected: [(&str, u64); N]) -> BTreeMap<String, u64> {
    expected.map(|(name, n)| (name.to_owned(), n)).into()
}

/// Returns the number of events and the end of each process.
fn ends(object: &Value) -> Vec<(u64, &str)> {
    let processes = object["processes"].as_array().unwrap().iter();
    let mut fates: Vec<(u64, &str)> =
        processes.map(|it| (it["events"].as_u64().unwrap(), it["ended"].as_str().unwrap())).collect();
    fates.sort_unstable();
    fates
}

#[test]
fn all_spans_of_eight_processes_are_recorded_including_killed_and_forked_ones() {
    let scene = Scene::new();
    let finished = process::run(&mut record(&scene, "--json", "gather-eight")).expect_success();
    let recorded = finished.answers("recorded").map(|line| {
        let (name, n) = line.split_once(' ').unwrap();
        (name.to_owned(), n.parse::<u64>().unwrap())
    });
    let recorded: BTreeMap<String, u64> = recorded.collect();
    assert_eq!(recorded.len(), 11, "{finished}");
    assert_eq!(recorded.values().sum::<u64>(), 36_000 + 6_000 + 10);
    assert_eq!(finished.answers("ended").filter(|ending| ending.starts_with("signal: 9 ")).count(), 2, "{finished}");
    assert_eq!(spans_in(&scene.read("trace.json")), recorded);
    let object = object_of(&finished);
    let mut expected = vec![(10, "exit"), (1000, "killed"), (2000, "killed"), (3000, "by itself"), (6000, "by itself")];
    expected.extend([4000, 5000, 6000, 7000, 8000].map(|n| (n, "by itself")));
    expected.sort_unstable();
    assert_eq!(ends(&object), expected);
    assert_eq!(object["summary"]["slices"], 42_010);
    assert_eq!(object["summary"]["processes"], 10);
    assert_eq!(object["error"], Value::Null);
    assert_eq!(object["clock_error_ns"], 0, "all are of one host");
    assert_eq!(scene.names(), ["trace.json"], "nothing else stays");
    assert!(!finished.stderr.contains("ferrum-trace:"), "{}", finished.stderr);
    scene.run("check trace.json").expect_code(0);
}

#[test]
fn ranks_are_listed_in_order() {
    let scene = Scene::new();
    let program = program();
    let script = format!("for RANK in 2 0 1; do export RANK; {program} gather-one rank$RANK 10 < /dev/null; done");
    let finished = process::run(scene.command("record --no-summary -- sh -c").arg(&script)).expect_success();
    for words in ["  rank  ended  ", "behavior-child     2  by itself", "behavior-child     0  by itself"] {
        assert!(finished.stderr.contains(words), "`{words}` is not in\n{}", finished.stderr);
    }
    let trace: Value = serde_json::from_slice(&scene.read("trace.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap().iter();
    let mut orders: Vec<(i64, u64)> = events
        .clone()
        .filter(|event| event["name"] == "process_sort_index")
        .map(|event| (event["args"]["sort_index"].as_i64().unwrap(), event["pid"].as_u64().unwrap()))
        .collect();
    orders.sort_unstable();
    let name_of =
        |pid: u64| events.clone().find(|event| event["ph"] == "X" && event["pid"] == pid).unwrap()["name"].clone();
    let names: Vec<Value> = orders.iter().map(|&(_, pid)| name_of(pid)).collect();
    assert_eq!(names, ["rank0", "rank1", "rank2"]);
}

#[test]
fn the_name_of_a_program_is_not_a_rank() {
    let scene = Scene::new();
    let program = scene.path("pagerank");
    fs::copy(self::program(), &program).unwrap();
    let line = format!("record --no-summary -- {} gather-forked a 10", program.display());
    process::run(&mut scene.command(&line)).expect_success();
    let trace: Value = serde_json::from_slice(&scene.read("trace.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap().iter();
    let inputs: Vec<&Value> = events.filter(|event| event["name"] == "ferrum_trace_merge").collect();
    assert_eq!(inputs.len(), 2);
    for input in inputs {
        assert!(input["args"]["file"].as_str().unwrap().starts_with("pagerank "), "{input}");
        assert_eq!(input["args"]["rank"], Value::Null);
    }
}

#[test]
fn an_unreadable_file_does_not_affect_the_others() {
    let scene = Scene::new();
    let script =
        format!("printf FERRUMSPgarbage > \"${{FERRUM_TRACE_OUT%/*}}/x.spool\"; {} gather-one a 10", program());
    let finished = process::run(scene.command("record -- sh -c").arg(&script)).expect_code(2);
    assert!(finished.stderr.contains("/x.spool: "), "{finished}");
    assert_eq!(spans_in(&scene.read("trace.json")), spans([("a", 10)]));
    let kept = scene.names().into_iter().find(|name| name.ends_with(".processes")).unwrap();
    assert!(scene.path(&kept).join("x.spool").exists());
}

#[test]
fn more_processes_than_open_files_can_be_recorded() {
    let scene = Scene::new();
    let program = program();
    let inner = format!("for n in $(seq 50); do {program} gather-one many 10 < /dev/null > /dev/null; done");
    let command = env!("CARGO_BIN_EXE_ferrum-trace");
    let script = format!("ulimit -n 32; exec {command} record --no-summary -- sh -c '{inner}'");
    let finished = process::run(Command::new("sh").args(["-c", &script]).current_dir(scene.path("")));
    let finished = finished.expect_success();
    assert_eq!(spans_in(&scene.read("trace.json")), spans([("many", 500)]));
    assert!(finished.stderr.contains("\n… 10 more: 100 events\n"), "{finished}");
    assert!(finished.stderr.contains("\ntrace.json: 500 events of 50 processes; none lost; times agree exactly\n"));
}

#[test]
fn the_parts_of_a_rotating_recording_are_one_process() {
    let scene = Scene::new();
    let mut command = record(&scene, "--json", "gather-forked a 80000");
    let finished = process::run(command.env("FERRUM_TRACE_ROTATE", "1MiB")).expect_success();
    let object = object_of(&finished);
    assert_eq!(spans_in(&scene.read("trace.json")), spans([("a", 80_000), ("a-child", 80_000), ("a-parent", 80_000)]));
    assert_eq!(ends(&object), [(80_000, "by itself"), (160_000, "exit")]);
    assert_eq!(object["summary"]["processes"], 2);
    assert_eq!(object["clock_error_ns"], 0);
    let trace: Value = serde_json::from_slice(&scene.read("trace.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let n_files = events.iter().filter(|event| event["name"] == "ferrum_trace_merge").count();
    assert!(n_files > 2, "{n_files} files");
    let slices = events.iter().filter(|event| event["ph"] == "X");
    let rows: BTreeSet<(u64, u64)> =
        slices.map(|event| (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap())).collect();
    assert_eq!(rows.len(), 2, "one for each thread");
    scene.run("check trace.json").expect_code(0);
    let mut command = record(&scene, "-o one.json", "gather-one b 50000");
    let finished = process::run(command.env("FERRUM_TRACE_ROTATE", "1MiB")).expect_success();
    assert!(finished.stderr.contains("one.json: 50,000 events of 1 process; none lost\n"), "{finished}");
}

#[test]
fn the_trace_of_one_process_is_the_file_it_would_have_written_itself() {
    let scene = Scene::new();
    let finished = process::run(&mut record(&scene, "", "gather-one a 10")).expect_success();
    assert_eq!(scene.n_events("trace.json"), 10);
    assert_eq!(finished.stdout, "recorded a 10\n", "standard output is the program's");
    for words in ["behavior-child  exit 0", "\ntrace.json: 10 events of 1 process; none lost\n", "\nname  count "] {
        assert!(finished.stderr.contains(words), "`{words}` is not in\n{}", finished.stderr);
    }
    assert_eq!(scene.names(), ["trace.json"]);
}

#[test]
fn the_extension_selects_the_format_for_one_process_and_for_several() {
    let scene = Scene::new();
    for (play, n_slices) in [("gather-one a 10", 10), ("gather-forked a 10", 30)] {
        for output in ["t.json.gz", "t.json.zst", "t.pftrace", "t.folded", "t.csv"] {
            let flags = format!("--json -o {output}");
            let object = object_of(&process::run(&mut record(&scene, &flags, play)).expect_success());
            assert_eq!(object["output"], output);
            assert_eq!(object["summary"]["slices"], n_slices, "{output} of {play}");
            assert_eq!(object["summary"]["file"], output);
            assert!(!scene.read(output).is_empty());
        }
        let run = scene.run("summary --json t.json.zst t.pftrace").expect_code(0);
        for line in run.stdout.lines() {
            assert_eq!(serde_json::from_str::<Value>(line).unwrap()["slices"], n_slices);
        }
    }
    assert_eq!(scene.names(), ["t.csv", "t.folded", "t.json.gz", "t.json.zst", "t.pftrace"]);
}

#[test]
fn the_exit_code_is_that_of_the_program() {
    let scene = Scene::new();
    for (script, code) in [("exit 0", 0), ("exit 3", 3), ("exit 255", 255), ("kill -9 $$", 137), ("kill -TERM $$", 143)]
    {
        let output = scene.command("record -- sh -c").arg(script).output().unwrap();
        assert_eq!(Run::of(output).code, Some(code), "{script}");
    }
    assert_eq!(scene.names(), [""; 0]);
}

#[test]
fn a_program_that_does_not_link_the_recorder_is_reported() {
    let scene = Scene::new();
    scene.write("trace.json", "before");
    let run = scene.run("record -- echo hello");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "hello\n"));
    assert!(
        run.stderr.starts_with("echo: none of its processes recorded anything; no trace was written\n"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("\nhint: check that it links ferrum-trace"), "{}", run.stderr);
    assert_eq!(scene.read("trace.json"), b"before");
    let run = scene.run("record --json -- false").expect_code(1);
    let object: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&object["code"], &object["output"]), (&Value::from(1), &Value::Null));
    assert_eq!(scene.names(), ["trace.json"]);
}

#[test]
fn a_program_without_spans_is_reported() {
    let scene = Scene::new();
    for (flags, play) in [("", "gather-nothing"), ("--categories other", "gather-one a 10")] {
        let finished = process::run(&mut record(&scene, flags, play)).expect_success();
        assert!(finished.stderr.contains("it was ready to record, but executed no span"), "{finished}");
    }
    assert_eq!(scene.names(), [""; 0]);
}

#[test]
fn a_program_may_change_its_working_directory() {
    let scene = Scene::new();
    let (_, found) = gather(&scene, "", "gather-elsewhere", 0);
    assert_eq!(found, spans([("elsewhere", 10)]));
}

#[test]
fn the_output_variable_of_the_caller_is_overridden() {
    let scene = Scene::new();
    let mut command = record(&scene, "", "gather-one a 10");
    let finished = process::run(command.env("FERRUM_TRACE_OUT", scene.path("other.json"))).expect_success();
    assert!(finished.stderr.contains("FERRUM_TRACE_OUT: "), "{finished}");
    assert_eq!(scene.names(), ["trace.json"]);
    assert_eq!(scene.n_events("trace.json"), 10);
}

#[test]
fn the_output_variable_that_the_program_sets_is_used() {
    let scene = Scene::new();
    let other = format!("FERRUM_TRACE_OUT={}", scene.path("other.json").display());
    let run = scene.run(&format!("record -- env {other} {} gather-one a 10", program()));
    assert!(run.stderr.contains("env: none of its processes recorded anything"), "{}", run.stderr);
    assert!(run.stderr.contains("A program that sets FERRUM_TRACE_OUT itself"), "{}", run.stderr);
    assert_eq!(scene.names(), ["other.json"]);
}

#[test]
fn flags_reach_the_recorder() {
    let scene = Scene::new();
    let flags = "--ring 1MiB --window steps=1..2 --limit 1G --categories gemm --trigger step>5ms";
    let run = scene.run(&format!("record {flags} -- env"));
    for variable in ["RING=1MiB", "WINDOW=steps=1..2", "LIMIT=1G", "CATEGORIES=gemm", "TRIGGER=step>5ms"] {
        assert!(run.stdout.contains(&format!("FERRUM_TRACE_{variable}\n")), "{}", run.stdout);
    }
}

#[test]
fn a_ring_keeps_the_newest_events() {
    let scene = Scene::new();
    let (_, found) = gather(&scene, "--ring 1MiB", "gather-one a 200000", 0);
    assert!((10_000..100_000).contains(&found["a"]), "{found:?}");
}

#[test]
fn dumps_are_moved_next_to_the_trace() {
    let scene = Scene::new();
    let (object, found) = gather(&scene, "--ring 1MiB", "gather-dump", 0);
    assert_eq!(found, spans([("ring", 10)]));
    let dumps = object["dumps"].as_array().unwrap();
    assert_eq!(dumps.len(), 1, "{object}");
    let dump = dumps[0].as_str().unwrap();
    assert!(dump.starts_with("trace.") && dump.ends_with(".dump-001.json"), "{dump}");
    assert_eq!(scene.names(), ["trace.json", dump]);
    let dumped = TraceFile::read(&scene.path(dump));
    assert_eq!((dumped.count("ring"), dumped.count("trigger")), (10, 1));
}

#[test]
fn a_dump_has_its_trigger_and_refused_dumps_are_counted_by_reason() {
    let scene = Scene::new();
    let finished = process::run(&mut record(&scene, "--ring 1MiB --trigger ttft>300ms", "slow-requests"));
    let names = scene.names();
    let dump = names.iter().find(|name| name.contains(".dump-001.")).unwrap_or_else(|| panic!("{names:?}"));
    let (why, what) = ("ttft>300ms: request 2 waited 1.", "s for its first token > 300ms, at 1.");
    let written = format!("{dump}: dump of a flight recorder: {why}");
    assert!(finished.stderr.contains(&written), "{finished}");
    assert!(finished.stderr.contains("1 dumps refused (1 too soon after another dump), 1 granted"), "{finished}");
    for command in ["summary", "steps", "requests"] {
        let run = scene.run(&format!("{command} {dump}"));
        let line = run.stdout.lines().find(|line| line.starts_with("trigger ")).unwrap_or_else(|| panic!("{run:#?}"));
        assert!(line.contains(why) && line.contains(what) && line.ends_with(" s (dump 1)"), "{line}");
        assert!(run.stdout.contains("instants  1: 1 trigger\n"), "{run:#?}");
        let object: Value = serde_json::from_str(&scene.run(&format!("{command} --json {dump}")).stdout).unwrap();
        let (trigger, instants) = (&object["trigger"], object["instants"].as_array().unwrap());
        assert_eq!((&trigger["reason"], &trigger["dump"]), (&"ttft>300ms".into(), &1.into()));
        assert_eq!((&instants[0]["name"], &instants[0]["first_ns"]), (&"trigger".into(), &trigger["time_ns"]));
    }
    // The final trace is not a dump; it has the counts of refused dumps.
    let object: Value = serde_json::from_str(&scene.run("summary --json trace.json").stdout).unwrap();
    assert!(object["trigger"].is_null(), "{object}");
    assert_eq!(object["recorder"]["recordings"][0]["dumps_refused"]["too_soon"], 1, "{object}");
    // The trigger of a dump survives conversions.
    for command in [format!("convert {dump} -o d.pftrace"), format!("merge {dump} trace.json -o m.json")] {
        scene.run(&command).expect_code(0);
        let output = command.split_whitespace().last().unwrap();
        let run = scene.run(&format!("summary {output}")).expect_code(0);
        assert!(run.stdout.contains(&format!("trigger   {why}")), "{command}: {run:#?}");
    }
}

#[test]
fn losses_are_reported_with_and_without_a_summary() {
    let scene = Scene::new();
    for flags in ["--limit 1MiB", "--limit 1MiB --no-summary", "--limit 1MiB -o trace.pftrace"] {
        let run = process::run(&mut record(&scene, flags, "gather-one a 200000"));
        let why = "events: the limit of 1,048,576 bytes was reached (FERRUM_TRACE_LIMIT) (by thread: ";
        assert!(run.stderr.contains("the recorder lost ") && run.stderr.contains(why), "{flags}: {run}");
        let object = object_of(&process::run(&mut record(&scene, &format!("--json {flags}"), "gather-one a 200000")));
        let of_process = &object["processes"][0];
        assert!(of_process["lost"].as_u64().unwrap() > 100_000, "{object}");
        assert_eq!(of_process["recorder"]["dropped"], of_process["lost"], "{object}");
        assert_eq!(of_process["recorder"]["stop_reason"], "limit", "{object}");
    }
}

#[test]
fn a_process_that_outlives_the_program_is_waited_for() {
    let scene = Scene::new();
    let (object, found) = gather(&scene, "--wait 100", "gather-and-leave", 0);
    assert_eq!(found, spans([("after", 10), ("before", 10), ("starter", 10)]));
    assert_eq!(ends(&object), [(10, "exit"), (20, "exit")], "it has become ours, so its end is known");
    assert_eq!(scene.names(), ["trace.json"]);
}

#[test]
fn a_snapshot_is_taken_of_a_process_that_still_records() {
    let scene = Scene::new();
    let mut running = Running::start(&mut record(&scene, "--wait 0 --json", "gather-and-leave-early"));
    running.wait_for_line("recorded starter 10");
    // The remaining process has another standard output, so the next line is the object.
    let object: Value = serde_json::from_str(&running.next_line().unwrap()).unwrap();
    assert_eq!(spans_in(&scene.read("trace.json")), spans([("long", 10), ("starter", 10)]));
    assert_eq!(ends(&object), [(10, "exit"), (10, "still records")]);
    let folder = PathBuf::from(object["folder"].as_str().unwrap());
    let spool_of_long = || {
        let files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
        let pid = object["processes"].as_array().unwrap().iter().find(|it| it["ended"] == "still records").unwrap();
        let ending = format!("-{}.spool", pid["pid"]);
        files.into_iter().find(|file| file.to_string_lossy().ends_with(&ending)).unwrap()
    };
    let spool = spool_of_long();
    // Now the process may end: its file is complete.
    running.finish().expect_success();
    let run = scene.run(&format!("convert --to chrome -o all.json {}", spool.display()));
    run.expect_code(0);
    assert_eq!(spans_in(&scene.read("all.json"))["long"], 10);
}

#[test]
fn a_signal_ends_the_wait_for_other_processes() {
    let scene = Scene::new();
    let mut command = record(&scene, "--wait 10000", "gather-and-leave-early");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut words = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    words.read_line(&mut line).unwrap();
    assert_eq!(
        line,
        "waiting up to 10,000 seconds for 1 process still recording; press Ctrl-C to continue with what is there\n"
    );
    Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap();
    let input = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(0), "the program ended well");
    // The other process has the pipes too; closing them ends it.
    drop(input);
    let mut rest = String::new();
    words.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("  still records  "), "{rest}");
    assert_eq!(spans_in(&scene.read("trace.json")), spans([("long", 10), ("starter", 10)]));
}

/// Returns a full pipe, on which writers block.
#[cfg(target_os = "linux")]
fn full_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    const O_NONBLOCK: i32 = 0o4000;
    let (reader, writer) = std::io::pipe().unwrap();
    let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
    let mut impatient = fs::OpenOptions::new().write(true).custom_flags(O_NONBLOCK).open(path).unwrap();
    while impatient.write(b"x").is_ok() {}
    (reader, writer)
}

#[test]
#[cfg(target_os = "linux")]
fn an_interruption_after_the_trace_was_written_reports_its_path() {
    let scene = Scene::new();
    let (reader, writer) = full_pipe();
    let program = format!("{} gather-one a 10 > /dev/null", program());
    let mut command = scene.command("record --json --no-summary -- sh -c");
    let mut running = command.arg(&program).stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    // The command blocks on its report after it has written the trace.
    while scene.names() != ["trace.json"] {
        assert_eq!(running.try_wait().unwrap(), None, "{:?}", scene.names());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    send("INT", running.id());
    let mut stderr = String::new();
    running.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(130), "{stderr}");
    assert!(stderr.ends_with("\ninterrupted: the trace is in trace.json\n"), "{stderr}");
    drop(reader);
}

#[test]
fn an_interruption_while_the_trace_is_written_keeps_the_files_of_the_processes() {
    let scene = Scene::new();
    let mut running = Running::start(&mut record(&scene, "--no-summary", "gather-one a 100000"));
    running.tell("go");
    while !scene.names().iter().any(|name| name.ends_with(".tmp")) && !running.has_ended() {
        std::thread::yield_now();
    }
    send("INT", running.pid());
    let finished = running.finish();
    match finished.status.code() {
        Some(130) if finished.stderr.ends_with("interrupted: the trace is in trace.json\n") => {}
        Some(130) => {
            assert!(finished.stderr.contains("interrupted: the files of the processes are kept in "), "{finished}");
            let names = scene.names();
            assert!(names.len() == 1 && names[0].ends_with(".processes"), "{names:?}");
            scene.run(&format!("recover -o trace.json {}", names[0])).expect_code(0);
        }
        _ => assert_eq!(finished.expect_success().stdout, "recorded a 100000\n"),
    }
    assert_eq!(scene.n_events("trace.json"), 100_000);
}

#[test]
fn a_process_that_executes_another_program_has_the_events_of_both() {
    let scene = Scene::new();
    let (_, found) = gather(&scene, "", "gather-through-exec", 0);
    assert_eq!(found, spans([("after", 10), ("before", 10)]));
}

#[test]
fn the_program_continues_when_the_command_is_killed() {
    let scene = Scene::new();
    let mut running = Running::start(&mut record(&scene, "", "gather-for-long"));
    running.wait_for_line("recorded long 10");
    running.kill();
    // The program has the pipes of the test, and ends when they are closed.
    let finished = running.finish().expect_signal(9);
    assert_eq!(finished.stdout, "recorded late 10\n");
    let names = scene.names();
    assert!(names.len() == 1 && names[0].ends_with(".processes"), "{names:?}");
    scene.run(&format!("recover -o trace.json {}", names[0])).expect_code(0);
    assert_eq!(spans_in(&scene.read("trace.json")), spans([("late", 10), ("long", 10)]));
}

#[test]
fn the_files_of_the_processes_can_be_kept() {
    let scene = Scene::new();
    let (object, _) = gather(&scene, "--keep --no-summary", "gather-forked a 10", 0);
    assert_eq!(object["summary"], Value::Null);
    let folder = object["folder"].as_str().unwrap();
    let kept = fs::read_dir(folder).unwrap().filter(|file| {
        let name = file.as_ref().unwrap().file_name();
        name.to_string_lossy().ends_with(".spool")
    });
    assert_eq!(kept.count(), 2);
    assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o077, 0, "nobody else's");
}

/// Sends a signal to the command alone.
fn send(signal: &str, pid: u32) {
    Command::new("kill").args(["-s", signal, &pid.to_string()]).status().unwrap();
}

#[test]
fn signals_are_forwarded_and_the_program_ends_first() {
    let scene = Scene::new();
    let script =
        "trap 'echo got usr1' USR1; trap 'echo got term; exit 7' TERM; echo ready; while :; do sleep 0.01; done";
    let mut running = Running::start(scene.command("record -- sh -c").arg(script));
    running.wait_for_line("ready");
    for (signal, answer) in [("USR1", "got usr1"), ("TERM", "got term")] {
        send(signal, running.pid());
        running.wait_for_line(answer);
    }
    running.finish().expect_code(7);
}

#[test]
fn the_spans_of_a_program_killed_by_a_signal_are_recorded() {
    let scene = Scene::new();
    let mut running = Running::start(&mut record(&scene, "--json", "gather-for-long"));
    running.wait_for_line("recorded long 10");
    send("INT", running.pid());
    // Closing its standard input would end it too.
    while !running.has_ended() {
        std::thread::yield_now();
    }
    let finished = running.finish().expect_code(130);
    let object = object_of(&finished);
    assert_eq!((&object["code"], &object["signal"]), (&Value::Null, &Value::from(2)));
    assert_eq!(ends(&object), [(10, "signal")]);
    assert_eq!(spans_in(&scene.read("trace.json")), spans([("long", 10)]));
}

/// Emulates a terminal: starts the command, waits for `ready`, sends Ctrl-C, and prints all output.
const TERMINAL: &str = "
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
seen, is_pressed = b'', False
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        break
    if not piece:
        break
    seen += piece
    if b'ready' in seen and not is_pressed:
        is_pressed = True
        os.write(terminal, b'\\x03')
sys.stdout.write(seen.decode().replace('\\r', ''))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
";

#[test]
fn control_c_of_a_terminal_reaches_the_program_once() {
    let scene = Scene::new();
    // The program exits some time after the first signal, so that a second one would be noticed.
    let script = "n=0; trap 'n=$((n+1))' INT; printf 'rea'; echo dy; while [ $n -eq 0 ]; do sleep 0.01; done; sleep 0.3; exit $((40+n))";
    let mut command = Command::new("python3");
    command.args(["-c", TERMINAL, env!("CARGO_BIN_EXE_ferrum-trace"), "record", "--", "sh", "-c", script]);
    let finished = process::run(command.current_dir(scene.path("")));
    let finished = finished.expect_code(41);
    assert!(finished.stdout.contains("sh: none of its processes recorded anything"), "{finished}");
}

#[test]
fn ignored_signals_stay_ignored() {
    let scene = Scene::new();
    let inner = "kill -HUP $$; kill -INT $$; echo alive";
    let script = format!("trap '' HUP INT; exec {} record -- sh -c '{inner}'", env!("CARGO_BIN_EXE_ferrum-trace"));
    let mut command = Command::new("sh");
    let finished = process::run(command.args(["-c", &script]).current_dir(scene.path(""))).expect_success();
    assert_eq!(finished.stdout, "alive\n");
}

#[test]
fn programs_that_cannot_be_started_give_the_exit_codes_of_shells() {
    let scene = Scene::new();
    scene.write("data", "no program");
    scene.run("record -- ./missing").expect(
        127,
        "",
        "error: ./missing: cannot be started: No such file or directory (os error 2)\n",
    );
    scene.run("record -- ./data").expect(
        126,
        "",
        "error: ./data: cannot be started: Permission denied (os error 13)\n\n\
         hint: it must be an executable file\n",
    );
    assert_eq!(scene.names(), ["data"], "no folder is left");
}

#[test]
fn an_invalid_output_is_refused_before_the_program_runs() {
    let scene = Scene::new();
    fs::create_dir(scene.path("folder")).unwrap();
    let refused = [
        ("-o missing/t.json", "error: missing/t.json: cannot record next to it: its folder does not exist\n"),
        ("-o folder.json/t.json", "error: folder.json/t.json: cannot record next to it: its folder does not exist\n"),
        ("-o folder", "error: folder: expected a file to write, found a folder\n"),
        ("-o t.exe", "error: t.exe: unknown file extension\n"),
        ("-o -", "error: -o -: standard output belongs to the program, so the trace cannot be written to it\n"),
        ("--open -o t.csv", "error: --open: the viewer cannot read the format of t.csv\n"),
        ("--open -o t.json.zst", "error: --open: the viewer cannot read the format of t.json.zst\n"),
    ];
    for (flags, words) in refused {
        let run = scene.run(&format!("record {flags} -- touch ran")).expect_code(2);
        assert!(run.stderr.starts_with(words), "{flags}: {}", run.stderr);
        assert_eq!(scene.names(), ["folder"], "{flags}");
    }
}

#[test]
fn the_files_are_kept_if_the_trace_cannot_be_written() {
    let scene = Scene::new();
    let script = format!("{} gather-one a 10; mkdir t.json; exit 0", program());
    let mut command = scene.command("record -o t.json -- sh -c");
    let finished = process::run(command.arg(&script)).expect_code(2);
    assert!(finished.stderr.contains("error: t.json: expected a file to write, found a folder"), "{finished}");
    assert!(finished.stderr.contains(": the files of the processes are kept here\n"), "{finished}");
    let kept = scene.names().into_iter().find(|name| name.ends_with(".processes")).unwrap();
    scene.run(&format!("recover --keep {kept}")).expect_code(0);
}

/// The page uses a fixed port; this test or another program occupies it.
#[test]
fn an_occupied_viewer_port_is_an_error() {
    let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 9001));
    let scene = Scene::new();
    let finished = process::run(&mut record(&scene, "--open", "gather-one a 10")).expect_code(2);
    assert!(finished.stderr.contains("error: --open: cannot serve the trace on 127.0.0.1:9001"), "{finished}");
    assert_eq!(scene.n_events("trace.json"), 10);
    let failing = format!("{} gather-one a 10; exit 3", program());
    let mut command = scene.command("record --open -- sh -c");
    process::run(command.arg(failing)).expect_code(3);
}

#[test]
fn an_invalid_flag_is_refused_before_the_program_runs() {
    let scene = Scene::new();
    for (flag, value, expected) in [
        ("--ring", "nonsense", "`64MiB`"),
        ("--limit", "lots", "`512MiB`"),
        ("--window", "step=1", "`steps=`"),
        ("--categories", "a*b", "`attention,gemm`"),
        ("--trigger", "step>50", "`50ms`"),
    ] {
        let mut command = scene.command(&format!("record {flag} {value} -- touch ran"));
        let finished = process::run(&mut command).expect_code(2);
        let first = finished.stderr.lines().next().unwrap();
        assert!(first.contains(flag) && first.contains(value) && first.contains(expected), "{finished}");
        assert!(!finished.stderr.contains("FERRUM_TRACE"), "{finished}");
        assert!(scene.names().is_empty(), "{flag}: the program ran");
    }
}

#[test]
fn files_that_could_not_be_read_completely_are_kept() {
    let scene = Scene::new();
    // Overwrites a part of what each process has recorded, in the third chunk of its file.
    let script = format!(
        "{} gather-one a 3000 < /dev/null; for spool in \"${{FERRUM_TRACE_OUT%/*}}\"/*.spool; do \
         printf '%064d' 0 | tr 0 '\\377' | dd of=\"$spool\" bs=1 seek=81920 conv=notrunc 2> /dev/null; done",
        program()
    );
    let finished = process::run(scene.command("record --no-summary -- sh -c").arg(&script)).expect_success();
    let words = "the files of the processes are kept here, because not all of them could be read completely";
    assert!(finished.stderr.contains(words), "{finished}");
    let folder = scene.names().into_iter().find(|name| name.ends_with(".processes")).unwrap();
    assert_eq!(fs::read_dir(scene.path(&folder)).unwrap().count(), 1);
}
