use crate::maker::{Maker, killed};
use crate::scene::Scene;
use serde::Deserialize;

/// The exact fields and their types.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Recovered {
    version: u32,
    file: String,
    output: String,
    pid: u32,
    events: u64,
    threads: u64,
    dropped: u64,
    stop_reason: Option<String>,
    recorder: serde_json::Value,
    finished: bool,
    live: bool,
    kept: Option<String>,
    damaged: u64,
    missing_events_max: u64,
    diagnostics: Vec<Diagnostic>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Diagnostic {
    offset: u64,
    message: String,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Trouble {
    version: u32,
    file: String,
    error: String,
}

fn only_line(stdout: &str) -> &str {
    let line = stdout.strip_suffix('\n').unwrap();
    assert!(!line.contains('\n'), "{line}");
    line
}

#[test]
fn a_recovered_spool_is_one_object() {
    let scene = Scene::new();
    let mut maker = Maker::start(&scene, "trace.json");
    let pid = maker.pid();
    maker.record(10);
    maker.kill();
    let run = scene.run("recover --json trace.json").expect_code(0);
    let found: Recovered = serde_json::from_str(only_line(&run.stdout)).unwrap();
    let recorder = &found.recorder;
    assert_eq!((&recorder["recorded"], &recorder["dropped"]), (&20.into(), &0.into()));
    let expected = Recovered {
        recorder: recorder.clone(),
        version: 1,
        file: "trace.json.spool".to_owned(),
        output: "trace.json".to_owned(),
        pid,
        events: 20,
        threads: 2,
        dropped: 0,
        stop_reason: None,
        finished: false,
        live: false,
        kept: None,
        damaged: 0,
        missing_events_max: 0,
        diagnostics: Vec::new(),
    };
    assert_eq!(found, expected);
    assert_eq!(scene.n_events("trace.json"), 20, "the trace is written all the same");
}

#[test]
fn the_object_has_damage_and_losses() {
    let scene = Scene::new();
    let mut maker = Maker::start_with(&scene, "trace.json", &[("FERRUM_TRACE_LIMIT", "1MiB")]);
    maker.record(100_000);
    maker.kill();
    let mut spool = scene.read("trace.json.spool");
    spool[0x10000..0x10008].fill(0xaa);
    scene.write("trace.json.spool", spool);
    let run = scene.run("recover --json -o out.json trace.json.spool").expect_code(1);
    let found: Recovered = serde_json::from_str(only_line(&run.stdout)).unwrap();
    assert_eq!(found.stop_reason.as_deref(), Some("limit"));
    assert!(found.dropped > 0);
    assert_eq!(found.events, scene.n_events("out.json") as u64);
    assert_eq!((found.damaged, found.kept.as_deref()), (1, Some("incomplete")));
    assert!(found.missing_events_max > 0, "{}", found.missing_events_max);
    let message = "expected a chunk, found 0xaaaaaaaaaaaaaaaa; 32 KiB skipped".to_owned();
    assert_eq!(found.diagnostics, [Diagnostic { offset: 0x10000, message }]);
}

#[test]
fn a_file_that_cannot_be_recovered_has_an_object_with_the_error() {
    let scene = Scene::new();
    killed(&scene, "b.json", 1);
    scene.write("c.json", "{}");
    let run = scene.run("recover --json a.json b.json.spool c.json").expect_code(2);
    let lines: Vec<&str> = run.stdout.lines().collect();
    let trouble = |line: &str| serde_json::from_str::<Trouble>(line).unwrap();
    let error = "a.json: no such file, and no `a.json.spool` either".to_owned();
    assert_eq!(trouble(lines[0]), Trouble { version: 1, file: "a.json".to_owned(), error });
    assert_eq!(serde_json::from_str::<Recovered>(lines[1]).unwrap().file, "b.json.spool");
    assert_eq!(trouble(lines[2]).file, "c.json");
    assert_eq!(lines.len(), 3);
}

#[test]
fn standard_input_is_a_dash() {
    let scene = Scene::new();
    killed(&scene, "trace.json", 1);
    let spool = scene.read("trace.json.spool");
    let run = scene.run_with_stdin("recover --json -o out.json -", &spool).expect_code(0);
    let found: Recovered = serde_json::from_str(only_line(&run.stdout)).unwrap();
    assert_eq!((found.file.as_str(), found.output.as_str()), ("-", "out.json"));
}

#[test]
fn json_and_the_trace_cannot_both_go_to_standard_output() {
    let scene = Scene::new();
    killed(&scene, "trace.json", 1);
    let words = "error: --json: standard output is already used for the trace\n\n\
                 hint: write the trace to a file: `-o PATH`\n";
    scene.run("recover --json -o - trace.json.spool").expect(2, "", words);
    scene.run("recover --json -").expect(2, "", words);
}
