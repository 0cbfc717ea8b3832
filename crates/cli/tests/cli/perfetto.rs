//! Perfetto traces of different writers have the same contents.

use crate::maker::{CHILD, CHILD_ARGS, Maker};
use crate::scene::Scene;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::Stdio;

/// The contents of a trace that do not depend on times.
#[derive(Debug, PartialEq)]
struct Contents {
    /// Slices by name.
    slices: BTreeMap<String, u64>,
    asyncs: Value,
    flows: Value,
    /// Events by phase, without those of slices and metadata.
    phases: BTreeMap<String, u64>,
}

fn contents(scene: &Scene, trace: &str) -> Contents {
    let run = scene.run(&format!("summary --json {trace}")).expect_code(0);
    let summary: Value = serde_json::from_str(&run.stdout).unwrap();
    let rows = summary["rows"].as_array().unwrap().iter();
    let phases = summary["phases"].as_object().unwrap().iter();
    Contents {
        slices: rows.map(|row| (row["name"].as_str().unwrap().to_owned(), row["count"].as_u64().unwrap())).collect(),
        asyncs: summary["asyncs"].clone(),
        flows: summary["flows"].clone(),
        phases: phases
            .filter(|(phase, _)| !["X", "B", "E", "M"].contains(&phase.as_str()))
            .map(|(phase, n)| (phase.clone(), n.as_u64().unwrap()))
            .collect(),
    }
}

/// Returns the names of slices, their number and their total time.
fn times(scene: &Scene, trace: &str) -> Vec<(String, u64, u64)> {
    let run = scene.run(&format!("summary --json {trace}")).expect_code(0);
    let summary: Value = serde_json::from_str(&run.stdout).unwrap();
    let number = |row: &Value, key: &str| row[key].as_u64().unwrap();
    let rows = summary["rows"].as_array().unwrap().iter();
    let mut rows: Vec<_> = rows
        .map(|row| (row["name"].as_str().unwrap().to_owned(), number(row, "total_ns"), number(row, "self_ns")))
        .collect();
    rows.sort();
    rows
}

#[track_caller]
fn assert_clean(scene: &Scene, trace: &str) {
    let run = scene.run(&format!("check {trace}"));
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
}

#[test]
fn all_writers_write_the_same_perfetto_trace() {
    let scene = Scene::new();
    let mut maker = Maker::start(&scene, "t.json");
    maker.record_everything(20);
    maker.flush();
    scene.write("live.spool", scene.read("t.json.spool"));
    maker.exit();
    // Written by the recorder.
    scene.run("recover --keep -o recorded.pftrace live.spool").expect_code(0);
    let expected = contents(&scene, "recorded.pftrace");
    assert_eq!((expected.slices["decode"], expected.slices["copy"]), (20, 20));
    assert_eq!((&expected.asyncs["begins"], &expected.asyncs["steps"]), (&Value::from(40), &Value::from(20)));
    assert_eq!((expected.phases["i"], expected.phases["C"], expected.phases["s"]), (20, 40, 20));
    assert_clean(&scene, "recorded.pftrace");
    scene.run("convert t.json -o from-json.pftrace").expect_code(0);
    scene.run("convert live.spool -o from-spool.pftrace").expect_code(0);
    scene.run("convert recorded.pftrace -o again.pftrace").expect_code(0);
    scene.run("merge t.json -o merged.pftrace").expect_code(0);
    scene.run("repair recorded.pftrace -o repaired.json").expect_code(0);
    scene.run("convert repaired.json -o repaired.pftrace").expect_code(0);
    let times_expected = times(&scene, "recorded.pftrace");
    for trace in ["from-json.pftrace", "from-spool.pftrace", "again.pftrace", "merged.pftrace", "repaired.pftrace"] {
        assert_eq!(contents(&scene, trace), expected, "{trace}");
        assert_eq!(times(&scene, trace), times_expected, "{trace}");
        assert_clean(&scene, trace);
    }
    for (trace, json) in [("t.json", "t.json"), ("from-json.pftrace", "back.json")] {
        if json != trace {
            scene.run(&format!("convert {trace} -o {json}")).expect_code(0);
        }
        assert_clean(&scene, json);
        let Contents { slices, asyncs, flows, .. } = contents(&scene, json);
        assert_eq!((&slices, &asyncs, &flows), (&expected.slices, &expected.asyncs, &expected.flows), "{json}");
    }
}

#[test]
fn record_writes_the_same_perfetto_trace_as_the_recorder() {
    let scene = Scene::new();
    let mut maker = Maker::start(&scene, "itself.pftrace");
    maker.record_everything(20);
    maker.exit();
    let program = std::env::current_exe().unwrap();
    let line = format!("record -o through.pftrace -- {} {}", program.display(), CHILD_ARGS.join(" "));
    let mut command = scene.command(&line);
    let mut running = command.env(CHILD, "1").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    running.stdin.take().unwrap().write_all(b"everything 20\n").unwrap();
    assert!(running.wait().unwrap().success());
    assert_eq!(contents(&scene, "through.pftrace"), contents(&scene, "itself.pftrace"));
    assert_clean(&scene, "through.pftrace");
    assert_clean(&scene, "itself.pftrace");
}
