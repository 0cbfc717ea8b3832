//! `--by` with layers, steps, parents and arguments.

use crate::scene::Scene;

/// Two steps with two layers each, a kernel of the first step that runs during the second, and an upload.
const TRACE: &str = r#"[
{"ph":"X","name":"prefill","cat":"step","ts":0,"dur":100,"pid":1,"tid":1,"args":{"phase":"prefill","batch":1,"prefill_tokens":64,"adapter":"b"}},
{"ph":"X","name":"layer","cat":"layer","ts":0,"dur":50,"pid":1,"tid":1,"args":{"layer":2}},
{"ph":"X","name":"up","cat":"gemm","ts":10,"dur":30,"pid":1,"tid":1,"args":{"m":64}},
{"ph":"X","name":"layer","cat":"layer","ts":50,"dur":40,"pid":1,"tid":1,"args":{"layer":10}},
{"ph":"X","name":"cudaLaunchKernel","cat":"cuda_runtime","ts":60,"dur":10,"pid":1,"tid":1,"args":{"correlation":7}},
{"ph":"X","name":"decode","cat":"step","ts":100,"dur":20,"pid":1,"tid":1,"args":{"phase":"decode","batch":8,"decode_tokens":8}},
{"ph":"X","name":"layer","cat":"layer","ts":100,"dur":10,"pid":1,"tid":1,"args":{"layer":2}},
{"ph":"X","name":"up","cat":"gemm","ts":102,"dur":5,"pid":1,"tid":1,"args":{"m":8}},
{"ph":"X","name":"kernel","cat":"kernel","ts":105,"dur":10,"pid":0,"tid":7,"args":{"correlation":7}},
{"ph":"X","name":"load","cat":"io","ts":200,"dur":30,"pid":1,"tid":1},
{"ph":"b","name":"upload","cat":"io","id":1,"ts":0,"pid":1,"tid":1,"args":{"m":8}},
{"ph":"e","name":"upload","cat":"io","id":1,"ts":7,"pid":1,"tid":1}
]"#;

/// Returns keys, count, total and self time in microseconds of the rows of `summary`.
fn rows(flags: &str, list: &str) -> Vec<(String, u64, u64, u64)> {
    let run = Scene::with("t.json", TRACE).run(&format!("--json {flags} t.json")).expect_code(0);
    let object: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let keys: Vec<&str> = object["by"].as_array().unwrap().iter().map(|key| key.as_str().unwrap()).collect();
    let row = |row: &serde_json::Value| {
        let key: Vec<&str> = keys.iter().map(|&key| row[key].as_str().unwrap()).collect();
        let micros = |field: &str| row[field].as_u64().unwrap_or(0) / 1000;
        (key.join("|"), row["count"].as_u64().unwrap(), micros("total_ns"), micros("self_ns"))
    };
    object[list].as_array().unwrap().iter().map(row).collect()
}

fn row(key: &str, count: u64, total: u64, self_time: u64) -> (String, u64, u64, u64) {
    (key.to_owned(), count, total, self_time)
}

#[test]
fn slices_are_grouped_by_layer() {
    let expected = [row("2", 4, 95, 60), row("10", 3, 60, 50), row("(no layer)", 3, 150, 50)];
    assert_eq!(rows("--by layer --sort name", "rows"), expected);
    let combined = rows("--by layer,name --sort name --filter cat=gemm", "rows");
    assert_eq!(combined, [row("2|up", 2, 35, 35)]);
    let run = Scene::with("t.json", TRACE).run("--by layer --sort self t.json").expect_code(0);
    let labels: Vec<&str> = run.stdout.lines().skip_while(|line| !line.starts_with("layer ")).skip(1).take(3).collect();
    // Equal self times are in the order of layers, those without one last.
    assert!(labels[0].starts_with("2  ") && labels[1].starts_with("10 ") && labels[2].starts_with("(no layer) "));
}

#[test]
fn slices_and_async_operations_are_grouped_by_an_argument() {
    let expected = [row("8", 1, 5, 5), row("64", 1, 30, 30), row("(no m)", 8, 270, 125)];
    assert_eq!(rows("--by arg:m --sort name", "rows"), expected);
    assert_eq!(rows("--by name,arg:m", "async_rows"), [row("upload|8", 1, 7, 0)]);
    assert_eq!(rows("--by name,layer", "async_rows"), [row("upload|(no layer)", 1, 7, 0)]);
}

#[test]
fn slices_are_grouped_by_step_phase_and_parent() {
    let by_step = [row("1", 6, 240, 110), row("2", 3, 35, 20), row("(no step)", 1, 30, 30)];
    assert_eq!(rows("--by step --sort name", "rows"), by_step);
    let by_phase = rows("--by phase --sort name", "rows");
    assert_eq!(by_phase, [row("prefill", 6, 240, 110), row("decode", 3, 35, 20), row("(no phase)", 1, 30, 30)]);
    let kernels = rows("--by step,phase --filter cat=kernel", "rows");
    assert_eq!(kernels, [row("1|prefill", 1, 10, 10)], "the step that launched it");
    let by_parent = rows("--by parent --sort name", "rows");
    let expected =
        [row("decode", 1, 10, 5), row("layer", 3, 45, 45), row("prefill", 2, 90, 50), row("(no parent)", 4, 160, 60)];
    assert_eq!(by_parent, expected);
}

#[test]
fn sums_do_not_depend_on_the_key() {
    let sum = |flags: &str| {
        let rows = rows(flags, "rows");
        rows.iter().fold((0, 0, 0), |sum, row| (sum.0 + row.1, sum.1 + row.2, sum.2 + row.3))
    };
    let by_name = sum("--by name");
    for by in ["layer", "step", "phase", "parent", "arg:m", "layer,arg:m,parent,step,phase,name,track"] {
        assert_eq!(sum(&format!("--by {by}")), by_name, "{by}");
    }
}

#[test]
fn a_key_that_nothing_has_is_reported() {
    let scene = Scene::with("t.json", r#"[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}]"#);
    let run = scene.run("--by layer,step,phase,arg:k t.json").expect_code(1);
    assert!(run.stdout.contains("\n(no layer)  (no step)  (no phase)  (no k)  "), "{}", run.stdout);
    let expected = "t.json: no slice belongs to a layer: looked for an argument `layer`, names such as \
                    `layers.12.attn`, and consecutive tids; no slice belongs to a step; no slice belongs to a step \
                    with a phase; no slice or async operation has an argument `k`\n";
    assert_eq!(run.stderr, expected);
    let run = scene.run("--json --by arg:k t.json").expect_code(1);
    let object: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(object["notes"], serde_json::json!(["no slice or async operation has an argument `k`"]));
    scene.write("empty.json", "[]");
    scene.run("--by layer empty.json").expect_code(0);
    let run = scene.run("--by color t.json").expect_code(2);
    assert!(run.stderr.contains("parent, arg:NAME]"), "{}", run.stderr);
}

#[test]
fn the_time_of_layers_is_split_by_name_or_argument() {
    let scene = Scene::with("t.json", TRACE);
    let by_name = "\
t.json: self time of 2 layers by name, from the argument `layer`

layer       all     layer        up  cudaLaunchKernel    kernel    decode      load   prefill
    2  60.00 µs  25.00 µs  35.00 µs                 -         -         -         -         -
   10  50.00 µs  30.00 µs         -          10.00 µs  10.00 µs         -         -         -
  all  110.0 µs  55.00 µs  35.00 µs          10.00 µs  10.00 µs         -         -         -
 none  50.00 µs         -         -                 -         -  10.00 µs  30.00 µs  10.00 µs
";
    scene.run("layers --by name t.json").expect(0, by_name, "");
    let sums = |flags: &str| {
        let run = scene.run(&format!("layers {flags} t.json")).expect_code(0);
        let rows = run.stdout.lines().skip(3);
        let sum = |row: &str| row.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
        rows.map(sum).collect::<Vec<String>>()
    };
    assert_eq!(sums(""), ["2 60.00 µs", "10 50.00 µs", "all 110.0 µs", "none 50.00 µs"]);
    assert_eq!(sums("--by name"), sums(""));
    assert_eq!(sums("--by arg:m"), sums(""));
    let by_arg = "\
t.json: self time of 2 layers by arg:m, from the argument `layer`

layer       all    (no m)        64         8
    2  60.00 µs  25.00 µs  30.00 µs  5.000 µs
   10  50.00 µs  50.00 µs         -         -
  all  110.0 µs  75.00 µs  30.00 µs  5.000 µs
 none  50.00 µs  50.00 µs         -         -
";
    scene.run("layers --by arg:m t.json").expect(0, by_arg, "");
    let run = scene.run("layers --by arg:m --json --filter cat=gemm t.json").expect_code(0);
    let object: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&object["by"], &object["categories"]), (&"arg:m".into(), &serde_json::json!(["64", "8"])));
    let cell = serde_json::json!({"arg:m": "64", "count": 1, "self_ns": 30_000, "total_ns": 30_000});
    assert_eq!(object["phases"][0]["rows"][0]["cells"][0], cell);
    scene.run("layers --by arg:k t.json").expect(1, "", "t.json: no slice has an argument `k`\n");
    scene.run("layers --by track t.json").expect_code(2);
}

/// Returns a field of the JSON of `steps`.
fn of_steps(trace: &str, flags: &str, field: &str) -> serde_json::Value {
    let run = Scene::with("t.json", trace).run(&format!("steps --json {flags} t.json")).expect_code(0);
    serde_json::from_str::<serde_json::Value>(&run.stdout).unwrap()[field].clone()
}

#[test]
fn steps_are_grouped_by_an_argument_of_their_mark() {
    let groups = of_steps(TRACE, "--by arg:adapter,phase", "groups");
    let group = |n: usize| {
        let group = &groups[n];
        format!(
            "{} {} {} {} {}",
            group["arg:adapter"], group["phase"], group["batch_from"], group["count"], group["total_ns"]
        )
    };
    assert_eq!(groups.as_array().unwrap().len(), 2, "{groups}");
    assert_eq!(group(0), r#""b" "prefill" null 1 115000"#);
    assert_eq!(group(1), r#""(no adapter)" "decode" null 1 20000"#);
    assert_eq!(of_steps(TRACE, "--by arg:adapter,phase", "by"), serde_json::json!(["arg:adapter", "phase"]));
    let run = Scene::with("t.json", TRACE).run("steps --by arg:adapter --slowest 0 t.json").expect_code(0);
    let table: Vec<&str> = run.stdout.lines().skip_while(|line| !line.starts_with("arg:adapter ")).take(4).collect();
    let first = |line: &str| line.split("  ").next().unwrap().to_owned();
    assert_eq!(table.iter().map(|line| first(line)).collect::<Vec<_>>(), ["arg:adapter", "b", "(no adapter)", "all"]);
    let missing = Scene::with("t.json", TRACE).run("steps --by arg:k t.json").expect_code(1);
    assert_eq!(missing.stderr, "t.json: no step has an argument `k`\n");
    assert!(missing.stdout.contains("\n(no k)"), "{}", missing.stdout);
}

#[test]
fn marks_of_other_tools_are_grouped_and_selected_by_what_their_names_state() {
    let trace = r#"[
{"ph":"X","name":"execute_context_0(0)_generation_3(3)","cat":"user_annotation","ts":0,"dur":10,"pid":1,"tid":1},
{"ph":"X","name":"execute_context_0(0)_generation_4(4)","cat":"user_annotation","ts":10,"dur":30,"pid":1,"tid":1},
{"ph":"X","name":"execute_context_2(64)_generation_0(0)","cat":"user_annotation","ts":40,"dur":50,"pid":1,"tid":1}]"#;
    let groups = of_steps(trace, "--by arg:prefill_tokens", "groups");
    let found: Vec<String> = groups
        .as_array()
        .unwrap()
        .iter()
        .map(|group| format!("{} {}", group["arg:prefill_tokens"], group["count"]))
        .collect();
    assert_eq!(found, [r#""0" 2"#, r#""64" 1"#]);
    assert_eq!(of_steps(trace, "--filter arg:batch=4", "count"), 1);
    assert_eq!(of_steps(trace, "--filter arg:phase=dec*", "count"), 2);
}

#[test]
fn the_time_of_steps_is_split_by_layer() {
    let layers = of_steps(TRACE, "--by layer", "layers");
    let expected = serde_json::json!([
        {"layer": 2, "count": 4, "total_ns": 60_000, "device_count": 0, "device_total_ns": 0},
        {"layer": 10, "count": 2, "total_ns": 40_000, "device_count": 1, "device_total_ns": 10_000},
    ]);
    assert_eq!(layers, expected);
    let sum = |list: &serde_json::Value, field: &str| -> i64 {
        list.as_array().unwrap().iter().map(|row| row[field].as_i64().unwrap()).sum()
    };
    assert_eq!(sum(&layers, "total_ns"), sum(&of_steps(TRACE, "", "host_ops"), "total_ns"));
    assert_eq!(sum(&layers, "device_total_ns"), sum(&of_steps(TRACE, "", "device_ops"), "total_ns"));
    assert_eq!(of_steps(TRACE, "", "layers"), serde_json::json!([]));
    assert_eq!(of_steps(TRACE, "--by layer", "groups"), of_steps(TRACE, "", "groups"));
    let expected = "
layer  count  self time of spans  % of it    a step  kernels  on devices  % of it    a step
    2      4            60.00 µs     60.0  30.00 µs        0        0 ns      0.0      0 ns
   10      2            40.00 µs     40.0  20.00 µs        1    10.00 µs    100.0  5.000 µs
";
    let run = Scene::with("t.json", TRACE).run("steps --by layer t.json").expect_code(0);
    assert!(run.stdout.contains(expected), "{}", run.stdout);
    assert!(!run.stdout.contains("\nop "), "{}", run.stdout);
    let step = r#"[{"ph":"X","name":"decode","cat":"step","ts":1,"dur":2,"pid":1,"tid":1}]"#;
    let run = Scene::with("t.json", step).run("steps --by layer t.json").expect_code(1);
    assert!(run.stderr.starts_with("t.json: no layers in steps: looked for an argument `layer`, "), "{}", run.stderr);
}
