//! Guarantees for JSON also hold for every other output format: complete files in all cases, with every event once.

mod common;

use common::{Running, Stage, assert_counts_up};
use ferrum_trace_format::open::open;
use ferrum_trace_format::spool::{OutputFormat, to_format};
use ferrum_trace_testkit::process::run;
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

const NAMES: [&str; 5] =
    ["trace.json.gz", "trace.json.zst", "trace.pftrace", "trace.perfetto-trace", "trace.pftrace.gz"];

/// A scene that records to a file with this name.
fn scene(stage: &Stage, scene: &str, name: &str) -> Command {
    let mut command = stage.scene(scene);
    command.env("FERRUM_TRACE_OUT", stage.path(name));
    command
}

/// All events of a file, read to its end.
#[track_caller]
fn events(path: &Path) -> Vec<Value> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut json = Vec::new();
    open(file).unwrap().read_to_end(&mut json).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    match serde_json::from_slice(&json).unwrap_or_else(|error| panic!("{}: {error}", path.display())) {
        Value::Array(events) => events,
        Value::Object(mut document) => match document.remove("traceEvents") {
            Some(Value::Array(events)) => events,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// The numbers of the spans with a name, in order.
fn numbers(events: &[Value], name: &str) -> Vec<u64> {
    let named = events.iter().filter(|event| event["name"] == name && event["ph"] == "X");
    let mut numbers: Vec<u64> = named.map(|event| event["args"]["n"].as_u64().unwrap()).collect();
    numbers.sort_unstable();
    numbers
}

/// The file's metadata about the recording.
fn about<'a>(events: &'a [Value], key: &str) -> &'a Value {
    let mut found = events.iter().filter(|event| event["name"] == "ferrum_trace" && event["ph"] == "M");
    let about = found.next().expect("expected metadata `ferrum_trace`");
    assert!(found.next().is_none(), "expected metadata `ferrum_trace` once");
    &about["args"][key]
}

/// Checks that the gzip file has one member: browsers read no other.
#[track_caller]
fn assert_one_member(path: &Path) {
    if path.extension().is_some_and(|ending| ending == "gz") {
        let bytes = std::fs::read(path).unwrap();
        let mut rest = &bytes[..];
        flate2::bufread::GzDecoder::new(&mut rest).read_to_end(&mut Vec::new()).unwrap();
        assert!(rest.is_empty());
    }
}

#[test]
fn the_file_is_complete_and_the_only_one_after_every_kind_of_exit() {
    for name in NAMES {
        for (scene_name, code) in [("return", 0), ("exit", 3), ("panic", 101)] {
            let stage = Stage::new();
            run(&mut scene(&stage, scene_name, name)).expect_code(code);
            assert_eq!(stage.files(), [name.to_owned()].into(), "{scene_name}");
            assert_one_member(&stage.path(name));
            let events = events(&stage.path(name));
            let work = numbers(&events, "work");
            assert_counts_up(&work);
            assert_eq!((work.len(), about(&events, "dropped")), (100, &Value::from(0)), "{name} {scene_name}");
        }
    }
}

#[test]
fn every_flush_leaves_a_complete_file_and_its_cost_depends_on_new_events_only() {
    for name in NAMES {
        let stage = Stage::new();
        let finished = run(&mut scene(&stage, "flush-and-report", name)).expect_success();
        assert_eq!(stage.files(), ["1", "2", "3", name].map(String::from).into());
        for (n, len) in [("1", 5000), ("2", 5010), ("3", 5020)] {
            let copy = events(&stage.path(n));
            let work = numbers(&copy, "work");
            assert_counts_up(&work);
            assert_eq!(work.len(), len, "{name}");
            assert_eq!(*about(&copy, "recorded"), Value::from(len));
        }
        assert_one_member(&stage.path(name));
        assert_eq!(numbers(&events(&stage.path(name)), "work").len(), 5030);
        let (first, second) = (finished.number("grown by much"), finished.number("grown by little"));
        assert!(second < 2_000 && second < first / 10, "{name}: {first} bytes, then {second}");
    }
}

#[track_caller]
fn recover(spool: &Path, to: &Path) {
    let mut out = File::create(to).unwrap();
    let form = OutputFormat::of_name(to.file_name().unwrap().to_str().unwrap()).0;
    let summary = to_format(&File::open(spool).unwrap(), &mut out, form, 2).unwrap();
    assert_eq!((summary.n_diagnostics, summary.finished), (0, false));
}

#[test]
fn nothing_is_missing_after_kill_9() {
    for name in NAMES {
        let stage = Stage::new();
        let mut running = Running::start(&mut scene(&stage, "full-speed-with-flushes", name));
        running.wait_for_line("ready");
        running.tell("go");
        while stage.counters().iter().sum::<u64>() < 10_000 || !stage.path(name).exists() {
            std::thread::yield_now();
        }
        running.kill();
        running.finish().expect_signal(libc::SIGKILL);
        // The file of the last flush is complete.
        assert!(!numbers(&events(&stage.path(name)), "work").is_empty());
        let recovered = stage.path(&format!("recovered-{name}"));
        recover(&stage.path(&format!("{name}.spool")), &recovered);
        let found = numbers(&events(&recovered), "work").len() as u64;
        // The third number counts the flushes; one span is recorded before the workers'.
        let [first, second, _] = stage.counters()[..] else { panic!("three numbers") };
        let counted = first + second + 1;
        assert!((counted..=counted + 2).contains(&found), "{name}: {found} found, {counted} recorded");
    }
}

/// The traces in the folder, without the parent's.
fn others(stage: &Stage, name: &str) -> Vec<PathBuf> {
    let others = stage.files().into_iter().filter(|file| file.starts_with("trace.") && file != name);
    others.map(|file| stage.path(&file)).collect()
}

#[test]
fn a_forked_child_has_a_separate_file_in_the_same_format() {
    for (name, ending) in NAMES.iter().zip([".json.gz", ".json.zst", ".pftrace", ".perfetto-trace", ".pftrace.gz"]) {
        let stage = Stage::new();
        run(&mut scene(&stage, "fork-in-a-span", name)).expect_success();
        let [child] = &others(&stage, name)[..] else {
            panic!("expected one more trace, found {:?}", stage.files());
        };
        let child_name = child.file_name().unwrap().to_str().unwrap();
        let pid = child_name.strip_prefix("trace.").and_then(|rest| rest.strip_suffix(ending));
        assert!(pid.is_some_and(|pid| pid.parse::<u32>().is_ok()), "{child_name}");
        assert!(!events(child).is_empty() && !events(&stage.path(name)).is_empty());
    }
}

#[test]
fn a_flight_recorder_writes_traces_and_dumps_in_every_format() {
    for (name, dump) in [("trace.json.gz", "trace.dump-001.json.gz"), ("trace.pftrace", "trace.dump-001.pftrace")] {
        let stage = Stage::new();
        run(scene(&stage, "ring-and-dump", name).env("FERRUM_TRACE_RING", "1MiB")).expect_success();
        assert_eq!(stage.files(), [dump, name].map(String::from).into());
        for file in [dump, name] {
            let events = events(&stage.path(file));
            let work = numbers(&events, "work");
            assert!(work.len() > 1000, "{file}: {}", work.len());
            assert_eq!(about(&events, "ring_bytes").as_u64(), Some(1 << 20));
        }
        assert!(events(&stage.path(dump)).iter().any(|event| event["name"] == "trigger"));
    }
}
