//! Slices that a device measured, and the flows that lead to them.

use ferrum_trace::{Flow, Measured, Recorder, Timestamp, Track, span};
use ferrum_trace_testkit::trace_file::{Event, TraceFile};
use std::path::Path;
use std::time::Duration;

/// One test for this process, which records once: the trace is also checked in the viewers.
#[test]
fn a_measured_slice_has_its_error_and_the_end_of_its_flow_on_any_lane() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("viewer-check");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("measured.json");
    assert_eq!(Flow::from_open_span(), None, "nothing is recorded yet");
    let recorder = Recorder::builder().path(&path).start().unwrap();
    assert_eq!(Flow::from_open_span(), None, "no span is open");

    let track = Track::new("GPU 0 / queue");
    let name = String::from("made at run time");
    let flows: [Flow; 3] = std::array::from_fn(|n| {
        let _launch = span!("launch", "scheduler", n);
        Flow::from_open_span().expect("a span is open")
    });
    let t0 = Timestamp::now() + Duration::from_millis(1);
    let at = |micros| t0 + Duration::from_micros(micros);
    // The second slice overlaps the first partly, so it is on a lane, and the end of its flow too.
    for (n, (begin, end)) in [(0, 100), (50, 150), (200, 300)].into_iter().enumerate() {
        let slice = Measured {
            name: &name,
            category: "gemm",
            begin: at(begin),
            end: at(end),
            clock_error: Duration::from_nanos(700 + n as u64),
            flow: Some(flows[n]),
        };
        track.measured(&slice);
        if n == 2 {
            track.measured(&Measured { name: "inner", flow: None, end: at(250), ..slice });
        }
    }
    recorder.finish().unwrap();

    let trace = TraceFile::read(&path);
    trace.assert_nested();
    let slices: Vec<&Event> = trace.named(&name).collect();
    let errors: Vec<u64> = slices.iter().map(|slice| slice.number("clock_error_ns")).collect();
    assert_eq!(errors, [700, 701, 702]);
    let (first_row, second_row) = (trace.tid_of("GPU 0 / queue"), trace.tid_of("GPU 0 / queue (2)"));
    assert_eq!(slices.iter().map(|slice| slice.tid).collect::<Vec<_>>(), [first_row, second_row, first_row]);
    let ends = |phase| trace.named("flow").filter(move |event| event.phase == phase);
    for (slice, (start, end)) in slices.iter().zip(ends('s').zip(ends('f'))) {
        assert_eq!((end.tid, end.start_ns), (slice.tid, slice.start_ns));
        assert_eq!((&start.extra["id"], &end.extra["bp"]), (&end.extra["id"], &"e".into()));
    }
    assert_eq!((ends('s').count(), ends('f').count()), (3, 3), "`inner` has none");
    std::fs::write(folder.join("measured.json.expect"), "slices=7\ninstants=0\nunended=0\nflows=3\nthreads=3\n")
        .unwrap();
}
