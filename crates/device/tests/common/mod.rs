//! Shared by the device tests: a recording, and the comparison of its slices with the host's times.

use ferrum_trace::{Recorder, Timestamp};
use ferrum_trace_device::Error;
use ferrum_trace_testkit::trace_file::{Event, TraceFile};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Limit for the mapping's error bound.
pub(crate) const ERROR_NS_MAX: u64 = 20_000;

/// The recording is global to the process, and PoCL crashes when several threads initialize it at once; so the tests of
/// a file run one at a time, each for as long as it has a device.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records while `work` runs, and returns the trace and the result. The caller holds the turn. The file stays.
pub(crate) fn recorded<T>(file: &str, work: impl FnOnce() -> T) -> (TraceFile, T) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
    let recorder = Recorder::builder().path(&path).start().unwrap();
    // A failed test must not prevent the others from recording.
    let result = catch_unwind(AssertUnwindSafe(work));
    recorder.finish().unwrap();
    let result = result.unwrap_or_else(|panic| resume_unwind(panic));
    let trace = TraceFile::read(&path);
    trace.assert_nested();
    (trace, result)
}

/// Keeps a file for the step `viewers`, with the counts that Perfetto must find.
pub(crate) fn leave_for_viewers(file: &str, counts: &str) {
    let own = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = own.with_file_name("viewer-check");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(own.join(file), folder.join(file)).unwrap();
    std::fs::write(folder.join(format!("{file}.expect")), counts).unwrap();
}

/// Calibrates long enough to learn the drift of the clocks. After that, a thread that is not scheduled for a while, as
/// happens on busy machines, costs little precision.
pub(crate) fn learn_drift(mut calibrate: impl FnMut() -> Result<Duration, Error>) {
    let begin = Timestamp::now();
    while Timestamp::now() < begin + Duration::from_secs(1) {
        calibrate().unwrap();
    }
}

/// Host times before work was launched and after it was known to be done.
pub(crate) type Window = (Timestamp, Timestamp);

/// Panics unless there are as many slices with this name as windows, each inside its window, with an error below
/// `error_ns`, and with a flow from the span `launch` of the same index.
pub(crate) fn assert_inside(trace: &TraceFile, name: &str, windows: &[Window], error_ns: u64) {
    let origin = trace.about("start_monotonic_ns");
    let slices: Vec<&Event> = trace.named(name).filter(|event| event.phase == 'X').collect();
    assert_eq!(slices.len(), windows.len());
    let mut outside = Vec::new();
    for (n, (slice, (before, after))) in slices.iter().zip(windows).enumerate() {
        let (begin, end) = (origin + slice.start_ns, origin + slice.end_ns);
        let (before, after) = (before.monotonic_nanos(), after.monotonic_nanos());
        if begin < before || end > after {
            outside.push(format!("{n}: {begin}..{end} is not in {before}..{after}"));
        }
    }
    assert!(outside.is_empty(), "{} of {} are outside:\n{}", outside.len(), slices.len(), outside.join("\n"));
    let errors: Vec<u64> = slices.iter().map(|slice| slice.number("clock_error_ns")).collect();
    println!("{name}: error bound {:?}..{:?} ns", errors.iter().min(), errors.iter().max());
    assert!(errors.iter().all(|&error| error < error_ns), "{errors:?}");
    assert_flows(trace, &slices);
}

fn assert_flows(trace: &TraceFile, slices: &[&Event]) {
    let ends = |phase| trace.named("flow").filter(move |event| event.phase == phase);
    let launches: Vec<&Event> = trace.named("launch").collect();
    assert_eq!((ends('s').count(), ends('f').count(), launches.len()), (slices.len(), slices.len(), slices.len()));
    for ((start, end), (launch, slice)) in ends('s').zip(ends('f')).zip(launches.iter().zip(slices)) {
        assert_eq!(start.extra["id"], end.extra["id"]);
        assert!(start.tid == launch.tid && launch.start_ns <= start.start_ns && start.start_ns <= launch.end_ns);
        assert_eq!((end.tid, end.start_ns), (slice.tid, slice.start_ns));
        assert!(start.start_ns <= end.start_ns, "a flow into the past: {start:?} {end:?}");
    }
}
