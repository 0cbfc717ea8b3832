//! The program as users run it: its output, its statistics, and its trace.

use engine::stats::{Stats, Steps};
use ferrum_trace::llm::Phase;
use ferrum_trace_analyze::{
    DeviceTable, Nesting, REQUEST_ARGS, RequestsOptions, RooflineOptions, STEP_ARGS, Selected, StepsOptions, requests,
    roofline, roofline_args, steps,
};
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_testkit::process::{Finished, run};
use ferrum_trace_testkit::trace_file::{Event, TraceFile};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::{TempDir, tempdir};

const LAYERS: usize = 2;

/// The program in a folder, without variables that affect it.
fn engine(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_engine"));
    command.current_dir(folder).args(["--stats=stats.json", "--requests=6", "--rate=50", "--prompt=40", "--tokens=24"]);
    for variable in ["FERRUM_TRACE_OUT", "FERRUM_TRACE_LIMIT", "FERRUM_TRACE_CLOCK"] {
        command.env_remove(variable);
    }
    command
}

/// The same with the smallest model: without optimization, the products are slow. The cache is too small for all
/// requests that could run.
fn small(folder: &Path) -> Command {
    let mut command = engine(folder);
    command.args(["--layers=2", "--width=32", "--step-tokens=32", "--kv-blocks=8"]);
    command
}

fn stats_in(folder: &Path) -> Stats {
    serde_json::from_slice(&fs::read(folder.join("stats.json")).unwrap()).unwrap()
}

/// A run that wrote `trace.json` into the folder.
fn recorded() -> (TempDir, Finished, Stats, TraceFile) {
    recorded_with(&[])
}

/// The same with more flags.
fn recorded_with(flags: &[&str]) -> (TempDir, Finished, Stats, TraceFile) {
    let folder = tempdir().unwrap();
    let finished = run(small(folder.path()).args(flags)).expect_success();
    let trace = TraceFile::read(&folder.path().join("trace.json"));
    let stats = stats_in(folder.path());
    (folder, finished, stats, trace)
}

fn tokens(stats: &Stats) -> Vec<(u64, Vec<u32>)> {
    stats.requests.iter().map(|request| (request.id, request.tokens.clone())).collect()
}

/// The events of a request, by name and phase.
struct RequestEvents<'a>(Vec<&'a Event>);

impl<'a> RequestEvents<'a> {
    fn of(trace: &'a TraceFile, id: u64) -> Self {
        let is_of = |event: &&Event| event.category == "request" && event.extra["id2"]["local"] == format!("{id:#x}");
        Self(trace.recorded().filter(is_of).collect())
    }

    fn all(&self, name: &str, phase: char) -> Vec<&'a Event> {
        self.0.iter().copied().filter(|event| event.name == name && event.phase == phase).collect()
    }

    #[track_caller]
    fn one(&self, name: &str, phase: char) -> &'a Event {
        match self.all(name, phase)[..] {
            [event] => event,
            ref events => panic!("expected one `{name}` of phase {phase}, found {events:?}"),
        }
    }
}

/// Leaves the trace for the step `viewers` of `cargo xtask check`.
fn leave_for_viewers(folder: &Path, trace: &TraceFile) {
    let room = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("viewer-check");
    fs::create_dir_all(&room).unwrap();
    fs::copy(folder.join("trace.json"), room.join("engine.json")).unwrap();
    let count = |phases: &str| trace.recorded().filter(|event| phases.contains(event.phase)).count();
    let values: usize = trace.recorded().filter(|event| event.phase == 'C').map(|event| event.args.len()).sum();
    // Each request is drawn in a row whose title is a slice around it: title, request, stage, token.
    let titles = trace.row_titles().values().flatten().count();
    let slices = count("Xibn") + titles;
    let expected = format!("slices={slices}\nflows=0\ncounters={values}\ndepth=4\nthreads=2\nprocesses=1\n");
    fs::write(room.join("engine.json.expect"), expected).unwrap();
}

#[test]
fn the_trace_has_everything_that_the_engine_did() {
    let (folder, _, stats, trace) = recorded();
    let steps: Vec<&Event> = trace.recorded().filter(|event| event.category == "step").collect();
    let of_phase = |phase| steps.iter().filter(|step| step.name == phase && step.text("phase") == phase).count();
    let found = Steps { prefill: of_phase("prefill"), decode: of_phase("decode"), mixed: of_phase("mixed") };
    assert_eq!((found, steps.len()), (stats.steps, stats.steps.all()));
    let sum = |key| steps.iter().map(|step| step.number(key)).sum::<u64>() as usize;
    assert_eq!(sum("prefill_tokens"), stats.prefill_tokens);
    assert!(steps.iter().all(|step| step.number("decode_tokens") <= step.number("batch")));
    for name in ["layer", "qkv_proj", "attention", "o_proj", "gate_up_proj", "down_proj", "kv_write"] {
        assert_eq!(trace.count(name), steps.len() * LAYERS, "{name}");
    }
    assert_eq!(trace.count("sample"), steps.len());
    assert_eq!(trace.count("preempt"), stats.preemptions);
    assert_eq!(trace.about("dropped"), 0);
    let names: Vec<String> = trace.thread_names().into_values().collect();
    assert_eq!(names, ["engine", "clients"]);
    trace.assert_nested();
    leave_for_viewers(folder.path(), &trace);
}

#[test]
fn every_request_is_in_the_trace_from_arrival_to_last_token() {
    // Preemptions must not depend on the speed of the machine.
    let (_folder, _, stats, trace) = recorded_with(&["--rate=0"]);
    assert!(stats.preemptions > 0, "{stats:?}");
    assert_eq!((stats.requests.len(), trace.count("first token")), (6, 6));
    for request in &stats.requests {
        let events = RequestEvents::of(&trace, request.id);
        let (begin, end) = (events.one("request", 'b'), events.one("request", 'e'));
        assert_eq!(begin.number("prompt_tokens") as usize, request.prompt_tokens);
        assert_eq!(end.number("output_tokens") as usize, request.output_tokens);
        assert_eq!(end.text("reason"), request.reason);
        assert_eq!(1 + events.all("token", 'n').len(), request.output_tokens);
        assert_eq!(events.all("preempted", 'b').len(), request.preemptions);
        // Once at first, and once after each preemption.
        assert_eq!(events.all("prefill", 'b').len(), 1 + request.preemptions);
        for stage in ["queued", "prefill", "decode", "preempted"] {
            assert_eq!(events.all(stage, 'b').len(), events.all(stage, 'e').len(), "{stage}");
        }
    }
}

/// Compares the results of `ferrum-trace steps` and `requests` with the engine's statistics.
#[test]
fn steps_and_requests_are_the_same_as_in_the_statistics() {
    let (folder, _, stats, _) = recorded();
    let args = STEP_ARGS.into_iter().chain(REQUEST_ARGS).map(str::to_owned).collect();
    let options = LoadOptions { args, ..LoadOptions::default() };
    let trace = load(fs::File::open(folder.path().join("trace.json")).unwrap(), &options).unwrap().trace;
    let nesting = Nesting::of(&trace);
    let found_steps = steps(&trace, &nesting, &Selected::all(&trace), &StepsOptions::default());
    let of_phase = |phase| found_steps.steps.iter().filter(|step| step.mark.phase == Some(phase)).count();
    let found =
        Steps { prefill: of_phase(Phase::Prefill), decode: of_phase(Phase::Decode), mixed: of_phase(Phase::Mixed) };
    assert_eq!((found, found_steps.all.prefill_tokens as usize), (stats.steps, stats.prefill_tokens));
    let requests = requests(&trace, &nesting, &RequestsOptions::default());
    assert_eq!((requests.requests.len(), requests.n_strays), (stats.requests.len(), 0));
    for expected in &stats.requests {
        let [place] = requests.find(&trace, &expected.id.to_string())[..] else {
            panic!("expected request {} once", expected.id);
        };
        let traced = &requests.requests[place];
        assert_eq!(traced.tokens() as usize, expected.output_tokens);
        agree(traced.time_to_first_token(), expected.first_token_latency_ns());
        agree(traced.latency(), Some(expected.latency_ns()));
        assert_eq!(Some(requests.parts[place].sum()), traced.latency(), "the parts add up");
    }
}

/// Compares a time of the trace with the engine's, up to 1 % and the delay that a busy machine may cause between two
/// lines of code.
#[track_caller]
fn agree(traced: Option<i64>, expected: Option<u64>) {
    let (traced, expected) = (traced.unwrap() as u64, expected.unwrap());
    assert!(
        traced.abs_diff(expected) <= expected / 100 + 50_000_000,
        "{traced} in the trace, {expected} in the statistics"
    );
}

#[test]
fn the_counters_end_with_an_empty_cache_and_all_tokens() {
    let (_folder, _, stats, trace) = recorded_with(&["--rate=0"]);
    let cache: Vec<_> = trace.named("kv_cache").map(|event| (event.number("used"), event.number("free"))).collect();
    assert_eq!(cache.len(), stats.steps.all() + 1);
    assert!(cache.iter().all(|(used, free)| used + free == 8), "{cache:?}");
    assert!(cache[0].0 == 0 && cache[1].0 > 0 && cache.last() == Some(&(0, 8)), "{cache:?}");
    let tokens = trace.named("tokens").last().unwrap();
    assert_eq!(tokens.number("generated") as usize, stats.generated_tokens);
    assert_eq!(tokens.number("prompt") as usize, stats.prefill_tokens);
    assert_eq!(trace.named("running").last().unwrap().number("requests"), 0);
    assert!(trace.named("running").any(|event| event.number("requests") > 1));
}

#[test]
fn without_recording_there_is_no_file_and_tokens_are_the_same() {
    let (_folder, _, on, _) = recorded();
    let folder = tempdir().unwrap();
    let finished = run(small(folder.path()).arg("--off")).expect_success();
    assert!(finished.stdout.contains("nothing was recorded"), "{finished}");
    assert_eq!(tokens(&stats_in(folder.path())), tokens(&on));
    fs::remove_file(folder.path().join("stats.json")).unwrap();
    run(small(folder.path()).env("FERRUM_TRACE_OUT", "off")).expect_success();
    assert_eq!(tokens(&stats_in(folder.path())), tokens(&on));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// The phase and the sizes of each step.
fn shapes_of_steps(trace: &TraceFile) -> Vec<(String, [u64; 4])> {
    let shape = |step: &Event| {
        let sizes = ["batch", "prefill_tokens", "decode_tokens", "context_tokens"].map(|key| step.number(key));
        (step.text("phase"), sizes)
    };
    trace.recorded().filter(|event| event.category == "step").map(shape).collect()
}

#[test]
fn all_runs_have_the_same_steps_if_all_requests_arrive_at_once() {
    let steps = |flags: &[&str]| {
        let (.., trace) = recorded_with(flags);
        shapes_of_steps(&trace)
    };
    let first = steps(&["--rate=0"]);
    assert_eq!(first, steps(&["--rate=0"]));
    assert_eq!(first, steps(&["--rate=0", "--slow=schedule=20", "--slow=sample=3"]));
    let skipped = ["--rate=0", "--slow=rope=0", "--slow=kv_write=0", "--slow=attention=0", "--slow=silu_mul=0"];
    assert_eq!(first, steps(&skipped));
    assert_ne!(first, steps(&["--rate=0", "--seed=1"]));
}

/// The median duration of an operation in each layer, in nanoseconds.
fn median_by_layer(trace: &TraceFile, name: &str) -> [u64; LAYERS] {
    let durations: Vec<u64> = trace.named(name).map(|event| event.end_ns - event.start_ns).collect();
    std::array::from_fn(|layer| {
        let mut of_layer: Vec<u64> = durations.iter().skip(layer).step_by(LAYERS).copied().collect();
        of_layer.sort_unstable();
        of_layer[of_layer.len() / 2]
    })
}

/// Elapsed time is the subject here. Medians and a large factor leave room for a busy machine.
#[test]
fn a_slowed_operation_takes_longer_in_the_selected_layer_and_gives_the_same_tokens() {
    let (_folder, _, plain, _) = recorded();
    let (_folder, _, slow, trace) = recorded_with(&["--slow=rope@1=50"]);
    assert_eq!(tokens(&slow), tokens(&plain));
    let [first, slowed] = median_by_layer(&trace, "rope");
    assert!(slowed > 10 * first, "{slowed} after {first}");
}

#[test]
fn every_operation_that_computes_can_be_slowed_down() {
    let (folder, _, _, trace) = recorded();
    let unknown = run(small(folder.path()).arg("--slow=softmax=2")).expect_code(2);
    let names = unknown.stderr.split_once("an operation (").and_then(|(_, rest)| rest.split_once(')'));
    let listed: BTreeSet<&str> = names.expect("a list of names").0.split(", ").collect();
    let is_op = |event: &&Event| event.phase == 'X' && !["step", "layer", "load"].contains(&event.category.as_str());
    let mut found: BTreeSet<&str> = trace.recorded().filter(is_op).map(|event| event.name.as_str()).collect();
    // A wait is not work, and a run without one does not have it.
    found.remove("wait_for_requests");
    assert_eq!(found, listed);
}

#[test]
fn a_saved_checkpoint_gives_the_same_tokens() {
    let folder = tempdir().unwrap();
    run(small(folder.path()).args(["--save=weights", "--off"])).expect_success();
    let made = tokens(&stats_in(folder.path()));
    for path in ["--weights=weights", "--weights=weights/model.safetensors"] {
        run(engine(folder.path()).args([path, "--off"])).expect_success();
        assert_eq!(tokens(&stats_in(folder.path())), made, "{path}");
    }
    let missing = run(engine(folder.path()).args(["--weights=elsewhere", "--off"])).expect_code(2);
    assert!(missing.stderr.contains("engine: elsewhere: No such file"), "{missing}");
    fs::write(folder.path().join("weights/config.json"), r#"{"model_type": "llama"}"#).unwrap();
    let wrong = run(engine(folder.path()).args(["--weights=weights", "--off"])).expect_code(2);
    assert!(wrong.stderr.contains("config.json: missing field"), "{wrong}");
}

#[test]
fn the_tables_have_the_times_and_the_path_of_the_trace() {
    let (_folder, finished, stats, trace) = recorded();
    let titles =
        ["request latencies", "where the time went by step", "where the time went by layer", "outside of layers"];
    assert!(titles.iter().all(|title| finished.stdout.contains(title)), "{finished}");
    let decode = finished.stdout.lines().find_map(|line| line.trim().strip_prefix("decode ")).expect("a row of steps");
    assert_eq!(decode.split_whitespace().next(), Some(stats.steps.decode.to_string().as_str()), "{finished}");
    let rows = finished.stdout.lines().filter(|line| line.starts_with("  0  ") || line.starts_with("  1  "));
    assert_eq!(rows.count(), LAYERS, "{finished}");
    let place = format!("trace.json: {} events", trace.recorded().count());
    assert!(finished.stdout.contains(&place) && finished.stdout.contains("ui.perfetto.dev"), "{finished}");
}

#[test]
fn the_environment_sets_the_path_of_the_trace() {
    let folder = tempdir().unwrap();
    let finished = run(small(folder.path()).env("FERRUM_TRACE_OUT", "other.json")).expect_success();
    let trace = TraceFile::read(&folder.path().join("other.json"));
    assert_eq!(trace.count("sample"), stats_in(folder.path()).steps.all());
    assert!(finished.stdout.contains("by layer") && finished.stdout.contains("other.json: "), "{finished}");
    let finished = run(small(folder.path()).env("FERRUM_TRACE_OUT", "other.spool")).expect_success();
    assert!(finished.stdout.contains("recorded to other.spool; no tables"), "{finished}");
    assert!(!folder.path().join("trace.json").exists());
}

#[test]
fn help_is_printed_on_request_and_for_invalid_flags() {
    let folder = tempdir().unwrap();
    let help = run(engine(folder.path()).arg("--help")).expect_success();
    assert!(help.stdout.contains("Usage: engine") && help.stdout.contains("--kv-blocks <N>"), "{help}");
    let needed = run(engine(folder.path()).arg("--token=7")).expect_code(2);
    assert!(needed.stderr.contains("'--token'") && needed.stderr.contains("Usage: engine"), "{needed}");
    let small_cache = run(small(folder.path()).arg("--off").args(["--kv-blocks", "2"])).expect_code(2);
    assert!(small_cache.stderr.contains("--kv-blocks"), "{small_cache}");
    let no_layer = run(small(folder.path()).args(["--off", "--slow=rope@2=2"])).expect_code(2);
    assert!(no_layer.stderr.contains("--slow rope@2: expected a layer below 2"), "{no_layer}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Peaks for the test of MFU.
const PEAKS: &str = "[test]\nmemory = 10\nmatrix.fp32 = 0.1\nvector.fp32 = 0.1\n";

#[test]
fn the_roofline_counts_the_flop_that_the_engine_counts() {
    let (folder, finished, stats, _) = recorded();
    let options = LoadOptions { args: roofline_args(), ..LoadOptions::default() };
    let file = fs::File::open(folder.path().join("trace.json")).unwrap();
    let loaded = load(file, &options).unwrap();
    let mut table = DeviceTable::default();
    table.extend(PEAKS).unwrap();
    let options = RooflineOptions { device: table.find("test").cloned(), ..RooflineOptions::default() };
    let found = roofline(&loaded.trace, &Nesting::of(&loaded.trace), &options);
    assert!(stats.flop > 0);
    assert_eq!(found.whole.flop, u128::from(stats.flop));
    let in_steps: u128 = found.phases.iter().map(|phase| phase.utilization.flop).sum();
    assert_eq!(in_steps, u128::from(stats.flop), "all work is in steps");
    for phase in &found.phases {
        let expected = phase.utilization.flop as f64 / 0.1e12 / (phase.utilization.time as f64 / 1e9);
        let mfu = phase.utilization.mfu().unwrap();
        assert!((mfu / expected - 1.0).abs() < 1e-9, "{mfu} {expected}");
    }
    let printed = format!("{:.3} GFLOP in the model", stats.flop as f64 / 1e9);
    assert!(finished.stdout.contains(&printed), "{}", finished.stdout);
}
