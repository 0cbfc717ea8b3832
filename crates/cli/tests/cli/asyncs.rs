use crate::scene::Scene;
use serde_json::{Value, json};

/// Three requests of which one never ends, a task whose end has a busy time, and no slice.
const SERVER: &str = r#"[
{"ph":"M","name":"process_name","pid":7,"args":{"name":"server"}},
{"ph":"b","name":"request","cat":"http","id":1,"ts":0,"pid":7,"tid":1},
{"ph":"b","name":"request","cat":"http","id":2,"ts":10,"pid":7,"tid":2},
{"ph":"b","name":"parse","cat":"http","id":2,"ts":12,"pid":7,"tid":2},
{"ph":"n","name":"header","cat":"http","id":2,"ts":13,"pid":7,"tid":2},
{"ph":"e","name":"parse","cat":"http","id":2,"ts":15,"pid":7,"tid":2},
{"ph":"e","name":"request","cat":"http","id":2,"ts":30,"pid":7,"tid":1},
{"ph":"e","name":"request","cat":"http","id":1,"ts":100,"pid":7,"tid":2},
{"ph":"b","name":"request","cat":"http","id":3,"ts":110,"pid":7,"tid":2},
{"ph":"b","name":"task","cat":"rt","id":9,"ts":40,"pid":7,"tid":1},
{"ph":"e","name":"task","cat":"rt","id":9,"ts":90,"pid":7,"tid":1,"args":{"busy_ns":20000,"idle_ns":30000}}
]"#;

/// Returns the table of async operations.
fn table(stdout: &str) -> Vec<String> {
    let (_, table) = stdout.split_once("\n\nasync operations\n").unwrap_or_else(|| panic!("{stdout}"));
    table.lines().map(str::to_owned).collect()
}

#[test]
fn async_operations_have_a_table() {
    let run = Scene::with("t.json", SERVER).run("t.json").expect_code(0);
    assert!(!run.stdout.contains("no slices"), "{}", run.stdout);
    let expected = [
        "name     count  unfinished     total      busy      idle      mean       p50       p95       p99       max",
        "request      3           1  120.0 µs         -         -  60.00 µs  20.00 µs  100.0 µs  100.0 µs  100.0 µs",
        "task         1           0  50.00 µs  20.00 µs  30.00 µs  50.00 µs  50.00 µs  50.00 µs  50.00 µs  50.00 µs",
        "parse        1           0  3.000 µs         -         -  3.000 µs  3.000 µs  3.000 µs  3.000 µs  3.000 µs",
    ];
    assert_eq!(table(&run.stdout), expected);
}

#[test]
fn columns_without_a_value_are_left_out() {
    let run = Scene::with("t.json", SERVER).run("--filter name=parse t.json").expect_code(0);
    let titles: Vec<String> = table(&run.stdout)[0].split_whitespace().map(str::to_owned).collect();
    assert_eq!(titles, ["name", "count", "total", "mean", "p50", "p95", "p99", "max"]);
}

#[test]
fn async_operations_are_filtered_grouped_and_sorted_as_slices_are() {
    let scene = Scene::with("t.json", SERVER);
    let labels = |flags: &str| -> Vec<String> {
        let run = scene.run(&format!("{flags} t.json")).expect_code(0);
        let rows = table(&run.stdout);
        rows.iter().skip(1).map(|row| row.split("  ").next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(labels("--filter name=re*"), ["request"]);
    assert_eq!(labels("--filter cat=rt"), ["task"]);
    assert_eq!(labels("--filter track=2 --filter time=11us.."), ["parse", "request"]);
    assert_eq!(labels("--filter process=server --filter time=..5us"), ["request"]);
    assert_eq!(labels("--within request"), ["parse"]);
    assert_eq!(labels("--by cat"), ["http", "rt"]);
    assert_eq!(labels("--by track"), ["thread 1", "thread 2"]);
    assert_eq!(labels("--by process"), ["server (7)"]);
    assert_eq!(labels("--sort name"), ["parse", "request", "task"]);
    assert_eq!(labels("--top 1"), ["request", "… 2 more: 2 operations, total 53.00 µs"]);
}

#[test]
fn a_filter_that_matches_no_async_operation_suggests_a_similar_name() {
    let run = Scene::with("t.json", SERVER).run("--filter name=requst t.json").expect_code(1);
    assert!(run.stdout.ends_with("\n\nno slice or async operation matches the flags\n"), "{}", run.stdout);
    assert!(run.stderr.ends_with("hint: did you mean `--filter 'name=request'`?\n"), "{}", run.stderr);
}

#[test]
fn slices_and_async_operations_have_a_table_each() {
    let scene = Scene::new();
    let slice = r#"[{"ph":"X","name":"handle","ts":0,"dur":200,"pid":7,"tid":1},"#;
    scene.write("t.json", SERVER.replacen('[', slice, 1));
    let run = scene.run("t.json").expect_code(0);
    assert!(run.stdout.contains("\nhandle      1  200.0 µs"), "{}", run.stdout);
    assert_eq!(table(&run.stdout).len(), 4);
    let run = scene.run("--filter name=handle t.json").expect_code(0);
    assert!(!run.stdout.contains("async operations"), "{}", run.stdout);
    let run = scene.run("--within handle t.json").expect_code(0);
    assert_eq!(table(&run.stdout).len(), 4, "async operations lie within slices of their process");
}

#[test]
fn legacy_async_events_are_operations_too() {
    let scene = Scene::new();
    scene.write(
        "t.json",
        r#"[{"ph":"S","name":"load","cat":"c","id":"0x1","ts":0,"pid":1,"tid":1},
        {"ph":"T","name":"load","cat":"c","id":"0x1","ts":2,"pid":1,"tid":1,"args":{"step":"a"}},
        {"ph":"F","name":"load","cat":"c","id":"0x1","ts":5,"pid":1,"tid":1},
        {"ph":"S","name":"load","cat":"c","id":"0x2","ts":6,"pid":1,"tid":1}]"#,
    );
    let run = scene.run("t.json").expect_code(0);
    assert!(table(&run.stdout)[1].starts_with("load      2           1  5.000 µs"), "{}", run.stdout);
}

#[test]
fn the_json_has_the_same_rows() {
    let run = Scene::with("t.json", SERVER).run("--json --top 2 t.json").expect_code(0);
    let object: Value = serde_json::from_str(&run.stdout).unwrap();
    let request = json!({
        "name": "request", "count": 3, "unfinished": 1, "total_ns": 120_000, "mean_ns": 60_000.0, "min_ns": 20_000,
        "p50_ns": 20_000, "p95_ns": 100_000, "p99_ns": 100_000, "max_ns": 100_000, "busy_ns": null, "idle_ns": null
    });
    assert_eq!(object["async_rows"][0], request);
    assert_eq!(
        (&object["async_rows"][1]["busy_ns"], &object["async_rows"][1]["idle_ns"]),
        (&json!(20_000), &json!(30_000))
    );
    assert_eq!(object["async_rest"], json!({"rows": 1, "count": 1, "unfinished": 0, "total_ns": 3_000}));
    assert_eq!(object["async_all"], json!({"rows": 3, "count": 5, "unfinished": 1, "total_ns": 173_000}));
}
