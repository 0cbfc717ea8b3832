//! For tests on devices that are not there.

use ferrum_trace::Recorder;
use ferrum_trace_testkit::trace_file::TraceFile;
use std::sync::{Mutex, PoisonError};

/// What is recorded while `work` runs. The recording is that of the process, so tests take turns.
pub fn recorded(work: impl FnOnce()) -> TraceFile {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let path = std::env::temp_dir().join(format!("ferrum-device-{}.json", std::process::id()));
    let recorder = Recorder::builder().path(&path).start().unwrap();
    work();
    recorder.finish().unwrap();
    let trace = TraceFile::read(&path);
    std::fs::remove_file(path).unwrap();
    trace
}
