//! Steps of real traces of the corpus, if it is present.

use ferrum_trace_analyze::{Nesting, STEP_ARGS, Selected, Split, StepSource, Steps, StepsOptions, steps};
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_format::open::open;
use ferrum_trace_model::Trace;
use ferrum_trace_model::vocab::{Op, Phase};
use std::fs::File;
use std::path::PathBuf;

/// Loads a file of the collection; `None` if it is not present.
fn sample(file: &str) -> Option<(Trace, Steps)> {
    let named = std::env::var_os("FERRUM_TRACE_CORPUS").map(PathBuf::from);
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let path = named.clone().unwrap_or_else(|| PathBuf::from(beside)).join(file);
    if named.is_none() && !path.is_file() {
        return None;
    }
    let options = LoadOptions { args: STEP_ARGS.map(str::to_owned).to_vec(), ..LoadOptions::default() };
    let opened = open(File::open(&path).unwrap()).unwrap();
    let trace = load(opened, &options).unwrap().trace;
    let steps = steps(
        &trace,
        &Nesting::of(&trace),
        &Selected::all(&trace),
        &StepsOptions { n_slowest: 3, ..StepsOptions::default() },
    );
    check(&trace, &steps);
    Some((trace, steps))
}

/// Checks the properties of every trace.
fn check(trace: &Trace, steps: &Steps) {
    let sum = |times: &mut dyn Iterator<Item = i64>| times.sum::<i64>();
    assert_eq!(
        sum(&mut steps.gaps.iter().map(|gap| gap.total)),
        steps.all.unexplained,
        "gaps sum to the unexplained time"
    );
    assert_eq!(
        sum(&mut steps.idle_gaps.iter().map(|gap| gap.total)),
        steps.all.device.idle(),
        "gaps sum to the idle time"
    );
    assert_eq!(sum(&mut steps.groups.iter().map(|group| group.total)), steps.all.total, "groups sum to all steps");
    for step in &steps.steps {
        let Split { host, device, both, neither } = step.split;
        assert_eq!(host + device + both + neither, step.duration, "the parts add up");
    }
    let results = sum(&mut steps.steps.iter().map(|step| step.result_time));
    assert!(results == steps.all.result_time && results <= steps.wall, "time counts once");
    let kinds =
        ["kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"].map(|kind| trace.strings.find(kind));
    let n_device = trace.slices.category.iter().filter(|&&category| kinds.contains(&Some(category))).count() as u64;
    let attribution = steps.attribution.unwrap_or_default();
    let n_in_steps = attribution.by_launch
        + attribution.by_operation
        + attribution.by_flow
        + attribution.by_annotation
        + attribution.by_time;
    assert_eq!(n_in_steps + attribution.outside, n_device, "every kernel is in a step or counted outside");
    assert_eq!(steps.all.device.n_slices, n_in_steps, "steps have the kernels");
    let other = steps.device_ops.ops.iter().find(|op| op.op.is_none()).map_or(0, |op| op.count);
    assert_eq!(steps.device_ops.other.iter().map(|name| name.count).sum::<u64>(), other, "every other name is listed");
}

#[test]
fn a_step_of_vllm_has_the_kernels_of_its_graph() {
    let Some((_, steps)) = sample("torch-tracelens/inference_vllm_decode_full_graph_execution.json.gz") else { return };
    let [step] = &steps.steps[..] else { panic!("{:?}", steps.steps) };
    assert_eq!((step.mark.source, step.mark.phase), (StepSource::Vllm, Some(Phase::Decode)));
    assert_eq!((step.mark.batch, step.mark.decode_tokens, step.mark.context_tokens), (Some(32), Some(32), Some(55086)));
    // The kernels begin 6 ms after the mark has ended, and take 10.7 ms.
    assert_eq!((step.mark_duration, step.duration), (2_408_598, 19_114_059));
    let Split { host, device, both, neither } = step.split;
    assert_eq!([host, device, both, neither], [2_408_598, 10_717_708, 0, 5_987_753]);
    assert_eq!((steps.wall, steps.all.result_time, step.is_incomplete), (19_114_059, 19_114_059, false));
    let rates = [steps.all.tokens_per_second(), steps.all.tokens_per_device_second()];
    assert_eq!(rates.map(|rate| rate.map(|(_, decode)| decode.round())), [Some(1674.0), Some(2986.0)]);
    // 421 of them have the correlation of the graph's launch.
    assert_eq!(steps.attribution.map(|it| (it.by_launch, it.outside)), Some((434, 0)));
    let count = |op: Option<Op>| steps.device_ops.ops.iter().find(|it| it.op == op).map_or(0, |it| it.count);
    assert_eq!(count(Some(Op::Gemm)), 73);
    assert_eq!(count(Some(Op::Attention)), 36);
    assert_eq!(count(Some(Op::Moe)), 192);
    assert_eq!(count(Some(Op::Norm)), 49);
    assert_eq!((count(Some(Op::Rope)), count(Some(Op::KvCache)), count(None)), (24, 24, 2));
}

#[test]
fn annotations_take_precedence_over_steps_of_the_profiler() {
    let Some((_, steps)) = sample("torch-cpu/llama-sched.0.json.gz") else { return };
    assert_eq!(steps.sources, [(StepSource::Annotation, 8)]);
    let phases: Vec<_> = steps.groups.iter().map(|group| (group.phase, group.count)).collect();
    assert_eq!(phases, [(Some(Phase::Prefill), 2), (Some(Phase::Decode), 6)]);
    let Some((_, steps)) = sample("torch-cpu/llama-plain.pt.trace.json") else { return };
    assert_eq!(steps.all.count, 17);
    assert_eq!(steps.host_ops.ops[0].op, Some(Op::Gemm), "a CPU multiplies matrices most of the time");
    assert_eq!(steps.slowest.len(), 3);
}

#[test]
fn steps_of_the_profiler_are_a_last_resort() {
    let files = [
        ("torch-kineto-2021/resnet50_nw4_worker0.1623212756351.pt.trace.json.gz", 6),
        ("torch-tracelens/h100_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", 1),
        ("torch-hta/amd_trace_mi250_minitoy_train_ROCm6_2_kineto.json.gz", 2),
        ("torch-hta/trace_compare_base_base.json.gz", 2),
    ];
    for (file, n_steps) in files {
        let Some((_, steps)) = sample(file) else { return };
        assert_eq!(steps.sources, [(StepSource::Profiler, n_steps)], "{file}");
    }
}

#[test]
fn traces_of_other_kinds_have_no_steps() {
    for file in ["ferrum/m3_trace.json", "torch-cpu/ddp-gloo4/rank0.json", "node/node20-http-1.json"] {
        let Some((_, steps)) = sample(file) else { return };
        assert!(steps.steps.is_empty(), "{file}");
    }
}
