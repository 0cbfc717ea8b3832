use crate::maker::Maker;
use crate::scene::Scene;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Two requests. The first waits 10 µs, is computed for 10 µs, and decodes for 30 µs, of which others' prompts take 10
/// µs and nothing is recorded for 5 µs. The second has no end.
const TRACE: &str = r#"[
{"ph":"b","cat":"request","name":"request","id":1,"pid":1,"tid":1,"ts":0,"args":{"prompt_tokens":100}},
{"ph":"b","cat":"request","name":"queued","id":1,"pid":1,"tid":1,"ts":0},
{"ph":"e","cat":"request","name":"queued","id":1,"pid":1,"tid":1,"ts":10},
{"ph":"b","cat":"request","name":"prefill","id":1,"pid":1,"tid":1,"ts":10},
{"ph":"X","cat":"step","name":"prefill","pid":1,"tid":1,"ts":10,"dur":10},
{"ph":"e","cat":"request","name":"prefill","id":1,"pid":1,"tid":1,"ts":20},
{"ph":"n","cat":"request","name":"first token","id":1,"pid":1,"tid":1,"ts":20},
{"ph":"b","cat":"request","name":"decode","id":1,"pid":1,"tid":1,"ts":20},
{"ph":"b","cat":"request","name":"request","id":2,"pid":1,"tid":1,"ts":20,"args":{"prompt_tokens":9}},
{"ph":"X","cat":"step","name":"prefill","pid":1,"tid":1,"ts":20,"dur":10},
{"ph":"X","cat":"step","name":"decode","pid":1,"tid":1,"ts":35,"dur":15},
{"ph":"n","cat":"request","name":"token","id":1,"pid":1,"tid":1,"ts":50,"args":{"tokens":2}},
{"ph":"e","cat":"request","name":"decode","id":1,"pid":1,"tid":1,"ts":50},
{"ph":"e","cat":"request","name":"request","id":1,"pid":1,"tid":1,"ts":50,"args":{"output_tokens":3,"reason":"stop"}}
]"#;

#[test]
fn figures_are_those_of_a_benchmark_and_parts_sum_to_the_latency() {
    let expected = "\
t.json: 2 requests in 50.00 µs, 1 completed, 1 unfinished
requests  20,000 per second
tokens    100 of prompts, 3 generated; 2,000,000 and 60,000 per second
goodput   20,000 per second; 1 of 1 meet all limits (ttft within 20.00 µs: 1, tpot within 15.00 µs: 1)

figure  count      mean       p50       p95       p99       min       max
TTFT        1  20.00 µs  20.00 µs  20.00 µs  20.00 µs  20.00 µs  20.00 µs
TPOT        1  15.00 µs  15.00 µs  15.00 µs  15.00 µs  15.00 µs  15.00 µs
ITL         1  30.00 µs  30.00 µs  30.00 µs  30.00 µs  30.00 µs  30.00 µs
E2EL        1  50.00 µs  50.00 µs  50.00 µs  50.00 µs  50.00 µs  50.00 µs
queue       1  10.00 µs  10.00 µs  10.00 µs  10.00 µs  10.00 µs  10.00 µs

where the time went                     mean     %
waiting to be run                   10.00 µs  20.0
own prefill                         10.00 µs  20.0
others' prefill, during own decode  10.00 µs  20.0
decode                              15.00 µs  30.0
unexplained: between steps          5.000 µs  10.0

request 1: latency 50.00 µs, first token after 20.00 µs, 100 tokens of prompt, 3 generated, stop
part                                    time      %
waiting to be run                   10.00 µs   20.0
own prefill                         10.00 µs   20.0
others' prefill, during own decode  10.00 µs   20.0
decode                              15.00 µs   30.0
unexplained: between steps          5.000 µs   10.0
latency                             50.00 µs  100.0

request        at  prompt  output     queue      TTFT      TPOT      E2EL  reason
1            0 ns     100       3  10.00 µs  20.00 µs  15.00 µs  50.00 µs  stop
2        20.00 µs       9       0         -         -         -         -  unfinished
";
    let line = "requests --slo ttft=20us,tpot=15us --explain slowest --each t.json";
    Scene::with("t.json", TRACE).run(line).expect(0, expected, "");
}

#[test]
fn missed_limits_and_unknown_ids_are_reported() {
    let scene = Scene::with("t.json", TRACE);
    let run = scene.run("requests --slo ttft=19.9us --slo e2el=1s t.json").expect_code(0);
    let line = "goodput   0 per second; 0 of 1 meet all limits (ttft within 19.90 µs: 0, e2el within 1.000 s: 1)\n";
    assert!(run.stdout.contains(line), "{}", run.stdout);
    let words = "t.json: no request with the id `7`: the trace has 2 requests (`1`, `2`)\n";
    scene.run("requests --explain 7 t.json").expect(1, "", words);
    let run = scene.run("requests --explain 7 --explain 1 t.json").expect_code(1);
    assert!(run.stdout.contains("\nrequest 1: latency 50.00 µs"), "{}", run.stdout);
    assert_eq!(run.stderr, words);
    let words = "t.json: no request that has ended: the trace has 1 request (`2`)\n";
    scene.run("requests --arrived 5us.. --explain slowest t.json").expect(1, "", words);
    let words = "t.json: no requests that arrive in the time of --arrived: the file has 2 requests\n";
    scene.run("requests --arrived 1s.. t.json").expect(1, "", words);
    for flags in ["--slo ttft", "--slo speed=1ms", "--slo ttft=1", "--arrived 5"] {
        scene.run(&format!("requests {flags} t.json")).expect_code(2);
    }
    let run = scene.run("requests --arrived 5us.. t.json").expect_code(0);
    assert!(run.stdout.starts_with("t.json: 1 request in 0 ns, 0 completed, 1 unfinished\n"), "{}", run.stdout);
}

#[test]
fn the_contents_of_a_trace_without_requests_are_reported() {
    let scene = Scene::new();
    scene.write("t.json", r#"[{"ph":"b","id":1,"cat":"task","name":"request","ts":1,"pid":1,"tid":1}]"#);
    let run = scene.run("requests t.json").expect_code(1);
    let words = "t.json: no requests: looked for async events (b, n, e) of category `request`, with an operation `request` from arrival to \
                 end; the file has no slices and 1 async event (1 `task`)\n";
    run.expect(1, "", words);
    scene.run("requests --explain slowest --json t.json").expect_code(1);
}

#[test]
fn requests_are_the_same_in_other_formats() {
    let scene = Scene::with("t.json", TRACE);
    let figures = |file: &str| {
        let run = scene.run(&format!("requests --json {file}")).expect_code(0);
        let mut object: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        ["figures", "parts", "completed", "prompt_tokens", "output_tokens"].map(|field| object[field].take())
    };
    let expected = figures("t.json");
    scene.run("convert -o t.pftrace t.json").expect_code(0);
    assert_eq!(figures("t.pftrace"), expected);
    scene.run("repair -o repaired.json t.json").expect_code(0);
    assert_eq!(figures("repaired.json"), expected);
}

#[test]
fn anomalies_of_requests_are_reported() {
    let scene = Scene::new();
    scene.write(
        "t.json",
        TRACE.replace(r#""output_tokens":3"#, r#""output_tokens":8"#).replace(r#""id":2"#, r#""id":1"#),
    );
    let run = scene.run("requests t.json").expect_code(0);
    assert!(run.stdout.contains("1 completed, 1 unfinished"), "{}", run.stdout);
    scene.write(
        "t.json",
        TRACE.replace(r#""output_tokens":3"#, r#""output_tokens":8"#).replace(
            r#""ph":"b","cat":"request","name":"request","id":2"#,
            r#""ph":"e","cat":"request","name":"request","id":2"#,
        ),
    );
    let run = scene.run("requests t.json").expect_code(0);
    let notes = "\
t.json: 1 event of category `request` outside of any request: the begin or end of the request is not in the trace
t.json: 1 request whose end states another number of output tokens than was seen
";
    assert_eq!(run.stderr, notes);
}

#[test]
fn titles_of_request_rows_are_not_counted() {
    let scene = Scene::new();
    let event = |phase: &str, name: &str, ts: u32, args: &str| {
        format!(
            r#"{{"ph":"{phase}","cat":"request","name":"{name}","id":42,"pid":1,"tid":1,"ts":{ts},"args":{{{args}}}}}"#
        )
    };
    let (plain, title) = ("", r#""row_of":"request""#);
    let inner = [event("b", "request", 0, plain), event("e", "request", 50, plain)];
    let [begin, end] = &inner;
    let outer = [event("b", "request 42", 0, title), begin.clone(), end.clone(), event("e", "request 42", 50, title)];
    scene.write("old.json", format!("[{}]", inner.join(",")));
    scene.write("new.json", format!("[{}]", outer.join(",")));
    scene.run("check new.json").expect_code(0);
    let figures = |file: &str| {
        let report: serde_json::Value =
            serde_json::from_str(&scene.run(&format!("requests --json {file}")).expect_code(0).stdout).unwrap();
        (report["count"].as_u64().unwrap(), report["figures"].clone(), report["strays"].clone())
    };
    assert_eq!(figures("new.json"), figures("old.json"));
    let asyncs = |file: &str| {
        let report: serde_json::Value =
            serde_json::from_str(&scene.run(&format!("summary --json {file}")).expect_code(0).stdout).unwrap();
        report["asyncs"]["groups"].as_u64().unwrap()
    };
    assert_eq!(asyncs("new.json"), asyncs("old.json"));
}

#[test]
fn requests_of_a_killed_engine_are_counted() {
    let scene = Scene::new();
    let mut maker = Maker::start(&scene, "trace.json");
    maker.serve(20);
    maker.kill();
    let run = scene.run("requests --json --each trace.json").expect_code(0);
    let object: Object = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((object.count, object.completed, object.steps), (20, 20, 60));
    assert_eq!((object.prompt_tokens, object.output_tokens, object.miscounted), (140, 100, 0));
    assert_eq!((object.figures["ttft"].count, object.figures["itl"].count), (20, 40));
    for request in &object.requests {
        let parts = request.parts.as_ref().unwrap();
        assert_eq!(Some(parts.values().sum::<i64>()), request.e2el_ns, "{request:?}");
        assert!(request.ttft_ns < request.e2el_ns, "{request:?}");
        assert!(parts["prefill_ns"] > 0 && parts["decode_ns"] > 0 && parts["others_prefill_ns"] == 0, "{request:?}");
    }
    let run = scene.run("steps --json trace.json").expect_code(0);
    let steps: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((steps["count"].as_u64(), steps["all"]["prefill_tokens"].as_u64()), (Some(60), Some(140)));
    assert_eq!(steps["all"]["decode_tokens"].as_u64(), Some(80), "those of steps that decode");
    let groups: Vec<_> =
        steps["groups"].as_array().unwrap().iter().map(|it| (it["phase"].as_str(), it["count"].as_u64())).collect();
    assert_eq!(groups, [(Some("prefill"), Some(20)), (Some("decode"), Some(40))]);
    assert_eq!(steps["host_ops"][0]["op"].as_str(), Some("gemm"));
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    version: u32,
    file: String,
    count: u64,
    completed: u64,
    failed: u64,
    unfinished: u64,
    strays: u64,
    wall_ns: i64,
    prompt_tokens: u64,
    output_tokens: u64,
    miscounted: u64,
    early: u64,
    preempted: u64,
    preemptions: u64,
    requests_per_s: f64,
    prompt_tokens_per_s: f64,
    output_tokens_per_s: f64,
    figures: BTreeMap<String, Figure>,
    slos: Vec<Slo>,
    fail: Option<serde_json::Value>,
    good: Option<u64>,
    goodput_per_s: Option<f64>,
    parts: BTreeMap<String, i64>,
    steps: u64,
    incomplete_steps: u64,
    explained: Vec<Request>,
    requests: Vec<Request>,
    losses: serde_json::Value,
    recorder: Option<serde_json::Value>,
    trigger: Option<serde_json::Value>,
    instants: Vec<serde_json::Value>,
    notes: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Figure {
    count: u64,
    mean_ns: f64,
    min_ns: i64,
    p50_ns: i64,
    p95_ns: i64,
    p99_ns: i64,
    max_ns: i64,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Slo {
    metric: String,
    limit_ns: i64,
    met: u64,
    violations: u64,
    unknown: u64,
    worst_ns: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    id: String,
    arrival_ns: i64,
    prompt_tokens: Option<u64>,
    output_tokens: u64,
    reason: Option<String>,
    queue_ns: Option<i64>,
    ttft_ns: Option<i64>,
    tpot_ns: Option<f64>,
    e2el_ns: Option<i64>,
    early: bool,
    parts: Option<BTreeMap<String, i64>>,
}

#[test]
fn json_has_every_field_and_no_other() {
    let run =
        Scene::with("t.json", TRACE).run("requests --json --slo queue=9us --explain 1 --each t.json").expect_code(0);
    let object: Object = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((object.version, object.file.as_str(), object.count), (1, "t.json", 2));
    assert_eq!((object.completed, object.failed, object.unfinished, object.strays), (1, 0, 1, 0));
    assert_eq!((object.wall_ns, object.prompt_tokens, object.output_tokens), (50_000, 100, 3));
    assert_eq!((object.early, object.incomplete_steps), (0, 0));
    assert_eq!((object.miscounted, object.preempted, object.preemptions, object.steps), (0, 0, 0, 3));
    assert_eq!((object.requests_per_s, object.prompt_tokens_per_s), (20_000.0, 2_000_000.0));
    assert_eq!((object.output_tokens_per_s, object.good, object.goodput_per_s), (60_000.0, Some(0), Some(0.0)));
    let (violations, unknown, worst_ns) = (1, 0, Some(10_000));
    assert_eq!(
        object.slos,
        [Slo { metric: "queue".to_owned(), limit_ns: 9_000, met: 0, violations, unknown, worst_ns }]
    );
    assert!(object.fail.is_none());
    assert!(object.recorder.is_none() && object.trigger.is_none() && object.instants.is_empty());
    let names: Vec<&str> = object.figures.keys().map(String::as_str).collect();
    assert_eq!(names, ["e2el", "itl", "queue", "tpot", "ttft"]);
    let Figure { count, mean_ns, min_ns, p50_ns, p95_ns, p99_ns, max_ns } = object.figures["tpot"];
    assert_eq!((count, mean_ns), (1, 15_000.0));
    assert_eq!([min_ns, p50_ns, p95_ns, p99_ns, max_ns], [15_000; 5]);
    let [
        Request {
            id,
            arrival_ns,
            prompt_tokens,
            output_tokens,
            reason,
            queue_ns,
            ttft_ns,
            tpot_ns,
            e2el_ns,
            early,
            parts,
        },
    ] = &object.explained[..]
    else {
        panic!("{object:?}")
    };
    assert!(!early);
    assert_eq!((id.as_str(), *arrival_ns, *prompt_tokens, *output_tokens), ("1", 0, Some(100), 3));
    assert_eq!((reason.as_deref(), *queue_ns, *ttft_ns), (Some("stop"), Some(10_000), Some(20_000)));
    assert_eq!((*tpot_ns, *e2el_ns, parts.as_ref()), (Some(15_000.0), Some(50_000), Some(&object.parts)));
    let expected = [
        ("between_steps_ns", 5_000),
        ("decode_ns", 15_000),
        ("mixed_ns", 0),
        ("others_decode_ns", 0),
        ("others_prefill_ns", 10_000),
        ("preempted_ns", 0),
        ("prefill_ns", 10_000),
        ("queue_ns", 10_000),
        ("unexplained_ns", 0),
    ];
    assert_eq!(object.parts, BTreeMap::from(expected.map(|(name, time)| (name.to_owned(), time))));
    assert_eq!((object.requests.len(), object.requests[1].parts.is_none()), (2, true));
    assert_eq!((object.losses["count"].as_u64(), object.notes.len()), (Some(0), 0));
}
