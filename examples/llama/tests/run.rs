//! The program as its users run it: what it prints, and what is in the trace.

use ferrum_trace_testkit::process::{Finished, run};
use ferrum_trace_testkit::trace_file::{Event, TraceFile};
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::{TempDir, tempdir};

const REQUESTS: usize = 5;
const TOKENS: usize = 4;
const LAYERS: usize = 2;
const WORKERS: usize = 2;

/// The program in a folder, with nothing in the environment that concerns it.
fn llama(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_llama"));
    // As small as it can be: without optimization, the products take long.
    command.current_dir(folder).args(["--requests=5", "--tokens=4", "--layers=2", "--width=24"]);
    for variable in ["FERRUM_TRACE_OUT", "FERRUM_TRACE_LIMIT", "FERRUM_TRACE_CLOCK"] {
        command.env_remove(variable);
    }
    command
}

/// A run that wrote `trace.json` into the folder.
fn recorded() -> (TempDir, Finished, TraceFile) {
    let folder = tempdir().unwrap();
    let finished = run(&mut llama(folder.path())).expect_success();
    let trace = TraceFile::read(&folder.path().join("trace.json"));
    (folder, finished, trace)
}

/// The number that stands before some words on standard output.
#[track_caller]
fn printed(finished: &Finished, words: &str) -> usize {
    let before = finished.stdout.split(words).next().filter(|before| before.len() < finished.stdout.len());
    let number = before.and_then(|before| before.split_whitespace().last()?.parse().ok());
    number.unwrap_or_else(|| panic!("expected a number before `{words}`\n{finished}"))
}

/// The lines of the table: name, calls, total, self, share.
fn table(finished: &Finished) -> Vec<(String, usize, [f64; 3])> {
    let lines = finished.stdout.lines().skip_while(|line| !line.starts_with("where the time went")).skip(1);
    let lines = lines.take_while(|line| !line.starts_with("all "));
    lines.map(|line| read_line(line).unwrap_or_else(|| panic!("`{line}` is no line of the table"))).collect()
}

fn read_line(line: &str) -> Option<(String, usize, [f64; 3])> {
    let mut words = line.split_whitespace();
    let (name, calls) = (words.next()?.to_owned(), words.next()?.parse().ok()?);
    let mut number = || words.next()?.trim_end_matches('%').parse().ok();
    Some((name, calls, [number()?, number()?, number()?]))
}

/// The events of a name and phase, by the request that they belong to.
fn of_requests<'a>(trace: &'a TraceFile, name: &'a str, phase: char) -> Vec<(String, &'a Event)> {
    let events = trace.named(name).filter(|event| event.phase == phase);
    let mut events: Vec<_> = events.map(|event| (event.extra["id2"].to_string(), event)).collect();
    events.sort_by(|a, b| a.0.cmp(&b.0));
    events
}

/// For the step `viewers` of the gate.
fn leave_for_viewers(folder: &Path, trace: &TraceFile) {
    let room = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("viewer-check");
    fs::create_dir_all(&room).unwrap();
    fs::copy(folder.join("trace.json"), room.join("llama.json")).unwrap();
    let count = |phases: &str| trace.recorded().filter(|event| phases.contains(event.phase)).count();
    let values: usize = trace.recorded().filter(|event| event.phase == 'C').map(|event| event.args.len()).sum();
    let (slices, flows) = (count("Xibn"), count("s"));
    let expected = format!("slices={slices}\nflows={flows}\ncounters={values}\ndepth=4\nthreads=3\nprocesses=1\n");
    fs::write(room.join("llama.json.expect"), expected).unwrap();
}

#[test]
fn the_trace_holds_all_that_the_engine_did() {
    let (folder, finished, trace) = recorded();
    let steps = printed(&finished, " steps: ");
    assert_eq!(trace.count("step"), steps);
    let phases = |phase| trace.named("step").filter(|step| step.text("phase") == phase).count();
    assert_eq!(phases("prefill"), printed(&finished, " prefill, "));
    assert_eq!(phases("decode"), printed(&finished, " decode"));
    assert_eq!(trace.count("layer"), steps * LAYERS);
    assert_eq!(trace.count("mlp_shard"), steps * LAYERS * WORKERS);
    assert_eq!(trace.recorded().count(), printed(&finished, " events, "));
    assert_eq!(trace.about("dropped"), 0);
    let names: Vec<String> = trace.thread_names().into_values().collect();
    assert_eq!(names, ["engine", "worker 0", "worker 1"]);
    trace.assert_nested();
    leave_for_viewers(folder.path(), &trace);
}

#[test]
fn every_request_is_there_from_its_arrival_to_its_last_token() {
    let (_folder, finished, trace) = recorded();
    assert_eq!(printed(&finished, " requests, "), REQUESTS);
    for stage in ["request", "queued", "prefill", "decode"] {
        let (begins, ends) = (of_requests(&trace, stage, 'b'), of_requests(&trace, stage, 'e'));
        assert_eq!((begins.len(), ends.len()), (REQUESTS, REQUESTS), "{stage}");
        assert!(begins.windows(2).all(|two| two[0].0 != two[1].0), "{stage}");
        for (begin, end) in begins.iter().zip(&ends) {
            assert!(begin.0 == end.0 && begin.1.start_ns <= end.1.start_ns, "{begin:?} {end:?}");
        }
    }
    assert_eq!(of_requests(&trace, "first token", 'n').len(), REQUESTS);
    let ends = of_requests(&trace, "request", 'e');
    assert!(ends.iter().all(|(_, end)| end.number("generated") == TOKENS as u64));
}

#[test]
fn every_arrow_leads_from_the_engine_to_a_worker() {
    let (_folder, _, trace) = recorded();
    let ids = |phase| {
        let arrows = trace.recorded().filter(move |event| event.phase == phase);
        let mut ids: Vec<String> = arrows.map(|event| event.extra["id"].to_string()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids('s'), ids('f'));
    assert_eq!(ids('s').len(), trace.count("mlp_shard"));
    let engine = trace.tid_of("engine");
    assert!(trace.recorded().all(|event| event.phase != 's' || event.tid == engine));
    assert!(trace.recorded().all(|event| event.phase != 'f' || event.tid != engine));
}

#[test]
fn the_counters_end_with_an_empty_cache_and_all_tokens() {
    let (_folder, finished, trace) = recorded();
    let cache: Vec<_> = trace.named("kv_cache").map(|event| (event.number("used"), event.number("free"))).collect();
    assert_eq!(cache.len(), trace.count("step") + 1);
    assert!(cache.iter().all(|(used, free)| used + free == cache[0].0 + cache[0].1), "{cache:?}");
    assert!(cache[0].0 == 0 && cache[1].0 > 0 && cache.last().unwrap().0 == 0, "{cache:?}");
    let tokens = trace.named("tokens").last().unwrap();
    assert_eq!(tokens.number("generated") as usize, REQUESTS * TOKENS);
    assert_eq!(tokens.number("prompt") as usize, printed(&finished, " prompt tokens, "));
    assert_eq!(printed(&finished, " tokens in "), REQUESTS * TOKENS);
}

#[test]
fn the_table_says_of_every_span_how_often_and_how_long() {
    let (_folder, finished, trace) = recorded();
    let table = table(&finished);
    let n_slices = trace.recorded().filter(|event| event.phase == 'X').count();
    assert_eq!(table.iter().map(|(_, calls, _)| calls).sum::<usize>(), n_slices, "{finished}");
    for (name, calls, [total, own, _]) in &table {
        let slices = trace.named(name).filter(|event| event.phase == 'X');
        let durations: Vec<u64> = slices.map(|slice| slice.end_ns - slice.start_ns).collect();
        let millis = durations.iter().sum::<u64>() as f64 / 1e6;
        assert_eq!(*calls, durations.len(), "{name}");
        assert!((total - millis).abs() <= 0.006 && own <= total, "{name}\n{finished}");
    }
    assert!(table.is_sorted_by(|a, b| a.2[1] >= b.2[1]), "{finished}");
    let shares: f64 = table.iter().map(|(_, _, [_, _, share])| share).sum();
    assert!((shares - 100.0).abs() < 2.0, "{finished}");
    assert!(finished.stdout.contains("trace.json: ") && finished.stdout.contains("ui.perfetto.dev"), "{finished}");
}

#[test]
fn the_environment_decides_where_the_trace_goes() {
    let folder = tempdir().unwrap();
    let finished = run(llama(folder.path()).env("FERRUM_TRACE_OUT", "other.json")).expect_success();
    let trace = TraceFile::read(&folder.path().join("other.json"));
    assert_eq!(trace.count("step"), printed(&finished, " steps: "));
    assert!(finished.stdout.contains("where the time went") && finished.stdout.contains("other.json: "), "{finished}");
    let finished = run(llama(folder.path()).env("FERRUM_TRACE_OUT", "other.spool")).expect_success();
    assert!(finished.stdout.contains("recorded to other.spool; no table"), "{finished}");
    assert!(!folder.path().join("trace.json").exists());
}

#[test]
fn nothing_is_written_if_the_environment_says_so() {
    let folder = tempdir().unwrap();
    let finished = run(llama(folder.path()).env("FERRUM_TRACE_OUT", "off")).expect_success();
    assert!(finished.stdout.contains("nothing was recorded"), "{finished}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn help_is_given_where_it_is_asked_for_or_needed() {
    let folder = tempdir().unwrap();
    let asked = run(llama(folder.path()).arg("--help")).expect_success();
    assert!(asked.stdout.contains("Usage: llama") && asked.stdout.contains("--layers N"), "{asked}");
    let needed = run(llama(folder.path()).arg("--token")).expect_code(2);
    assert!(needed.stderr.contains("`--token`") && needed.stderr.contains("Usage: llama"), "{needed}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
