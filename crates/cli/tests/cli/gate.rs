use crate::scene::{Run, Scene};
use ferrum_trace::{Timestamp, Track, complete_at};
use ferrum_trace_testkit::process::{self, Finished, Running};
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

/// The variable that makes this process record steps of this length, in microseconds.
const STEP_MICROS: &str = "FERRUM_TRACE_CLI_TEST_STEP";
/// Number of steps of a run.
const N_STEPS: u64 = 30;

/// Does nothing when it is run as a test; the commands of the tests run it as a program.
#[test]
fn the_program_records_steps_of_a_given_length() {
    let Some(micros) = std::env::var_os(STEP_MICROS) else { return };
    let micros: u64 = micros.into_string().unwrap().parse().unwrap();
    let engine = Track::new("engine");
    // Later than the start of the recording, which is its first event.
    let begin = Timestamp::now() + Duration::from_secs(1);
    for step in 0..N_STEPS {
        let at = |time: u64| begin + Duration::from_micros(step * 10 * micros + time);
        complete_at!(engine, at(0), at(micros), "decode", "step", phase = "decode", batch = 2, decode_tokens = 2);
        complete_at!(engine, at(0), at(micros / 2), "up_proj", "gemm");
    }
    println!("\nthe program has recorded");
}

/// Returns a shell command that records steps of this length. The times are stated, so it takes no time.
fn program(micros: u64) -> String {
    let binary = std::env::current_exe().unwrap();
    let test = "gate::the_program_records_steps_of_a_given_length";
    format!("{STEP_MICROS}={micros} {} --exact {test} --nocapture", binary.display())
}

/// Returns a trace with steps of these lengths, in microseconds, in each of which one operation takes half of the time.
fn trace(micros: impl IntoIterator<Item = f64>) -> String {
    let mut events = Vec::new();
    let mut start = 0.0;
    for length in micros {
        let args = r#"{"phase":"decode","batch":2,"decode_tokens":2}"#;
        let half = length / 2.0;
        events.push(format!(
            r#"{{"ph":"X","name":"decode","cat":"step","ts":{start},"dur":{length},"pid":1,"tid":1,"args":{args}}}"#
        ));
        events.push(format!(r#"{{"ph":"X","name":"up_proj","cat":"gemm","ts":{start},"dur":{half},"pid":1,"tid":1}}"#));
        start += length + 1.0;
    }
    format!("[{}]", events.join(",\n"))
}

/// Writes a trace per run to a folder. Each run has steps of a constant length.
fn write_runs(scene: &Scene, folder: &str, lengths: &[f64]) {
    for (number, &length) in lengths.iter().enumerate() {
        scene.write(&format!("{folder}/{number}.json"), trace([length; 20]));
    }
}

/// Lengths of the runs of an unchanged program.
const LENGTHS: [f64; 6] = [100.0, 100.3, 99.8, 100.1, 99.9, 100.2];

fn scene() -> Scene {
    let scene = Scene::new();
    write_runs(&scene, "main", &LENGTHS);
    write_runs(&scene, "same", &LENGTHS.map(|length| length + 0.05));
    write_runs(&scene, "slow", &LENGTHS.map(|length| 2.0 * length));
    scene
}

/// Runs the gate with commands. Flags are separated by spaces.
fn gate(scene: &Scene, base: &str, new: &str, flags: &str) -> Command {
    let mut command = scene.command(&format!("gate {flags}"));
    command.args(["--base", base, "--new", new]);
    command
}

#[track_caller]
fn object(stdout: &str) -> Value {
    serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
}

#[track_caller]
fn assert_contains(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` is not in\n{text}");
    }
}

#[test]
fn an_unchanged_program_passes() {
    let run = scene().run("gate --base main --new same").expect_code(0);
    assert_eq!(run.stderr, "");
    let expected = "\
PASS: step within budget (6 base runs, 6 new runs)

base 6 runs, 120 steps: traces `main`
new  6 runs, 120 steps: traces `same`
runs were not interleaved in time: a drift of the machine counts as a change of the program
each interval holds with 95 %

Metrics
metric      base       new   change            interval   budget  verdict
step    100.1 µs  100.1 µs  +0.05 %  -0.25 % to +0.35 %  +2.00 %  within budget
";
    assert_eq!(run.stdout, expected);
}

#[test]
fn a_slower_program_fails_and_the_causes_are_listed() {
    let run = scene().run("gate --base main --new slow").expect_code(1);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines[0].starts_with("FAIL: step changed by +100 % (+"), "{}", lines[0]);
    assert_contains(&run.stdout, &["  worse\n", "Largest causes of the change of the mean step", "up_proj", "+50.0"]);
}

#[test]
fn a_faster_program_passes() {
    scene().run("gate --base slow --new main").expect_code(0);
    let run = scene().run("gate --base slow --new main --metric tokens_per_s").expect_code(0);
    assert_contains(&run.stdout, &["tokens_per_s", "-2.00 %", "within budget"]);
    scene().run("gate --base main --new slow --metric tokens_per_s").expect_code(1);
}

#[test]
fn a_budget_may_allow_the_change() {
    let scene = Scene::new();
    write_runs(&scene, "main", &LENGTHS);
    write_runs(&scene, "new", &LENGTHS.map(|length| 1.05 * length));
    scene.run("gate --base main --new new").expect_code(1);
    scene.run("gate --base main --new new --budget 10%").expect_code(0);
    scene.run("gate --base main --new new --budget step=10%").expect_code(0);
    scene.run("gate --base main --new new --budget 10% --budget step=3%").expect_code(1);
    let run = scene.run("gate --base main --new new --budget 5%").expect_code(3);
    assert_contains(&run.stdout, &["CANNOT TELL: whether step is within budget is not certain"]);
    let run = scene.run("gate --base main --new new --budget 5% --strict").expect_code(1);
    assert_contains(&run.stdout, &["FAIL: whether step is within budget is not certain (--strict)"]);
    let run = scene.run("gate --base main --new new --budget ttft=5%").expect_code(2);
    assert_contains(&run.stderr, &["--budget: expected one of the metrics that gate (step), found `ttft`"]);
}

#[test]
fn three_runs_cannot_tell() {
    let scene = Scene::new();
    write_runs(&scene, "main", &LENGTHS[..3]);
    write_runs(&scene, "slow", &[200.0, 201.0, 202.0]);
    let run = scene.run("gate --base main --new slow").expect_code(3);
    assert_contains(&run.stdout, &["CANNOT TELL", "unknown", "cannot tell; about 4 runs per side needed"]);
}

#[test]
fn one_run_per_side_cannot_tell() {
    let run = scene().run("gate --base main/0.json --new slow/0.json").expect_code(3);
    let words = ["+100 %", "cannot tell: too few runs", "a side with one run cannot be compared"];
    assert_contains(&run.stdout, &words);
}

#[test]
fn more_metrics_need_more_certainty() {
    let scene = scene();
    let level = |flags: &str| {
        let run = scene.run(&format!("gate --base main --new same --json {flags}"));
        object(&run.stdout)["level"].as_f64().unwrap()
    };
    assert!((level("") - 0.95).abs() < 1e-9);
    assert!(
        (level("--metric step,tokens_per_s --metric step.decode.p99,step.decode.mean,step.decode") - 0.99).abs() < 1e-9
    );
}

#[test]
fn an_unknown_metric_is_an_error_that_lists_the_known_ones() {
    let run = scene().run("gate --base main --new same --metric steps").expect_code(2);
    assert_contains(&run.stderr, &["found `steps`", "`tokens_per_s`", "`queue`", "`p99`"]);
    let run = scene().run("gate --base main --new same --metric ttft").expect_code(2);
    assert_contains(&run.stderr, &["`ttft`: the runs of base lack it: their traces have no completed requests"]);
    let scene = Scene::with("a.json", r#"[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}]"#);
    let run = scene.run("gate --base a.json --new a.json").expect_code(2);
    assert_contains(&run.stderr, &["`step`: the runs of base lack it: their traces have no steps", "--metric span"]);
    scene.run("gate --base a.json --new a.json --metric span").expect_code(3);
}

#[test]
fn limits_are_checked_on_the_new_side() {
    let scene = scene();
    let run = scene.run("gate --new slow --limit step<150us").expect_code(1);
    assert_contains(
        &run.stdout,
        &["FAIL: step<150us is violated by 200.1 µs (6 new runs)", "slow/0.json, ", " and 3 more"],
    );
    let run = scene.run("gate --new main --limit step<150us --limit tokens_per_s>=1").expect_code(0);
    assert_contains(&run.stdout, &["PASS: 2 limits met (6 new runs)"]);
    scene.run("gate --base main --new same --limit step.decode.p99<=100us").expect_code(1);
    let run = scene.run("gate --new main --limit ttft.p99<500ms").expect_code(2);
    assert_contains(&run.stderr, &["`ttft.p99`: the runs of new lack it"]);
}

#[test]
fn different_models_are_not_compared() {
    let scene = Scene::new();
    let layers = |n: u32| {
        let layer = |layer: u32| {
            let ts = 10 * layer;
            format!(
                r#"{{"ph":"X","name":"op","cat":"gemm","ts":{ts},"dur":5,"pid":1,"tid":1,"args":{{"layer":{layer}}}}}"#
            )
        };
        let layers: Vec<String> = (0..n).map(layer).collect();
        let step = r#"{"ph":"X","name":"decode","cat":"step","ts":0,"dur":100,"pid":1,"tid":1}"#;
        format!("[{step},{}]", layers.join(","))
    };
    scene.write("two.json", layers(2));
    scene.write("four.json", layers(4));
    let run = scene.run("gate --base two.json --new four.json").expect_code(2);
    assert_contains(&run.stderr, &["not comparable:\n  not one model: base has 2 layers, new has 4", "--force"]);
    scene.run("gate --base two.json --new four.json --force").expect_code(3);
    let run = scene.run("gate --base two.json --new four.json --json").expect_code(2);
    assert_contains(object(&run.stdout)["error"].as_str().unwrap(), &["not one model"]);
}

#[test]
fn missing_inputs_are_errors() {
    let scene = scene();
    for (base, words) in
        [("runs/none", "there is no such file"), ("*.none", "no file matches"), ("baseline:none", "no such baseline")]
    {
        let run = Run::of(gate(&scene, base, "same", "").output().unwrap()).expect_code(2);
        assert_contains(&run.stderr, &[words]);
    }
}

#[test]
fn junit_is_well_formed_and_escaped() {
    let scene = scene();
    scene.run("gate --base main --new slow --limit step<150us --limit step<=1s --junit out.xml").expect_code(1);
    let xml = String::from_utf8(scene.read("out.xml")).unwrap();
    assert_contains(&xml, &["tests=\"3\" failures=\"2\" errors=\"0\" skipped=\"0\"", "name=\"step&lt;150us\""]);
    assert_eq!(elements(&xml), ["testsuites", "testsuite", "testcase", "failure", "testcase", "failure", "testcase"]);
    scene.run("gate --base main/0.json --new slow/0.json --junit out.xml").expect_code(3);
    let xml = String::from_utf8(scene.read("out.xml")).unwrap();
    assert_eq!(elements(&xml), ["testsuites", "testsuite", "testcase", "skipped"]);
    scene.run("gate --base main/0.json --new slow/0.json --strict --junit out.xml").expect_code(1);
    let xml = String::from_utf8(scene.read("out.xml")).unwrap();
    assert_eq!(elements(&xml), ["testsuites", "testsuite", "testcase", "failure"]);
}

#[test]
fn junit_has_the_error_that_ended_the_gate() {
    let scene = scene();
    scene.write("out.xml", "of an earlier gate");
    let run = scene.run("gate --base main --new false&&true --junit out.xml").expect_code(2);
    let xml = String::from_utf8(scene.read("out.xml")).unwrap();
    assert_contains(&xml, &["tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\""]);
    assert_eq!(elements(&xml), ["testsuites", "testsuite", "testcase", "error"]);
    assert!(run.stderr.contains("error: "), "{}", run.stderr);
}

/// Returns the names of all elements. Panics unless every element is closed and special characters are escaped.
#[track_caller]
fn elements(xml: &str) -> Vec<String> {
    let mut rest = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").unwrap();
    let (mut all, mut open) = (Vec::new(), Vec::new());
    while let Some((text, after)) = rest.split_once('<') {
        assert!(!text.contains('>') && has_entities_only(text), "{text}");
        let (tag, after) = after.split_once('>').unwrap();
        let name: String = tag.chars().take_while(|letter| letter.is_alphanumeric()).collect();
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
        } else {
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            assert!(has_entities_only(tag), "{tag}");
            if !tag.ends_with('/') {
                open.push(name.clone());
            }
            all.push(name);
        }
        rest = after;
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
    all
}

/// Returns true if each `&` begins an entity.
fn has_entities_only(text: &str) -> bool {
    let entities = ["amp;", "lt;", "gt;", "quot;", "apos;"];
    text.split('&').skip(1).all(|rest| entities.iter().any(|entity| rest.starts_with(entity)))
}

#[test]
fn markdown_goes_to_a_file_or_to_the_summary_of_the_job() {
    let scene = scene();
    let run = scene.run("gate --base main --new slow --markdown out.md").expect_code(1);
    assert!(run.stdout.starts_with("FAIL: "), "{}", run.stdout);
    let markdown = String::from_utf8(scene.read("out.md")).unwrap();
    assert_contains(&markdown, &["### FAIL: step changed by", "| metric | base | new |", "| up\\_proj |"]);
    let printed = |path: Option<&str>| {
        let mut command = gate(&scene, "main", "same", "--markdown");
        command.env_remove("GITHUB_STEP_SUMMARY");
        command.envs(path.map(|path| ("GITHUB_STEP_SUMMARY", scene.path(path))));
        Run::of(command.output().unwrap()).expect_code(0).stdout
    };
    assert!(printed(None).starts_with("### PASS: "));
    scene.write("summary.md", "before\n");
    assert!(printed(Some("summary.md")).starts_with("PASS: "));
    let summary = String::from_utf8(scene.read("summary.md")).unwrap();
    assert!(summary.starts_with("before\n### PASS: "), "{summary}");
}

#[test]
fn commands_are_run_alternately_recorded_and_compared() {
    let scene = Scene::new();
    let flags = "--runs 4 --no-early-stop --json --keep kept";
    let finished = process::run(&mut gate(&scene, &program(100), &program(200), flags)).expect_code(1);
    let result = object(&finished.stdout);
    assert_eq!(result["verdict"], "fail");
    assert_eq!(result["interleaved"], true);
    assert_eq!(result["series"], serde_json::json!({"planned": 4, "done": 4, "end": "complete"}));
    let metric = &result["metrics"][0];
    assert_eq!((metric["base"].as_f64().unwrap().round(), metric["new"].as_f64().unwrap().round()), (1e5, 2e5));
    let order: Vec<&str> = finished.stderr.lines().filter_map(|line| line.split(&[',', ':'][..]).nth(1)).collect();
    let warm_up = [" base warm-up 1", " new warm-up 1"];
    let runs = [" base-01", " new-01", " new-02", " base-02", " base-03", " new-03", " new-04", " base-04"];
    assert_eq!(order, [&warm_up[..], &runs[..]].concat());
    assert_contains(&finished.stderr, &["run 3 of 10, base-01: step 100.0 µs, about ", " s left\n"]);
    assert_eq!(std::fs::read_dir(scene.path("kept")).unwrap().count(), 8);
    scene.run("gate --base kept/base-* --new kept/new-* --json").expect_code(1);
    let again = process::run(&mut gate(&scene, "true", "true", "--keep kept --warm-up-runs 0")).expect_code(2);
    assert_contains(&again.stderr, &["base-01: expected a new folder, found an existing one"]);
}

#[test]
fn the_series_stops_when_the_result_is_certain() {
    let scene = Scene::new();
    for (new, code, words) in [(program(200), 1, "FAIL: "), (program(100), 0, "PASS: ")] {
        let finished = process::run(&mut gate(&scene, &program(100), &new, "--warm-up-runs 0")).expect_code(code);
        assert!(finished.stdout.starts_with(words), "{finished}");
        assert_contains(&finished.stdout, &["stopped early, after 6 of 10 runs per side; each interval holds with "]);
        assert!(!finished.stderr.contains("base-07"), "{finished}");
    }
    assert_eq!(scene.names(), [""; 0], "nothing stays");
}

#[test]
fn too_few_runs_are_reported_before_they_are_made() {
    let scene = Scene::new();
    let finished = process::run(&mut gate(&scene, &program(100), &program(100), "--runs 2")).expect_code(3);
    assert_contains(&finished.stderr, &["2 runs per side cannot decide about 1 metric: at least 4 are needed"]);
}

#[test]
fn a_command_that_fails_is_an_error_with_its_last_lines() {
    let scene = Scene::new();
    let failing = format!("{} && echo it is broken && exit 7", program(100));
    let finished = process::run(&mut gate(&scene, &program(100), &failing, "")).expect_code(2);
    let words =
        ["new warm-up 1: `", "expected exit 0, found exit 7", "the program has recorded\n  ", "\n  it is broken\n"];
    assert_contains(&finished.stderr, &words);
    assert_eq!(finished.stdout, "");
    let finished = process::run(&mut gate(&scene, "no-such-engine", "true", "")).expect_code(2);
    assert_contains(
        &finished.stderr,
        &["`no-such-engine`: expected exit 0, found exit 127", "has not found the program"],
    );
    let verbose = process::run(&mut gate(&scene, &failing, "true", "-v")).expect_code(2);
    assert_contains(&verbose.stderr, &["it is broken\n"]);
}

#[test]
fn a_command_that_records_nothing_is_an_error() {
    let scene = Scene::new();
    let finished = process::run(&mut gate(&scene, &program(100), "echo hello", "")).expect_code(2);
    assert_contains(
        &finished.stderr,
        &["new warm-up 1: `echo hello`: recorded nothing", "\n  hello\n", "hint: check that it"],
    );
}

#[test]
fn all_processes_of_a_command_are_one_run() {
    let scene = Scene::new();
    let two = format!("{} && {}", program(100), program(100));
    let finished = process::run(&mut gate(&scene, &two, &two, "--runs 1 --json --keep kept")).expect_code(3);
    let result = object(&finished.stdout);
    assert_eq!((&result["base"]["runs"], &result["base"]["steps"]), (&Value::from(1), &Value::from(2 * N_STEPS)));
    let run = scene.run("gate --base kept/base-01 --new kept/new-01 --json").expect_code(3);
    assert_eq!(object(&run.stdout)["new"]["runs"], 1, "the kept folder is one run too");
}

#[test]
fn limits_work_with_a_command_alone() {
    let scene = Scene::new();
    let mut command = scene.command("gate --runs 2 --limit step<150us --new");
    process::run(command.arg(program(100))).expect_code(0);
    let mut command = scene.command("gate --runs 2 --limit step<150us --new");
    let finished = process::run(command.arg(program(200))).expect_code(1);
    assert_contains(&finished.stdout, &["new-01, new-02"]);
}

/// Interrupts the gate while the second new run hangs.
fn interrupt(signal: &str) -> (Scene, Finished) {
    let scene = Scene::new();
    let hangs = format!("{}; if test -e once; then touch hangs; sleep 1000; else touch once; fi", program(200));
    let flags = "--warm-up-runs 0 --keep kept --limit step<1s";
    let mut running = Running::start(&mut gate(&scene, &program(100), &hangs, flags));
    while !scene.path("hangs").exists() {
        assert!(!running.has_ended(), "{}", running.finish());
        std::thread::yield_now();
    }
    let pid = running.pid().to_string();
    assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
    (scene, running.finish())
}

#[test]
fn an_interruption_keeps_the_runs_that_were_measured() {
    for signal in ["INT", "TERM"] {
        let (scene, finished) = interrupt(signal);
        let finished = finished.expect_code(130);
        let words = ["INTERRUPTED after 1 of 10 runs per side; CANNOT TELL", "step    100.0 µs  200.0 µs  +100 %"];
        assert_contains(&finished.stdout, &words);
        let mut kept: Vec<_> =
            std::fs::read_dir(scene.path("kept")).unwrap().map(|it| it.unwrap().file_name()).collect();
        kept.sort();
        assert_eq!(kept, ["base-01", "new-01"], "the run that was interrupted is removed");
    }
}

#[test]
fn a_baseline_is_saved_shown_used_and_removed() {
    let scene = Scene::new();
    let mut save = scene.command("baseline save main --runs 5 --build v1.2 --command");
    let finished = process::run(save.arg(program(100))).expect_code(0);
    assert_contains(
        &finished.stdout,
        &["saved 5 runs as .ferrum-trace/baselines/main.json", "main: 5 runs, 150 steps"],
    );
    assert_contains(&finished.stderr, &["run 1 of 6, warm-up 1: not measured", "run 6 of 6, run-05: step 100.0 µs\n"]);
    let file = String::from_utf8(scene.read(".ferrum-trace/baselines/main.json")).unwrap();
    let host = Command::new("uname").arg("-n").output().unwrap().stdout;
    let host = String::from_utf8(host).unwrap();
    assert!(!file.contains(&format!("{}-", host.trim())), "the name of the host is not stored");
    let list = scene.run("baseline list").expect_code(0);
    assert_contains(&list.stdout, &["main     5  step    100.0 µs", "v1.2"]);
    let shown = object(&scene.run("baseline show main --json").expect_code(0).stdout);
    assert_eq!((&shown["runs"], &shown["build"]["program"]), (&Value::from(5), &Value::from("v1.2")));
    assert_eq!(shown["metrics"][0]["name"], "step");

    let slower = process::run(&mut gate(&scene, "baseline:main", &program(200), "--runs 5")).expect_code(1);
    let words = [
        "steps: baseline `main`\n",
        "base is the baseline `main`: its runs are of another time",
        "runs were not interleaved in time",
        "up_proj",
    ];
    assert_contains(&slower.stdout, &words);
    process::run(&mut gate(&scene, ".ferrum-trace/baselines/main.json", &program(100), "--runs 5")).expect_code(0);

    let again = scene.run("baseline save main --from nothing").expect_code(2);
    assert_contains(&again.stderr, &["main.json: exists already", "--force"]);
    scene.run("baseline remove main").expect(0, "", "");
    scene.run("baseline list").expect(0, "no baselines in this folder\n", "");
    assert_contains(&scene.run("baseline show main").expect_code(2).stderr, &["no such baseline"]);
}

#[test]
fn an_incompatible_baseline_is_refused() {
    let scene = scene();
    scene.run("baseline save main --from main -o main.baseline").expect_code(0);
    let file = String::from_utf8(scene.read("main.baseline")).unwrap();
    let mut stored: Value = serde_json::from_str(&file).unwrap();
    scene.run("gate --base main.baseline --new same").expect_code(0);
    stored["machine"]["cpu"] = "Another 9000".into();
    stored["machine"]["cores"] = 4096.into();
    // The fields are sorted by name now, so the format comes after the profile; the name of the file does not matter.
    scene.write(".ferrum-trace/baselines/other.json", stored.to_string());
    let refused = scene.run("gate --base baseline:other --new same").expect_code(2);
    let lines =
        ["incompatible baseline:\n  other CPU: `Another 9000` in the baseline, `", "\n  other number of cores: 4096"];
    assert_contains(&refused.stderr, &lines);
    let forced = scene.run("gate --base baseline:other --new same --force").expect_code(0);
    assert_contains(&forced.stdout, &["note: base: other number of cores: 4096 in the baseline, "]);
    stored["version"] = 2.into();
    scene.write(".ferrum-trace/baselines/other.json", stored.to_string());
    let refused = scene.run("gate --base baseline:other --new same").expect_code(2);
    assert_contains(&refused.stderr, &["expected a baseline of version 1, found version 2"]);
    assert_contains(&scene.run("baseline list").expect_code(2).stderr, &["found version 2"]);
}

#[test]
fn other_settings_of_the_recording_are_refused() {
    let scene = Scene::new();
    let mut save = scene.command("baseline save main --runs 2 --command");
    process::run(save.arg(program(100)).env("FERRUM_TRACE_RING", "64MiB")).expect_code(0);
    let finished = process::run(&mut gate(&scene, "baseline:main", &program(100), "--runs 2")).expect_code(2);
    assert_contains(&finished.stderr, &["other setting FERRUM_TRACE_RING: `64MiB` in the baseline, not set here"]);
}

/// Returns the lines of the step of the example workflow that calls the gate.
fn workflow_step() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/gate.yml");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, rest) = text.split_once("- name: Gate\n").unwrap();
    let (_, script) = rest.split_once("run: |\n").unwrap();
    script.lines().take_while(|line| line.starts_with("          ")).map(|line| format!("{}\n", line.trim())).collect()
}

#[test]
fn the_gate_of_the_example_workflow_works() {
    let scene = Scene::new();
    let script = workflow_step();
    assert!(script.contains("ferrum-trace gate"), "{script}");
    for (name, micros) in [("base/target/release/engine", 100), ("new/target/release/engine", 200)] {
        scene.write(name, format!("#!/bin/sh\n{}\n", program(micros)));
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(scene.path(name), mode).unwrap();
    }
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_ferrum-trace")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(scene.path("")).env("PATH", path);
    shell.env("GITHUB_STEP_SUMMARY", scene.path("summary.md"));
    process::run(&mut shell).expect_code(1);
    assert!(String::from_utf8(scene.read("summary.md")).unwrap().starts_with("### FAIL: "));
    assert_eq!(elements(&String::from_utf8(scene.read("gate.xml")).unwrap())[1], "testsuite");
}
