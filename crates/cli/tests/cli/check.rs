use crate::scene::Scene;
use serde::Deserialize;

const GOOD: &str = r#"{"traceEvents":[{"ph":"X","name":"a","cat":"c","ts":1,"dur":2,"pid":1,"tid":1}]}"#;
/// Two slices that overlap in part.
const BAD: &str = r#"{"traceEvents":[
{"ph":"X","name":"a","cat":"c","ts":0,"dur":10,"pid":1,"tid":1},
{"ph":"X","name":"b","cat":"c","ts":5,"dur":10,"pid":1,"tid":1}]}"#;
/// Only notes: a list, and slices without categories.
const NOTED: &str = r#"[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}]"#;

fn scene() -> Scene {
    let scene = Scene::new();
    for (name, text) in [("good.json", GOOD), ("bad.json", BAD), ("noted.json", NOTED), ("no.json", "{\"a\":1}")] {
        scene.write(name, text);
    }
    scene
}

#[test]
fn errors_are_findings_and_notes_are_not() {
    let scene = scene();
    scene.run("check good.json").expect(0, "good.json: 1 event: no problems found\n", "");
    let run = scene.run("check noted.json").expect_code(0);
    assert!(run.stdout.starts_with("noted.json: 1 event: 2 notes\n"), "{}", run.stdout);
    let run = scene.run("check good.json bad.json noted.json").expect_code(1);
    assert!(run.stdout.contains("\nbad.json: 2 events: 1 error\n"), "{}", run.stdout);
    let run = scene.run("check bad.json no.json").expect_code(2);
    assert!(run.stderr.starts_with("error: no.json: byte 0: expected a trace"), "{}", run.stderr);
}

#[test]
fn each_finding_has_a_line() {
    let run = scene().run("check bad.json").expect_code(1);
    let lines: Vec<&str> = run.stdout.lines().collect();
    let cells: Vec<&str> = lines[2].split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!(cells, ["error", "overlap", "1", "PCS", "82", "moves it to an extra thread, `NAME (2)`"]);
    assert_eq!(lines[3], "viewers: P Perfetto, C chrome://tracing, S speedscope");
    let run = scene().run("check -v bad.json").expect_code(1);
    assert!(run.stdout.contains("error overlap, 1 time: A slice that partly overlaps"), "{}", run.stdout);
    assert!(run.stdout.contains("\n  byte 82: {\"ph\":\"X\",\"name\":\"b\""), "{}", run.stdout);
}

#[test]
fn a_pipe_is_checked_in_two_passes() {
    let scene = scene();
    let run = scene.run_with_stdin("check -", BAD.as_bytes()).expect_code(1);
    assert!(run.stdout.starts_with("standard input: 2 events: 1 error\n"), "{}", run.stdout);
    assert!(run.stdout.contains(" 82 "), "{}", run.stdout);
    // A stream that is not a trace is not read to its end.
    scene.run("check /dev/zero").expect_code(2);
}

#[test]
fn other_formats_are_checked_as_chrome_json() {
    let scene = scene();
    scene.run("convert good.json -o t.pftrace").expect_code(0);
    let run = scene.run("check t.pftrace");
    assert_eq!(run.stderr, "t.pftrace: a Perfetto trace is checked after conversion to Chrome trace JSON\n");
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    version: u32,
    file: String,
    kind: String,
    containers: Vec<String>,
    form: String,
    events: u64,
    errors: u64,
    findings: Vec<Finding>,
    recorder: Option<serde_json::Value>,
    notes: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Finding {
    code: String,
    severity: String,
    what: String,
    count: u64,
    viewers: Vec<String>,
    harm: String,
    repair: String,
    first: Vec<Location>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Location {
    offset: u64,
    excerpt: String,
}

#[test]
fn json_has_every_field_and_no_other() {
    let run = scene().run("check --json bad.json").expect_code(1);
    let object: Object = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((object.version, object.file.as_str(), object.kind.as_str()), (1, "bad.json", "Chrome trace JSON"));
    assert_eq!((object.form.as_str(), object.events, object.errors), ("object", 2, 1));
    assert!(object.containers.is_empty() && object.notes.is_empty() && object.recorder.is_none());
    let [Finding { code, severity, what, count, viewers, harm, repair, first }] = &object.findings[..] else {
        panic!("{object:?}")
    };
    assert_eq!((code.as_str(), severity.as_str(), *count), ("overlap", "error", 1));
    assert_eq!(viewers[..], ["Perfetto", "chrome://tracing", "speedscope"]);
    assert!(!what.is_empty() && !harm.is_empty() && !repair.is_empty());
    let [Location { offset, excerpt }] = &first[..] else { panic!("{first:?}") };
    assert!(*offset == 82 && excerpt.contains("\"b\""));
}

#[test]
fn a_byte_order_mark_is_found_and_repaired() {
    let scene = scene();
    scene.write("bom.json", format!("\u{feff}{GOOD}"));
    let run = scene.run("check bom.json").expect_code(1);
    assert!(run.stdout.contains("error     bom"), "{}", run.stdout);
    scene.run("repair bom.json -o repaired.json").expect_code(0);
    scene.run("check repaired.json").expect(0, "repaired.json: 1 event: no problems found\n", "");
}
