use crate::scene::Scene;
use serde_json::Value;

/// A product of 12 MFLOP that takes 24 µs on a device, and a kernel without an operation.
const TRACE: &str = r#"{"deviceProperties":[{"id":0,"name":"NVIDIA L4"}],"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"decode","ts":0,"dur":60,"pid":1,"tid":1},
{"ph":"X","cat":"cpu_op","name":"aten::linear","ts":0,"dur":50,"pid":1,"tid":1,"args":{"Input Dims":[[100,200],[300,200],[]],"Input type":["float","float",""],"Concrete Inputs":["","",""]}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":10,"dur":30,"pid":1,"tid":1,"args":{"Input Dims":[[100,200],[200,300]],"Input type":["float","float"],"Concrete Inputs":["",""]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":20,"dur":5,"pid":1,"tid":1,"args":{"correlation":7}},
{"ph":"X","cat":"kernel","name":"sgemm","ts":100,"dur":24,"pid":0,"tid":7,"args":{"correlation":7}},
{"ph":"X","cat":"kernel","name":"alone","ts":130,"dur":6,"pid":0,"tid":7,"args":{"correlation":99}}
]}"#;

const SLOW: &str = "[slow]\nmemory = 1000\nmatrix.fp32 = 0.1\n";

fn json(scene: &Scene, flags: &str) -> Value {
    serde_json::from_str(&scene.run(&format!("roofline --json {flags} t.json")).expect_code(0).stdout).unwrap()
}

#[test]
fn operations_have_rates_and_shares() {
    let run = Scene::with("t.json", TRACE).run("roofline t.json").expect_code(0);
    assert!(
        run.stdout.starts_with("t.json: 30.00 µs of operations on the device, 80.0 % modelled; NVIDIA L4"),
        "{}",
        run.stdout
    );
    let line = |name: &str| run.stdout.lines().find(|line| line.contains(name)).map(str::to_owned);
    let cells = line("aten::linear").unwrap();
    let cells: Vec<&str> = cells.split_whitespace().collect();
    assert_eq!(cells[1..5], ["m=100", "n=300", "k=200", "fp32"]);
    assert_eq!(cells[cells.len() - 4..], ["0.500", "18.3", "6.1", "neither"]);
    assert_eq!(line("aten::mm"), None, "it is inside of `aten::linear`");
    assert!(line("alone").unwrap().contains("no operation in the file launched it"), "{}", run.stdout);
    assert!(line("decode").is_some() && line("MFU").is_some(), "{}", run.stdout);
}

#[test]
fn a_row_has_the_work_of_one_call() {
    let object = json(&Scene::with("t.json", TRACE), "");
    assert_eq!((&object["timed_on"], &object["device"]["name"]), (&"device".into(), &"NVIDIA L4".into()));
    let row = &object["rows"][0];
    assert_eq!(
        (&row["op"], &row["flop"], &row["bytes"]),
        (&"aten::linear".into(), &12_000_000.into(), &440_000.into())
    );
    assert_eq!((&row["count"], &row["time_ns"], &row["roof"]), (&1.into(), &24_000.into(), &"memory".into()));
    assert_eq!((&object["rows"][1]["op"], &object["rows"][1]["inside"]), (&"aten::mm".into(), &1.into()));
    assert_eq!((&object["modelled_ns"], &object["unmodelled_ns"]), (&24_000.into(), &6_000.into()));
    assert_eq!((&object["phases"][0]["phase"], &object["steps"][0]["step"]), (&"decode".into(), &1.into()));
}

#[test]
fn above_a_peak_is_a_finding() {
    let scene = Scene::with("t.json", TRACE);
    scene.write("slow.txt", SLOW);
    let object = json(&scene, "--devices slow.txt --device slow");
    assert_eq!((&object["rows"][0]["share"], &object["rows"][0]["bound"]), (&Value::Null, &Value::Null));
    let finding = object["findings"][0].as_str().unwrap();
    assert!(finding.contains("would reach 500.0 % of the compute peak of slow"), "{finding}");
    let run = scene.run("roofline --devices slow.txt --device slow t.json").expect_code(0);
    assert!(run.stdout.contains(">100") && run.stdout.contains("finding: "), "{}", run.stdout);
}

#[test]
fn without_a_device_there_are_rates_and_no_shares() {
    let scene = Scene::with("t.json", TRACE.replace("NVIDIA L4", "Fancy 9"));
    let object = json(&scene, "");
    assert_eq!((&object["device"], &object["rows"][0]["share"]), (&Value::Null, &Value::Null));
    assert_eq!(object["rows"][0]["tflop_s"], 0.5);
    assert_eq!(object["notes"][0], "the table has no device `Fancy 9`: shares of peaks are not known");
}

/// A graph of two nodes: a product, and a kernel of an operation without a formula.
const CAPTURE: &str = r#"{"traceEvents":[
{"ph":"X","cat":"cuda_runtime","name":"cudaStreamBeginCapture","ts":0,"dur":1,"pid":1,"tid":1},
{"ph":"X","cat":"cpu_op","name":"aten::linear","ts":10,"dur":20,"pid":1,"tid":1,"args":{"Input Dims":[[100,200],[300,200],[]],"Input type":["float","float",""],"Concrete Inputs":["","",""]}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":11,"dur":15,"pid":1,"tid":1,"args":{"Input Dims":[[100,200],[200,300]],"Input type":["float","float"],"Concrete Inputs":["",""]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":12,"dur":2,"pid":1,"tid":1,"args":{"kernel":"sgemm"}},
{"ph":"X","cat":"cpu_op","name":"aten::sort","ts":40,"dur":20,"pid":1,"tid":1,"args":{"Input Dims":[[100]]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":42,"dur":2,"pid":1,"tid":1,"args":{"kernel":"sort"}},
{"ph":"X","cat":"cuda_runtime","name":"cudaStreamEndCapture","ts":70,"dur":1,"pid":1,"tid":1}]}"#;

/// Two replays of the graph.
const REPLAYS: &str = r#"{"deviceProperties":[{"id":0,"name":"NVIDIA L4"}],"traceEvents":[
{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","ts":0,"dur":5,"pid":1,"tid":1,"args":{"correlation":1}},
{"ph":"X","cat":"kernel","name":"sgemm","ts":10,"dur":24,"pid":0,"tid":7,"args":{"correlation":1}},
{"ph":"X","cat":"kernel","name":"sort","ts":40,"dur":6,"pid":0,"tid":7,"args":{"correlation":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","ts":50,"dur":5,"pid":1,"tid":1,"args":{"correlation":2}},
{"ph":"X","cat":"kernel","name":"sgemm","ts":60,"dur":26,"pid":0,"tid":7,"args":{"correlation":2}},
{"ph":"X","cat":"kernel","name":"sort","ts":90,"dur":4,"pid":0,"tid":7,"args":{"correlation":2}}]}"#;

#[test]
fn operations_of_replayed_graphs_have_the_shapes_of_their_capture() {
    let scene = Scene::with("t.json", REPLAYS);
    scene.write("capture.json", CAPTURE);
    let run = scene.run("roofline t.json").expect_code(1);
    assert!(run.stderr.contains("no operations with shapes"), "{}", run.stderr);
    let object = json(&scene, "--capture capture.json");
    let row = |place: usize| &object["rows"][place];
    assert_eq!(
        (&row(0)["op"], &row(0)["flop"], &row(0)["count"]),
        (&"aten::linear".into(), &12_000_000.into(), &2.into())
    );
    assert_eq!((&row(0)["time_ns"], &row(0)["inside"], &row(0)["dtype"]), (&50_000.into(), &0.into(), &"fp32".into()));
    assert_eq!((&row(1)["op"], &row(1)["inside"], &row(2)), (&"aten::mm".into(), &2.into(), &&Value::Null));
    assert_eq!((&object["modelled_ns"], &object["unmodelled_ns"]), (&50_000.into(), &10_000.into()));
    let unmodelled = &object["unmodelled"][0];
    assert_eq!((&unmodelled["name"], &unmodelled["count"]), (&"aten::sort".into(), &2.into()));
    assert_eq!(object["capture"]["matched"], 4);
}

#[test]
fn operations_whose_kernels_are_not_in_the_file_have_no_rates() {
    let events = TRACE.lines().filter(|line| !line.contains(r#""cat":"kernel""#)).collect::<Vec<_>>().join("\n");
    let scene = Scene::with("t.json", events.replace("}},\n]}", "}}\n]}"));
    let run = scene.run("roofline t.json").expect_code(1);
    assert!(run.stderr.contains("they launch kernels, and the file has no kernels"), "{}", run.stderr);
    assert_eq!(run.stdout, "");
}

#[test]
fn the_peaks_of_the_cpu_can_be_measured() {
    let on_host = r#"[{"ph":"X","cat":"gemm","name":"qkv","ts":0,"dur":1000000,"pid":1,"tid":1,"args":{"m":4,"n":5,"k":6,"dtype":"f32"}}]"#;
    let scene = Scene::with("t.json", on_host);
    let printed = scene.run("roofline --measure-cpu --print-devices").expect_code(0).stdout;
    let name = printed.lines().nth(1).unwrap().trim_matches(['[', ']']).to_owned();
    assert!(printed.contains("\nmemory = ") && printed.contains("\nvector.fp32 = "), "{printed}");
    scene.write("cpu.txt", printed);
    let object = json(&scene, "--measure-cpu");
    assert_eq!((&object["timed_on"], &object["device"]["name"]), (&"host".into(), &name.clone().into()));
    assert!(object["rows"][0]["share"].as_f64().unwrap() > 0.0, "{object}");
    let of_file = json(&scene, "--devices cpu.txt");
    assert_eq!(of_file["device"], Value::Null, "a trace of this recorder names no device");
    let run = scene.run("roofline --measure-cpu --device cpu t.json").expect_code(2);
    assert!(run.stderr.contains("cannot be used with"), "{}", run.stderr);
}

#[test]
fn the_table_of_devices_can_be_printed_and_read() {
    let scene = Scene::with("t.json", TRACE);
    let printed = scene.run("roofline --print-devices").expect_code(0).stdout;
    scene.write("devices.txt", printed);
    assert_eq!(json(&scene, "--devices devices.txt"), json(&scene, ""));
    scene.write("bad.txt", "[a]\nspeed = 1\n");
    let run = scene.run("roofline --devices bad.txt t.json").expect_code(2);
    assert!(run.stderr.contains("bad.txt: line 2: expected `match`"), "{}", run.stderr);
    let run = scene.run("roofline --device nothing t.json").expect_code(2);
    assert!(run.stderr.contains("expected a device of the table, found `nothing`"), "{}", run.stderr);
    assert!(scene.run("roofline").expect_code(2).stderr.contains("FILE"));
}

#[test]
fn a_trace_without_shapes_has_no_roofline() {
    let scene = Scene::with("t.json", r#"[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}]"#);
    let run = scene.run("roofline -o t.svg t.json").expect_code(1);
    assert!(run.stderr.contains("no operations with shapes: looked for"), "{}", run.stderr);
    assert_eq!(scene.names(), ["t.json"], "no picture of nothing");
}

#[test]
fn the_roofline_is_drawn_in_each_format() {
    let scene = Scene::with("t.json", TRACE);
    for (name, begin) in [("a.svg", "<svg "), ("a.html", "<!doctype html>"), ("a.png", "\u{fffd}PNG")] {
        scene.run(&format!("roofline -o {name} t.json")).expect_code(0);
        let picture = String::from_utf8_lossy(&scene.read(name)).into_owned();
        assert!(picture.starts_with(begin), "{name}");
        if name == "a.svg" {
            assert!(picture.contains("memory 300 GB/s") && picture.contains("aten::linear m=100"), "{picture}");
        }
        scene.run(&format!("roofline -o {name} t.json")).expect_code(2);
    }
    scene.run("roofline -o a.gif t.json").expect_code(2);
}
