use crate::scene::Scene;
use serde_json::{Value, json};

/// A step that launches a kernel and waits for it; a second one that is slower.
const TRACE: &str = r#"[
{"ph":"X","name":"decode","cat":"step","ts":0,"dur":100,"pid":1,"tid":1,"args":{"phase":"decode"}},
{"ph":"X","name":"cudaLaunchKernel","cat":"cuda_runtime","ts":10,"dur":4,"pid":1,"tid":1,"args":{"correlation":1}},
{"ph":"X","name":"cudaDeviceSynchronize","cat":"cuda_runtime","ts":30,"dur":60,"pid":1,"tid":1,"args":{"correlation":2}},
{"ph":"X","name":"flash_attention","cat":"kernel","ts":18,"dur":62,"pid":0,"tid":7,"args":{"correlation":1}},
{"ph":"X","name":"decode","cat":"step","ts":200,"dur":200,"pid":1,"tid":1,"args":{"phase":"decode"}},
{"ph":"X","name":"schedule","cat":"scheduler","ts":210,"dur":180,"pid":1,"tid":1}
]"#;

fn object(scene: &Scene, line: &str) -> Value {
    serde_json::from_str(&scene.run(line).expect_code(0).stdout).unwrap()
}

#[test]
fn the_path_of_the_median_step_is_shown() {
    let expected = "\
t.json: critical path of step 1 (decode): 100.0 µs in 5 pieces
bound by  device compute: 62.0 % of the path, 0.0 % unexplained; certain
work      20.0 % host, 62.0 % device

kind                  pieces      path     %
device work                1  62.00 µs  62.0
host work                  2  20.00 µs  20.0
waiting for a stream       1  10.00 µs  10.0
launch delay               1  8.000 µs   8.0
";
    let run = Scene::with("t.json", TRACE).run("path t.json").expect_code(0);
    assert!(run.stdout.starts_with(expected), "{}", run.stdout);
    assert!(run.stdout.contains("on the paths of all steps"), "{}", run.stdout);
    assert_eq!(run.stderr, "");
}

#[test]
fn the_window_is_a_step_a_time_or_the_whole_trace() {
    let scene = Scene::with("t.json", TRACE);
    let window = |flags: &str| object(&scene, &format!("path --json {flags} t.json"))["window"].clone();
    let slowest = window("--step slowest");
    assert_eq!(
        (&slowest["step"], &slowest["start_ns"], &slowest["duration_ns"]),
        (&json!(2), &json!(200_000), &json!(200_000))
    );
    assert_eq!(window("--step 2"), slowest);
    let time = window("--time 20us..50us");
    assert_eq!(
        (&time["kind"], &time["start_ns"], &time["duration_ns"]),
        (&json!("time"), &json!(20_000), &json!(30_000))
    );
    assert_eq!(window("--whole")["duration_ns"], json!(400_000));
}

#[test]
fn the_path_of_a_request_goes_back_to_its_arrival() {
    let trace = r#"[
{"ph":"b","cat":"request","name":"request","id":1,"pid":1,"tid":1,"ts":5},
{"ph":"X","cat":"step","name":"prefill","pid":1,"tid":1,"ts":0,"dur":20},
{"ph":"X","cat":"step","name":"decode","pid":1,"tid":1,"ts":25,"dur":30},
{"ph":"e","cat":"request","name":"request","id":1,"pid":1,"tid":1,"ts":50,"args":{"reason":"stop"}}
]"#;
    let found = object(&Scene::with("t.json", trace), "path --json --request 1 t.json");
    let pieces: Vec<(&str, i64)> = found["pieces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["kind"].as_str().unwrap(), it["duration_ns"].as_i64().unwrap()))
        .collect();
    assert_eq!(pieces, [("host_work", 15_000), ("unexplained", 5_000), ("host_work", 25_000)]);
    assert_eq!(found["window"]["name"], json!("1"));
}

#[test]
fn a_window_that_is_missing_is_a_finding() {
    let scene = Scene::with("t.json", TRACE);
    scene.run("path --step 3 t.json").expect(1, "", "t.json: no step 3: the trace has 2 steps\n");
    let run = scene.run("path --request 9 t.json").expect_code(1);
    assert_eq!(run.stderr, "t.json: no request `9` that has ended: 0 requests of the trace have\n");
    let run = scene.run("path --what-if nobody=0 t.json").expect_code(1);
    assert!(run.stderr.contains("nothing is named `nobody`") && run.stderr.contains("`attention`"), "{}", run.stderr);
    for (flags, words) in [
        ("--step 0", "expected a number from 1, `slowest` or `median`, found `0`"),
        ("--what-if attention", "expected NAME=FACTOR, found `attention`"),
        ("--what-if attention=3", "expected a factor such as `0.5x` or `0`, or a rank, found `3`"),
        ("--step 1 --whole", "cannot be used with"),
    ] {
        let run = scene.run(&format!("path {flags} t.json")).expect_code(2);
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
}

#[test]
fn a_prediction_has_the_new_duration_and_what_is_critical_then() {
    let scene = Scene::with("t.json", TRACE);
    let found = object(&scene, "path --json --step 1 --what-if attention=0.5x t.json");
    assert_eq!(found["what_if"]["duration_ns"], json!(69_000));
    let found = object(&scene, "path --json --step 1 --what-if device=0,launch=0 t.json");
    assert!(found["what_if"]["duration_ns"].as_i64().unwrap() < 69_000);
    let run = scene.run("path --step 1 --what-if attention=2x t.json").expect_code(0);
    assert!(run.stdout.contains("what if: 162.0 µs instead of 100.0 µs (costs 62.00 µs)"), "{}", run.stdout);
}

#[test]
fn pieces_and_shares_are_in_the_object() {
    let scene = Scene::with("t.json", TRACE);
    let found = object(&scene, "path --json --step 1 t.json");
    let sum: i64 = found["pieces"].as_array().unwrap().iter().map(|it| it["duration_ns"].as_i64().unwrap()).sum();
    assert_eq!(sum, 100_000);
    assert_eq!((&found["device_ns"], &found["device_share"]), (&json!(62_000), &json!(0.62)));
    assert_eq!(found["bound"]["by"], json!("device_compute"));
    let kernel = &found["operations"][0];
    assert_eq!((&kernel["name"], &kernel["drag_ns"]), (&json!("flash_attention"), &json!(50_000)));
    assert_eq!(found["categories"][0]["category"], json!("attention"));
}

#[test]
fn the_trace_with_its_path_has_a_track_and_flows() {
    let scene = Scene::with("t.json", TRACE);
    let run = scene.run("path --step 1 -o with.json t.json").expect_code(0);
    assert!(run.stderr.contains("t.json: written with its path to with.json"), "{}", run.stderr);
    scene.run("check with.json").expect_code(0);
    let summary = object(&scene, "summary --json with.json");
    assert_eq!(summary["slices"], json!(6 + 5));
    let run = scene.run("path --step 1 -o with.json t.json").expect_code(2);
    assert!(run.stderr.contains("exists"), "{}", run.stderr);
    scene.run("path --step 1 -o with.pftrace t.json").expect_code(0);
    assert_eq!(object(&scene, "summary --json with.pftrace")["slices"], json!(6 + 5));
    let run = scene.run("path -o with.svg t.json").expect_code(2);
    assert!(run.stderr.contains("expected a file that ends in .json or .pftrace"), "{}", run.stderr);
}
