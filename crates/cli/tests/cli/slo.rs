//! `requests --slo … --fail`.

use crate::scene::{Run, Scene};

/// Requests that take 10, 20 and 40 µs to the first token; a fourth one ends without a token, and a fifth fails.
fn trace() -> String {
    let mut events = Vec::new();
    let mut push = |id: u32, phase: &str, name: &str, ts: u32, args: &str| {
        events.push(format!(
            r#"{{"ph":"{phase}","cat":"request","name":"{name}","id":{id},"pid":1,"tid":1,"ts":{ts},"args":{{{args}}}}}"#
        ));
    };
    for (id, first) in [(1, Some(10)), (2, Some(20)), (3, Some(40)), (4, None), (5, Some(90))] {
        push(id, "b", "request", 0, r#""prompt_tokens":8"#);
        if let Some(first) = first {
            push(id, "n", "first token", first, "");
        }
        push(id, "e", "request", 100, if id == 5 { r#""reason":"error""# } else { r#""reason":"stop""# });
    }
    format!("[{}]", events.join(",\n"))
}

fn run(flags: &str) -> Run {
    Scene::with("t.json", trace()).run(&format!("requests {flags} t.json"))
}

fn object(run: &Run) -> serde_json::Value {
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn a_violated_limit_is_named_with_its_worst_value() {
    let failed = run("--slo ttft=30us,e2el=1ms --fail").expect_code(1);
    let expected = "t.json: SLO violated: ttft above 30.00 µs in 2 requests (worst 40.00 µs, 1 unknown); \
                    2 of 4 requests meet all limits\n";
    assert_eq!(failed.stderr, expected);
    assert!(failed.stdout.contains("goodput "), "{}", failed.stdout);
    let failed = run("--slo e2el=1ns,ttft=39us --fail=60%").expect_code(1);
    let expected = "t.json: SLO violated: e2el above 1 ns in 4 requests (worst 100.0 µs), ttft above 39.00 µs in \
                    2 requests (worst 40.00 µs, 1 unknown); 0 of 4 requests meet all limits, 60.0 % required\n";
    assert_eq!(failed.stderr, expected);
}

#[test]
fn limits_that_are_met_or_not_required_pass() {
    assert_eq!(run("--slo e2el=100us --fail").expect_code(0).stderr, "");
    assert_eq!(run("--slo ttft=30us --fail=50%").expect_code(0).stderr, "");
    assert_eq!(run("--slo ttft=30us").expect_code(0).stderr, "");
    run("--slo ttft=30us --fail=50.1%").expect_code(1);
}

#[test]
fn a_request_with_an_unknown_figure_violates_its_limit() {
    let failed = run("--slo ttft=1s --fail").expect_code(1);
    let expected =
        "t.json: SLO violated: ttft above 1.000 s in 1 request (1 unknown); 3 of 4 requests meet all limits\n";
    assert_eq!(failed.stderr, expected);
}

#[test]
fn the_flag_needs_a_limit_and_a_percentage() {
    let refused = run("--fail").expect_code(2);
    assert!(refused.stderr.contains("--slo"), "{}", refused.stderr);
    for value in ["95", "0%", "101%", "x%"] {
        let refused = run(&format!("--slo ttft=1s --fail={value}")).expect_code(2);
        assert!(refused.stderr.contains("expected a percentage"), "{}", refused.stderr);
    }
}

#[test]
fn requests_of_which_none_completed_do_not_pass() {
    let begin = r#"[{"ph":"b","cat":"request","name":"request","id":1,"pid":1,"tid":1,"ts":0}]"#;
    let failed = Scene::with("t.json", begin).run("requests --slo ttft=1s --fail=1% --json t.json").expect_code(1);
    assert_eq!(failed.stderr, "t.json: SLO violated: no request completed\n");
    let expected = serde_json::json!({"required_share": 0.01, "share": null, "violated": true});
    assert_eq!(object(&failed)["fail"], expected);
}

#[test]
fn json_has_the_violations_and_the_verdict() {
    let failed = run("--json --slo ttft=30us --slo e2el=1ms --fail=75%").expect_code(1);
    let object = object(&failed);
    assert_eq!(object["fail"], serde_json::json!({"required_share": 0.75, "share": 0.5, "violated": true}));
    let expected = serde_json::json!([
        {"metric": "ttft", "limit_ns": 30_000, "met": 2, "violations": 2, "unknown": 1, "worst_ns": 40_000},
        {"metric": "e2el", "limit_ns": 1_000_000, "met": 4, "violations": 0, "unknown": 0, "worst_ns": null},
    ]);
    assert_eq!(object["slos"], expected);
    let note = object["notes"].as_array().unwrap().last().unwrap().as_str().unwrap();
    assert_eq!(failed.stderr, format!("t.json: {note}\n"));
    assert!(self::object(&run("--json --slo ttft=30us"))["fail"].is_null());
}
