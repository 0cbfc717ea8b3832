//! Scenes that start a recording themselves, with and without `FERRUM_TRACE_OUT`.

use crate::work::record;
use crate::{Scene, report};
use ferrum_trace::{Flow, Recorder, Span};

pub(crate) const SCENES: &[Scene] = &[
    ("start-own", start_own),
    ("record-then-start-own", || {
        record(1, 10);
        start_own();
    }),
    ("start-own-twice", start_own_twice),
    ("start-own-and-exit", || {
        let _recorder = Recorder::builder().path("own.json").start().unwrap();
        record(1, 10);
        std::process::exit(0);
    }),
    ("flows-of-dynamic-spans", flows_of_dynamic_spans),
];

/// Starts a recording as a program does that expects no error.
fn start_own() {
    let recorder = Recorder::builder().path("own.json").process_name("own").start().unwrap();
    record(11, 20);
    report!("environment {}", recorder.is_from_environment());
    report!("path {}", recorder.path().display());
    recorder.flush().unwrap();
    report!("recorded {}", recorder.finish().unwrap().recorded);
}

fn start_own_twice() {
    start_own();
    // The recording of the environment is finished, so this one belongs to the program.
    let recorder = Recorder::builder().path("own.json").start().unwrap();
    let second = Recorder::builder().path("other.json").start();
    report!("refused {}", second.is_err_and(|error| error.is_already_recording()));
    report!("environment {}", recorder.is_from_environment());
    record(1, 5);
}

fn flows_of_dynamic_spans() {
    let flow = Flow::new();
    Span::dynamic("sends", "flow").flow_out(flow);
    Span::dynamic("passes", "flow").flow_step(flow);
    Span::dynamic("receives", "flow").flow_in(flow);
}
