//! Tests that `--to torch` has the properties that TraceLens needs.

use crate::with_text;
use ferrum_trace_analyze::convert::{Target, TorchOptions, torch};
use ferrum_trace_analyze::{Mark, Nesting, STEP_ARGS, Selected, StepSource, StepsOptions, steps};
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_format::perfetto::read::to_chrome;
use serde_json::{Value, json};

/// Steps of all phases, kernels with and without a launch, and metadata that only our recorder writes.
const TRACE: &str = r#"[
{"ph":"M","name":"process_name","pid":1,"tid":1,"args":{"name":"engine"}},
{"ph":"M","name":"thread_name","pid":1,"tid":9,"args":{"name":"GPU 0 / stream 7"}},
{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{}},
{"ph":"X","name":"prefill","cat":"step","pid":1,"tid":1,"ts":10,"dur":40,"args":{"batch":2,"prefill_tokens":600}},
{"ph":"s","name":"flow","cat":"flow","id":"0x1","pid":1,"tid":1,"ts":13},
{"ph":"X","name":"qkv","cat":"gemm","pid":1,"tid":9,"ts":20,"dur":10},
{"ph":"f","bp":"e","name":"flow","cat":"flow","id":"0x1","pid":1,"tid":9,"ts":20},
{"ph":"X","name":"step","cat":"step","pid":1,"tid":1,"ts":60,"dur":20,
 "args":{"phase":"mixed","batch":5,"prefill_tokens":64,"decode_tokens":3,"context_tokens":700}},
{"ph":"X","name":"mlp","cat":"gemm","pid":1,"tid":9,"ts":65,"dur":5},
{"ph":"B","name":"decode","cat":"step","pid":1,"tid":1,"ts":90,"args":{"batch":4}},
{"ph":"E","pid":1,"tid":1,"ts":99,"args":{"done":true}},
{"ph":"X","name":"warm up","cat":"step","pid":1,"tid":1,"ts":100,"dur":5},
{"ph":"M","name":"ferrum_trace","pid":1,"tid":1,"args":{"dropped":17,"rank":3,"start_unix_ns":1700000000000000000}}
]"#;

fn exported(json: &str) -> (Vec<u8>, Value) {
    let mut out = Vec::new();
    with_text(json, |open| torch(open, &mut out, &TorchOptions::default())).unwrap();
    let document = serde_json::from_slice(&out).unwrap();
    (out, document)
}

fn events(document: &Value) -> &Vec<Value> {
    document["traceEvents"].as_array().unwrap()
}

#[test]
fn metadata_unknown_to_torch_are_in_a_field_and_are_read_back() {
    let (out, document) = exported(TRACE);
    for event in events(&document).iter().filter(|event| event["ph"] == "M") {
        let argument = match event["name"].as_str().unwrap() {
            "process_name" | "thread_name" => "name",
            "process_labels" => "labels",
            "process_sort_index" | "thread_sort_index" => "sort_index",
            other => panic!("{other}"),
        };
        assert!(!event["args"][argument].is_null(), "{event}");
    }
    let aside = document["ferrum_trace"].as_array().unwrap();
    assert_eq!(aside[0], json!({"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {}}));
    assert_eq!((&aside[1]["name"], &aside[1]["args"]["dropped"]), (&json!("ferrum_trace"), &json!(17)));
    // The reader passes them on like other events, and another conversion keeps them.
    let census = load(&out[..], &LoadOptions::default()).unwrap().trace.census;
    let n_metadata = events(&document).iter().filter(|event| event["ph"] == "M").count() + 2;
    assert_eq!(census.phases[usize::from(b'M')], n_metadata as u64);
    let (_, again) = exported(std::str::from_utf8(&out).unwrap());
    assert_eq!(again["ferrum_trace"], document["ferrum_trace"]);
    assert_eq!((&document["distributedInfo"]["rank"], &again["distributedInfo"]["rank"]), (&json!(3), &json!(3)));
    assert_eq!(again["baseTimeNanoseconds"], json!(1_700_000_000_000_000_000_u64));
}

#[test]
fn a_flow_with_the_correlation_of_its_call_leads_to_every_kernel() {
    let (_, document) = exported(TRACE);
    assert_eq!(linked_kernels(events(&document)), ["qkv", "mlp"]);
}

#[test]
fn flows_lead_to_kernels_after_a_round_trip_to_perfetto() {
    let (out, _) = exported(TRACE);
    let (pftrace, _) = crate::converted(Target::Perfetto, std::str::from_utf8(&out).unwrap());
    let mut back = Vec::new();
    to_chrome(&pftrace[..], &mut back).unwrap();
    let (_, document) = exported(std::str::from_utf8(&back).unwrap());
    assert_eq!(linked_kernels(events(&document)), ["qkv", "mlp"]);
}

/// The kernels that TraceLens finds: from a call by a flow whose id is the `correlation` of both, on the kernel's
/// track.
fn linked_kernels(events: &[Value]) -> Vec<&str> {
    let with = |key: &'static str, value: &'static str| events.iter().filter(move |event| event[key] == value);
    let arrow =
        |phase: &'static str, id: &Value| with("ph", phase).find(|event| event["cat"] == "ac2g" && event["id"] == *id);
    let mut names = Vec::new();
    for call in with("cat", "cuda_runtime") {
        let number = &call["args"]["correlation"];
        let (Some(_), Some(end)) = (arrow("s", number), arrow("f", number)) else { continue };
        let is_found = |kernel: &&Value| {
            ["pid", "tid"].iter().all(|key| kernel[key] == end[key]) && kernel["args"]["correlation"] == *number
        };
        names.extend(with("cat", "kernel").find(is_found).and_then(|kernel| kernel["name"].as_str()));
    }
    names
}

#[test]
fn steps_have_marks_of_vllm_and_are_counted_once() {
    let (out, document) = exported(TRACE);
    let is_mark = |event: &&Value| event["name"].as_str().is_some_and(|name| name.starts_with("execute_"));
    let marks: Vec<&Value> = events(&document).iter().filter(is_mark).collect();
    let names: Vec<&str> = marks.iter().map(|mark| mark["name"].as_str().unwrap()).collect();
    let expected = [
        "execute_context_2(600)_generation_0(0)",
        "execute_context_2(64)_generation_3(3)",
        "execute_context_0(0)_generation_4(4)",
        "execute_context_0(0)_generation_0(0)",
    ];
    assert_eq!(names, expected);
    assert!(marks.iter().all(|mark| mark["cat"] == "user_annotation" && mark["ph"] == "X" && mark["tid"] == 1));
    assert_eq!((&marks[2]["ts"], &marks[2]["dur"]), (&json!(90), &json!(9)));
    let read = found(&out);
    assert_eq!(read, found(TRACE.as_bytes()));
    assert!(read.iter().all(|(mark, ..)| mark.source == StepSource::Ferrum));
    let (again, _) = exported(std::str::from_utf8(&out).unwrap());
    assert_eq!(found(&again), read);
}

/// The steps that our analysis finds: mark, begin and duration.
fn found(json: &[u8]) -> Vec<(Mark, i64, i64)> {
    let options = LoadOptions { args: STEP_ARGS.map(str::to_owned).to_vec(), ..LoadOptions::default() };
    let trace = load(json, &options).unwrap().trace;
    let selected = Selected::all(&trace);
    let steps = steps(&trace, &Nesting::of(&trace), &selected, &StepsOptions::default());
    assert_eq!(steps.n_nested, 0);
    steps.steps.iter().map(|step| (step.mark, step.start, step.duration)).collect()
}
