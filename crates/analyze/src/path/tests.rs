//! Tests of critical paths on small traces.

use super::build::{Built, build};
use super::piece::{Piece, PieceKind};
use super::report::pieces_of;
use super::window::Window;
use super::{MedianChange, PathError, PathOptions, PathSubject, PathWindow, Resource, WhatIf, path};
use crate::structure::nesting::Nesting;
use crate::test_traces;
use ferrum_trace_model::{ArgColumn, ArgValue, End, Trace, TrackId};

mod properties;

/// Adds an argument to slices: index and value.
fn add_arg(trace: &mut Trace, key: &str, values: &[(u32, &str)]) {
    let mut column = ArgColumn { key: key.to_owned(), ..ArgColumn::default() };
    for &(order, value) in values {
        column.order.push(order);
        column.value.push(ArgValue::intern(value, &mut trace.strings));
    }
    trace.args.push(column);
}

/// Adds a flow from one track and time to another.
fn add_flow(trace: &mut Trace, id: &str, points: [(u32, i64); 2]) {
    let [category, id] = ["flow", id].map(|text| trace.strings.intern(text));
    for ((track, time), end) in points.into_iter().zip([End::Begin, End::Finish]) {
        let flows = &mut trace.flows;
        flows.time.push(time);
        flows.name.push(category);
        flows.category.push(category);
        flows.track.push(TrackId(track));
        flows.id.push(id);
        flows.end.push(end);
    }
}

fn built(trace: &Trace) -> Built {
    build(trace, &Nesting::of(trace))
}

/// Kind, name and times of each piece of the whole trace.
fn whole(trace: &Trace) -> Vec<(PieceKind, String, i64, i64)> {
    let built = built(trace);
    described(trace, &pieces_of(&built, &Window::whole(trace, &built)))
}

fn described(trace: &Trace, pieces: &[Piece]) -> Vec<(PieceKind, String, i64, i64)> {
    let name = |slice: u32| trace.strings.get(trace.slices.name[slice as usize]).to_owned();
    pieces.iter().map(|it| (it.kind, it.slice.map(name).unwrap_or_default(), it.start, it.end)).collect()
}

fn piece(kind: PieceKind, name: &str, start: i64, end: i64) -> (PieceKind, String, i64, i64) {
    (kind, name.to_owned(), start, end)
}

/// A step that launches two kernels and waits for them.
fn launched_kernels() -> Trace {
    let mut trace = test_traces::trace(&[
        ("1", "1", "step", "decode", 0, 100),
        ("1", "1", "cuda_runtime", "cudaLaunchKernel", 10, 14),
        ("1", "1", "cuda_runtime", "cudaLaunchKernel", 16, 20),
        ("1", "1", "cuda_runtime", "cudaDeviceSynchronize", 30, 90),
        ("0", "7", "kernel", "gemm", 18, 60),
        ("0", "7", "kernel", "softmax", 62, 80),
    ]);
    add_arg(&mut trace, "correlation", &[(1, "1"), (2, "2"), (3, "3"), (4, "1"), (5, "2")]);
    trace
}

#[test]
fn a_synchronization_leads_to_the_kernels_and_their_launch() {
    let expected = [
        piece(PieceKind::HostWork, "decode", 0, 10),
        piece(PieceKind::LaunchDelay, "gemm", 10, 18),
        piece(PieceKind::DeviceWork, "gemm", 18, 60),
        piece(PieceKind::DeviceGap, "softmax", 60, 62),
        piece(PieceKind::DeviceWork, "softmax", 62, 80),
        piece(PieceKind::StreamWait, "cudaDeviceSynchronize", 80, 90),
        piece(PieceKind::HostWork, "decode", 90, 100),
    ];
    assert_eq!(whole(&launched_kernels()), expected);
}

#[test]
fn a_synchronization_after_the_kernels_is_host_work() {
    let mut trace = launched_kernels();
    trace.slices.start[3] = 82;
    trace.slices.duration[3] = 8;
    let kinds: Vec<PieceKind> = whole(&trace).iter().map(|it| it.0).collect();
    assert!(kinds.iter().all(|kind| *kind == PieceKind::HostWork), "{kinds:?}");
}

/// A thread that launches a kernel and waits for it in a span of its own, as flows of this recorder show it.
fn launched_by_flow(wait: &str) -> Trace {
    let mut trace = test_traces::trace(&[
        ("1", "1", "scheduler", "launch", 0, 10),
        ("1", "1", "scheduler", wait, 20, 90),
        ("0", "7", "kernel", "gemm", 15, 80),
    ]);
    add_flow(&mut trace, "1", [(0, 5), (1, 15)]);
    trace
}

#[test]
fn a_span_that_waits_leads_to_the_device_work_of_its_thread() {
    for wait in ["wait", "device_sync"] {
        let expected = [
            piece(PieceKind::HostWork, "launch", 0, 5),
            piece(PieceKind::LaunchDelay, "gemm", 5, 15),
            piece(PieceKind::DeviceWork, "gemm", 15, 80),
            piece(PieceKind::StreamWait, wait, 80, 90),
        ];
        assert_eq!(whole(&launched_by_flow(wait)), expected);
    }
}

/// The same with an operation after the wait. By the clock of the device, the work ends at `end`.
fn launched_until(end: i64) -> Trace {
    let mut trace = test_traces::trace(&[
        ("1", "1", "scheduler", "launch", 0, 10),
        ("1", "1", "scheduler", "wait", 20, 90),
        ("1", "1", "sampling", "sample", 90, 120),
        ("0", "7", "kernel", "gemm", 15, end),
    ]);
    add_flow(&mut trace, "1", [(0, 5), (1, 15)]);
    add_arg(&mut trace, "clock_error_ns", &[(3, "5")]);
    trace
}

#[test]
fn a_wait_ends_no_earlier_than_its_work_within_the_error_of_the_clock() {
    let expected = [
        piece(PieceKind::HostWork, "launch", 0, 5),
        piece(PieceKind::LaunchDelay, "gemm", 5, 15),
        piece(PieceKind::DeviceWork, "gemm", 15, 90),
        piece(PieceKind::HostWork, "sample", 90, 120),
    ];
    assert_eq!(whole(&launched_until(94)), expected);
    let kinds: Vec<PieceKind> = whole(&launched_until(96)).iter().map(|it| it.0).collect();
    assert!(kinds.contains(&PieceKind::Unexplained) && !kinds.contains(&PieceKind::DeviceWork), "{kinds:?}");
}

#[test]
fn a_span_that_waits_is_unexplained_if_no_work_of_its_thread_ends_in_it() {
    let mut trace = launched_by_flow("wait");
    // The work ends after the wait.
    trace.slices.duration[2] = 100;
    let of_wait = |trace: &Trace| {
        let wait = trace.strings.find("wait").unwrap();
        let options = PathOptions { window: PathWindow::Time(0..90), ..PathOptions::default() };
        let found = path(trace, &Nesting::of(trace), &options).unwrap();
        found.totals.rows.iter().find(|row| row.name == Some(wait)).map(|row| row.kind)
    };
    assert_eq!(of_wait(&trace), Some(PieceKind::Unexplained));
    // Another thread launched it.
    let mut trace = launched_by_flow("wait");
    trace.flows = Default::default();
    assert_eq!(of_wait(&trace), Some(PieceKind::Unexplained));
}

#[test]
fn a_step_ends_with_its_last_kernel() {
    let mut trace = launched_kernels();
    // The host does not wait.
    trace.slices.duration[0] = 25;
    trace.slices.start[3] = 22;
    trace.slices.duration[3] = 1;
    let found = path(&trace, &Nesting::of(&trace), &PathOptions::default()).unwrap();
    assert_eq!((found.subject, found.from, found.to), (PathSubject::Step { place: 0, slice: 0 }, 0, 80));
    assert_eq!(described(&trace, &found.pieces).last(), Some(&piece(PieceKind::DeviceWork, "softmax", 62, 80)));
    assert_eq!(found.bound.by, Some(Resource::DeviceCompute));
}

#[test]
fn all_kernels_of_a_graph_launch_are_on_the_path() {
    let mut trace = test_traces::trace(&[
        ("1", "1", "cuda_runtime", "hipGraphLaunch", 0, 50),
        ("0", "7", "kernel", "a", 5, 20),
        ("0", "8", "kernel", "b", 21, 40),
        ("0", "7", "kernel", "c", 41, 70),
    ]);
    add_arg(&mut trace, "correlation", &[(0, "1"), (1, "1"), (2, "1"), (3, "1")]);
    let names: Vec<String> =
        whole(&trace).into_iter().filter(|it| it.0 == PieceKind::DeviceWork).map(|it| it.1).collect();
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn an_event_synchronization_waits_for_the_stream_that_it_names() {
    let mut trace = test_traces::trace(&[
        ("1", "1", "cuda_runtime", "cudaLaunchKernel", 0, 2),
        ("1", "1", "cuda_runtime", "cudaLaunchKernel", 2, 4),
        ("1", "1", "cuda_runtime", "cudaEventRecord", 4, 5),
        ("1", "1", "cuda_runtime", "cudaEventSynchronize", 5, 40),
        ("0", "7", "kernel", "waited for", 6, 30),
        ("0", "8", "kernel", "not waited for", 6, 35),
        ("0", "-1", "cuda_sync", "Event Sync", 6, 40),
    ]);
    add_arg(&mut trace, "correlation", &[(0, "1"), (1, "2"), (2, "3"), (3, "4"), (4, "1"), (5, "2"), (6, "4")]);
    add_arg(&mut trace, "wait_on_stream", &[(6, "7")]);
    add_arg(&mut trace, "wait_on_cuda_event_record_corr_id", &[(6, "3")]);
    let names: Vec<String> = whole(&trace).into_iter().map(|it| it.1).collect();
    assert_eq!(names, ["waited for", "waited for", "cudaEventSynchronize"]);
}

#[test]
fn a_blocking_copy_is_on_the_path_of_its_caller() {
    let mut trace = test_traces::trace(&[
        ("1", "1", "cpu_op", "aten::item", 0, 50),
        ("1", "1", "cuda_runtime", "cudaMemcpyAsync", 5, 45),
        ("0", "7", "gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 12, 40),
    ]);
    add_arg(&mut trace, "correlation", &[(1, "1"), (2, "1")]);
    let expected = [
        piece(PieceKind::HostWork, "aten::item", 0, 5),
        piece(PieceKind::LaunchDelay, "Memcpy DtoH (Device -> Pageable)", 5, 12),
        piece(PieceKind::DeviceWork, "Memcpy DtoH (Device -> Pageable)", 12, 40),
        piece(PieceKind::CopyWait, "cudaMemcpyAsync", 40, 45),
        piece(PieceKind::HostWork, "aten::item", 45, 50),
    ];
    assert_eq!(whole(&trace), expected);
}

#[test]
fn work_that_waits_for_something_before_the_file_is_outside_of_it() {
    let mut trace = test_traces::trace(&[
        ("1", "1", "cuda_runtime", "cudaLaunchKernel", 0, 1_000),
        ("0", "7", "kernel", "gemm", 5_000_000, 5_100_000),
    ]);
    add_arg(&mut trace, "correlation", &[(0, "1"), (1, "1")]);
    let expected =
        [piece(PieceKind::OutsideFile, "", 0, 5_000_000), piece(PieceKind::DeviceWork, "gemm", 5_000_000, 5_100_000)];
    assert_eq!(whole(&trace), expected);
}

#[test]
fn a_flow_leads_to_the_thread_that_sent_it() {
    let mut trace = test_traces::trace(&[
        ("1", "1", "", "schedule", 0, 40),
        ("1", "2", "", "earlier", 0, 10),
        ("1", "2", "", "execute", 35, 90),
    ]);
    add_flow(&mut trace, "1", [(0, 30), (1, 36)]);
    let expected = [
        piece(PieceKind::HostWork, "schedule", 0, 30),
        piece(PieceKind::ThreadWait, "execute", 30, 35),
        piece(PieceKind::HostWork, "execute", 35, 90),
    ];
    assert_eq!(whole(&trace), expected);
}

#[test]
fn a_span_that_waits_ends_with_the_message() {
    let mut trace = test_traces::trace(&[
        ("1", "1", "", "schedule", 0, 40),
        ("1", "2", "", "wait for work", 0, 35),
        ("1", "2", "", "execute", 35, 90),
    ]);
    add_flow(&mut trace, "1", [(0, 30), (1, 36)]);
    let expected = [
        piece(PieceKind::HostWork, "schedule", 0, 30),
        piece(PieceKind::ThreadWait, "wait for work", 30, 35),
        piece(PieceKind::HostWork, "execute", 35, 90),
    ];
    assert_eq!(whole(&trace), expected);
    let without = test_traces::trace(&[("1", "2", "", "wait for work", 0, 35), ("1", "2", "", "execute", 35, 90)]);
    assert_eq!(whole(&without)[0], piece(PieceKind::Unexplained, "wait for work", 0, 35));
}

#[test]
fn a_message_that_came_while_a_thread_was_busy_does_not_bind() {
    let mut trace = test_traces::trace(&[
        ("1", "1", "", "schedule", 0, 40),
        ("1", "2", "", "busy", 0, 35),
        ("1", "2", "", "execute", 38, 90),
    ]);
    add_flow(&mut trace, "1", [(0, 30), (1, 39)]);
    let expected = [
        piece(PieceKind::HostWork, "busy", 0, 35),
        piece(PieceKind::Unexplained, "execute", 35, 38),
        piece(PieceKind::HostWork, "execute", 38, 90),
    ];
    assert_eq!(whole(&trace), expected);
}

#[test]
fn a_collective_leads_to_the_rank_that_came_last() {
    let trace = test_traces::trace(&[
        ("1", "1", "gemm", "fast", 0, 20),
        ("1", "1", "comm", "all_reduce", 20, 60),
        ("1", "1", "norm", "after", 60, 80),
        ("2", "1", "gemm", "slow", 0, 50),
        ("2", "1", "comm", "all_reduce", 50, 61),
    ]);
    let expected = [
        piece(PieceKind::HostWork, "slow", 0, 50),
        piece(PieceKind::HostWork, "all_reduce", 50, 60),
        piece(PieceKind::HostWork, "after", 60, 80),
    ];
    assert_eq!(whole(&trace), expected);
}

#[test]
fn pieces_inside_one_call_stack_belong_to_the_innermost_slice() {
    // The figures of HTA's own test.
    let us = 1_000;
    let trace = test_traces::trace(&[
        ("1", "1", "cpu_op", "aten::relu_", 0, 93 * us),
        ("1", "1", "cpu_op", "aten::clamp_min_", 15 * us, 61 * us),
        ("1", "1", "cuda_runtime", "cudaLaunchKernel", 29 * us, 46 * us),
    ]);
    let lengths: Vec<i64> = whole(&trace).iter().map(|it| (it.3 - it.2) / us).collect();
    assert_eq!(lengths, [15, 14, 17, 15, 32]);
}

#[test]
fn a_launch_delay_counts_from_the_begin_of_the_call_and_a_gap_from_the_kernel_before() {
    // As the launch delay of 27 and the delay between kernels of 7 in HTA's own test.
    let mut trace = test_traces::trace(&[
        ("1", "1", "cuda_runtime", "cudaLaunchKernel", 0, 15),
        ("1", "1", "cuda_runtime", "cudaLaunchKernel", 20, 24),
        ("0", "20", "kernel", "fft", 27, 90),
        ("0", "20", "kernel", "next", 97, 100),
    ]);
    add_arg(&mut trace, "correlation", &[(0, "1"), (1, "2"), (2, "1"), (3, "2")]);
    let expected = [
        piece(PieceKind::LaunchDelay, "fft", 0, 27),
        piece(PieceKind::DeviceWork, "fft", 27, 90),
        piece(PieceKind::DeviceGap, "next", 90, 97),
        piece(PieceKind::DeviceWork, "next", 97, 100),
    ];
    assert_eq!(whole(&trace), expected);
}

#[test]
fn an_async_operation_that_another_thread_continues_is_a_message() {
    let mut trace = test_traces::trace(&[("1", "1", "", "accept request", 0, 40), ("1", "2", "", "prefill", 35, 90)]);
    let [category, name, id] = ["request", "queued", "7"].map(|text| trace.strings.intern(text));
    for (track, time, end) in [(0, 30, End::Begin), (1, 35, End::Finish)] {
        let asyncs = &mut trace.asyncs;
        asyncs.time.push(time);
        asyncs.name.push(name);
        asyncs.category.push(category);
        asyncs.track.push(TrackId(track));
        asyncs.id.push(id);
        asyncs.end.push(end);
        asyncs.is_legacy.push(false);
        asyncs.order.push(2);
    }
    let expected = [
        piece(PieceKind::HostWork, "accept request", 0, 30),
        piece(PieceKind::ThreadWait, "prefill", 30, 35),
        piece(PieceKind::HostWork, "prefill", 35, 90),
    ];
    assert_eq!(whole(&trace), expected);
}

#[test]
fn a_change_is_predicted_with_what_becomes_critical() {
    let trace = launched_kernels();
    let options = |text: &str| PathOptions { what_if: Some(WhatIf::parse(text).unwrap()), ..PathOptions::default() };
    let duration = |trace: &Trace, text: &str| {
        path(trace, &Nesting::of(trace), &options(text)).unwrap().prediction.unwrap().duration
    };
    assert_eq!(duration(&trace, "gemm=1x"), 100);
    let found = path(&trace, &Nesting::of(&trace), &options("gemm=2x")).unwrap();
    let expected = MedianChange { before: 100, after: 142 };
    assert_eq!(found.prediction.unwrap().steps, Some(expected), "of the only step");
    assert_eq!(duration(&trace, "gemm=2x"), 142);
    assert_eq!(duration(&trace, "gemm=0.5x"), 79);
    // Without the kernels, the calls of the host remain.
    assert_eq!(duration(&trace, "device=0,gaps=0"), 20 + 10 + 10 + 10);
    let found = path(&trace, &Nesting::of(&trace), &options("unheard=0")).unwrap_err();
    let PathError::Change(text) = found else { panic!("an error about a change") };
    assert!(
        text.contains("nothing is named `unheard`") && text.contains("`gemm`") && text.contains("`launch`"),
        "{text}"
    );
}

#[test]
fn a_window_that_does_not_exist_is_an_error() {
    let trace = launched_kernels();
    let find = |window| path(&trace, &Nesting::of(&trace), &PathOptions { window, ..PathOptions::default() });
    assert_eq!(find(PathWindow::Step(2)).unwrap_err(), PathError::NoStep { number: 2, n_steps: 1 });
    assert_eq!(find(PathWindow::Step(0)).unwrap_err(), PathError::NoStep { number: 0, n_steps: 1 });
    assert_eq!(find(PathWindow::Time(5..5)).unwrap_err(), PathError::Empty);
    let missing = PathError::NoRequest { id: "7".to_owned(), n_ended: 0 };
    assert_eq!(find(PathWindow::Request("7".to_owned())).unwrap_err(), missing);
    assert!(find(PathWindow::Slowest).is_ok() && find(PathWindow::Whole).is_ok());
    let without = test_traces::track(&[("a", 0, 1)]);
    let options = PathOptions { window: PathWindow::Median, ..PathOptions::default() };
    assert_eq!(path(&without, &Nesting::of(&without), &options).unwrap_err(), PathError::NoSteps);
}

#[test]
fn spans_of_an_engine_compute_on_the_host() {
    let trace = test_traces::trace(&[
        ("1", "1", "step", "decode", 0, 100),
        ("1", "1", "gemm", "lm_head", 0, 50),
        ("1", "1", "scheduler", "schedule", 50, 90),
    ]);
    let found = path(&trace, &Nesting::of(&trace), &PathOptions::default()).unwrap();
    let expected = [(Resource::HostCompute, 50), (Resource::Scheduler, 40), (Resource::HostWork, 10)];
    assert_eq!(found.bound.resources, expected);
    assert!(found.bound.is_certain);
}

#[test]
fn the_longest_times_do_not_overflow() {
    let mut trace = launched_kernels();
    trace.slices.start[0] = i64::MIN;
    trace.slices.duration[0] = i64::MAX;
    trace.slices.duration[4] = i64::MAX;
    let what_if = Some(WhatIf::parse("gemm=1000000x,launch=2x,gaps=3x").unwrap());
    let options = PathOptions { window: PathWindow::Whole, what_if, ..PathOptions::default() };
    let found = path(&trace, &Nesting::of(&trace), &options).unwrap();
    assert_eq!((found.from, found.to), (i64::MIN, i64::MAX));
    assert!(found.prediction.is_some());
}

#[test]
fn drag_is_the_time_that_is_saved_and_slack_the_time_that_is_left() {
    let trace = launched_kernels();
    let found = path(&trace, &Nesting::of(&trace), &PathOptions::default()).unwrap();
    let row = |name: &str| {
        let id = trace.strings.find(name);
        *found.totals.rows.iter().find(|row| row.kind == PieceKind::DeviceWork && row.name == id).unwrap()
    };
    // The second kernel starts no earlier than a typical delay after its launch.
    assert_eq!(found.drag(&row("gemm")), Some(38));
    let slack =
        |name: &str| found.off_path.iter().find(|row| Some(row.name) == trace.strings.find(name)).map(|it| it.slack);
    // The second launch is not on the path: the stream is busy until long after it.
    assert!(slack("cudaLaunchKernel").is_some_and(|slack| slack > 0));
}
