//! The columns `layer`, `step`, `phase` and `parent` of CSV tables.

use crate::converted_text;
use ferrum_trace_analyze::convert::{CsvTexts, Target};
use ferrum_trace_analyze::{LAYER_ARG, LAYER_ARGS, Labels, LayerSource, Nesting, STEP_ARGS, StepLabels, step_labels};
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_model::Trace;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Returns, for each row, the name and the last four columns, joined by `|`. No cell may contain a comma.
fn contexts(trace: &str) -> Vec<String> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        [&cells[2..3], &cells[cells.len() - 4..]].concat().join("|")
    };
    converted_text(Target::Csv(CsvTexts::Guarded), trace).lines().skip(1).map(row).collect()
}

#[test]
fn slices_have_their_layer_step_phase_and_parent() {
    let trace = r#"[
{"ph":"X","name":"load","ts":1,"dur":5,"pid":1,"tid":1},
{"ph":"X","name":"prefill","cat":"step","ts":10,"dur":20,"pid":1,"tid":1},
{"ph":"X","name":"layer","cat":"layer","ts":10,"dur":9,"pid":1,"tid":1,"args":{"layer":3}},
{"ph":"X","name":"up","cat":"gemm","ts":12,"dur":3,"pid":1,"tid":1},
{"ph":"B","name":"layer","cat":"layer","ts":20,"pid":1,"tid":1,"args":{"layer":4}},
{"ph":"E","ts":29,"pid":1,"tid":1},
{"ph":"X","name":"s","cat":"step","ts":40,"dur":20,"pid":1,"tid":1,"args":{"phase":"decode"}},
{"ph":"X","name":"inner","cat":"step","ts":41,"dur":5,"pid":1,"tid":1},
{"ph":"X","name":"other thread","ts":45,"dur":1,"pid":1,"tid":2},
{"ph":"B","name":"open","ts":46,"pid":1,"tid":1},
{"ph":"X","name":"after open","ts":50,"dur":1,"pid":1,"tid":1}]"#;
    let expected = [
        "load||||",
        "prefill||1|prefill|",
        "layer|3|1|prefill|prefill",
        "up|3|1|prefill|layer",
        "layer|4|1|prefill|prefill",
        "s||2|decode|",
        "inner||2|decode|s",
        "other thread||2|decode|",
        "open||2|decode|s",
        "after open||2|decode|s",
    ];
    assert_eq!(contexts(trace), expected);
}

#[test]
fn kernels_have_the_step_that_launched_them() {
    let by_call = r#"[
{"ph":"X","name":"ProfilerStep#1","cat":"user_annotation","ts":0,"dur":10,"pid":1,"tid":1},
{"ph":"X","name":"call","cat":"cuda_runtime","ts":1,"dur":1,"pid":1,"tid":1,"args":{"correlation":7}},
{"ph":"X","name":"ProfilerStep#2","cat":"user_annotation","ts":10,"dur":10,"pid":1,"tid":1},
{"ph":"X","name":"late","cat":"kernel","ts":12,"dur":3,"pid":0,"tid":7,"args":{"correlation":7}},
{"ph":"X","name":"from before","cat":"kernel","ts":16,"dur":3,"pid":0,"tid":7,"args":{"correlation":6}},
{"ph":"X","name":"unknown","cat":"kernel","ts":19,"dur":3,"pid":0,"tid":7}]"#;
    let found = contexts(by_call);
    assert_eq!(found[3..], ["late||1||", "from before||||", "unknown||2||"]);
    let by_flow = r#"[
{"ph":"M","name":"thread_name","pid":1,"tid":9,"args":{"name":"GPU 0 / compute"}},
{"ph":"X","name":"prefill","cat":"step","ts":0,"dur":10,"pid":1,"tid":1},
{"ph":"s","name":"launch","cat":"flow","id":5,"ts":2,"pid":1,"tid":1},
{"ph":"X","name":"decode","cat":"step","ts":10,"dur":10,"pid":1,"tid":1},
{"ph":"X","name":"late","cat":"gemm","ts":12,"dur":3,"pid":1,"tid":9},
{"ph":"f","bp":"e","name":"launch","cat":"flow","id":5,"ts":12,"pid":1,"tid":9},
{"ph":"X","name":"by time","cat":"gemm","ts":16,"dur":3,"pid":1,"tid":9},
{"ph":"X","name":"measured","cat":"gemm","ts":18,"dur":1,"pid":1,"tid":8,"args":{"clock_error_ns":5}},
{"ph":"f","name":"launch","cat":"flow","id":5,"ts":18,"pid":1,"tid":8}]"#;
    let found = contexts(by_flow);
    assert_eq!(found[2..], ["late||1|prefill|", "by time||2|decode|", "measured||1|prefill|"]);
}

#[test]
fn kernels_have_the_layer_that_launched_them() {
    let trace = r#"[
{"ph":"M","name":"thread_name","pid":1,"tid":9,"args":{"name":"GPU 0 / compute"}},
{"ph":"X","name":"layers.0","cat":"module","ts":0,"dur":9,"pid":1,"tid":1},
{"ph":"X","name":"call","cat":"cuda_runtime","ts":1,"dur":1,"pid":1,"tid":1,"args":{"correlation":7}},
{"ph":"X","name":"layers.1","cat":"module","ts":10,"dur":9,"pid":1,"tid":1},
{"ph":"s","name":"launch","cat":"flow","id":5,"ts":12,"pid":1,"tid":1},
{"ph":"X","name":"by call","cat":"kernel","ts":32,"dur":3,"pid":0,"tid":7,"args":{"correlation":7}},
{"ph":"X","name":"by flow","cat":"gemm","ts":40,"dur":3,"pid":1,"tid":9},
{"ph":"f","bp":"e","name":"launch","cat":"flow","id":5,"ts":40,"pid":1,"tid":9},
{"ph":"X","name":"unknown","cat":"gemm","ts":50,"dur":3,"pid":1,"tid":9}]"#;
    assert_eq!(contexts(trace)[3..], ["by call|0|||", "by flow|1|||", "unknown||||"]);
    let args = LAYER_ARGS.map(str::to_owned).to_vec();
    let loaded = load(trace.as_bytes(), &LoadOptions { args, ..LoadOptions::default() }).unwrap().trace;
    let expected: Vec<String> = expected(&loaded).into_values().collect();
    assert_eq!(contexts(trace), expected);
}

#[test]
fn layers_come_from_the_first_source_that_has_several() {
    let layers = |slices: [(&str, u32, u32); 2]| -> Vec<String> {
        let event = |(name, tid, layer): (&str, u32, u32)| {
            format!(r#"{{"ph":"X","name":"{name}","ts":{tid},"dur":1,"pid":1,"tid":{tid},"args":{{"layer":{layer}}}}}"#)
        };
        let rows = contexts(&format!("[{}]", slices.map(event).join(",")));
        rows.iter().filter_map(|row| row.split('|').nth(1)).map(str::to_owned).collect()
    };
    assert_eq!(layers([("layers.5", 0, 7), ("layers.6", 1, 8)]), ["7", "8"]);
    assert_eq!(layers([("layers.5", 0, 7), ("layers.6", 1, 7)]), ["5", "6"]);
    assert_eq!(layers([("up", 0, 7), ("up", 1, 7)]), ["0", "1"]);
    assert_eq!(layers([("up", 0, 7), ("up", 5, 7)]), ["", ""], "ids that are not consecutive");
}

/// Name and context of each slice, by position in the file, as other commands find them.
fn expected(trace: &Trace) -> BTreeMap<i64, String> {
    let nesting = Nesting::of(trace);
    let layers = Labels::of_layers(trace, &nesting, LayerSource::Auto);
    let StepLabels { numbers, phases } = step_labels(trace);
    let all = [layers, numbers, phases, Labels::of_parents(trace, &nesting)];
    let text = |labels: &Labels, slice| labels.of_slice(trace, slice).map_or(String::new(), |label| label.text(trace));
    let row = |slice: usize| {
        let name = trace.strings.get(trace.slices.name[slice]);
        let columns: Vec<String> = all.iter().map(|labels| text(labels, slice)).collect();
        (trace.slices.start[slice], format!("{name}|{}", columns.join("|")))
    };
    (0..trace.slices.len()).map(row).collect()
}

proptest! {
    #[test]
    fn the_columns_agree_with_the_other_commands(
        slices in prop::collection::vec((0_usize..7, 0_u32..3, 0_u32..12, 1_u64..60, 0_u32..3), 1..60),
    ) {
        let kinds = [
            ("decode", "step"), ("prefill", "step"), ("layer", "layer"), ("layers.2.up", "gemm"), ("up", "gemm"),
            ("call", "cuda_runtime"), ("kernel", "kernel"),
        ];
        let mut events = Vec::new();
        // All starts differ, so that the order of steps does not depend on ties.
        for (n, &(kind, tid, value, duration, which)) in slices.iter().enumerate() {
            let (name, category) = kinds[kind];
            let pid = if category == "kernel" { 0 } else { 1 + tid % 2 };
            let args = match (category, which) {
                ("layer", 0) => format!(r#""layer":{value}"#),
                // Kernels find calls that begin before them.
                ("cuda_runtime" | "kernel", 1) => format!(r#""correlation":{}"#, n - n % 4),
                _ => String::new(),
            };
            let start = n * 3;
            events.push(format!(
                r#"{{"ph":"X","name":"{name}","cat":"{category}","ts":{start},"dur":{duration},"pid":{pid},"tid":{tid},"args":{{{args}}}}}"#
            ));
        }
        let json = format!("[{}]", events.join(","));
        let args = STEP_ARGS.into_iter().chain([LAYER_ARG]).map(str::to_owned).collect();
        let trace = load(json.as_bytes(), &LoadOptions { args, ..LoadOptions::default() }).unwrap().trace;
        let expected: Vec<String> = expected(&trace).into_values().collect();
        // Calls after their kernels, and kernels whose calls are not in the file, are told apart only by `steps`.
        let is_known = |row: &&String| !row.starts_with("kernel|");
        let found = contexts(&json);
        prop_assert_eq!(found.iter().filter(is_known).collect::<Vec<_>>(), expected.iter().filter(is_known).collect::<Vec<_>>());
    }
}
