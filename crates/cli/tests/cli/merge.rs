//! `merge`: output, report and errors.

use crate::maker::Maker;
use crate::scene::Scene;
use ferrum_trace_testkit::process;
use serde_json::{Value, json};
use std::process::Command;

const TRACE: &str = r#"[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}]"#;

fn document(scene: &Scene, name: &str) -> Value {
    serde_json::from_slice(&scene.read(name)).unwrap()
}

#[test]
fn spools_of_one_host_are_merged_by_its_monotonic_clock() {
    let scene = Scene::new();
    // Sorted neither by rank nor by name.
    let mut makers: Vec<Maker> = [("b.json", "1"), ("a.json", "0"), ("c.json", "2")]
        .iter()
        .map(|(trace, rank)| Maker::start_with(&scene, trace, &[("RANK", rank)]))
        .collect();
    for maker in &mut makers {
        maker.record(100);
    }
    let pids: Vec<u32> = makers.iter().map(Maker::pid).collect();
    makers.into_iter().for_each(Maker::kill);
    let run = scene.run("merge --json b.json.spool a.json.spool c.json.spool -o all.json").expect_code(0);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let of =
        |key: &str| -> Vec<&Value> { report["inputs"].as_array().unwrap().iter().map(|input| &input[key]).collect() };
    assert_eq!(of("rank"), [&json!(0), &json!(1), &json!(2)]);
    assert_eq!(of("file"), [&json!("a.json.spool"), &json!("b.json.spool"), &json!("c.json.spool")]);
    let boot = std::path::Path::new("/proc/sys/kernel/random/boot_id").exists();
    if boot {
        assert_eq!(of("aligned_by"), [&json!("reference"), &json!("monotonic clock"), &json!("monotonic clock")]);
        assert_eq!(of("error_ns"), [&json!(0), &json!(0), &json!(0)]);
    }
    let document = document(&scene, "all.json");
    let slices = document["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
    for pid in pids {
        assert_eq!(slices.clone().filter(|event| event["pid"] == pid).count(), 200, "every span of process {pid}");
    }
    scene.run("check all.json").expect_code(0);
}

#[test]
fn tables_go_to_standard_error_if_the_trace_goes_to_standard_output() {
    let scene = Scene::new();
    scene.write("rank0.json", TRACE);
    scene.write("rank1.json", TRACE);
    let run = scene.run("merge rank*.json -o all.json").expect_code(0);
    assert_eq!(run.stderr, "");
    for word in ["all.json: 10 events of 2 traces", "rank0.json", "reference", "unknown", "process 1 is 2"] {
        assert!(run.stdout.contains(word), "{word}: {}", run.stdout);
    }
    assert!(run.stdout.contains("rank1.json: the error of its clock is unknown: no collective"), "{}", run.stdout);
    let run = scene.run("merge rank0.json rank1.json -o -").expect_code(0);
    let written: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(written, document(&scene, "all.json"));
    assert!(run.stderr.contains("standard output: 10 events of 2 traces"), "{}", run.stderr);
}

#[test]
fn two_runs_are_merged_but_not_compared_as_ranks() {
    let scene = Scene::new();
    for (name, start_ns) in [("run1.json", 0_i64), ("run2.json", 131_400_000_000)] {
        let about = format!(
            r#"{{"ph":"M","name":"ferrum_trace","pid":7,"args":{{"rank":0,"boot_id":"b","host":"h","start_monotonic_ns":{start_ns}}}}}"#
        );
        let step = r#"{"ph":"X","name":"decode","cat":"step","ts":0,"dur":1000,"pid":7,"tid":7}"#;
        scene.write(name, format!("[{step},{about}]"));
    }
    let run = scene.run("merge run1.json run2.json -o all.json").expect_code(0);
    let message = "not compared as ranks of one run: run1.json and run2.json are both of rank 0; `--ranks 0,1` says that they are;";
    assert!(run.stdout.contains(message) && !run.stdout.contains("waited"), "{}", run.stdout);
    let run = scene.run("merge --ranks 0,1 --align start run1.json run2.json -o - ").expect_code(0);
    let message =
        "not compared as ranks of one run: run1.json ends 131.4 s before run2.json begins; `ferrum-trace steps`";
    assert!(run.stderr.contains(message) && !run.stderr.contains("waited"), "{}", run.stderr);
    let run = scene.run("merge --json --ranks 0,1 run1.json run2.json -o other.json").expect_code(0);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&report["not_ranks"]["reason"], &report["steps"]["rows"]), (&json!("no overlap in time"), &json!([])));
}

#[test]
fn ranks_come_from_names_of_files_and_not_of_folders() {
    let scene = Scene::new();
    for name in ["rank5/a.json", "rank5/b_rank-2.json"] {
        std::fs::create_dir_all(scene.path("rank5")).unwrap();
        scene.write(name, TRACE);
    }
    let run = scene.run("merge --json rank5/a.json rank5/b_rank-2.json -o all.json").expect_code(0);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!([&report["inputs"][0]["rank"], &report["inputs"][1]["rank"]], [&json!(2), &Value::Null]);
}

#[test]
fn the_extension_selects_the_format() {
    let scene = Scene::new();
    scene.write("a.json", TRACE);
    scene.write("b.json", TRACE);
    for name in ["m.json", "m.json.gz", "m.json.zst", "m.pftrace", "m.pftrace.gz"] {
        scene.run(&format!("merge a.json b.json -o {name}")).expect_code(0);
        let report = scene.run(&format!("summary --json {name}")).expect_code(0).stdout;
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!((&report["slices"], &report["processes"]), (&json!(2), &json!(2)), "{name}");
    }
    let run = scene.run("merge a.json -o m.csv").expect_code(2);
    assert!(run.stderr.contains("m.csv: expected an extension `.json` or `.pftrace`"), "{}", run.stderr);
}

#[test]
fn standard_input_is_a_trace_like_any_other() {
    let scene = Scene::new();
    scene.write("a.json", TRACE);
    scene.run_with_stdin("merge - a.json -o all.json", TRACE.as_bytes()).expect_code(0);
    let slices = document(&scene, "all.json");
    let slices = slices["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X").count();
    assert_eq!(slices, 2);
}

#[test]
fn nothing_is_written_if_one_input_is_not_a_trace() {
    let scene = Scene::new();
    scene.write("a.json", TRACE);
    scene.write("page.html", "<html>");
    let expected = "error: page.html: byte 0: expected a trace: JSON that begins with `[` or `{`, found `<html>`\n";
    scene.run("merge a.json page.html -o all.json").expect(2, "", expected);
    let run = scene.run("merge --json a.json missing.json page.html -o all.json").expect_code(2);
    assert!(run.stderr.contains("missing.json"), "{}", run.stderr);
    let report: Value = serde_json::from_str(run.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(report["file"], "missing.json");
    assert_eq!(scene.names(), ["a.json", "page.html"]);
}

#[test]
#[cfg(unix)]
fn more_traces_than_open_files_can_be_merged() {
    let scene = Scene::new();
    for n in 0..50 {
        scene.write(&format!("{n}.json"), TRACE);
    }
    let script = format!("ulimit -n 32; exec {} merge *.json -o all.pftrace", env!("CARGO_BIN_EXE_ferrum-trace"));
    process::run(Command::new("sh").args(["-c", &script]).current_dir(scene.path(""))).expect_success();
    let report = scene.run("summary --json all.pftrace").expect_code(0).stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["slices"], &report["processes"]), (&json!(50), &json!(50)));
}

#[test]
#[cfg(unix)]
fn a_trace_that_is_replaced_between_passes_is_an_error() {
    for (change, words) in [
        ("mv other.json a.json", "a.json: cannot read: it was replaced by another file while it was read"),
        ("printf '[]' > a.json", "a.json: cannot read: its size changed from 54 to 2 bytes while it was read"),
        ("rm a.json", "a.json: cannot read: No such file"),
    ] {
        let scene = Scene::new();
        scene.write("a.json", TRACE);
        scene.write("other.json", TRACE);
        // When the pipe is read, the first trace has been found.
        let script = format!("mkfifo pipe; ({change}; echo '[]') > pipe & exec \"$@\"");
        let mut command = Command::new("sh");
        command.args([
            "-c",
            &script,
            "sh",
            env!("CARGO_BIN_EXE_ferrum-trace"),
            "merge",
            "a.json",
            "pipe",
            "-o",
            "all.json",
        ]);
        let finished = process::run(command.current_dir(scene.path(""))).expect_code(2);
        assert!(finished.stderr.contains(words), "{finished}");
    }
}

#[test]
fn damaged_traces_are_merged_and_reported() {
    let scene = Scene::new();
    scene.write("a.json", TRACE);
    scene.write("cut.json", &TRACE.as_bytes()[..TRACE.len() - 9]);
    let run = scene.run("merge a.json cut.json -o all.json").expect_code(0);
    assert!(run.stderr.contains("cut.json: "), "{}", run.stderr);
    assert!(run.stderr.contains("1 place"), "{}", run.stderr);
}

#[test]
fn existing_files_are_replaced_only_with_force() {
    let scene = Scene::new();
    scene.write("a.json", TRACE);
    scene.write("all.json", "mine");
    let run = scene.run("merge a.json -o all.json").expect_code(2);
    assert!(run.stderr.contains("already exists"), "{}", run.stderr);
    assert_eq!(scene.read("all.json"), b"mine");
    scene.run("merge a.json --force -o all.json").expect_code(0);
    let run = scene.run("merge a.json all.json --force -o all.json").expect_code(2);
    assert!(run.stderr.contains("cannot be the output"), "{}", run.stderr);
}

#[test]
fn invalid_flags_are_refused() {
    let scene = Scene::new();
    scene.write("a.json", TRACE);
    for (line, word) in [
        ("merge a.json", "--output"),
        ("merge --ranks 1,2 a.json -o all.json", "expected 1 rank, one for each trace, found 2"),
        ("merge --ranks x a.json -o all.json", "--ranks"),
        ("merge --json a.json -o -", "standard output is already used for the trace"),
        ("merge --repair a.json -o all.pftrace", "--repair"),
        ("merge --align sometime a.json -o all.json", "sometime"),
    ] {
        let run = scene.run(line).expect_code(2);
        assert!(run.stderr.contains(word), "{line}: {}", run.stderr);
    }
    assert_eq!(scene.names(), ["a.json"]);
}
