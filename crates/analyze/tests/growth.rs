//! Tests that time is nearly linear in the size of the input, for shapes for which it once was not.
//!
//! With these sizes quadratic time takes minutes or more, and nearly linear time a second or two: a test passes by
//! finishing. `cargo xtask growth` measures all shapes and commands.

use ferrum_trace_analyze::convert::{LayerwiseOptions, Summary, Target, convert, layerwise};
use ferrum_trace_analyze::merge::{Input, MergeOptions, merge};
use ferrum_trace_analyze::{
    Nesting, REQUEST_ARGS, RequestsOptions, STEP_ARGS, Selected, StepsOptions, requests, steps,
};
use ferrum_trace_format::chrome::read::{LoadOptions, Loaded, load};
use ferrum_trace_testkit::shapes::Shape;
use std::io::{Cursor, Read};
use std::sync::Arc;

fn trace(shape: &str, n: u64) -> Arc<[u8]> {
    Shape::named(shape).trace(n).into()
}

fn reader(bytes: &Arc<[u8]>) -> Box<dyn Read + Send> {
    Box::new(Cursor::new(Arc::clone(bytes)))
}

fn converted(target: Target, shape: &str, n: u64) -> (Vec<u8>, Summary) {
    let bytes = trace(shape, n);
    let mut out = Vec::new();
    let summary = convert(target, &|| Ok(reader(&bytes)), &mut out).unwrap();
    (out, summary)
}

fn loaded(json: &Arc<[u8]>) -> Loaded {
    let args = STEP_ARGS.iter().chain(&REQUEST_ARGS).map(|&key| key.to_owned()).collect();
    load(reader(json), &LoadOptions { args, ..LoadOptions::default() }).unwrap()
}

#[test]
fn deep_folded_stacks_end_in_one_frame_with_the_remaining_time() {
    let n = 60_000;
    let (folded, summary) = converted(Target::Folded, "nested-slices", n);
    let folded = String::from_utf8(folded).unwrap();
    let times = folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
    assert_eq!(times.sum::<u64>(), 2 * n * 1000, "the outermost slice has the time of all");
    let deepest = folded.lines().max_by_key(|line| line.len()).unwrap();
    assert_eq!(deepest.rsplit_once(' ').unwrap().0.split(';').count(), 512);
    assert!(deepest.contains(";f;(deeper frames) "), "{deepest}");
    assert_eq!((summary.n_slices, summary.left.deep_frames, summary.left.cut_stacks), (n, n - 509, 0));
}

#[test]
fn folded_stacks_limit_the_repetition_of_long_names() {
    let name = "long ".repeat(200_000);
    let mut json = format!(r#"[{{"ph":"X","name":"{name}","ts":0,"dur":900000,"pid":1,"tid":1}}"#);
    for leaf in 0..2000 {
        json += &format!(r#",{{"ph":"X","name":"leaf {leaf}","ts":{leaf},"dur":1,"pid":1,"tid":1}}"#);
    }
    let bytes: Arc<[u8]> = (json + "]").into_bytes().into();
    let mut out = Vec::new();
    let summary = convert(Target::Folded, &|| Ok(reader(&bytes)), &mut out).unwrap();
    assert!(out.len() < 300 << 20, "{} bytes", out.len());
    assert!(summary.left.cut_stacks > 1000, "{}", summary.left.cut_stacks);
}

#[test]
fn a_flame_graph_of_deep_slices_is_drawn() {
    let (svg, summary) = converted(Target::Svg, "nested-slices-of-many-names", 60_000);
    assert!(String::from_utf8(svg).unwrap().contains("(deeper frames)"));
    assert_eq!(summary.left.deep_frames, 60_000 - 509);
}

#[test]
fn layerwise_profiles_of_deep_slices_are_written() {
    for (shape, n) in
        [("nested-slices", 60_000), ("nested-modules-in-a-step", 60_000), ("kernels-of-nested-calls", 150_000)]
    {
        let bytes = trace(shape, n);
        let mut out = Vec::new();
        let summary = layerwise(&|| Ok(reader(&bytes)), &mut out, &LayerwiseOptions::default()).unwrap();
        assert!(summary.n_slices > 0, "{shape}");
    }
}

#[test]
fn async_events_of_one_id_that_overlap_are_converted_to_perfetto() {
    let (_, summary) = converted(Target::Perfetto, "overlapping-asyncs-of-one-id", 150_000);
    assert_eq!(summary.n_slices, 75_000);
}

#[test]
fn traces_with_many_fields_are_merged() {
    let input = |name: &str, n: u64| {
        let bytes = trace("fields", n);
        let open = Arc::new(move || Ok(reader(&bytes)));
        Input { name: name.to_owned(), rank: None, rank_if_unknown: None, open }
    };
    let mut out = Vec::new();
    merge(&[input("a.json", 40_000), input("b.json", 30_000)], &mut out, &MergeOptions::default()).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(document["field 29999"], 29999);
    assert!(document.get("field 30000").is_none(), "only one of the traces has it");
}

#[test]
fn slices_in_steps_that_overlap_count_once() {
    let n = 100_000;
    let mut json = "[".to_owned();
    for at in 0..n {
        json += &format!(r#"{{"ph":"X","cat":"step","name":"decode","ts":{at},"dur":{n},"pid":1,"tid":1}},"#);
        json += &format!(r#"{{"ph":"X","cat":"gemm","name":"op","ts":{at},"dur":0.5,"pid":1,"tid":1}},"#);
    }
    json.pop();
    let trace = loaded(&(json + "]").into_bytes().into()).trace;
    let options = StepsOptions { n_slowest: 3, ..StepsOptions::default() };
    let found = steps(&trace, &Nesting::of(&trace), &Selected::all(&trace), &options);
    assert_eq!((found.steps.len(), found.host_ops.ops.len()), (n, 1));
    assert_eq!(found.host_ops.ops[0].count, n as u64);
    // Between an operation and the next step: half a microsecond each, and the rest of the last step after its
    // operation.
    let gaps: i64 = found.gaps.iter().map(|gap| gap.total).sum();
    assert_eq!(gaps, found.all.unexplained);
}

#[test]
fn stages_of_a_request_that_are_open_together_are_ended() {
    let n = 60_000;
    let mut json = r#"[{"ph":"b","cat":"request","name":"request","id":1,"ts":0,"pid":1,"tid":1}"#.to_owned();
    for (phase, stage) in [("b", "decode"), ("b", "queued"), ("e", "decode")] {
        for _ in 0..n {
            json += &format!(r#",{{"ph":"{phase}","cat":"request","name":"{stage}","id":1,"ts":1,"pid":1,"tid":1}}"#);
        }
    }
    json += r#",{"ph":"e","cat":"request","name":"request","id":1,"ts":2,"pid":1,"tid":1}]"#;
    let trace = loaded(&json.into_bytes().into()).trace;
    let found = requests(&trace, &Nesting::of(&trace), &RequestsOptions::default());
    assert_eq!(found.requests[0].stages.len(), 2 * n);
}
