use super::*;
use crate::test_traces;
use ferrum_trace_model::vocab::Op;
use ferrum_trace_model::{ArgColumn, ArgValue, End, StringId};
use proptest::prelude::*;

pub(super) fn found(trace: &Trace) -> Steps {
    steps(trace, &Nesting::of(trace), &Selected::all(trace), &StepsOptions { n_slowest: 3, ..Default::default() })
}

pub(super) fn argument(trace: &mut Trace, key: &str, values: &[(u32, &str)]) {
    let (order, value) =
        values.iter().map(|&(order, value)| (order, ArgValue::intern(value, &mut trace.strings))).unzip();
    trace.args.push(ArgColumn { key: key.to_owned(), order, value });
}

fn name(trace: &Trace, id: Option<StringId>) -> &str {
    id.map_or("-", |id| trace.strings.get(id))
}

/// Three decode steps and a prefill; the second decode is slow because of its sampling, and has a gap.
fn engine() -> Trace {
    let mut trace = test_traces::trace(&[
        ("1", "1", "step", "prefill", 0, 100),
        ("1", "1", "gemm", "up", 0, 90),
        ("1", "1", "step", "decode", 100, 120),
        ("1", "1", "gemm", "up", 100, 115),
        ("1", "1", "sampling", "sample", 115, 120),
        ("1", "1", "step", "decode", 120, 170),
        ("1", "1", "gemm", "up", 122, 137),
        ("1", "1", "sampling", "sample", 145, 170),
        ("1", "1", "step", "step", 170, 190),
        ("1", "1", "gemm", "up", 170, 190),
        ("1", "2", "", "another thread", 0, 500),
    ]);
    argument(&mut trace, vocab::step::PHASE, &[(0, "prefill"), (2, "decode"), (8, "decode")]);
    argument(&mut trace, vocab::step::BATCH, &[(0, "1"), (2, "4"), (5, "4"), (8, "4")]);
    argument(&mut trace, vocab::step::PREFILL_TOKENS, &[(0, "64"), (2, "0")]);
    argument(&mut trace, vocab::step::DECODE_TOKENS, &[(0, "1"), (2, "4"), (5, "4"), (8, "4")]);
    trace
}

#[test]
fn steps_are_grouped_by_phase_and_batch() {
    let steps = found(&engine());
    assert_eq!(steps.sources, [(StepSource::Ferrum, 4)]);
    assert_eq!((steps.wall, steps.n_tracks, steps.n_nested), (190, 1, 0));
    let [prefill, decode] = &steps.groups[..] else { panic!("{:?}", steps.groups) };
    assert_eq!((prefill.phase, prefill.count, prefill.prefill_tokens), (Some(Phase::Prefill), 1, 64));
    assert_eq!((decode.phase, decode.batch), (Some(Phase::Decode), Some(BatchRange { from: 4, to: 4 })));
    assert_eq!((decode.count, decode.total, decode.decode_tokens), (3, 90, 12));
    assert_eq!((decode.durations.p50, decode.durations.p95, decode.durations.max), (20, 50, 50));
    // 12 tokens in 90 ns.
    assert_eq!(decode.tokens_per_second().unwrap().1.round(), 133_333_333.0);
    assert_eq!((steps.all.count, steps.all.total, steps.all.prefill_tokens, steps.all.decode_tokens), (4, 190, 64, 13));
}

#[test]
fn gaps_are_reported_with_their_neighbors() {
    let trace = engine();
    let steps = found(&trace);
    // 10 at the end of the prefill; 2 and 8 in the second decode.
    assert_eq!((steps.all.unexplained, steps.gaps.iter().map(|gap| gap.total).sum::<i64>()), (20, 20));
    let named: Vec<_> = steps
        .gaps
        .iter()
        .map(|gap| (name(&trace, gap.place.after), name(&trace, gap.place.before), gap.count, gap.total))
        .collect();
    assert_eq!(named, [("up", "-", 1, 10), ("up", "sample", 1, 8), ("-", "up", 1, 2)]);
    assert_eq!(steps.groups[1].coverage(), 1.0 - 10.0 / 90.0);
}

#[test]
fn a_slow_step_is_compared_with_the_median_of_its_group() {
    let trace = engine();
    let steps = found(&trace);
    let [slow] = &steps.slowest[..] else { panic!("{:?}", steps.slowest) };
    assert_eq!((slow.step, slow.excess), (2, 30));
    let host: Vec<_> = slow.host.iter().map(|difference| (difference.what, difference.excess())).collect();
    let [up, sample] = ["up", "sample"].map(|name| DifferenceSubject::Name(trace.strings.find(name).unwrap()));
    // The median of 20, 20 and 50 is the second of them: 20 in all, no sampling.
    assert_eq!(host, [(sample, 25), (DifferenceSubject::NoSlice, 10), (up, -5)]);
    assert_eq!(host.iter().map(|(_, excess)| excess).sum::<i64>(), slow.excess);
    assert_eq!(slow.gap.map(|(place, length)| (name(&trace, place.after), length)), Some(("up", 8)));
    assert_eq!(slow.device, []);
}

#[test]
fn host_time_is_summed_by_operation() {
    let trace = engine();
    let ops = found(&trace).host_ops;
    let gemm = OpTime { op: Some(Op::Gemm), count: 4, total: 140 };
    let sampling = OpTime { op: Some(Op::Sampling), count: 2, total: 30 };
    assert_eq!(ops, OpTimes { ops: vec![gemm, sampling], other: Vec::new() });
}

#[test]
fn the_outermost_mark_is_the_step_and_profiler_steps_are_a_last_resort() {
    let outer = "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk64sqsq32sqsk64)";
    let mut slices = vec![
        ("1", "1", "user_annotation", "ProfilerStep#1", 0, 100),
        ("1", "1", "user_annotation", outer, 10, 90),
        ("1", "1", "user_annotation", "step[DECODE bs=32]", 20, 80),
    ];
    let steps = found(&test_traces::trace(&slices));
    assert_eq!((steps.sources, steps.n_nested, steps.steps[0].slice), (vec![(StepSource::Vllm, 1)], 1, 1));
    slices.truncate(1);
    let steps = found(&test_traces::trace(&slices));
    assert_eq!((steps.sources, steps.groups[0].phase), (vec![(StepSource::Profiler, 1)], None));
    assert!(found(&test_traces::track(&[("decode", 0, 1)])).steps.is_empty(), "no annotation, and not of our category");
}

/// Two steps whose kernels run later; the kernels of the second come from a graph, and a copy has no launch at all.
fn device() -> Trace {
    let mut trace = test_traces::trace(&[
        ("1", "1", "user_annotation", "step[DECODE bs=1]", 0, 10),
        ("1", "1", "cuda_runtime", "cudaLaunchKernel", 2, 3),
        ("1", "1", "user_annotation", "step[DECODE bs=1]", 20, 30),
        ("1", "9", "cuda_runtime", "cudaGraphLaunch", 21, 22),
        ("1", "1", "cuda_runtime", "cudaLaunchKernel", 40, 41),
        ("0", "7", "kernel", "nvjet_tst", 15, 25),
        ("0", "7", "kernel", "rms_norm_kernel", 30, 35),
        ("0", "8", "kernel", "nvjet_tst", 32, 45),
        ("0", "7", "kernel", "mystery", 50, 60),
        ("0", "7", "kernel", "launched outside", 25, 26),
        ("0", "7", "gpu_memcpy", "Memcpy DtoH", 26, 27),
        ("0", "7", "gpu_memcpy", "Memcpy DtoH", 70, 80),
    ]);
    let correlations = [(1, "a"), (3, "b"), (4, "c"), (5, "a"), (6, "b"), (7, "b"), (8, "b"), (9, "c")];
    argument(&mut trace, CORRELATION, &correlations);
    trace
}

#[test]
fn kernels_belong_to_the_step_that_launched_them() {
    let trace = device();
    let steps = found(&trace);
    let expected = Attribution { by_launch: 4, by_time: 1, outside: 2, outside_total: 11, ..Attribution::default() };
    assert_eq!(steps.attribution, Some(expected));
    assert_eq!(steps.steps[0].device, DeviceTime { n_slices: 1, span: 10, busy: 10 });
    // From the copy at 26 to 60, of which 1, 15 and 10 are busy.
    assert_eq!(steps.steps[1].device, DeviceTime { n_slices: 4, span: 34, busy: 26 });
    let idle: Vec<_> = steps
        .idle_gaps
        .iter()
        .map(|gap| (name(&trace, gap.place.after), name(&trace, gap.place.before), gap.total))
        .collect();
    assert_eq!(idle, [("nvjet_tst", "mystery", 5), ("Memcpy DtoH", "rms_norm_kernel", 3)]);
}

#[test]
fn devices_are_identified_as_in_the_summary() {
    let mut trace = test_traces::trace(&[
        ("1", "1", "step", "decode", 0, 30),
        ("1", "7", "layer", "around two", 1, 9),
        ("1", "7", "gemm", "up", 1, 4),
        ("1", "7", "gemm", "down", 6, 9),
        ("1", "8", "gemm", "on the second", 20, 29),
    ]);
    argument(&mut trace, CLOCK_ERROR_NS, &[(1, "40"), (2, "40")]);
    for (track, name) in [(1, "GPU 0 / stream 7"), (2, "GPU 1")] {
        trace.tracks.get_mut(ferrum_trace_model::TrackId(track)).name = Some(trace.strings.intern(name));
    }
    // 1 to 9 on the one and 20 to 29 on the other: the time between is not idle time.
    assert_eq!(found(&trace).steps[0].device, DeviceTime { n_slices: 3, span: 17, busy: 15 });
}

#[test]
fn measured_work_belongs_to_the_step_where_its_flow_begins() {
    let mut trace = test_traces::trace(&[
        ("1", "1", "step", "decode", 0, 10),
        ("1", "1", "step", "decode", 10, 20),
        ("1", "gpu", "gemm", "up", 12, 18),
        ("1", "gpu", "gemm", "no flow", 18, 19),
        ("1", "gpu", "gemm", "not measured", 5, 6),
    ]);
    argument(&mut trace, CLOCK_ERROR_NS, &[(2, "40"), (3, "40")]);
    for (end, slice, time) in [(End::Begin, 0, 3), (End::Finish, 2, 12)] {
        trace.flows.time.push(time);
        trace.flows.track.push(trace.slices.track[slice]);
        trace.flows.end.push(end);
        trace.flows.name.push(StringId::EMPTY);
        trace.flows.category.push(StringId::EMPTY);
        trace.flows.id.push(StringId::EMPTY);
    }
    let steps = found(&trace);
    assert_eq!(steps.attribution, Some(Attribution { by_flow: 1, by_time: 1, ..Attribution::default() }));
    assert_eq!(steps.steps.iter().map(|step| step.device.busy).collect::<Vec<_>>(), [6, 1]);
    assert_eq!(steps.device_ops.ops, [OpTime { op: Some(Op::Gemm), count: 2, total: 7 }]);
}

#[test]
fn device_time_is_summed_by_operation() {
    let trace = device();
    let ops = found(&trace).device_ops;
    let found: Vec<_> = ops.ops.iter().map(|time| (time.op, time.count, time.total)).collect();
    let expected = [(Some(Op::Gemm), 2, 23), (None, 1, 10), (Some(Op::Norm), 1, 5), (Some(Op::Memory), 1, 1)];
    assert_eq!(found, expected);
    let [mystery] = ops.other[..] else { panic!("{:?}", ops.other) };
    assert_eq!((trace.strings.get(mystery.name), mystery.total), ("mystery", 10));
}

#[test]
fn device_marks_contain_kernels_without_a_launch() {
    let mut slices = vec![
        ("1", "1", "user_annotation", "step[DECODE bs=1]", 0, 10),
        ("1", "1", "user_annotation", "step[DECODE bs=1]", 10, 20),
        ("0", "7", "gpu_user_annotation", "step[DECODE bs=1]", 12, 22),
        ("0", "7", "gpu_user_annotation", "step[DECODE bs=1]", 22, 32),
        ("0", "7", "kernel", "a", 12, 22),
        ("0", "7", "kernel", "b", 22, 30),
    ];
    let steps = found(&test_traces::trace(&slices));
    assert_eq!(steps.steps.iter().map(|step| step.device.busy).collect::<Vec<_>>(), [10, 8]);
    assert_eq!(steps.attribution.map(|sums| (sums.by_annotation, sums.by_time)), Some((2, 0)));
    // A device alone: its marks are the steps.
    slices.drain(..2);
    let steps = found(&test_traces::trace(&slices));
    assert_eq!(
        steps.steps.iter().map(|step| (step.unexplained, step.device.busy)).collect::<Vec<_>>(),
        [(0, 10), (2, 8)]
    );
}

#[test]
fn steps_that_are_not_selected_keep_their_kernels() {
    let trace = device();
    let mut selected = Selected::all(&trace);
    selected.retain(|slice| slice == 2);
    let steps = steps(&trace, &Nesting::of(&trace), &selected, &StepsOptions::default());
    assert_eq!((steps.all.count, steps.all.device.n_slices), (1, 4));
    assert_eq!(steps.attribution.map(|sums| sums.by_launch), Some(4), "counts of the whole trace");
    let options = StepsOptions { phases: vec![Phase::Prefill], ..StepsOptions::default() };
    assert!(super::steps(&trace, &Nesting::of(&trace), &Selected::all(&trace), &options).steps.is_empty());
}

#[test]
fn many_batch_sizes_become_ranges() {
    let names: Vec<String> = (1..=20).map(|size| format!("step[DECODE bs={size}]")).collect();
    let slices: Vec<_> = names
        .iter()
        .zip(0..)
        .map(|(name, n)| ("1", "1", "user_annotation", name.as_str(), n * 10, n * 10 + 10))
        .collect();
    let steps = found(&test_traces::trace(&slices));
    let ranges: Vec<_> = steps.groups.iter().map(|group| group.batch.map(|batch| (batch.from, batch.to))).collect();
    assert_eq!(ranges, [(1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 32)].map(Some));
    assert_eq!(steps.groups[4].count, 8);
}

#[test]
fn steps_are_grouped_by_a_label_and_the_groups_sum_to_all_steps() {
    let mut trace = engine();
    argument(&mut trace, "adapter", &[(0, "b"), (2, "10"), (5, "9")]);
    let steps = found(&trace);
    let adapter = || StepKey::Label(crate::Labels::of_arg(&trace, "adapter"));
    let spelled = |group: &KeyedStepGroup| {
        let value = |value: &StepKeyValue| match value {
            StepKeyValue::Phase(phase) => format!("{phase:?}"),
            StepKeyValue::Batch(batch) => format!("{:?}", batch.map(|batch| (batch.from, batch.to))),
            StepKeyValue::Label(label) => label.map_or("-".to_owned(), |label| label.text(&trace)),
        };
        (group.key.iter().map(value).collect::<Vec<_>>().join(" "), group.group.count, group.group.total)
    };
    let groups = |by: &[StepKey]| group_steps(&trace, &steps.steps, by).iter().map(spelled).collect::<Vec<_>>();
    let row = |key: &str, count, total| (key.to_owned(), count, total);
    assert_eq!(groups(&[adapter()]), [row("9", 1, 50), row("10", 1, 20), row("b", 1, 100), row("-", 1, 20)]);
    let by_phase = [row("Some(Prefill) Some((1, 1))", 1, 100), row("Some(Decode) Some((4, 4))", 3, 90)];
    assert_eq!(groups(&[StepKey::Phase, StepKey::Batch]), by_phase);
    let default: Vec<StepGroup> = group_steps(&trace, &steps.steps, &[StepKey::Phase, StepKey::Batch])
        .into_iter()
        .map(|group| group.group)
        .collect();
    assert_eq!(default, steps.groups);
    for by in [vec![adapter(), StepKey::Phase], vec![StepKey::Batch], vec![]] {
        let sum = groups(&by).iter().fold((0, 0), |sum, row| (sum.0 + row.1, sum.1 + row.2));
        assert_eq!(sum, (steps.all.count, steps.all.total), "{by:?}");
    }
}

#[test]
fn the_times_of_layers_sum_to_those_of_operations() {
    let mut trace = device();
    argument(&mut trace, "layer", &[(0, "3"), (2, "4")]);
    let options = StepsOptions { by_layer: true, ..StepsOptions::default() };
    let steps = steps(&trace, &Nesting::of(&trace), &Selected::all(&trace), &options);
    let sum = |times: &[OpTime]| times.iter().fold((0, 0), |sum, time| (sum.0 + time.count, sum.1 + time.total));
    let times = &steps.layer_times;
    let on_host = times.iter().fold((0, 0), |sum, time| (sum.0 + time.count, sum.1 + time.total));
    let on_device = times.iter().fold((0, 0), |sum, time| (sum.0 + time.n_on_device, sum.1 + time.device_total));
    assert_eq!((on_host, on_device), (sum(&steps.host_ops.ops), sum(&steps.device_ops.ops)));
    assert!(on_host.1 > 0 && on_device.1 > 0 && times.len() > 1, "{steps:?}");
    assert!(found(&trace).layer_times.is_empty());
}

proptest! {
    #[test]
    fn gaps_sum_to_the_unexplained_time(
        slices in prop::collection::vec((0_i64..100, 0_i64..30, any::<bool>()), 0..40),
    ) {
        let slices: Vec<_> = slices
            .iter()
            .map(|&(start, length, is_step)| {
                let (category, name) = if is_step { ("step", "decode") } else { ("gemm", "up") };
                ("1", "1", category, name, start, start + length)
            })
            .collect();
        let steps = found(&test_traces::trace(&slices));
        prop_assert_eq!(steps.gaps.iter().map(|gap| gap.total).sum::<i64>(), steps.all.unexplained);
        prop_assert_eq!(steps.steps.len() + steps.n_nested, slices.iter().filter(|slice| slice.2 == "step").count());
    }
}
