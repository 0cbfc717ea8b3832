//! Replays of graphs, and the operations of them that a device measured.

use ferrum_trace::llm::{Graph, Op};
use ferrum_trace::{Recorder, Timestamp, Track};
use ferrum_trace_testkit::trace_file::TraceFile;
use std::path::Path;
use std::time::Duration;

/// One test for this process, which records once: the trace is also checked in the viewers.
#[test]
fn a_replay_is_a_span_and_its_operations_are_slices_of_the_device() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("viewer-check");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("graph.json");
    let mut graph = Graph::new("decode 32");
    for layer in 0..2 {
        graph.op("qkv_proj", Op::Gemm, Some(layer));
        graph.op("attention", Op::Attention, Some(layer));
    }
    graph.op("lm_head", Op::Gemm, None);
    let track = Track::new("GPU 0 / stream 7");
    let before = graph.replay().launched();
    let now = [(Timestamp::now(), Timestamp::now())];
    assert_eq!(graph.measured(&track, before, now, Duration::ZERO), 0, "nothing is recorded yet");

    let recorder = Recorder::builder().path(&path).start().unwrap();
    // Taken after the start: times before the start of a recording are moved to it.
    let t0 = Timestamp::now();
    let times = |from: u64| {
        let at = move |micros: u64| t0 + Duration::from_micros(micros);
        (0..5).map(move |n| (at(from + 10 * n), at(from + 10 * n + 8)))
    };
    let launched = [(); 2].map(|()| graph.replay().launched());
    assert_eq!(graph.measured(&track, before, times(0), Duration::ZERO), 0, "the replay was not recorded");
    assert_eq!(graph.measured(&track, launched[0], times(0), Duration::from_nanos(500)), 5);
    assert_eq!(graph.measured(&track, launched[1], times(100).take(3), Duration::from_nanos(500)), 3, "too few times");
    recorder.finish().unwrap();

    let trace = TraceFile::read(&path);
    trace.assert_nested();
    let replays: Vec<u64> = trace.named("decode 32").map(|replay| replay.number("correlation")).collect();
    assert_eq!(replays.len(), 2);
    assert_ne!(replays[0], replays[1]);
    assert!(trace.named("decode 32").all(|replay| replay.number("operations") == 5));
    let args = |name: &str, key: &str| trace.named(name).map(|op| op.number(key)).collect::<Vec<u64>>();
    assert_eq!(args("qkv_proj", "layer"), [0, 1, 0, 1]);
    assert_eq!(args("attention", "layer"), [0, 1, 0]);
    let [first, second] = [replays[0], replays[1]];
    assert_eq!(args("attention", "correlation"), [first, first, second]);
    assert_eq!(args("lm_head", "clock_error_ns"), [500]);
    let row = trace.tid_of("GPU 0 / stream 7");
    assert!(trace.named("attention").all(|op| op.tid == row && op.end_ns - op.start_ns == 8_000));
    std::fs::write(folder.join("graph.json.expect"), "slices=10\ninstants=0\nunended=0\nflows=0\n").unwrap();
}
