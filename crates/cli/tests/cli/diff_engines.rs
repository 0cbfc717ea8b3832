use crate::scene::Scene;
use serde_json::Value;

/// Two decode steps of an engine on a CPU, with two layers each.
const OURS: &str = r#"[
{"ph":"X","name":"decode","cat":"step","ts":0,"dur":100,"pid":1,"tid":1,"args":{"phase":"decode","batch":2,"decode_tokens":2}},
{"ph":"X","name":"qkv","cat":"gemm","ts":0,"dur":60,"pid":1,"tid":1,"args":{"layer":0}},
{"ph":"X","name":"sdpa","cat":"attention","ts":60,"dur":30,"pid":1,"tid":1,"args":{"layer":1}},
{"ph":"X","name":"tidy up","cat":"io","ts":90,"dur":10,"pid":1,"tid":1},
{"ph":"X","name":"decode","cat":"step","ts":100,"dur":100,"pid":1,"tid":1,"args":{"phase":"decode","batch":2,"decode_tokens":2}},
{"ph":"X","name":"qkv","cat":"gemm","ts":100,"dur":80,"pid":1,"tid":1,"args":{"layer":0}},
{"ph":"X","name":"sdpa","cat":"attention","ts":180,"dur":20,"pid":1,"tid":1,"args":{"layer":1}}
]"#;

/// The same engine, with a product that takes half as long.
fn faster() -> String {
    OURS.replace(r#""dur":80"#, r#""dur":40"#)
}

/// A decode step of vLLM with two layers.
const VLLM: &str = r#"[
{"ph":"X","cat":"user_annotation","name":"execute_context_0(0)_generation_4(4)","pid":9,"tid":9,"ts":0,"dur":10},
{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","pid":9,"tid":9,"ts":2,"dur":6,"args":{"correlation":5}},
{"ph":"X","cat":"kernel","name":"nvjet_tst_64x64","pid":0,"tid":7,"ts":10,"dur":20,"args":{"correlation":5}},
{"ph":"X","cat":"kernel","name":"reshape_and_cache_flash","pid":0,"tid":7,"ts":30,"dur":5,"args":{"correlation":5}},
{"ph":"X","cat":"kernel","name":"reshape_and_cache_flash","pid":0,"tid":7,"ts":35,"dur":5,"args":{"correlation":5}},
{"ph":"X","cat":"kernel","name":"mystery","pid":0,"tid":7,"ts":40,"dur":10,"args":{"correlation":5}}
]"#;

fn scene() -> Scene {
    let scene = Scene::with("ours.json", OURS);
    scene.write("faster.json", faster());
    scene.write("vllm.json", VLLM);
    scene
}

#[test]
fn classes_are_compared_per_step_and_per_token() {
    let expected = "\
base      ours.json: 2 steps marked by ferrum-trace, 2 layers (as slices state), timed on the host
new       faster.json: 2 steps marked by ferrum-trace, 2 layers (as slices state), timed on the host
care      5.0 % of the time of base is in no class; `--rules` adds rules
care      6.2 % of the time of new is in no class; `--rules` adds rules

decode: base 2 steps, batch 2, 4 tokens; new 2 steps, batch 2, 4 tokens
time       base n  new n  base/step  new/step  step ratio  base/token  new/token  token ratio  base %  new %
step            2      2   100.0 µs  100.0 µs       1.000    50.00 µs   50.00 µs        1.000       -      -
gemm            2      2   70.00 µs  50.00 µs       0.714    35.00 µs   25.00 µs        0.714    70.0   62.5
attention       2      2   25.00 µs  25.00 µs       1.000    12.50 µs   12.50 µs        1.000    25.0   31.2
unnamed         1      1   5.000 µs  5.000 µs           -    2.500 µs   2.500 µs            -     5.0    6.2
unnamed in base, in total
  10.00 µs `tidy up`, 1
unnamed in new, in total
  10.00 µs `tidy up`, 1
";
    scene().run("diff --engines ours.json faster.json").expect(0, expected, "");
}

#[test]
fn a_device_and_a_host_have_no_ratios_of_operations() {
    let run = scene().run("diff --engines ours.json vllm.json").expect_code(0);
    for line in [
        "care      operations are timed on the host in base and on the device in new: ratios of steps only",
        "care      decode: mean batch 2 in base and 4 in new: no ratios per step",
        "step              2      1   100.0 µs  50.00 µs           -    50.00 µs   12.50 µs        0.250       -      -",
        "gemm              2      1   70.00 µs  20.00 µs           -    35.00 µs   5.000 µs            -    70.0   50.0",
        "kv_cache          -      2          -  10.00 µs           -           -   2.500 µs            -       -   25.0",
        "unnamed in new, in total",
        "  10.00 µs `mystery`, 1",
    ] {
        assert!(run.stdout.contains(&format!("{line}\n")), "{line}\n{}", run.stdout);
    }
}

#[test]
fn different_models_have_times_per_layer_and_no_ratios() {
    let scene = scene();
    scene.write(
        "deeper.json",
        OURS.replace(r#"{"layer":0}"#, r#"{"layer":2}"#).replacen(r#"{"layer":2}"#, r#"{"layer":0}"#, 1),
    );
    let run = scene.run("diff --engines ours.json deeper.json").expect_code(0);
    let care = "care      different models: 2 layers (as slices state) in base, 3 layers (as slices state) in new: no \
                ratios; times per layer are shown instead\n";
    assert!(run.stdout.contains(care), "{}", run.stdout);
    assert!(run.stdout.contains("base/layer  new/layer") && !run.stdout.contains("ratio  "), "{}", run.stdout);
}

#[test]
fn rules_are_printed_and_replaced() {
    let scene = scene();
    let rules = scene.run("diff --print-rules").expect_code(0).stdout;
    assert!(rules.contains("\nattention    contains  fmha\n"), "{rules}");
    scene.write("all.rules", rules);
    let built_in = scene.run("diff --engines ours.json vllm.json");
    let copied = scene.run("diff --engines --rules all.rules ours.json vllm.json");
    assert_eq!(copied.stdout, built_in.stdout);
    scene.write("own.rules", "class cleaning  # ours\ncleaning is tidy up\ngemm contains mystery\n");
    let own = scene.run("diff --engines --rules own.rules ours.json vllm.json").expect_code(0).stdout;
    assert!(own.contains("\ncleaning ") && !own.contains("unnamed"), "{own}");
    scene.write("bad.rules", "# x\ngem contains y\n");
    let run = scene.run("diff --engines --rules bad.rules ours.json vllm.json").expect_code(2);
    let error = "error: bad.rules: line 2: expected a class (declare a new one with `class NAME`), `class`, `else` or \
                 `only`, found `gem`\n";
    assert!(run.stderr.starts_with(error), "{}", run.stderr);
}

#[test]
fn the_object_has_all_figures() {
    let run = scene().run("diff --engines --json ours.json vllm.json").expect_code(0);
    let object: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&object["version"], &object["base"]["file"]), (&1.into(), &"ours.json".into()));
    assert_eq!((&object["base"]["timed_on"], &object["new"]["timed_on"]), (&"host".into(), &"device".into()));
    assert_eq!(object["new"]["layers_from"], "cache_kernels");
    let codes: Vec<&str> = object["concerns"].as_array().unwrap().iter().filter_map(|it| it["code"].as_str()).collect();
    assert_eq!(codes, ["timed-on", "batch", "unnamed", "unnamed"]);
    assert_eq!(object["concerns"][0]["refusal"], true);
    let phase = &object["phases"][0];
    assert_eq!((&phase["phase"], &phase["new"]["decode_tokens"]), (&"decode".into(), &4.into()));
    assert_eq!(phase["new"]["unnamed"][0]["name"], "mystery");
    let rows = phase["rows"].as_array().unwrap();
    let gemm = rows.iter().find(|row| row["class"] == "gemm").unwrap();
    assert_eq!((&gemm["base"]["per_token_ns"], &gemm["new"]["total_ns"]), (&35000.0.into(), &20000.into()));
    assert_eq!((&gemm["kind"], &gemm["token_ratio"]), (&"class".into(), &Value::Null));
}

#[test]
fn markdown_has_a_table_for_each_phase() {
    let run = scene().run("diff --engines --markdown ours.json faster.json").expect_code(0);
    assert!(run.stdout.contains("\n#### decode: base 2 steps, batch 2, 4 tokens; new 2 steps"), "{}", run.stdout);
    let row = "\n| gemm | 2 | 2 | 70.00 µs | 50.00 µs | 0.714 | 35.00 µs | 25.00 µs | 0.714 | 70.0 | 62.5 |\n";
    assert!(run.stdout.contains(row), "{}", run.stdout);
}

#[test]
fn two_traces_with_content_are_expected() {
    let scene = scene();
    scene.write("empty.json", "[]");
    let words = "empty.json: nothing to compare: expected kernels, copies or spans, found none\n";
    let run = scene.run("diff --engines ours.json empty.json").expect_code(1);
    assert_eq!(run.stderr, words);
    let words = "error: --engines: expected two traces, the base and the new one, found 1\n";
    scene.run("diff --engines ours.json").expect(2, "", words);
    scene.run("diff --engines ours.json missing.json").expect_code(2);
    scene.run("diff --engines ours.json ours.json").expect_code(0);
}
