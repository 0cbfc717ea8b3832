//! Scenes that switch recording on and record nothing, or nothing for some time.

use crate::work::record;
use crate::{Scene, report};
use ferrum_trace::{Recorder, TraceWriter, control, flush, flush_global_trace, global_trace, is_on};
use std::path::PathBuf;

pub(crate) const SCENES: &[Scene] = &[
    ("record-nothing", record_nothing),
    ("flush-then-record", flush_then_record),
    ("start-then-wait", || wait_to_be_killed(0)),
    ("record-then-wait", || wait_to_be_killed(10)),
];

fn out() -> PathBuf {
    std::env::var_os("FERRUM_TRACE_OUT").unwrap().into()
}

fn argument(n: usize) -> String {
    std::env::args().nth(n).unwrap_or_default()
}

/// Makes the call in the second argument, and ends in the way of the third one.
fn record_nothing() {
    match argument(2).as_str() {
        "flush_global_trace" => flush_global_trace(),
        "is_on" => assert!(is_on()),
        "flush" => assert!(is_on() && flush().is_ok() && flush().is_ok()),
        "finish" => assert!(is_on() && ferrum_trace::finish().unwrap().recorded == 0),
        "global writer" => assert!(global_trace().is_enabled() && global_trace().flush().is_ok()),
        "control flush" => drop(control::flush().unwrap().wait()),
        "control stop" => drop(control::stop().unwrap().wait()),
        "pause" => control::pause().unwrap(),
        "process name" => ferrum_trace::set_process_name("nothing"),
        "thread name" => ferrum_trace::set_thread_name("nothing"),
        "writer" => drop(TraceWriter::enabled(out())),
        "writer of environment" => assert!(TraceWriter::from_env().flush().is_ok()),
        "recorder" => {
            let recorder = Recorder::builder().path(argument(4)).start().unwrap();
            recorder.flush().unwrap();
            assert_eq!(recorder.finish().unwrap().recorded, 0);
        }
        call => panic!("unknown call `{call}`"),
    }
    match argument(3).as_str() {
        "return" => {}
        "exit" => std::process::exit(3),
        "panic" => panic!("a planned panic"),
        "abort" => std::process::abort(),
        end => panic!("unknown end `{end}`"),
    }
}

fn flush_then_record() {
    assert!(is_on());
    flush_global_trace();
    flush().unwrap();
    record(1, 50);
    flush_global_trace();
    record(51, 100);
}

fn wait_to_be_killed(n_spans: u64) {
    assert!(is_on());
    record(1, n_spans);
    report!("ready");
    loop {
        std::thread::park();
    }
}
