use crate::scene::{Run, Scene};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::process::Stdio;

const TRACE: &str = r#"{"traceEvents":[
{"ph":"X","name":"outer","cat":"c","ts":0,"dur":10,"pid":1,"tid":1},
{"ph":"X","name":"inner","cat":"c","ts":2.5,"dur":1.001,"pid":1,"tid":1},
{"ph":"i","name":"mark","ts":5,"pid":1,"tid":1,"s":"t"}]}"#;

fn scene() -> Scene {
    let scene = Scene::new();
    scene.write("t.json", TRACE);
    scene
}

#[test]
fn the_ending_of_the_output_tells_the_format() {
    let scene = scene();
    let begins = [
        ("a.json", "{"),
        ("a.pftrace", "\n"),
        ("a.speedscope.json", "{"),
        ("a.folded", ""),
        ("a.txt", ""),
        ("a.svg", "<?xml"),
        ("a.csv", ""),
        ("a.json.gz", "\u{1f}"),
        ("a.csv.zst", "("),
    ];
    for (name, begin) in begins {
        let run = scene.run(&format!("convert t.json -o {name}")).expect_code(0);
        assert_eq!(run.stdout, "");
        assert!(run.stderr.starts_with("t.json: 3 events read") && run.stderr.contains(name), "{}", run.stderr);
        let bytes = scene.read(name);
        assert!(!bytes.is_empty() && String::from_utf8_lossy(&bytes).starts_with(begin), "{name}");
    }
    assert_eq!(scene.read("a.folded"), scene.read("a.txt"));
    let speedscope: serde_json::Value = serde_json::from_slice(&scene.read("a.speedscope.json")).unwrap();
    assert!(speedscope["$schema"].as_str().unwrap().contains("speedscope"), "{speedscope}");
}

#[test]
fn chrome_json_comes_back_to_the_nanosecond() {
    let scene = scene();
    scene.run("convert t.json --to chrome-array -o a.json").expect_code(0);
    assert!(scene.read("a.json").starts_with(b"["));
    scene.run("convert --as-is t.json -o b.json").expect_code(0);
    let rows = |name: &str| {
        let run = scene.run(&format!("--json {name}")).expect_code(0);
        serde_json::from_str::<serde_json::Value>(&run.stdout).unwrap()["rows"].clone()
    };
    assert_eq!(rows("t.json")[1]["total_ns"], 1001);
    assert_eq!([rows("a.json"), rows("b.json")], [rows("t.json"), rows("t.json")]);
}

#[test]
fn what_has_no_place_in_the_output_is_told() {
    let scene = Scene::new();
    let slices = r#"{"ph":"X","name":"a","ts":0,"dur":10,"pid":1,"tid":1},{"ph":"X","name":"b","ts":5,"dur":10,"pid":1,"tid":1}"#;
    scene.write("t.json", format!(r#"[{slices},{{"ph":"B","name":"c","ts":20,"pid":1,"tid":1}},{{"ph":"i","name":"m","ts":1,"pid":1,"tid":1}}]"#));
    let run = scene.run("convert t.json -o t.csv").expect_code(0);
    assert!(run.stderr.contains("\n  1 begin without an end\n"), "{}", run.stderr);
    assert!(run.stderr.contains("\n  events of phases that have no place in it: 1 i\n"), "{}", run.stderr);
    let run = scene.run("convert t.json -o t.pftrace").expect_code(0);
    assert!(run.stderr.contains("\n  1 slice moved to a row beside, "), "{}", run.stderr);
    let run = scene.run("t.pftrace").expect_code(0);
    assert!(run.stdout.starts_with("t.pftrace: Perfetto trace\n"), "{}", run.stdout);
}

#[test]
fn without_an_output_files_lie_beside_their_traces() {
    let scene = scene();
    scene.write("u.json.gz", TRACE);
    let run = scene.run("convert --to csv t.json u.json.gz").expect_code(0);
    assert_eq!(run.stderr.matches(" written to ").count(), 2, "{}", run.stderr);
    assert_eq!(scene.names(), ["t.csv", "t.json", "u.csv", "u.json.gz"]);
    let run = scene.run("convert --to csv t.json").expect_code(2);
    assert!(run.stderr.starts_with("error: t.csv: exists already"), "{}", run.stderr);
    scene.run("convert --force --to csv t.json").expect_code(0);
    let run = scene.run("convert --force --to chrome t.json").expect_code(2);
    assert!(run.stderr.starts_with("error: t.json: what is made of it would have its own name\n"), "{}", run.stderr);
    assert_eq!(scene.read("t.json"), TRACE.as_bytes());
}

#[test]
fn pipes_lead_in_and_out() {
    let scene = scene();
    let run = scene.run("convert --to folded -o - t.json").expect_code(0);
    assert_eq!(run.stdout.lines().count(), 2, "{}", run.stdout);
    assert!(run.stderr.starts_with("t.json: 3 events read; 2 slices written to standard output\n"), "{}", run.stderr);
    for to in ["chrome", "csv"] {
        let run = scene.run_with_stdin(&format!("convert --to {to} -"), TRACE.as_bytes()).expect_code(0);
        assert!(run.stdout.contains("inner"), "{}", run.stdout);
    }
    for to in ["chrome", "perfetto", "speedscope", "folded", "svg", "csv"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let line = format!("convert --to {to} -o - t.json");
        Run::of(scene.command(&line).stdout(writer).stderr(Stdio::piped()).output().unwrap()).expect(0, "", "");
    }
}

#[test]
fn flags_that_make_no_sense_are_refused_before_anything_is_written() {
    let scene = scene();
    scene.write("v.json", TRACE);
    for line in [
        "convert t.json",
        "convert t.json -o -",
        "convert t.json -o x.gif",
        "convert t.json --to gif",
        "convert t.json --as-is -o x.csv",
        "convert t.json u.json -o x.csv",
        "convert -f *.js* -o x.csv",
        "convert t.json --json --to csv -o -",
        "convert missing.json -o x.csv",
    ] {
        let run = scene.run(line).expect_code(2);
        assert!(run.stderr.starts_with("error: ") && run.stdout.is_empty(), "{line}: {run:?}");
    }
    assert_eq!(scene.names(), ["t.json", "v.json"]);
}

#[test]
fn files_are_made_although_nobody_reads_the_json() {
    let scene = scene();
    scene.write("u.json", TRACE);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = scene.command("convert --json --to csv t.json u.json");
    Run::of(command.stdout(writer).stderr(Stdio::piped()).output().unwrap()).expect_code(0);
    assert_eq!(scene.names(), ["t.csv", "t.json", "u.csv", "u.json"]);
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    version: u32,
    file: String,
    output: String,
    format: String,
    events: u64,
    written: BTreeMap<String, u64>,
    moved: u64,
    shift_ns: i64,
    left: Left,
    repaired: Vec<serde_json::Value>,
    losses: serde_json::Value,
    notes: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Left {
    phases: BTreeMap<String, u64>,
    unclosed: u64,
    unopened: u64,
    unbound_flow_points: u64,
    odd_counter_values: u64,
    cut_stacks: u64,
}

#[test]
fn json_has_every_field_and_no_other() {
    let scene = scene();
    let run = scene.run("convert --json --to csv t.json").expect_code(0);
    let object: Object = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((object.version, object.file.as_str(), object.output.as_str()), (1, "t.json", "t.csv"));
    assert_eq!((object.format.as_str(), object.events, object.moved, object.shift_ns), ("csv", 3, 0, 0));
    assert_eq!((object.written["slices"], object.left.phases["i"]), (2, 1));
    let Left { unclosed, unopened, unbound_flow_points, odd_counter_values, cut_stacks, .. } = object.left;
    assert_eq!(unclosed + unopened + unbound_flow_points + odd_counter_values + cut_stacks, 0);
    assert!(object.repaired.is_empty() && object.notes.is_empty() && object.losses["count"] == 0);
    let run = scene.run("convert --json -o a.json t.json").expect_code(0);
    let object: Object = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((object.format.as_str(), object.written["events"]), ("chrome", 3));
}
