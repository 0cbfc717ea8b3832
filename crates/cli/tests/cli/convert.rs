use crate::maker::Maker;
use crate::scene::{Run, Scene};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

const TRACE: &str = r#"{"traceEvents":[
{"ph":"X","name":"outer","cat":"c","ts":0,"dur":10,"pid":1,"tid":1},
{"ph":"X","name":"inner","cat":"c","ts":2.5,"dur":1.001,"pid":1,"tid":1},
{"ph":"i","name":"mark","ts":5,"pid":1,"tid":1,"s":"t"}]}"#;

#[test]
fn the_extension_of_the_output_selects_the_format() {
    let scene = Scene::with("t.json", TRACE);
    let begins = [
        ("a.json", "{"),
        ("a.pftrace", "\n"),
        ("a.speedscope.json", "{"),
        ("a.folded", ""),
        ("a.txt", ""),
        ("a.svg", "<svg "),
        ("a.csv", ""),
        ("a.json.gz", "\u{1f}"),
        ("a.csv.zst", "("),
        ("a.pt.trace.json", "{\"schemaVersion\""),
        ("a.layerwise.json", "{\"context\""),
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
fn chrome_json_round_trips_to_the_nanosecond() {
    let scene = Scene::with("t.json", TRACE);
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
fn data_that_the_format_cannot_represent_is_reported() {
    let scene = Scene::new();
    let slices = r#"{"ph":"X","name":"a","ts":0,"dur":10,"pid":1,"tid":1},{"ph":"X","name":"b","ts":5,"dur":10,"pid":1,"tid":1}"#;
    scene.write("t.json", format!(r#"[{slices},{{"ph":"B","name":"c","ts":20,"pid":1,"tid":1}},{{"ph":"i","name":"m","ts":1,"pid":1,"tid":1}}]"#));
    let run = scene.run("convert t.json -o t.csv").expect_code(0);
    assert!(run.stderr.contains("\n  1 begin without an end\n"), "{}", run.stderr);
    assert!(run.stderr.contains("\n  events of phases that the format cannot represent: 1 i\n"), "{}", run.stderr);
    let run = scene.run("convert t.json -o t.pftrace").expect_code(0);
    assert!(run.stderr.contains("\n  1 slice moved to a new row, "), "{}", run.stderr);
    let run = scene.run("t.pftrace").expect_code(0);
    assert!(run.stdout.starts_with("t.pftrace: Perfetto trace\n"), "{}", run.stdout);
}

#[test]
fn files_are_written_next_to_their_traces_by_default() {
    let scene = Scene::with("t.json", TRACE);
    scene.write("u.json.gz", TRACE);
    let run = scene.run("convert --to csv t.json u.json.gz").expect_code(0);
    assert_eq!(run.stderr.matches(" written to ").count(), 2, "{}", run.stderr);
    assert_eq!(scene.names(), ["t.csv", "t.json", "u.csv", "u.json.gz"]);
    let run = scene.run("convert --to csv t.json").expect_code(2);
    assert!(run.stderr.starts_with("error: t.csv: already exists"), "{}", run.stderr);
    scene.run("convert --force --to csv t.json").expect_code(0);
    let run = scene.run("convert --force --to chrome t.json").expect_code(2);
    assert!(run.stderr.starts_with("error: t.json: the output would overwrite the input\n"), "{}", run.stderr);
    assert_eq!(scene.read("t.json"), TRACE.as_bytes());
}

#[test]
fn standard_input_is_converted_to_standard_output() {
    let scene = Scene::with("t.json", TRACE);
    let run = scene.run("convert --to folded -o - t.json").expect_code(0);
    assert_eq!(run.stdout.lines().count(), 2, "{}", run.stdout);
    assert!(run.stderr.starts_with("t.json: 3 events read; 2 slices written to standard output\n"), "{}", run.stderr);
    for to in ["chrome", "csv"] {
        let run = scene.run_with_stdin(&format!("convert --to {to} -"), TRACE.as_bytes()).expect_code(0);
        assert!(run.stdout.contains("inner"), "{}", run.stdout);
    }
    for to in ["chrome", "perfetto", "speedscope", "folded", "svg", "csv", "torch", "vllm-layerwise"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let line = format!("convert --to {to} -o - t.json");
        Run::of(scene.command(&line).stdout(writer).stderr(Stdio::piped()).output().unwrap()).expect(0, "", "");
    }
}

#[test]
fn invalid_flags_are_refused_before_anything_is_written() {
    let scene = Scene::with("t.json", TRACE);
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
        "convert t.json --rank 1 -o x.csv",
        "convert t.json --world-size 2 -o x.csv",
        "convert t.json --keep-ns -o x.json",
        "convert missing.json -o x.csv",
    ] {
        let run = scene.run(line).expect_code(2);
        assert!(run.stderr.starts_with("error: ") && run.stdout.is_empty(), "{line}: {run:?}");
    }
    assert_eq!(scene.names(), ["t.json", "v.json"]);
}

#[test]
fn files_are_written_after_the_reader_of_the_json_has_closed_the_pipe() {
    let scene = Scene::with("t.json", TRACE);
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
    recorder: Option<serde_json::Value>,
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
    fields: u64,
    unlaunched: u64,
    outside_steps: u64,
    cut_stacks: u64,
    deep_frames: u64,
}

#[test]
fn json_has_every_field_and_no_other() {
    let scene = Scene::with("t.json", TRACE);
    let run = scene.run("convert --json --to csv t.json").expect_code(0);
    let object: Object = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((object.version, object.file.as_str(), object.output.as_str()), (1, "t.json", "t.csv"));
    assert_eq!((object.format.as_str(), object.events, object.moved, object.shift_ns), ("csv", 3, 0, 0));
    assert_eq!((object.written["slices"], object.left.phases["i"]), (2, 1));
    let Left { unclosed, unopened, unbound_flow_points, odd_counter_values, cut_stacks, deep_frames, .. } = object.left;
    assert_eq!(unclosed + unopened + unbound_flow_points + odd_counter_values + cut_stacks + deep_frames, 0);
    assert_eq!(object.left.fields + object.left.unlaunched + object.left.outside_steps, 0);
    assert!(object.recorder.is_none());
    assert!(object.repaired.is_empty() && object.notes.is_empty() && object.losses["count"] == 0);
    let run = scene.run("convert --json -o a.json t.json").expect_code(0);
    let object: Object = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((object.format.as_str(), object.written["events"]), ("chrome", 3));
}

/// Returns the device of the summary of a trace with one device.
fn device_of(scene: &Scene, trace: &str) -> Value {
    let run = scene.run(&format!("--json {trace}")).expect_code(0);
    let summary: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(summary["devices"].as_array().unwrap().len(), 1, "{}", summary["devices"]);
    summary["devices"][0].clone()
}

/// Records two ranks of an engine with a device.
fn two_ranks() -> Scene {
    let scene = Scene::new();
    for rank in 0..2 {
        let mut maker = Maker::start(&scene, &format!("rank{rank}.json"));
        maker.record_device(rank);
        maker.exit();
    }
    scene
}

#[test]
fn a_recorded_device_has_the_same_figures_after_conversion_to_torch() {
    let scene = two_ranks();
    let run = scene.run("convert --to torch rank0.json rank1.json").expect_code(0);
    let made_up = "16 slices of devices with an invented launch, because the trace does not say what launched them";
    assert_eq!(run.stderr.matches(made_up).count(), 2, "{}", run.stderr);
    for rank in 0..2_i64 {
        let recorded = device_of(&scene, &format!("rank{rank}.json"));
        let expected = json!({
            "slices": 16, "kernels": 12, "comm_kernels": 4, "span_ns": 3_650_000, "busy_ns": 2_200_000,
            "idle_ns": 1_450_000, "comm_ns": 4 * (200_000 + 50_000 * rank), "comp_ns": 1_600_000,
            "overlap_ns": 4 * (100_000 + 50_000 * rank), "exposed_comm_ns": 400_000,
        });
        let converted = device_of(&scene, &format!("rank{rank}.pt.trace.json"));
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(&recorded[key], value, "{key} of rank {rank}");
            // All distances are whole microseconds, so rounding moves all times alike.
            assert_eq!(&converted[key], value, "{key} of rank {rank}, converted");
        }
        let document: Value = serde_json::from_slice(&scene.read(&format!("rank{rank}.pt.trace.json"))).unwrap();
        assert_eq!(document["distributedInfo"], json!({"backend": "nccl", "rank": rank, "world_size": 2}));
        assert!(document["baseTimeNanoseconds"].as_u64().unwrap() > 1_700_000_000_000_000_000);
        leave_for_hta(&scene, rank, &converted);
    }
}

/// Leaves a trace for `cargo xtask hta`, with the figures that HolisticTraceAnalysis should find, in microseconds.
fn leave_for_hta(scene: &Scene, rank: i64, device: &Value) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("hta-check");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("rank{rank}.json")), scene.read(&format!("rank{rank}.pt.trace.json"))).unwrap();
    let micros = |key: &str| device[key].as_i64().unwrap() / 1000;
    let expected = json!({
        "idle_us": micros("idle_ns"), "compute_us": micros("comp_ns"), "busy_us": micros("busy_ns"),
        "span_us": micros("span_ns"), "comm_us": micros("comm_ns"), "overlap_us": micros("overlap_ns"),
        "exposed_comm_us": micros("exposed_comm_ns"), "kernels": device["kernels"], "steps": 4,
        "idle_by_stream_us": {"7": 1850, "20": 2400 - 150 * rank},
    });
    fs::write(folder.join(format!("rank{rank}.expect.json")), expected.to_string()).unwrap();
}

#[test]
fn a_recorded_device_is_converted_to_a_profile_of_vllm() {
    let scene = two_ranks();
    let run = scene.run("convert rank1.json -o p.layerwise.json").expect_code(0);
    assert!(run.stderr.starts_with("rank1.json: "), "{}", run.stderr);
    // The plot of vLLM needs both phases.
    let note = "the trace has no prefill steps: a phase without time stands in for them, since vLLM's plot needs one";
    assert!(run.stderr.contains(note), "{}", run.stderr);
    assert!(run.stderr.contains("`prompt_len` is null: the trace does not tell it"), "{}", run.stderr);
    let profile: Value = serde_json::from_slice(&scene.read("p.layerwise.json")).unwrap();
    assert_eq!(profile["context"]["engine_args"]["model"], "rank1.json");
    let names: Vec<&String> = profile.as_object().unwrap().keys().collect();
    assert_eq!(names, ["context", "decode_1", "decode_2", "decode_3", "decode_4", "prefill"]);
    // The launches are unknown, so kernels belong to the step in which they begin.
    let entry = &profile["decode_4"]["summary_stats"][0]["entry"];
    assert_eq!(
        entry,
        &json!({"name": "all_reduce", "cuda_time_us": 250.0, "pct_cuda_time": 250.0 / 7.0, "invocations": 1})
    );
    let run = scene.run("p.layerwise.json").expect_code(0);
    assert!(run.stdout.starts_with("p.layerwise.json: vLLM layerwise profile\n"), "{}", run.stdout);
}

#[test]
fn summary_and_layers_of_a_profile_are_those_of_the_trace() {
    let scene = Scene::new();
    let slice = |name: &str, cat: &str, from: u32, to: u32, args: &str| {
        let dur = to - from;
        format!(
            r#"{{"ph":"X","name":"{name}","cat":"{cat}","ts":{from},"dur":{dur},"pid":1,"tid":1,"args":{{{args}}}}}"#
        )
    };
    let slices = [
        slice("prefill", "step", 0, 100, r#""phase":"prefill""#),
        slice("layer", "layer", 0, 60, r#""layer":0"#),
        slice("qkv", "gemm", 10, 60, ""),
        slice("layer", "layer", 60, 100, r#""layer":1"#),
        slice("decode", "step", 100, 120, r#""phase":"decode""#),
        slice("layer", "layer", 100, 119, r#""layer":1"#),
    ];
    scene.write("t.json", format!("[{}]", slices.join(",")));
    scene.run("convert t.json -o p.layerwise.json").expect_code(0);
    let layers = |trace: &str| {
        let run = scene.run(&format!("layers --json --phase prefill* --phase decode* {trace}")).expect_code(0);
        let layers: Value = serde_json::from_str(&run.stdout).unwrap();
        let sums = |phase: &Value| -> Vec<(Value, i64)> {
            let row = |row: &Value| (row["layer"].clone(), row["self_ns"].as_i64().unwrap());
            phase["rows"].as_array().unwrap().iter().map(row).collect()
        };
        layers["phases"].as_array().unwrap().iter().map(sums).collect::<Vec<_>>()
    };
    assert_eq!(layers("p.layerwise.json"), layers("t.json"));
}

#[test]
fn an_empty_profile_is_refused() {
    let scene = Scene::new();
    scene.write("t.json", r#"[{"ph":"i","name":"mark","ts":5,"pid":1,"tid":1,"s":"t"}]"#);
    let run = scene.run("convert t.json -o p.layerwise.json").expect_code(2);
    assert_eq!(run.stderr, "error: t.json: expected slices in steps, found none\n");
    scene.write("t.json", TRACE);
    let run = scene.run("convert t.json -o p.layerwise.json").expect_code(0);
    assert!(
        run.stderr.contains("no steps found; the whole trace is treated as one step of the phase `prefill`"),
        "{}",
        run.stderr
    );
    let run = scene.run("convert t.json --rank 1 -o x.csv").expect_code(2);
    assert_eq!(run.stderr, "error: --rank: is for `torch` only, not for `csv`\n");
}
