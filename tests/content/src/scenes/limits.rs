//! Scenes that record more than the limit allows. Each reports how many events it pushed.

use super::report::report;
use ferrum_trace::{Flow, Recorder, Span, Timestamp, TraceWriter, Track, counter, global_trace, instant, laps, span};
use std::sync::mpsc;

/// `n` spans on each of `n_threads` threads.
pub(crate) fn spans_on_threads(n_threads: u64, n: u64) {
    std::thread::scope(|scope| {
        for thread in 0..n_threads {
            let builder = std::thread::Builder::new().name(format!("pusher {thread}"));
            builder.spawn_scoped(scope, move || spans(n)).expect("a thread");
        }
    });
    report("pushed", n_threads * n);
}

fn spans(n: u64) {
    for _ in 0..n {
        let _span = span!("span", "limits");
    }
}

/// `n` spans in a recording with a limit set by the program.
pub(crate) fn builder(path: &str, bytes: u64, n: u64) {
    let recorder = Recorder::builder().path(path).limit(bytes).start().expect("the path can be written to");
    spans(n);
    let stats = recorder.finish().expect("the trace can be written");
    report("pushed", n);
    report("recorded", stats.recorded);
    report("dropped", stats.dropped);
    report("bytes", stats.bytes);
    report("threads", stats.threads as u64);
}

/// Spans with texts that must be copied.
pub(crate) fn texts(n: u64) {
    let text = "a text of some length ".repeat(20);
    for n in 0..n {
        let _span = span!("span", "limits", n, text, again = &text);
    }
    report("pushed", n);
}

/// Spans with unique names.
pub(crate) fn dynamic_names(n: u64) {
    for n in 0..n {
        let _span = Span::dynamic(&format!("a name of its own, number {n}"), "a category of some length");
    }
    report("pushed", n);
}

/// `n` rounds of every kind of event.
pub(crate) fn all_kinds(n: u64) {
    const EVENTS_A_ROUND: u64 = 16;
    let track = Track::new("a track");
    for n in 0..n {
        let now = Timestamp::now();
        drop(span!("span"));
        drop(span!("span with many", a = n, b = n, c = n, d = n, e = n));
        let mut laps = laps!("laps", "limits", n);
        laps.mark("one");
        laps.mark("two");
        drop(laps);
        drop(Span::dynamic("dynamic", "limits"));
        instant!("instant", "limits", n);
        counter!("counter", n);
        let task = ferrum_trace::async_span!("async", "limits", n);
        task.instant("half");
        drop(task);
        let from = span!("from");
        let flow = Flow::new();
        from.flow_out(flow);
        drop(from);
        ferrum_trace::complete_at!(track, now, now, "complete", "limits", n);
        track.complete_at("named", "limits", now, now);
        global_trace().push("pushed", "limits", 0.0, 1);
    }
    report("pushed", EVENTS_A_ROUND * n);
}

/// A thread that still has room for events uses names, call sites and tracks for which there is no room.
pub(crate) fn definitions() {
    assert!(ferrum_trace::is_on());
    let mut pushed = 0;
    std::thread::scope(|scope| {
        // In this scope, so that the other thread does not wait forever if this one panics.
        let (filled, wait_until_filled) = mpsc::channel();
        let late = scope.spawn(move || {
            drop(span!("early"));
            wait_until_filled.recv().expect("the others are done");
            fill_definitions();
            1 + undefined()
        });
        while ferrum_trace::stats().expect("recording is on").dropped == 0 {
            pushed += 1000;
            spans(1000);
        }
        filled.send(()).expect("the other thread waits");
        pushed += late.join().expect("the other thread ends");
    });
    report("pushed", pushed);
}

/// Thread names are defined in the same chunk as everything else; this fills it.
fn fill_definitions() {
    let long = "n".repeat(8000);
    for n in 0..10 {
        ferrum_trace::set_thread_name(&format!("{long} {n}"));
    }
    for n in 0..2000 {
        ferrum_trace::set_thread_name(&format!("short {n}"));
    }
}

/// Uses everything that must be defined, twice. Returns the number of events.
fn undefined() -> u64 {
    let (track, now) = (Track::new("a new track"), Timestamp::now());
    for _ in 0..2 {
        drop(span!("a new place", "limits"));
        drop(Span::dynamic("a new name", "limits"));
        track.complete_at("on a new track", "limits", now, now);
        let mut laps = laps!("new laps", "limits");
        laps.mark("a new mark");
        drop(laps);
        global_trace().push("a new pushed name", "limits", 0.0, 1);
        instant!("a new instant", "limits");
    }
    14
}

/// Pushes to the process's trace and to a separate writer.
pub(crate) fn pushes(n: u64) {
    let var = |name| std::env::var(name).expect("it is set");
    let own_path = var("FERRUM_TRACE_OUT") + ".own.json";
    let limit = var("FERRUM_TRACE_LIMIT");
    let own = TraceWriter::from_env_vars([("FERRUM_TRACE_OUT", own_path), ("FERRUM_TRACE_LIMIT", limit)]);
    for n in 0..n {
        let args = || serde_json::Map::from_iter([("n".to_owned(), n.into())]);
        global_trace().push("push", "limits", 0.0, 1);
        global_trace().push_with_args("push with args", "limits", 0.0, 1, args());
        own.push("push", "limits", 0.0, 1);
        own.push_with_args("push with args", "limits", 0.0, 1, args());
    }
    report("pushed", 2 * n);
}
