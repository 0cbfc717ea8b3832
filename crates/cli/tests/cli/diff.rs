use crate::scene::{Run, Scene};
use serde_json::Value;
use std::fmt::Write as _;

/// Writes a run with 20 decode steps of two layers, whose operations take `attention` and 200 microseconds.
fn run(attention: u64) -> String {
    let mut text = String::from("[");
    for step in 0..20 {
        let start = step * 10_000;
        for layer in 0..2 {
            let at = start + layer * 1_000;
            write!(text, r#"{{"ph":"X","cat":"attention","name":"sdpa","pid":1,"tid":1,"ts":{at},"dur":{attention},"args":{{"layer":{layer}}}}},"#).unwrap();
            let at = at + attention;
            write!(text, r#"{{"ph":"X","cat":"gemm","name":"mlp","pid":1,"tid":1,"ts":{at},"dur":200,"args":{{"layer":{layer}}}}},"#).unwrap();
        }
        let duration = 1_000 + attention + 200;
        write!(text, r#"{{"ph":"X","cat":"step","name":"decode","pid":1,"tid":1,"ts":{start},"dur":{duration},"args":{{"phase":"decode","batch":4,"decode_tokens":4}}}},"#).unwrap();
    }
    text.pop();
    text + "]"
}

/// Writes five runs of each side into folders; the new side is slower by `more` microseconds per attention.
fn sides(more: u64) -> Scene {
    let scene = Scene::new();
    for number in 0..5 {
        scene.write(&format!("base/{number}.json"), run(300 + number));
        scene.write(&format!("new/{number}.json"), run(300 + more + number));
    }
    scene
}

fn object(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn a_slower_operation_is_found_in_folders_of_runs() {
    let scene = sides(60);
    let run = scene.run("diff base --with new --json").expect_code(1);
    let found = object(&run);
    assert_eq!(found["metrics"][0]["name"], "step");
    assert_eq!(found["metrics"][0]["verdict"], "slower");
    assert_eq!(found["metrics"][0]["base_runs"], 5);
    assert_eq!(found["causes"][0]["name"], "sdpa");
    assert_eq!(found["causes"][0]["longer_ns"], 120_000);
    let sum: i64 = found["causes"].as_array().unwrap().iter().map(|cause| cause["change_ns"].as_i64().unwrap()).sum();
    let change = &found["change"];
    let rest = change["mix_ns"].as_i64().unwrap() + change["outliers_ns"].as_i64().unwrap();
    assert_eq!(sum + rest, change["change_ns"].as_i64().unwrap());
    let text = scene.run("diff base --with new").expect_code(1).stdout;
    assert!(text.starts_with("step is "), "{text}");
    assert!(text.contains("slower") && text.contains("sdpa"), "{text}");
}

#[test]
fn a_small_p_value_is_not_printed_as_zero() {
    let scene = sides(60);
    for number in 5..12 {
        scene.write(&format!("base/{number}.json"), run(300 + number));
        scene.write(&format!("new/{number}.json"), run(360 + number));
    }
    let text = scene.run("diff base --with new").expect_code(1).stdout;
    assert!(text.contains("<0.0001") && !text.contains(" 0.0000"), "{text}");
}

#[test]
fn a_trace_without_steps_has_no_marks_of_steps_to_differ() {
    let scene = sides(0);
    scene.write("spans.json", r#"[{"ph":"X","name":"load","pid":1,"tid":1,"ts":0,"dur":5}]"#);
    let compare = |line: &str| object(&scene.run(line).expect_code(2))["concerns"].to_string();
    for line in ["diff spans.json new/0.json --json", "diff new/0.json spans.json --json"] {
        let concerns = compare(line);
        assert!(concerns.contains("\"steps\"") && !concerns.contains("step-marks"), "{concerns}");
    }
    let text = scene.run("diff spans.json spans.json").expect_code(0).stdout;
    assert!(text.contains("% of busy") && !text.contains("% of step"), "{text}");
}

#[test]
fn equal_sides_are_the_same() {
    let scene = sides(0);
    let found = object(&scene.run("diff base --with new --json").expect_code(0));
    assert_eq!(found["metrics"][0]["verdict"], "same");
    assert!(scene.run("diff base --with new").expect_code(0).stdout.contains("same within"));
}

#[test]
fn three_runs_per_side_cannot_tell() {
    let scene = sides(60);
    let line = "diff base/0.json base/1.json base/2.json --with new/0.json new/1.json new/2.json --json";
    let found = object(&scene.run(line).expect_code(0));
    assert_eq!(found["metrics"][0]["verdict"], "cannot tell");
    assert!(found["metrics"][0]["runs_needed"].as_u64().unwrap() >= 4);
    assert_eq!(found["metrics"][0]["low"], Value::Null);
}

#[test]
fn two_single_traces_are_described() {
    let scene = sides(60);
    let text = scene.run("diff base/0.json new/0.json").expect_code(0).stdout;
    assert!(text.contains("one run: not tested"), "{text}");
    assert!(text.contains("sdpa"), "{text}");
}

#[test]
fn the_same_file_twice_has_no_difference() {
    let scene = sides(0);
    let run = scene.run("diff base/0.json base/0.json --json").expect_code(0);
    assert_eq!(object(&run)["change"]["change_ns"], 0);
    assert!(run.stderr.contains("both sides are the same trace"), "{}", run.stderr);
}

#[test]
fn ranks_of_a_folder_are_one_run() {
    let scene = Scene::new();
    for (folder, more) in [("base", 0), ("new", 30)] {
        for rank in 0..2 {
            scene.write(&format!("{folder}/rank{rank}.json"), run(300 + more + rank));
        }
    }
    let found = object(&scene.run("diff base --with new --json").expect_code(0));
    let runs = found["base"]["runs"].as_array().unwrap();
    assert_eq!((runs.len(), &runs[0]["ranks"]), (1, &serde_json::json!([0, 1])));
}

#[test]
fn sides_with_nothing_in_common_are_refused() {
    let scene = Scene::with("steps.json", run(300));
    scene.write("other.json", r#"[{"ph":"X","name":"main","ts":0,"dur":9,"pid":1,"tid":1}]"#);
    let run = scene.run("diff steps.json other.json").expect_code(2);
    assert!(run.stdout.contains("Not comparable"), "{}", run.stdout);
    assert!(run.stdout.contains("base has steps, new has no steps"), "{}", run.stdout);
}

#[test]
fn an_empty_side_is_an_error() {
    let scene = Scene::with("steps.json", run(300));
    scene.write("empty.json", "[]");
    std::fs::create_dir(scene.path("folder")).unwrap();
    let run = scene.run("diff steps.json empty.json").expect_code(2);
    assert!(run.stderr.contains("empty.json: expected slices to compare, found none"), "{}", run.stderr);
    let run = scene.run("diff steps.json --with folder").expect_code(2);
    assert!(run.stderr.contains("folder: expected traces in the folder"), "{}", run.stderr);
    let run = scene.run("diff steps.json").expect_code(2);
    assert!(run.stderr.contains("expected two traces"), "{}", run.stderr);
}

#[test]
fn an_unknown_metric_is_an_error() {
    let scene = sides(0);
    let run = scene.run("diff base --with new --metric speed").expect_code(2);
    assert!(run.stderr.contains("expected a metric, found `speed`"), "{}", run.stderr);
}

#[test]
fn a_thousand_runs_per_side_are_compared() {
    let scene = Scene::new();
    for number in 0..1000 {
        let one = |more: u64| {
            let at = 300 + more + number % 7;
            format!(
                r#"[{{"ph":"X","cat":"gemm","name":"mlp","pid":1,"tid":1,"ts":0,"dur":{at}}},{{"ph":"X","cat":"step","name":"decode","pid":1,"tid":1,"ts":0,"dur":{},"args":{{"phase":"decode","batch":1}}}}]"#,
                at + 10
            )
        };
        scene.write(&format!("base/{number:04}.json"), one(0));
        scene.write(&format!("new/{number:04}.json"), one(1));
    }
    let found = object(&scene.run("diff base --with new --json").expect_code(1));
    assert_eq!(found["metrics"][0]["verdict"], "slower");
    assert_eq!(found["metrics"][0]["base_runs"], 1000);
}

#[test]
fn markdown_has_tables_and_escapes_names() {
    let scene = sides(60);
    for number in 0..5 {
        let hostile = run(360 + number).replace("sdpa", "<script>|`x`");
        scene.write(&format!("new/{number}.json"), hostile);
    }
    let text = scene.run("diff base --with new --markdown").expect_code(1).stdout;
    assert!(text.contains("| metric | base | new |"), "{text}");
    assert!(text.contains("&lt;script&gt;\\|\\`x\\`") && !text.contains("<script>"), "{text}");
}

#[test]
fn the_picture_is_written() {
    let scene = sides(60);
    scene.run("diff base --with new -o diff.svg").expect_code(1);
    scene.run("diff base --with new -o diff.html").expect_code(1);
    let svg = String::from_utf8(scene.read("diff.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("sdpa"), "{svg}");
    let page = String::from_utf8(scene.read("diff.html")).unwrap();
    assert!(page.contains("Content-Security-Policy") && page.contains("sdpa"));
    let run = scene.run("diff base --with new -o diff.png").expect_code(2);
    assert!(run.stderr.contains(".svg"), "{}", run.stderr);
}
