//! Recordings for tests on simulated devices.

use ferrum_trace::Recorder;
use ferrum_trace_testkit::trace_file::TraceFile;
use std::sync::{Mutex, PoisonError};

/// Records while `work` runs. The recording is global to the process, so tests run one at a time.
pub(crate) fn recorded(work: impl FnOnce()) -> TraceFile {
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
