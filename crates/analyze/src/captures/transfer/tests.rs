use super::*;
use crate::captures::captured_graphs;
use crate::captures::graph::CAPTURE_ARGS;
use crate::steps::STEP_ARGS;
use crate::structure::nesting::Nesting;
use ferrum_trace_format::chrome::read::{LoadOptions, load};

fn loaded(events: &[String], args: &[&str]) -> Trace {
    let args = args.iter().map(|&key| key.to_owned()).collect();
    let json = format!("[{}]", events.join(","));
    load(json.as_bytes(), &LoadOptions { args, ..LoadOptions::default() }).unwrap().trace
}

/// Graphs of a trace in which each group of kernels is captured after the other, one kernel per layer.
fn captured(batch: u32, groups: &[&[&str]], states_kernels: bool) -> Vec<CapturedGraph> {
    let mut events = vec![format!(
        r#"{{"ph":"X","cat":"user_annotation","name":"capture_{batch}_decode","ts":0,"dur":1000,"pid":1,"tid":1}}"#
    )];
    let call = |name: &str, at: usize, args: &str| {
        format!(
            r#"{{"ph":"X","cat":"cuda_runtime","name":"{name}","ts":{at},"dur":1,"pid":1,"tid":1,"args":{{{args}}}}}"#
        )
    };
    let mut at = 10;
    for kernels in groups {
        events.push(call("cudaStreamBeginCapture", at, ""));
        for (layer, kernel) in kernels.iter().enumerate() {
            at += 10;
            events.push(format!(
                r#"{{"ph":"X","cat":"cpu_op","name":"op of {kernel}, layers.{layer}","ts":{at},"dur":5,"pid":1,"tid":1,"args":{{"Input Dims":[[{batch},8]]}}}}"#
            ));
            let args = if states_kernels { format!(r#""kernel":"{kernel}""#) } else { String::new() };
            events.push(call("cudaLaunchKernel", at + 1, &args));
        }
        at += 10;
        events.push(call("cudaStreamEndCapture", at, ""));
        at += 10;
    }
    let trace = loaded(&events, &CAPTURE_ARGS);
    captured_graphs(&trace, &Nesting::of(&trace))
}

/// A trace in which each group of kernels is the replay of a graph, all in one step of this batch size.
fn replayed(batch: u32, groups: &[&[&str]]) -> Trace {
    let mut events = vec![format!(
        r#"{{"ph":"X","cat":"user_annotation","name":"step[DECODE bs={batch}]","ts":0,"dur":100,"pid":1,"tid":1}}"#
    )];
    for (graph, kernels) in groups.iter().enumerate() {
        events.push(format!(
            r#"{{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","ts":{},"dur":1,"pid":1,"tid":1,"args":{{"correlation":{graph}}}}}"#,
            graph + 1
        ));
        for (n, kernel) in kernels.iter().enumerate() {
            events.push(format!(
                r#"{{"ph":"X","cat":"kernel","name":"{kernel}","ts":{},"dur":2,"pid":0,"tid":7,"args":{{"correlation":{graph}}}}}"#,
                100 * (graph + 1) + 3 * n
            ));
        }
    }
    let args: Vec<&str> = STEP_ARGS.into_iter().chain([LAYER_ARG, OPERATION_ARG, MODULE_ARG, SHAPES_ARG]).collect();
    loaded(&events, &args)
}

/// Layer and operation of each kernel, in file order: `0 op of a, layers.0`.
fn named(trace: &Trace) -> Vec<String> {
    let text = |key: &str, order: Order| {
        let value = trace.args.iter().find(|column| column.key == key).and_then(|column| column.of(order));
        value.map_or("-".to_owned(), |value| value.content(&trace.strings).into_owned())
    };
    let kernel = trace.strings.find("kernel");
    let kernels = (0..trace.slices.len()).filter(|&slice| Some(trace.slices.category[slice]) == kernel);
    let orders = kernels.map(|slice| trace.slices.order[slice]);
    orders.map(|order| format!("{} {}", text(LAYER_ARG, order), text(OPERATION_ARG, order))).collect()
}

#[test]
fn kernels_of_a_replay_get_the_names_of_the_capture() {
    let mut trace = replayed(32, &[&["a", "b", "a"]]);
    let transfer = transfer(&mut trace, &captured(32, &[&["a", "b", "a"]], true));
    assert_eq!(named(&trace), ["0 op of a, layers.0", "1 op of b, layers.1", "2 op of a, layers.2"]);
    let expected = Transfer {
        n_replays: 1,
        n_kernels: 3,
        total: 6_000,
        n_matched: 3,
        matched_total: 6_000,
        ..Transfer::default()
    };
    assert_eq!(transfer, expected);
    let shapes = trace.args.iter().find(|column| column.key == SHAPES_ARG).unwrap();
    assert_eq!(shapes.value[0].content(&trace.strings), "[[32,8]]");
}

#[test]
fn extra_and_missing_kernels_are_listed() {
    let mut trace = replayed(32, &[&["a", "x", "b", "d"], &["a", "x", "b", "d"]]);
    let transfer = transfer(&mut trace, &captured(32, &[&["a", "b", "c", "d"]], true));
    assert_eq!(named(&trace)[..4], ["0 op of a, layers.0", "- -", "1 op of b, layers.1", "3 op of d, layers.3"]);
    assert_eq!((transfer.n_kernels, transfer.n_matched), (8, 6));
    let found: Vec<_> = transfer
        .mismatches
        .iter()
        .map(|it| (it.position, it.expected.as_deref(), it.found.as_deref(), it.count))
        .collect();
    assert_eq!(found, [(1, None, Some("x"), 2), (3, Some("c"), None, 2)]);
}

#[test]
fn the_next_larger_captured_batch_is_used() {
    let names = |batch: u32| {
        let mut trace = replayed(batch, &[&["a", "b"]]);
        let captures = [captured(8, &[&["a", "b"]], true), captured(32, &[&["a", "b"]], true)].concat();
        let transfer = transfer(&mut trace, &captures);
        let shapes = trace.args.iter().find(|column| column.key == SHAPES_ARG).unwrap();
        let shapes = shapes.value.first().map(|value| value.content(&trace.strings).into_owned());
        (shapes.unwrap_or_default(), transfer.n_unmatched_replays)
    };
    assert_eq!(names(7), ("[[8,8]]".to_owned(), 0));
    assert_eq!(names(8), ("[[8,8]]".to_owned(), 0));
    assert_eq!(names(9), ("[[32,8]]".to_owned(), 0));
    assert_eq!(names(33), (String::new(), 1), "no graph was captured for it");
}

#[test]
fn pieces_of_a_step_match_by_position() {
    let mut trace = replayed(8, &[&["a"], &["a", "b"], &["a"]]);
    let captures = captured(8, &[&["a"], &["a", "b"], &["a"]], true);
    let transfer = transfer(&mut trace, &captures);
    assert_eq!((transfer.n_replays, transfer.n_matched, transfer.mismatches.len()), (3, 4, 0));
}

#[test]
fn a_capture_without_kernel_names_matches_by_order_if_the_lengths_agree() {
    let captures = captured(8, &[&["a", "b"]], false);
    let mut trace = replayed(8, &[&["x", "y"]]);
    let same = transfer(&mut trace, &captures);
    assert_eq!((same.n_matched, same.n_by_order), (2, 2));
    assert_eq!(named(&trace), ["0 op of a, layers.0", "1 op of b, layers.1"]);
    let mut trace = replayed(8, &[&["x", "y", "z"]]);
    let other = transfer(&mut trace, &captures);
    assert_eq!((other.n_matched, other.n_unmatched_replays), (0, 1));
}

#[test]
fn a_graph_that_fits_less_than_half_is_not_used() {
    let mut trace = replayed(8, &[&["a", "x", "y", "z"]]);
    let transfer = transfer(&mut trace, &captured(8, &[&["a", "b", "c", "d"]], true));
    assert_eq!((transfer.n_matched, transfer.n_unmatched_replays), (0, 1));
}

#[test]
fn arguments_of_the_file_are_kept() {
    let mut trace = replayed(8, &[&["a", "b"]]);
    let column = trace.args.iter_mut().find(|column| column.key == LAYER_ARG).unwrap();
    // The first kernel is the third event.
    (column.order, column.value) = (vec![2], vec![ArgValue::Integer(77)]);
    transfer(&mut trace, &captured(8, &[&["a", "b"]], true));
    assert_eq!(named(&trace), ["77 op of a, layers.0", "1 op of b, layers.1"]);
}
