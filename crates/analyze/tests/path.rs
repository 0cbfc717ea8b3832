//! Critical paths of real traces: the small corpus of the repository, and the whole one if it is present.

use ferrum_trace_analyze::{
    CriticalPath, Nesting, PATH_ARGS, PathError, PathOptions, PathWindow, PieceKind, Resource, STEP_ARGS, WhatIf, path,
    write_with_path,
};
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_format::open::open;
use ferrum_trace_model::Trace;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Returns the folder of the corpus; `None` if it is not present.
fn corpus() -> Option<PathBuf> {
    let named = std::env::var_os("FERRUM_TRACE_CORPUS").map(PathBuf::from);
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus"));
    named.or_else(|| beside.is_dir().then_some(beside))
}

fn loaded(file: &Path) -> Option<Trace> {
    let args = STEP_ARGS.into_iter().chain(PATH_ARGS).map(str::to_owned).collect();
    let options = LoadOptions { args, ..LoadOptions::default() };
    load(open(File::open(file).ok()?).ok()?, &options).ok().map(|it| it.trace)
}

fn sample(file: &str) -> Option<Trace> {
    let path = corpus()?.join(file);
    path.is_file().then(|| loaded(&path).unwrap())
}

fn found(trace: &Trace, window: PathWindow, what_if: Option<&str>) -> Result<CriticalPath, PathError> {
    let what_if = what_if.map(|text| WhatIf::parse(text).unwrap());
    path(trace, &Nesting::of(trace), &PathOptions { window, what_if, ..PathOptions::default() })
}

/// Name and length in whole microseconds of each piece, as HTA has them.
fn pieces(trace: &Trace, path: &CriticalPath) -> Vec<(PieceKind, String, i64)> {
    let name = |slice: u32| trace.strings.get(trace.slices.name[slice as usize]).to_owned();
    path.pieces.iter().map(|it| (it.kind, it.slice.map(name).unwrap_or_default(), it.duration() / 1000)).collect()
}

/// Returns the time of an annotation, counted from the first event.
fn annotation(trace: &Trace, name: &str, instance: usize) -> std::ops::Range<i64> {
    let id = trace.strings.find(name).unwrap();
    let mut slices: Vec<usize> = (0..trace.slices.len()).filter(|&slice| trace.slices.name[slice] == id).collect();
    slices.sort_by_key(|&slice| trace.slices.start[slice]);
    let (slice, first) = (slices[instance], trace.census.first.unwrap());
    trace.slices.start[slice] - first..trace.slices.end(slice) - first
}

const ALEXNET: &str = "[param|pytorch.model.alex_net|0|0|0|measure|forward]";

#[test]
fn all_kernels_of_a_graph_launch_are_on_the_path_of_vllm() {
    let Some(trace) = sample("torch-tracelens/inference_vllm_decode_full_graph_execution.json.gz") else { return };
    let path = found(&trace, PathWindow::Auto, None).unwrap();
    assert!(path.totals.share(PieceKind::DeviceWork) > 0.99, "{:?}", path.totals.kinds);
    let n_device = path.pieces.iter().filter(|it| it.kind == PieceKind::DeviceWork).count();
    assert_eq!(n_device, 434, "kernels and copies");
    assert_eq!((path.bound.by, path.bound.is_certain), (Some(Resource::DeviceCompute), true));
}

#[test]
fn figures_that_share_our_definition_equal_those_of_hta() {
    let Some(trace) = sample("torch-hta/critical_path_simple_add_benchmark_result_493459_1694039959_trace.json.gz")
    else {
        return;
    };
    let path = found(&trace, PathWindow::Time(annotation(&trace, ALEXNET, 1)), None).unwrap();
    let pieces = pieces(&trace, &path);
    let relu = pieces.iter().position(|(_, name, _)| name == "aten::relu_").unwrap();
    let names_and_times: Vec<(&str, i64)> =
        pieces[relu..relu + 5].iter().map(|(_, name, time)| (name.as_str(), *time)).collect();
    let expected = [
        ("aten::relu_", 15),
        ("aten::clamp_min_", 14),
        ("cudaLaunchKernel", 17),
        ("aten::clamp_min_", 15),
        ("aten::relu_", 32),
    ];
    assert_eq!(names_and_times, expected);
    let total = |name: &str| {
        let row = path.totals.rows.iter().find(|row| row.name == trace.strings.find(name)).unwrap();
        (row.total / 1000, row.count)
    };
    assert_eq!(total("cudaMalloc"), (235_418, 5));
    assert_eq!(total("aten::empty_like").0, 971);
    assert_eq!(total("aten::cudnn_convolution").0, 709);
}

#[test]
fn kernels_before_a_synchronization_have_the_times_of_hta() {
    let Some(trace) = sample("torch-hta/critical_path_alexnet_benchmark_result_2869224_1695835535_trace.json.gz")
    else {
        return;
    };
    let path = found(&trace, PathWindow::Time(annotation(&trace, ALEXNET, 1)), None).unwrap();
    let [device, launch] = [PieceKind::DeviceWork, PieceKind::LaunchDelay].map(|kind| path.totals.of_kind(kind) / 1000);
    assert_eq!((device, launch), (3_712, 30));
    let malloc = path.totals.rows.iter().find(|row| row.name == trace.strings.find("cudaMalloc")).unwrap();
    assert_eq!(malloc.total / 1000, 31_525);
}

#[test]
fn a_wait_for_an_event_has_the_kernel_and_the_launch_of_hta() {
    let Some(trace) = sample("torch-hta/critical_path_cuda_event_sync_event_sync_trace.json.gz") else { return };
    let path = found(&trace, PathWindow::Auto, None).unwrap();
    let on_device: Vec<_> = pieces(&trace, &path)
        .into_iter()
        .filter(|it| matches!(it.0, PieceKind::DeviceWork | PieceKind::LaunchDelay))
        .collect();
    let spin = "at::cuda::(anonymous namespace)::spin_kernel(long)";
    let is_spin = |it: &&(PieceKind, String, i64)| it.1 == spin;
    let spins: Vec<_> = on_device.iter().filter(is_spin).map(|it| (it.0, it.2)).collect();
    assert_eq!(spins, [(PieceKind::LaunchDelay, 10), (PieceKind::DeviceWork, 36)]);
}

#[test]
fn a_wait_of_hip_leads_to_the_device() {
    let Some(trace) = sample("torch-hta/amd_trace_mi250_minitoy_train_ROCm6_2_kineto.json.gz") else { return };
    let path = found(&trace, PathWindow::Whole, None).unwrap();
    let pieces = pieces(&trace, &path);
    let waits: Vec<usize> = (0..pieces.len()).filter(|&at| pieces[at].1 == "hipMemcpyWithStream").collect();
    let after_work = |at: usize| pieces[at].0 == PieceKind::CopyWait && pieces[at - 1].0 == PieceKind::DeviceWork;
    assert!(waits.iter().filter(|&&at| at > 0 && after_work(at)).count() == 2, "{pieces:?}");
}

fn traces(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            traces(&path, found);
        } else if !path.to_string_lossy().ends_with(".expected.json") {
            found.push(path);
        }
    }
}

/// Checks the properties of the path of a window, if the trace has it.
fn check(file: &Path, trace: &Trace, window: PathWindow) -> bool {
    let Ok(path) = found(trace, window.clone(), Some("host=1x")) else { return false };
    let mut now = path.from;
    for piece in &path.pieces {
        assert!(piece.start == now && piece.end > piece.start, "{}: {piece:?}", file.display());
        now = piece.end;
    }
    assert_eq!(now, path.to, "{}", file.display());
    let duration = |path: &CriticalPath| path.prediction.as_ref().unwrap().duration;
    assert_eq!(duration(&path), path.duration(), "{}: the graph reproduces the recording", file.display());
    for change in ["host=0.5x,device=0.7x", "host=0,device=0,launch=0,gaps=0,copies=0"] {
        let shorter = found(trace, window.clone(), Some(change)).unwrap();
        assert!(duration(&shorter) <= path.duration(), "{}: {change}", file.display());
    }
    true
}

#[test]
fn paths_of_real_traces_cover_the_window_and_reproduce_it() {
    let mut files = Vec::new();
    traces(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/corpus-small"), &mut files);
    files.extend(corpus().into_iter().flat_map(|folder| {
        let mut found = Vec::new();
        traces(&folder, &mut found);
        found
    }));
    let mut n_checked = 0;
    for file in &files {
        let Some(trace) = loaded(file).filter(|trace| !trace.slices.is_empty()) else { continue };
        let windows = [PathWindow::Whole, PathWindow::Slowest];
        n_checked += windows.into_iter().filter(|window| check(file, &trace, window.clone())).count();
    }
    assert!(n_checked > 0, "{} files", files.len());
}

#[test]
fn a_trace_with_its_path_is_left_for_the_check_by_perfetto() {
    const TRACE: &str = r#"{"traceEvents":[
        {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":1,"dur":4,"pid":1,"tid":1,"args":{"correlation":1}},
        {"ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","ts":6,"dur":30,"pid":1,"tid":1,"args":{"correlation":2}},
        {"ph":"X","cat":"kernel","name":"gemm","ts":9,"dur":20,"pid":2,"tid":7,"args":{"correlation":1}}]}"#;
    let args = STEP_ARGS.into_iter().chain(PATH_ARGS).map(str::to_owned).collect();
    let trace = load(TRACE.as_bytes(), &LoadOptions { args, ..LoadOptions::default() }).unwrap().trace;
    let path = found(&trace, PathWindow::Whole, None).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("viewer-check");
    std::fs::create_dir_all(&folder).unwrap();
    let mut out = Vec::new();
    write_with_path(&|| Ok(Box::new(TRACE.as_bytes())), &mut out, &trace, &path).unwrap();
    std::fs::write(folder.join("critical-path.json"), out).unwrap();
    let expected = format!("slices={}\nflows=1\n", 3 + path.pieces.len());
    std::fs::write(folder.join("critical-path.json.expect"), expected).unwrap();
    assert_eq!(path.pieces.len(), 3, "a launch delay, a kernel and the return from the wait");
}
