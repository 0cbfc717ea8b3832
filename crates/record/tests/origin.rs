//! The origin of a recording: host, boot, process, rank.

use ferrum_trace::{Recorder, span};
use ferrum_trace_testkit::trace_file::TraceFile;

#[test]
fn a_recording_names_host_boot_process_and_rank() {
    let path = std::env::temp_dir().join(format!("ferrum-origin-{}.json", std::process::id()));
    let recorder = Recorder::builder().path(&path).rank(3).start().unwrap();
    drop(span!("first"));
    recorder.flush().unwrap();
    drop(span!("second"));
    recorder.finish().unwrap();
    let trace = TraceFile::read(&path);
    std::fs::remove_file(&path).unwrap();
    let about = |name: &str| {
        let mut found = trace.events.iter().filter(|event| event.name == name);
        let args = found.next().unwrap_or_else(|| panic!("no {name}")).args.clone();
        assert!(found.next().is_none(), "{name} is written once, however often the file is flushed");
        args
    };
    assert_eq!(about("process_labels")["labels"], "rank 3");
    assert_eq!(about("process_sort_index")["sort_index"], 3);
    let recording = about("ferrum_trace");
    assert_eq!((&recording["rank"], &recording["pid"]), (&3.into(), &std::process::id().into()));
    let line_of = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    for (key, path) in [("host", "/proc/sys/kernel/hostname"), ("boot_id", "/proc/sys/kernel/random/boot_id")] {
        if let Some(expected) = line_of(path) {
            assert_eq!(recording[key], expected);
        }
    }
}
