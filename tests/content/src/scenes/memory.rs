//! Scenes for memory measurements.

use super::report::{report, report_peak_memory};
use ferrum_trace::{Timestamp, Track, global_trace, span};
use std::time::Duration;

/// `n` spans on each thread.
pub(crate) fn spans(n_threads: u64, n: u64) {
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(|| {
                for _ in 0..n {
                    let _span = span!("s");
                }
            });
        }
    });
    finish();
}

/// `n` pushes with arguments of almost 8 KiB.
pub(crate) fn texts(n: u64) {
    let text = "t".repeat(8000);
    for _ in 0..n {
        let args = serde_json::Map::from_iter([("text".to_owned(), text.as_str().into())]);
        global_trace().push_with_args("push", "memory", 0.0, 1, args);
    }
    finish();
}

/// `n` slices on one track; at any time a thousand of them overlap partly.
pub(crate) fn overlaps(n: u64) {
    let track = Track::new("crowded");
    let start = Timestamp::now();
    for n in 0..n {
        let begin = start + Duration::from_micros(n);
        track.complete_at("slice", "memory", begin, begin + Duration::from_micros(1000));
    }
    finish();
}

fn finish() {
    if ferrum_trace::is_on() {
        let stats = ferrum_trace::finish().expect("the trace can be written");
        report("recorded", stats.recorded);
        report("dropped", stats.dropped);
        report("bytes", stats.bytes);
    }
    report_peak_memory();
}
