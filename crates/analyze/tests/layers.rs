//! Layers of the kernels of real traces, if the collection is present: see `corpus.rs`.

use ferrum_trace_analyze::{
    LAYER_ARGS, LayerColumns, LayerSource, Layers, LayersOptions, Nesting, Selected, devices, layers,
};
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_format::open::open;
use ferrum_trace_model::Trace;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Loads a trace of the collection; `None` if there is no collection.
fn sample(name: &str) -> Option<Trace> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let folder = std::env::var_os("FERRUM_TRACE_CORPUS").map_or_else(beside, PathBuf::from);
    let opened = open(File::open(folder.join(name)).ok()?).unwrap();
    let args = LAYER_ARGS.map(str::to_owned).to_vec();
    Some(load(opened, &LoadOptions { args, ..LoadOptions::default() }).unwrap().trace)
}

fn by_category(trace: &Trace) -> Layers {
    let options = LayersOptions { columns: LayerColumns::Category, source: LayerSource::Auto, phases: Vec::new() };
    layers(trace, &Nesting::of(trace), &Selected::all(trace), &options)
}

/// Returns the durations of kernels and copies in layers.
fn device_time(trace: &Trace, layers: &Layers) -> i64 {
    let names = layers.columns.iter().map(|column| column.unwrap().content(&trace.strings).into_owned());
    let of_devices = names.enumerate().filter(|(_, name)| ["kernel", "gpu_memcpy", "gpu_memset"].contains(&&**name));
    of_devices.map(|(column, _)| layers.column_sum(&layers.phases[0], column).total).sum()
}

#[test]
fn kernels_of_torch_are_in_the_layers_that_launched_them() {
    let Some(trace) = sample("torch-tracelens/h100_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz") else { return };
    let found = by_category(&trace);
    assert_eq!(found.layers, Vec::from_iter(0..24));
    let in_layers = device_time(&trace, &found);
    // The file begins while the device works: the other kernels were launched before.
    assert!(in_layers > 30_000_000, "{in_layers} ns");
    let device = &devices(&trace)[0];
    let all = in_layers + found.unlayered.all().total;
    assert!(all >= device.busy && found.unlayered.unknown_launch.total > 13_000_000, "{all} ns");
}

#[test]
fn kernels_of_a_trace_without_layers_are_counted() {
    let Some(trace) = sample("torch-tracelens/inference_vllm_decode_full_graph_execution.json.gz") else { return };
    let found = by_category(&trace);
    assert_eq!(found.layers, [0; 0]);
    assert_eq!((found.unlayered.by_graph.count, found.unlayered.all().count), (421, 434));
}
