use crate::scene::{Run, Scene};
use serde::Deserialize;

/// Two layers by name, in a prefill and in a decode.
const TRACE: &str = r#"[
{"ph":"X","name":"prefill","cat":"step","ts":0,"dur":100,"pid":1,"tid":1},
{"ph":"X","name":"layers.0.attn","cat":"attn","ts":0,"dur":40,"pid":1,"tid":1},
{"ph":"X","name":"layers.1.mlp","cat":"mlp","ts":50,"dur":20,"pid":1,"tid":1},
{"ph":"X","name":"decode","cat":"step","ts":200,"dur":50,"pid":1,"tid":1},
{"ph":"X","name":"layers.0.attn","cat":"attn","ts":200,"dur":10,"pid":1,"tid":1},
{"ph":"X","name":"layers.1.mlp","cat":"mlp","ts":220,"dur":5,"pid":1,"tid":1}
]"#;

#[test]
fn layers_are_rows_and_categories_are_columns() {
    let expected = "\
t.json: self time of 2 layers, from names

layer       all      attn       mlp      step
    0  50.00 µs  50.00 µs         -         -
    1  25.00 µs         -  25.00 µs         -
  all  75.00 µs  50.00 µs  25.00 µs         -
 none  75.00 µs         -         -  75.00 µs
";
    Scene::with("t.json", TRACE).run("layers t.json").expect(0, expected, "");
}

#[test]
fn phases_are_side_by_side() {
    let run = Scene::with("t.json", TRACE)
        .run("layers --phase prefill --phase dec* --phase none --filter cat=[!s]* --filter cat=?????? t.json");
    let words = "t.json: no layers: looked for an argument `layer`, names such as `layers.12.attn`, and consecutive tids; the file has \
                 6 slices (2 `step`, 2 `attn`, 2 `mlp`) and no async events, of which --filter and --within leave 0\n";
    run.expect(1, "", words);
    let run = Scene::with("t.json", TRACE)
        .run("layers --phase prefill --phase dec* --filter name=layers* t.json")
        .expect_code(0);
    let lines: Vec<Vec<&str>> = run
        .stdout
        .lines()
        .skip(2)
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert_eq!(lines[0], ["layer", "prefill all", "prefill attn", "prefill mlp", "dec* all", "dec* attn", "dec* mlp"]);
    assert_eq!(lines[1], ["0", "40.00 µs", "40.00 µs", "-", "10.00 µs", "10.00 µs", "-"]);
    let run = Scene::with("t.json", TRACE).run("layers --phase nothing --phase decode t.json").expect_code(0);
    assert_eq!(run.stderr, "t.json: no slice name matches `nothing`\n");
    let words = "t.json: no slice name matches `nothing`: the longest slices of the file are `prefill`, `layers.0.attn`, `decode`, \
                 `layers.1.mlp`\n";
    Scene::with("t.json", TRACE).run("layers --phase nothing t.json").expect(1, "", words);
}

#[test]
fn layers_come_from_an_argument_a_name_or_a_track() {
    let scene = Scene::new();
    let event = |layer: u32, tid: u32| {
        format!(r#"{{"ph":"X","name":"op","ts":{layer},"dur":1,"pid":1,"tid":{tid},"args":{{"layer":{layer}}}}}"#)
    };
    scene.write("t.json", format!("[{},{},{}]", event(3, 0), event(4, 1), event(4, 2)));
    let title = |flags: &str| {
        let run = scene.run(&format!("layers {flags} t.json")).expect_code(0);
        run.stdout.lines().next().unwrap().to_owned()
    };
    assert_eq!(title(""), "t.json: self time of 2 layers, from the argument `layer`");
    assert_eq!(title("--layer-from tid --total"), "t.json: total time of 3 layers, from the tid");
    let words = "t.json: no layers: looked for names such as `layers.12.attn`; the file has 3 slices (3 without a category) and no \
                 async events\n";
    scene.run("layers --layer-from name -o t.svg t.json").expect(1, "", words);
    assert_eq!(scene.names(), ["t.json"], "no picture of nothing");
    let run = scene.run("layers --layer-from name --json t.json").expect_code(1);
    let object: Object = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((object.phases[0].rows.len(), format!("t.json: {}\n", object.notes[0])), (0, run.stderr));
}

#[test]
fn charts_are_replaced_only_with_force() {
    let scene = Scene::with("t.json", TRACE);
    for (name, begin) in [("a.svg", "<svg "), ("a.html", "<!doctype html>"), ("a.png", "\u{fffd}PNG")] {
        let line = format!("layers --phase prefill --phase decode -o {name} t.json");
        let run = scene.run(&line).expect_code(0);
        assert_eq!(run.stderr, format!("t.json: drawn to {name}\n"));
        assert!(String::from_utf8_lossy(&scene.read(name)).starts_with(begin), "{name}");
        let run = scene.run(&line).expect_code(2);
        assert!(run.stderr.starts_with(&format!("error: {name}: already exists")), "{}", run.stderr);
        scene.run(&format!("{line} --force")).expect_code(0);
    }
    assert_eq!(scene.names(), ["a.html", "a.png", "a.svg", "t.json"]);
    for line in ["layers -o a.gif t.json", "layers -o - t.json", "layers -o b.svg t.json t.json x.json"] {
        let run = scene.run(line).expect_code(2);
        assert!(run.stderr.contains("expected ") || run.stderr.contains("needs exactly one FILE"), "{}", run.stderr);
    }
    assert_eq!(scene.names(), ["a.html", "a.png", "a.svg", "t.json"]);
}

#[test]
fn a_table_that_is_too_large_is_refused() {
    let scene = Scene::new();
    let event = |n: u32| format!(r#"{{"ph":"X","name":"op","cat":"c{n}","ts":{n},"dur":1,"pid":1,"tid":{n}}}"#);
    let events: Vec<String> = (0..2000).map(event).collect();
    scene.write("t.json", format!("[{}]", events.join(",")));
    let run = scene.run("layers t.json").expect_code(2);
    let words = "error: t.json: 2000 layers and 2000 categories are too many for a table\n";
    assert!(run.stderr.starts_with(words), "{}", run.stderr);
    let run = scene.run("layers --filter cat=c1? -o t.svg t.json").expect_code(0);
    assert_eq!(run.stdout.lines().count(), 15, "{}", run.stdout);
}

#[test]
fn narrow_terminals_show_the_sum_and_the_largest_categories() {
    let scene = Scene::with("t.json", TRACE);
    let run = Run::of(scene.command("layers t.json").env("COLUMNS", "28").output().unwrap()).expect_code(0);
    assert_eq!(run.stdout.lines().nth(2), Some("layer       all      attn"), "{}", run.stdout);
    let last = run.stdout.lines().last();
    assert_eq!(last, Some("hidden at this width: mlp, step; use --wide"));
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    version: u32,
    file: String,
    layer_from: String,
    by: String,
    categories: Vec<String>,
    phases: Vec<Phase>,
    device_without_layer: Unlayered,
    capture: Option<serde_json::Value>,
    losses: serde_json::Value,
    recorder: Option<serde_json::Value>,
    notes: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unlayered {
    by_graph: Work,
    outside_layers: Work,
    unknown_launch: Work,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Work {
    count: u64,
    total_ns: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Phase {
    phase: Option<String>,
    slices: u64,
    rows: Vec<Row>,
    without_layer: Vec<Cell>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    layer: u32,
    count: u64,
    self_ns: i64,
    total_ns: i64,
    cells: Vec<Cell>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Cell {
    cat: String,
    count: u64,
    self_ns: i64,
    total_ns: i64,
}

#[test]
fn json_has_every_field_and_no_other() {
    let run = Scene::with("t.json", TRACE).run("layers --json --phase decode t.json").expect_code(0);
    let object: Object = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((object.version, object.file.as_str(), object.layer_from.as_str()), (1, "t.json", "name"));
    assert_eq!(object.by, "cat");
    assert_eq!(object.categories, ["attn", "mlp", "step"]);
    assert!(object.recorder.is_none());
    assert_eq!((object.losses["count"].as_u64(), object.notes.len()), (Some(0), 0));
    let [Phase { phase, slices, rows, without_layer }] = &object.phases[..] else { panic!("{object:?}") };
    assert_eq!((phase.as_deref(), *slices, rows.len(), without_layer.len()), (Some("decode"), 1, 2, 0));
    let Row { layer, count, self_ns, total_ns, cells } = &rows[1];
    assert_eq!((*layer, *count, *self_ns, *total_ns), (1, 1, 5000, 5000));
    assert_eq!(cells[..], [Cell { cat: "mlp".to_owned(), count: 1, self_ns: 5000, total_ns: 5000 }]);
}

/// Two layers that launch a kernel each, and a graph that is launched outside of layers.
const LAUNCHES: &str = r#"[
{"ph":"X","cat":"user_annotation","name":"step[DECODE bs=4]","ts":0,"dur":50,"pid":1,"tid":1},
{"ph":"X","cat":"python_function","name":"nn.Module: LlamaDecoderLayer_0","ts":0,"dur":9,"pid":1,"tid":1},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":1,"dur":1,"pid":1,"tid":1,"args":{"correlation":1}},
{"ph":"X","cat":"python_function","name":"nn.Module: LlamaDecoderLayer_1","ts":10,"dur":9,"pid":1,"tid":1},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":11,"dur":1,"pid":1,"tid":1,"args":{"correlation":2}},
{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","ts":20,"dur":1,"pid":1,"tid":1,"args":{"correlation":3}},
{"ph":"X","cat":"kernel","name":"a","ts":30,"dur":5,"pid":0,"tid":7,"args":{"correlation":1}},
{"ph":"X","cat":"kernel","name":"b","ts":40,"dur":6,"pid":0,"tid":7,"args":{"correlation":2}},
{"ph":"X","cat":"kernel","name":"gemm","ts":50,"dur":3,"pid":0,"tid":7,"args":{"correlation":3}},
{"ph":"X","cat":"kernel","name":"extra","ts":54,"dur":1,"pid":0,"tid":7,"args":{"correlation":3}},
{"ph":"X","cat":"kernel","name":"norm","ts":56,"dur":4,"pid":0,"tid":7,"args":{"correlation":3}}
]"#;

/// The capture of the graph, with an operation in each of two layers.
const CAPTURE: &str = r#"[
{"ph":"X","cat":"user_annotation","name":"capture_8_decode","ts":0,"dur":90,"pid":1,"tid":1},
{"ph":"X","cat":"cuda_runtime","name":"cudaStreamBeginCapture","ts":1,"dur":1,"pid":1,"tid":1},
{"ph":"X","cat":"python_function","name":"nn.Module: LlamaDecoderLayer_0","ts":10,"dur":9,"pid":1,"tid":1},
{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":11,"dur":4,"pid":1,"tid":1,"args":{"Input Dims":[[8,64],[64,64]]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":12,"dur":1,"pid":1,"tid":1,"args":{"kernel":"gemm"}},
{"ph":"X","cat":"python_function","name":"nn.Module: LlamaDecoderLayer_1","ts":20,"dur":9,"pid":1,"tid":1},
{"ph":"X","cat":"cpu_op","name":"aten::rms_norm","ts":21,"dur":4,"pid":1,"tid":1},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":22,"dur":1,"pid":1,"tid":1,"args":{"kernel":"norm"}},
{"ph":"X","cat":"cuda_runtime","name":"cudaStreamEndCapture","ts":80,"dur":1,"pid":1,"tid":1}
]"#;

#[test]
fn kernels_have_the_layer_of_their_launch() {
    let scene = Scene::with("t.json", LAUNCHES);
    let run = scene.run("layers --filter cat=kernel t.json").expect_code(0);
    let rows: Vec<&str> = run.stdout.lines().skip(2).map(str::trim).collect();
    assert_eq!(
        rows[1..],
        ["0  5.000 µs  5.000 µs", "1  6.000 µs  6.000 µs", "all  11.00 µs  11.00 µs", "none  8.000 µs  8.000 µs"]
    );
    let words =
        "t.json: 8.000 µs of kernels and copies are in no layer: 8.000 µs launched by graphs outside of layers\n";
    assert_eq!(run.stderr, words);
    let run = scene.run("layers --json t.json").expect_code(0);
    let object: Object = serde_json::from_str(&run.stdout).unwrap();
    let Unlayered { by_graph, outside_layers, unknown_launch } = object.device_without_layer;
    assert_eq!(by_graph, Work { count: 3, total_ns: 8_000 });
    assert_eq!((outside_layers.count, unknown_launch.count), (0, 0));
    assert!(object.capture.is_none());
}

#[test]
fn a_trace_that_names_no_layers_says_how_much_device_time_that_concerns() {
    let trace = r#"[{"ph":"X","cat":"kernel","name":"a","ts":30,"dur":5,"pid":0,"tid":7}]"#;
    let run = Scene::with("t.json", trace).run("layers t.json").expect_code(1);
    let first = run.stderr.lines().next().unwrap();
    assert_eq!(first, "t.json: 5.000 µs of kernels and copies are in no layer: the trace names no layers");
}

#[test]
fn a_capture_names_the_kernels_of_replays() {
    let scene = Scene::with("t.json", LAUNCHES);
    scene.write("capture.json", CAPTURE);
    let run = scene.run("layers --capture capture.json --layer-from arg --filter cat=kernel t.json").expect_code(0);
    let rows: Vec<&str> = run.stdout.lines().skip(3).map(str::trim).collect();
    assert_eq!(rows[..2], ["0  3.000 µs  3.000 µs", "1  4.000 µs  4.000 µs"]);
    let lines: Vec<&str> = run.stderr.lines().take(2).collect();
    let expected = [
        "t.json: --capture: 2 of 3 kernels of 1 replay match, 87.5 % of their time",
        "t.json: graph 1, kernel 2: expected nothing, found `extra`, in 1 replay",
    ];
    assert_eq!(lines, expected);
    let run = scene.run("layers --json --capture capture.json t.json").expect_code(0);
    let object: Object = serde_json::from_str(&run.stdout).unwrap();
    let expected = serde_json::json!({
        "replays": 1, "unmatched_replays": 0, "kernels": 3, "total_ns": 8_000, "matched": 2, "matched_ns": 7_000,
        "matched_by_order": 0,
        "mismatches": [{"graph": 0, "position": 1, "expected": null, "found": "extra", "replays": 1}],
    });
    assert_eq!(object.capture, Some(expected));
    let run = scene.run("summary --by arg:operation --capture capture.json --filter cat=kernel t.json").expect_code(0);
    let names = ["aten::mm", "aten::rms_norm", "(no operation)"];
    assert!(names.iter().all(|name| run.stdout.contains(name)), "{}", run.stdout);
    let run = scene.run("steps --by layer --capture capture.json t.json").expect_code(0);
    assert!(run.stderr.contains("2 of 3 kernels of 1 replay match"), "{}", run.stderr);
    let run = scene.run("path --whole --json --capture capture.json t.json").expect_code(0);
    let object: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let time = |layer: usize| object["layers"][layer]["total_ns"].as_i64();
    assert_eq!(object["capture"]["matched"], 2);
    // The kernels of the replay take 3 and 4 µs; the rest are calls.
    assert_eq!((time(0), time(1)), (Some(7_000), Some(5_000)), "{}", object["layers"]);
}

#[test]
fn a_capture_without_graphs_is_refused() {
    let scene = Scene::with("t.json", LAUNCHES);
    let words = "capture of a graph, found no launch between `StreamBeginCapture` and `StreamEndCapture`";
    for command in ["layers", "summary", "steps", "path", "roofline"] {
        let run = scene.run(&format!("{command} --capture t.json t.json")).expect_code(2);
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
    scene.write("capture.json", CAPTURE);
    let run = scene.run("summary --capture capture.json capture.json").expect_code(0);
    assert!(run.stderr.contains("--capture has no effect: the trace has no replays of graphs"), "{}", run.stderr);
}
