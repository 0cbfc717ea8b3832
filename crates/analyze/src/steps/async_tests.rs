//! Tests of engines whose devices work while the host continues.

use super::tests::{argument, found};
use super::*;
use crate::test_traces;
use ferrum_trace_model::{End, StringId, TrackId};

const DECODE: &str = "step[DECODE bs=4]";
const PREFILL: &str = "step[EXTEND bs=1 toks=90]";

/// A slice (process, track, category, name, start and end) and its correlation.
type Event = ((&'static str, &'static str, &'static str, &'static str, i64, i64), Option<&'static str>);

fn mark(name: &'static str, start: i64, end: i64) -> Event {
    (("1", "1", "user_annotation", name, start, end), None)
}

fn launch(correlation: &'static str, at: i64) -> Event {
    (("1", "1", "cuda_runtime", "cudaGraphLaunch", at, at + 1), Some(correlation))
}

fn kernel(correlation: &'static str, start: i64, end: i64) -> Event {
    (("0", "7", "kernel", "nvjet_tst", start, end), Some(correlation))
}

fn trace_of(events: &[Event]) -> Trace {
    let slices: Vec<_> = events.iter().map(|(slice, _)| *slice).collect();
    let mut trace = test_traces::trace(&slices);
    let correlations: Vec<(u32, &str)> = (0..).zip(events).filter_map(|(n, (_, id))| Some((n, (*id)?))).collect();
    argument(&mut trace, CORRELATION, &correlations);
    trace
}

/// Three decode steps that take 2 on the host, launched while the kernels of the previous step run: two kernels each, 9
/// of 10 busy.
fn pipelined() -> Vec<Event> {
    let step = |(id, start): (&'static str, i64)| {
        [
            mark(DECODE, start, start + 2),
            launch(id, start + 1),
            kernel(id, start + 5, start + 9),
            kernel(id, start + 10, start + 15),
        ]
    };
    [("a", 0), ("b", 10), ("c", 20)].into_iter().flat_map(step).collect()
}

fn split_of(step: &Step) -> [i64; 4] {
    let Split { host, device, both, neither } = step.split;
    [host, device, both, neither]
}

fn gen_rate(group: &StepGroup) -> Option<i64> {
    group.tokens_per_second().map(|(_, decode)| decode.round() as i64)
}

#[test]
fn a_step_lasts_until_its_kernels_have_ended() {
    let steps = found(&trace_of(&pipelined()));
    let times: Vec<_> = steps.steps.iter().map(|step| (step.start, step.duration, step.mark_duration)).collect();
    assert_eq!(times, [(0, 15, 2), (10, 15, 2), (20, 15, 2)]);
    for step in &steps.steps {
        assert_eq!(split_of(step), [2, 9, 0, 4]);
        assert_eq!(step.device_end, Some(step.end()));
    }
    assert_eq!((steps.wall, steps.all.total, steps.all.mark_total), (35, 45, 6));
    assert_eq!((steps.all.durations.p50, steps.all.durations.max), (15, 15));
}

#[test]
fn time_that_steps_share_counts_once_in_rates() {
    let steps = found(&trace_of(&pipelined()));
    assert_eq!(steps.steps.iter().map(|step| step.result_time).collect::<Vec<_>>(), [15, 10, 10]);
    // 12 tokens in 35 ns, not in 45 or 6; 12 in the 27 ns in which the device works.
    assert_eq!((steps.all.result_time, gen_rate(&steps.all)), (35, Some(342_857_143)));
    let of_device = steps.all.tokens_per_device_second().map(|(_, decode)| decode.round() as i64);
    assert_eq!(of_device, Some(444_444_444));
    assert_eq!(steps.all.per_second(steps.result_wall), steps.all.tokens_per_second());
}

/// A decode of 10 on the device, a prefill of 30, a decode of 10; all launched at the beginning.
fn mixed_queue() -> Trace {
    trace_of(&[
        mark(DECODE, 0, 2),
        launch("a", 1),
        kernel("a", 2, 12),
        mark(PREFILL, 2, 4),
        launch("b", 3),
        kernel("b", 12, 42),
        mark(DECODE, 4, 6),
        launch("c", 5),
        kernel("c", 42, 52),
    ])
}

#[test]
fn waiting_for_another_step_is_not_result_time() {
    let trace = mixed_queue();
    let steps = found(&trace);
    let [prefill, decode] = &steps.groups[..] else { panic!("{:?}", steps.groups) };
    assert_eq!((prefill.result_time, decode.result_time, steps.all.result_time), (30, 22, 52));
    assert_eq!((prefill.total, decode.total), (40, 60));
    assert_eq!(split_of(&steps.steps[2]), [2, 10, 0, 36]);
    // The rates are the same if only one phase is selected.
    let options = StepsOptions { phases: vec![Phase::Decode], ..StepsOptions::default() };
    let alone = super::steps(&trace, &Nesting::of(&trace), &Selected::all(&trace), &options);
    assert_eq!(alone.all.tokens_per_second(), decode.tokens_per_second());
    assert_eq!(alone.phases, [(Some(Phase::Prefill), 1), (Some(Phase::Decode), 2)]);
}

#[test]
fn ranks_with_separate_devices_are_separate_engines() {
    let of_rank = |pid: &'static str, gpu: &'static str, id: &'static str| {
        [
            ((pid, "1", "user_annotation", DECODE, 0, 2), None),
            ((pid, "1", "cuda_runtime", "cudaGraphLaunch", 1, 2), Some(id)),
            ((gpu, "7", "kernel", "nvjet_tst", 2, 10), Some(id)),
        ]
    };
    let two_devices = trace_of(&[of_rank("1", "8", "a"), of_rank("2", "9", "b")].concat());
    assert_eq!(found(&two_devices).all.result_time, 20);
    let one_device = trace_of(&[of_rank("1", "8", "a"), of_rank("2", "8", "b")].concat());
    assert_eq!(found(&one_device).all.result_time, 10);
}

#[test]
fn longer_device_work_is_part_of_the_excess() {
    let mut events = pipelined();
    // The kernels of the last step begin 3 later, and the last one takes 20 longer.
    let n_events = events.len();
    events[n_events - 2] = kernel("c", 28, 32);
    events[n_events - 1] = kernel("c", 33, 58);
    let steps = found(&trace_of(&events));
    let [slow] = &steps.slowest[..] else { panic!("{:?}", steps.slowest) };
    assert_eq!((slow.step, slow.excess), (2, 23));
    let host: Vec<_> = slow.host.iter().map(|difference| (difference.what, difference.excess())).collect();
    assert_eq!(host, [(DifferenceSubject::DeviceOnly, 20), (DifferenceSubject::Neither, 3)]);
}

#[test]
fn a_step_whose_kernels_are_not_in_the_file_is_in_no_rate() {
    let mut events = pipelined();
    events.truncate(events.len() - 2);
    let steps = found(&trace_of(&events));
    let incomplete: Vec<_> = steps.steps.iter().map(|step| (step.is_incomplete, step.n_unanswered)).collect();
    assert_eq!(incomplete, [(false, 0), (false, 0), (true, 1)]);
    assert_eq!((steps.all.n_incomplete, steps.result_wall, steps.all.result_time), (1, 25, 25));
    // 8 tokens in 25 ns.
    assert_eq!((steps.all.decode_tokens, gen_rate(&steps.all)), (12, Some(320_000_000)));
}

#[test]
fn without_any_kernels_there_is_no_rate() {
    let is_host = |event: &Event| event.0.2 != "kernel";
    let host: Vec<Event> = pipelined().into_iter().filter(is_host).collect();
    let steps = found(&trace_of(&host));
    assert_eq!((steps.all.n_incomplete, steps.all.tokens_per_second()), (3, None));
    let is_mark = |event: &Event| event.0.2 == "user_annotation";
    let marks = trace_of(&pipelined().into_iter().filter(is_mark).collect::<Vec<_>>());
    // Nothing in the file indicates a device.
    assert_eq!((found(&marks).all.n_incomplete, gen_rate(&found(&marks).all)), (0, Some(2_000_000_000)));
    let options = StepsOptions { names_device: true, ..StepsOptions::default() };
    let steps = super::steps(&marks, &Nesting::of(&marks), &Selected::all(&marks), &options);
    assert_eq!((steps.all.n_incomplete, steps.all.tokens_per_second()), (3, None));
    let mut named = marks;
    let device = named.strings.intern("GPU 0 / stream 7");
    let tid = named.strings.intern("7");
    let pid = named.strings.intern("1");
    let track = named.tracks.track(Some(pid), Some(tid));
    named.tracks.get_mut(track).name = Some(device);
    assert_eq!(found(&named).all.n_incomplete, 3);
}

#[test]
fn devices_are_found_in_the_fields_of_a_file() {
    let fields = |value: &str| [("deviceProperties".to_owned(), value.as_bytes().to_vec())];
    assert!(names_device(&fields(r#"[{"id": 0, "name": "A100"}]"#)));
    assert!(!names_device(&fields("[\n]")));
    assert!(!names_device(&[]));
}

#[test]
fn a_step_without_work_is_incomplete_if_others_of_its_phase_have_some() {
    let mut events = pipelined();
    events.truncate(events.len() - 3);
    events.push(mark(PREFILL, 30, 40));
    events.push(mark("step[DECODE bs=0]", 40, 41));
    let steps = found(&trace_of(&events));
    let incomplete: Vec<_> = steps.steps.iter().map(|step| step.is_incomplete).collect();
    assert_eq!(incomplete, [false, false, true, false, false]);
}

#[test]
fn calls_that_launch_nothing_need_no_kernels() {
    let mut events = pipelined();
    let runtime = |name: &'static str, id| (("1", "1", "cuda_runtime", name, 11, 12), Some(id));
    events.extend([runtime("cudaLaunchHostFunc", "x"), runtime("cudaMemsetAsync", "y")]);
    events.push((("1", "1", "cpu_op", "LaunchTemplate", 11, 12), Some("z")));
    assert_eq!(found(&trace_of(&events)).all.n_incomplete, 0);
    events.push(runtime("cudaLaunchKernel", "captured"));
    assert_eq!(found(&trace_of(&events)).all.n_incomplete, 1);
    events.push(runtime("cudaStreamBeginCapture", "v"));
    assert_eq!(found(&trace_of(&events)).all.n_incomplete, 0);
}

#[test]
fn kernels_that_were_launched_before_the_file_belong_to_no_step() {
    let mut events = pipelined();
    events.push(kernel("earlier", 0, 2));
    let steps = found(&trace_of(&events));
    let expected = Attribution { by_launch: 6, outside: 1, outside_total: 2, ..Attribution::default() };
    assert_eq!(steps.attribution, Some(expected));
    assert_eq!(split_of(&steps.steps[0]), [2, 9, 0, 4]);
}

#[test]
fn kernels_are_found_by_the_operation_that_launched_them() {
    let mut trace = test_traces::trace(&[
        ("1", "1", "user_annotation", DECODE, 0, 2),
        ("1", "1", "cpu_op", "aten::mm", 0, 1),
        ("1", "1", "user_annotation", DECODE, 2, 4),
        ("0", "7", "kernel", "nvjet_tst", 3, 20),
    ]);
    argument(&mut trace, EXTERNAL_ID, &[(1, "5"), (3, "5")]);
    let steps = found(&trace);
    assert_eq!(steps.attribution, Some(Attribution { by_operation: 1, ..Attribution::default() }));
    assert_eq!((steps.steps[0].duration, steps.steps[0].is_incomplete), (20, false));
    assert_eq!((steps.steps[1].duration, steps.steps[1].is_incomplete), (2, true));
}

#[test]
fn kernels_belong_to_the_device_mark_that_they_run_in() {
    let trace = trace_of(&[
        launch("a", 1),
        launch("b", 12),
        (("0", "7", "gpu_user_annotation", DECODE, 10, 20), None),
        kernel("a", 10, 19),
        (("0", "7", "gpu_user_annotation", DECODE, 20, 30), None),
        kernel("b", 20, 30),
    ]);
    let steps = found(&trace);
    assert_eq!(steps.steps.iter().map(split_of).collect::<Vec<_>>(), [[0, 9, 0, 1], [0, 10, 0, 0]]);
    assert_eq!((steps.all.n_incomplete, steps.all.result_time), (0, 20));
}

/// Two steps, each with a flow to the work that a device measured for it.
fn with_flows(is_last_measured: bool) -> Trace {
    let mut trace = test_traces::trace(&[
        ("1", "1", "step", "decode", 0, 10),
        ("1", "1", "step", "decode", 10, 20),
        ("1", "gpu", "gemm", "up", 12, 18),
        ("1", "gpu", "gemm", "up", 25, 40),
    ]);
    argument(&mut trace, CLOCK_ERROR_NS, &[(2, "40"), (3, "40")]);
    argument(&mut trace, vocab::step::DECODE_TOKENS, &[(0, "1"), (1, "1")]);
    let [host, gpu] = [TrackId(0), TrackId(1)];
    let mut points = vec![(End::Begin, host, 3, "a"), (End::Finish, gpu, 12, "a"), (End::Begin, host, 13, "b")];
    points.extend(is_last_measured.then_some((End::Finish, gpu, 25, "b")));
    for (end, track, time, id) in points {
        let id = trace.strings.intern(id);
        trace.flows.time.push(time);
        trace.flows.track.push(track);
        trace.flows.end.push(end);
        trace.flows.name.push(StringId::EMPTY);
        trace.flows.category.push(StringId::EMPTY);
        trace.flows.id.push(id);
    }
    trace
}

#[test]
fn flows_to_devices_show_launched_and_missing_work() {
    let steps = found(&with_flows(true));
    assert_eq!(steps.steps.iter().map(|step| step.duration).collect::<Vec<_>>(), [18, 30]);
    assert_eq!((steps.all.n_incomplete, steps.all.result_time), (0, 40));
    let steps = found(&with_flows(false));
    assert_eq!(steps.steps.iter().map(|step| step.n_unanswered).collect::<Vec<_>>(), [0, 1]);
    assert_eq!((steps.all.n_incomplete, steps.all.result_time), (1, 18));
}
