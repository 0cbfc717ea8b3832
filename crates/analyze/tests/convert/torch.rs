//! Tests of traces in the format of torch's profiler.

use crate::{ClosedPipe, with_text};
use ferrum_trace_analyze::convert::{Error, Summary, TorchOptions, torch};
use ferrum_trace_analyze::{Device, devices};
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::path::Path;

/// Two steps on a host that launch on two streams: with flows, with one flow to a group, and without a flow.
const TRACE: &str = r#"[
{"ph":"M","name":"process_name","pid":1,"tid":1,"ts":0.000,"args":{"name":"engine"}},
{"ph":"M","name":"thread_name","pid":1,"tid":9,"ts":0.000,"args":{"name":"GPU 3 / stream 7"}},
{"ph":"M","name":"thread_name","pid":1,"tid":10,"ts":0.000,"args":{"name":"GPU 3 / copies"}},
{"ph":"M","name":"ferrum_trace","pid":1,"tid":1,"ts":0.000,"args":{"start_unix_ns":1700000000000000000}},
{"ph":"X","name":"prefill","cat":"step","pid":1,"tid":1,"ts":10.000,"dur":40.000,"args":{"batch":2}},
{"ph":"X","name":"layer","cat":"layer","pid":1,"tid":1,"ts":11.000,"dur":30.000,"args":{"layer":0}},
{"ph":"X","name":"qkv","cat":"gemm","pid":1,"tid":1,"ts":12.000,"dur":5.600},
{"ph":"s","name":"flow","cat":"flow","id":1,"pid":1,"tid":1,"ts":13.400},
{"ph":"s","name":"flow","cat":"flow","id":2,"pid":1,"tid":1,"ts":14.600},
{"ph":"X","name":"qkv","cat":"gemm","pid":1,"tid":9,"ts":20.499,"dur":10.002,"args":{"m":64}},
{"ph":"f","bp":"e","name":"flow","cat":"flow","id":1,"pid":1,"tid":9,"ts":20.499},
{"ph":"X","name":"group","cat":"layer","pid":1,"tid":9,"ts":40.000,"dur":20.000},
{"ph":"f","bp":"e","name":"flow","cat":"flow","id":2,"pid":1,"tid":9,"ts":40.000},
{"ph":"X","name":"all_reduce","cat":"comm","pid":1,"tid":9,"ts":40.000,"dur":5.000},
{"ph":"X","name":"blockSync","cat":"attention","pid":1,"tid":9,"ts":50.000,"dur":10.000},
{"ph":"X","name":"kv d2h","cat":"memory","pid":1,"tid":10,"ts":45.000,"dur":3.000,"args":{"bytes":6000}},
{"ph":"s","name":"flow","cat":"flow","id":9,"pid":1,"tid":1,"ts":46.000},
{"ph":"B","name":"decode","cat":"step","pid":1,"tid":1,"ts":60.000},
{"ph":"E","pid":1,"tid":1,"ts":90.000,"args":{"done":true}},
{"ph":"s","name":"flow","cat":"flow","id":3,"pid":1,"tid":1,"ts":61.000},
{"ph":"X","name":"sampling","cat":"sampling","pid":1,"tid":2,"ts":62.000,"dur":4.000},
{"ph":"f","bp":"e","name":"flow","cat":"flow","id":3,"pid":1,"tid":2,"ts":63.000},
{"ph":"b","name":"request","cat":"request","id":"r1","pid":1,"tid":1,"ts":1.500},
{"ph":"e","name":"request","cat":"request","id":"r1","pid":1,"tid":1,"ts":80.000},
{"ph":"C","name":"running","pid":1,"tid":1,"ts":2.000,"args":{"requests":1}},
{"ph":"i","name":"mark","pid":1,"tid":1,"ts":3.000,"s":"t"}
]"#;

fn written(json: &str, options: &TorchOptions) -> (Value, Summary) {
    let mut out = Vec::new();
    let summary = with_text(json, |open| torch(open, &mut out, options)).unwrap();
    (serde_json::from_slice(&out).unwrap(), summary)
}

/// Returns the events with this value of a field.
fn events<'a>(document: &'a Value, key: &str, value: &str) -> Vec<&'a Value> {
    let all = document["traceEvents"].as_array().unwrap();
    all.iter().filter(|event| event[key] == value).collect()
}

fn only<'a>(document: &'a Value, key: &str, value: &str) -> &'a Value {
    let found = events(document, key, value);
    assert_eq!(found.len(), 1, "{key} {value}: {found:#?}");
    found[0]
}

/// Leaves a trace for the step `viewers` of `cargo xtask check`.
fn leave_for_viewers(document: &Value) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("viewer-check");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("torch.json"), document.to_string()).unwrap();
    // 10 slices of threads and a request, 2 marks of steps, 4 calls, the step at the end, and an instant; the last six
    // have no length.
    let expectation = "slices=19\ninstants=6\ndepth=6\nflows=5\ncounters=1\nthreads=5\nprocesses=2\n";
    fs::write(folder.join("torch.json.expect"), expectation).unwrap();
}

fn devices_of(json: &[u8]) -> Vec<Device> {
    devices(&load(json, &LoadOptions::default()).unwrap().trace)
}

#[test]
fn slices_of_streams_become_kernels_with_the_calls_that_launched_them() {
    let (document, summary) = written(TRACE, &TorchOptions::default());
    let [qkv, comm, attention] = &events(&document, "cat", "kernel")[..] else { panic!("three kernels: {document}") };
    assert_eq!((&qkv["name"], &qkv["ts"], &qkv["dur"]), (&json!("qkv"), &json!(20), &json!(11)));
    assert_eq!((&qkv["args"]["device"], &qkv["args"]["stream"], &qkv["args"]["m"]), (&json!(3), &json!(7), &json!(64)));
    assert_eq!((&comm["name"], &comm["args"]["name"]), (&json!("ncclDevKernel_all_reduce"), &json!("all_reduce")));
    assert_eq!((&attention["name"], &attention["args"]["category"]), (&json!("blocksync"), &json!("attention")));
    let copy = only(&document, "cat", "gpu_memcpy");
    assert_eq!((&copy["name"], &copy["args"]["stream"]), (&json!("Memcpy DtoH (kv d2h)"), &json!(10)));
    assert_eq!(copy["args"]["memory bandwidth (GB/s)"], 2.0);
    let group = only(&document, "cat", "gpu_user_annotation");
    assert_eq!((&group["name"], &group["args"]["stream"]), (&json!("group"), &Value::Null));
    let calls = events(&document, "cat", "cuda_runtime");
    let call_of = |kernel: &Value| {
        let calls = calls.iter().filter(|call| call["args"]["correlation"] == kernel["args"]["correlation"]);
        let calls: Vec<_> = calls.map(|call| (&call["name"], &call["ts"], &call["tid"], &call["pid"])).collect();
        assert_eq!(calls.len(), 1);
        calls[0]
    };
    assert_eq!(call_of(qkv), (&json!("cudaLaunchKernel"), &json!(13), &json!(1), &json!(1)));
    // Slices in a group were launched with it.
    assert_eq!((call_of(comm).1, call_of(attention).1), (&json!(15), &json!(15)));
    let (name, time, tid, _) = call_of(copy);
    assert_eq!((name, time, calls.len(), summary.left.unlaunched), (&json!("cudaMemcpyAsync"), &json!(45), 4, 1));
    let about = events(&document, "name", "thread_name");
    let row = about.iter().find(|event| &event["tid"] == tid).unwrap();
    assert_eq!(row["args"]["name"], "calls that were not recorded");
    // A flow for each call, from the call to the kernel; also for a call that was added, since TraceLens depends on
    // flows.
    let arrows = events(&document, "cat", "ac2g");
    assert_eq!((arrows.len(), events(&document, "cat", "flow").len()), (8, 2));
    for arrow in &arrows {
        let is_begin = arrow["ph"] == "s";
        assert_eq!((arrow["pid"] == 1, arrow["bp"] == "e"), (is_begin, !is_begin));
    }
    leave_for_viewers(&document);
}

#[test]
fn steps_layers_and_operations_get_torchs_names() {
    let (document, summary) = written(TRACE, &TorchOptions::default());
    assert_eq!(summary.left.unbound_flow_points, 1, "a flow that never ends");
    let step = |n: usize| only(&document, "name", &format!("ProfilerStep#{n}"));
    assert_eq!((&step(0)["cat"], &step(0)["args"]["name"]), (&json!("user_annotation"), &json!("prefill")));
    assert_eq!((&step(1)["ph"], &step(1)["dur"], &step(1)["args"]["done"]), (&json!("X"), &json!(30), &json!(true)));
    // HTA leaves out the last step, so an empty one is added.
    assert_eq!((&step(2)["ts"], &step(2)["dur"]), (&json!(91), &json!(0)));
    assert_eq!(only(&document, "name", "layer")["cat"], "user_annotation");
    let ops = events(&document, "cat", "cpu_op");
    assert_eq!(ops.iter().map(|op| op["args"]["category"].clone()).collect::<Vec<_>>(), ["gemm", "sampling"]);
    assert_eq!((summary.n_events, summary.n_slices, summary.n_instants, summary.n_counter_values), (26, 11, 1, 1));
    assert_eq!(
        (&document["baseTimeNanoseconds"], &document["schemaVersion"]),
        (&json!(1700000000000000000_u64), &json!(1))
    );
    assert_eq!(document["distributedInfo"], json!({"backend": "nccl", "rank": 0, "world_size": 1}));
    assert_eq!(document["deviceProperties"], json!([{"id": 3, "name": "GPU 3"}]));
    // A single fraction would make HTA round all times.
    for event in document["traceEvents"].as_array().unwrap() {
        assert!(event["ts"].is_i64() && (event["dur"].is_i64() || event["ph"] != "X"), "{event}");
    }
}

#[test]
fn our_device_figures_are_the_same_before_and_after() {
    let options = TorchOptions { keeps_nanoseconds: true, ..TorchOptions::default() };
    let mut out = Vec::new();
    with_text(TRACE, |open| torch(open, &mut out, &options)).unwrap();
    let (before, after) = (devices_of(TRACE.as_bytes()), devices_of(&out));
    let figures = |device: &Device| {
        let Device { n_slices, n_kernels, n_comm, kernel_total, span, busy, .. } = *device;
        let Device { idle, comm, comp, overlap, exposed_comm, .. } = *device;
        [
            n_slices as i64,
            n_kernels as i64,
            n_comm as i64,
            kernel_total,
            span,
            busy,
            idle,
            comm,
            comp,
            overlap,
            exposed_comm,
        ]
    };
    let [before, after] = [before, after].map(|devices| devices.iter().map(figures).collect::<Vec<_>>());
    assert_eq!(before, after);
    assert_eq!(before, [[4, 3, 1, 25_002, 39_501, 25_002 + 3_000, 11_499, 5_000, 20_002, 0, 5_000]]);
}

#[test]
fn overlapping_slices_of_a_stream_get_an_extra_stream() {
    let json = r#"[{"ph":"M","name":"thread_name","pid":1,"tid":9,"args":{"name":"GPU 0 / stream 7"}},
        {"ph":"X","name":"a","cat":"gemm","pid":1,"tid":9,"ts":0,"dur":10},
        {"ph":"X","name":"b","cat":"gemm","pid":1,"tid":9,"ts":5,"dur":10}]"#;
    let (document, summary) = written(json, &TorchOptions::default());
    let [one, other] = &events(&document, "cat", "kernel")[..] else { panic!("two kernels") };
    assert!(
        one["args"]["stream"] != other["args"]["stream"] && one["tid"] != other["tid"] && one["pid"] == other["pid"]
    );
    assert_eq!((summary.n_moved, summary.left.unlaunched), (1, 2));
}

#[test]
fn a_kernel_that_seems_to_precede_its_launch_keeps_it() {
    let json = r#"[{"ph":"M","name":"thread_name","pid":1,"tid":9,"args":{"name":"GPU 0 / stream 7"}},
        {"ph":"X","name":"op","cat":"gemm","pid":1,"tid":1,"ts":0,"dur":9},
        {"ph":"X","name":"a","cat":"gemm","pid":1,"tid":9,"ts":3,"dur":10},
        {"ph":"f","bp":"e","name":"flow","cat":"flow","id":1,"pid":1,"tid":9,"ts":3},
        {"ph":"s","name":"flow","cat":"flow","id":1,"pid":1,"tid":1,"ts":5},
        {"ph":"s","name":"flow","cat":"flow","id":2,"pid":1,"tid":1,"ts":6},
        {"ph":"X","name":"b","cat":"gemm","pid":1,"tid":9,"ts":20,"dur":10},
        {"ph":"f","bp":"e","name":"flow","cat":"flow","id":2,"pid":1,"tid":9,"ts":20},
        {"ph":"s","name":"flow","cat":"flow","id":2,"pid":1,"tid":1,"ts":25}]"#;
    let (document, summary) = written(json, &TorchOptions::default());
    let calls: Vec<_> = events(&document, "cat", "cuda_runtime").iter().map(|call| call["ts"].clone()).collect();
    // An id that is reused later is distinguished.
    assert_eq!(calls, [5, 6]);
    assert_eq!((summary.left.unlaunched, summary.left.unbound_flow_points), (0, 1));
    assert_eq!(events(&document, "cat", "ac2g").len(), 2);
}

#[test]
fn torchs_own_events_stay_unchanged() {
    let json = r#"{"schemaVersion":1,"distributedInfo":{"backend":"gloo","rank":2,"world_size":4},"traceName":"x","odd":[1, 2],
"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#4","pid":25,"tid":25,"ts":1428625746133.051,"dur":99.5},
{"ph":"X","cat":"python_function","name":"nn.Module: Linear_0","pid":25,"tid":25,"ts":1428625746134.051,"dur":32.5,"args":{"Python id":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":25,"tid":25,"ts":1428625746140.25,"dur":1.125,"args":{"correlation":7}},
{"ph":"s","id":7,"cat":"ac2g","name":"ac2g","pid":25,"tid":25,"ts":1428625746140.25},
{"ph":"X","cat":"kernel","name":"void gemm","pid":0,"tid":7,"ts":1428625746150.125,"dur":9.001,"args":{"stream":7,"correlation":7}},
{"ph":"f","id":7,"bp":"e","cat":"ac2g","name":"ac2g","pid":0,"tid":7,"ts":1428625746150.125},
{"ph":"X","cat":"Trace","name":"PyTorch Profiler (0)","pid":"Spans","tid":"PyTorch Profiler","ts":1428625746130.0,"dur":500.5},
{"ph":"i","s":"g","name":"Record Window End","pid":"","tid":"","ts":1428625746190.0}
]}"#;
    let (document, summary) = written(json, &TorchOptions::default());
    let original: Value = serde_json::from_str(json).unwrap();
    let sorted = |document: &Value| {
        let mut events: Vec<String> =
            document["traceEvents"].as_array().unwrap().iter().map(Value::to_string).collect();
        events.sort();
        events
    };
    assert_eq!(sorted(&document), sorted(&original));
    for key in ["distributedInfo", "traceName", "odd", "schemaVersion"] {
        assert_eq!(document[key], original[key], "{key}");
    }
    assert_eq!((summary.left.unlaunched, summary.n_slices, summary.n_flow_points), (0, 5, 2));
    let options = TorchOptions { rank: Some(3), ..TorchOptions::default() };
    let (document, _) = written(json, &options);
    assert_eq!(document["distributedInfo"], json!({"backend": "gloo", "rank": 3, "world_size": 4}));
}

#[test]
fn errors_distinguish_reading_from_writing() {
    let error = with_text(TRACE, |open| torch(open, &mut ClosedPipe, &TorchOptions::default())).unwrap_err();
    assert!(matches!(error, Error::Write(cause) if cause.kind() == io::ErrorKind::BrokenPipe));
    let error = with_text("no trace", |open| torch(open, &mut Vec::new(), &TorchOptions::default())).unwrap_err();
    assert!(matches!(error, Error::Read(cause) if cause.is_wrong_format()));
    assert_eq!(written("[]", &TorchOptions::default()).0["traceEvents"], json!([]));
}
