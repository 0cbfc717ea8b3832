use crate::scene::{Run, Scene};
use serde::Deserialize;
use std::io::Read;
use std::process::Stdio;

/// Two slices that overlap in part, in a list without an end.
const BAD: &str = r#"[
{"ph":"X","name":"a","cat":"c","ts":0,"dur":10,"pid":1,"tid":1},
{"ph":"X","name":"b","cat":"c","ts":5,"dur":10,"pid":1,"tid":1}"#;

#[test]
fn the_repaired_trace_is_next_to_the_input_and_has_no_errors() {
    let scene = Scene::with("t.json", BAD);
    let run = scene.run("repair t.json").expect_code(0);
    assert_eq!(run.stdout, "");
    assert!(run.stderr.starts_with("t.json: 2 events read, "), "{}", run.stderr);
    assert!(run.stderr.contains(" written to t.repaired.json; changed:\n"), "{}", run.stderr);
    assert!(run.stderr.contains("\n  overlap "), "{}", run.stderr);
    assert_eq!(scene.names(), ["t.json", "t.repaired.json"]);
    assert_eq!(scene.read("t.json"), BAD.as_bytes());
    scene.run("check t.repaired.json").expect_code(0);
    let run = scene.run("repair -o again.json t.repaired.json").expect_code(0);
    assert!(run.stderr.ends_with("; no changes needed\n"), "{}", run.stderr);
}

#[test]
fn existing_files_are_replaced_only_with_force() {
    let scene = Scene::with("t.json", BAD);
    let run = scene.run("repair -o t.json t.json").expect_code(2);
    assert!(run.stderr.starts_with("error: t.json: already exists\n"), "{}", run.stderr);
    assert_eq!(scene.read("t.json"), BAD.as_bytes());
    scene.run("repair --force -o t.json t.json").expect_code(0);
    scene.run("check t.json").expect_code(0);
    assert_eq!(scene.names(), ["t.json"]);
}

#[test]
fn the_extension_of_the_output_compresses_it() {
    let scene = Scene::with("t.json", BAD);
    scene.run("repair -o t.json.gz t.json").expect_code(0);
    scene.run("repair -o t.json.zst t.json").expect_code(0);
    let mut text = String::new();
    flate2::read::GzDecoder::new(&scene.read("t.json.gz")[..]).read_to_string(&mut text).unwrap();
    serde_json::from_str::<serde_json::Value>(&text).unwrap();
    for name in ["t.json.gz", "t.json.zst"] {
        let run = scene.run(&format!("check --json {name}")).expect_code(0);
        let object: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(object["containers"].as_array().unwrap().len(), 1, "{object}");
    }
}

#[test]
fn standard_input_is_repaired_to_standard_output() {
    let scene = Scene::with("t.json", BAD);
    let run = scene.run_with_stdin("repair -", BAD.as_bytes()).expect_code(0);
    let trace: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(trace["traceEvents"].as_array().unwrap().len() >= 2);
    assert!(run.stderr.starts_with("standard input: 2 events read"), "{}", run.stderr);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let run = Run::of(scene.command("repair -o - t.json").stdout(writer).stderr(Stdio::piped()).output().unwrap());
    run.expect(0, "", "");
}

#[test]
fn a_failed_repair_leaves_no_file() {
    let scene = Scene::with("t.json", BAD);
    scene.write("no.json", "<html>");
    let run = scene.run("repair no.json t.json").expect_code(2);
    assert!(run.stderr.starts_with("error: no.json: byte 0: expected a trace"), "{}", run.stderr);
    assert_eq!(scene.names(), ["no.json", "t.json", "t.repaired.json"]);
    for line in ["repair -o x.json t.json no.json", "repair --json -o - t.json", "repair --json -"] {
        scene.run(line).expect_code(2);
    }
    assert_eq!(scene.names(), ["no.json", "t.json", "t.repaired.json"]);
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    version: u32,
    file: String,
    output: String,
    events: u64,
    written: u64,
    repaired: Vec<Repaired>,
    left_out: Vec<Repaired>,
    shift_ns: i64,
    fields_lost: u64,
    args_lost: u64,
    recorder: Option<serde_json::Value>,
    notes: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Repaired {
    code: String,
    count: u64,
    what: String,
    repair: String,
    first: Vec<serde_json::Value>,
}

#[test]
fn json_has_every_field_and_no_other() {
    let run = Scene::with("t.json", BAD).run("repair --json t.json").expect_code(0);
    let object: Object = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((object.version, object.file.as_str(), object.output.as_str()), (1, "t.json", "t.repaired.json"));
    assert!(object.events == 2 && object.written >= 2, "{object:?}");
    assert_eq!((object.shift_ns, object.fields_lost, object.args_lost), (0, 0, 0));
    assert!(object.left_out.is_empty() && object.notes.is_empty() && object.recorder.is_none(), "{object:?}");
    let overlap = object.repaired.iter().find(|it| it.code == "overlap").unwrap();
    let Repaired { count, what, repair, first, .. } = overlap;
    assert!(*count == 1 && !what.is_empty() && !repair.is_empty() && first.len() == 1, "{overlap:?}");
}
