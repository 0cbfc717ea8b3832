//! Every way to record something, and side effects that must not happen while recording is off.

use super::report::report;
use ferrum_trace::{
    Flow, Recorder, Span, Timestamp, Track, async_begin, async_end, async_instant, async_span, complete_at, counter,
    global_trace, instant, laps, span,
};
use std::cell::Cell;
use std::time::{Duration, Instant};

const NAME: &str = "a constant name";

mod names {
    pub(super) const ELSEWHERE: &str = "a constant of another module";
    pub(super) static STATIC: &str = "unused";
}

/// Every form of every macro.
#[rustfmt::skip]
pub(crate) fn macro_forms() {
    let (layer, tokens) = (3u32, vec![1, 2, 3]);
    let id = 7u64;
    let _ = names::STATIC;

    drop(span!("span 1"));
    drop(span!("span 2",));
    drop(span!("span 3", "cat"));
    drop(span!("span 4", "cat",));
    drop(span!("span 5", "cat", layer));
    drop(span!("span 6", "cat", layer,));
    drop(span!("span 7", "cat", layer, tokens = tokens.len(), text = "short", copied = "a longer text",));
    drop(span!("span 8", layer));
    drop(span!("span 9", layer,));
    drop(span!("span 10", layer, n = tokens[0] + 1, m = { let m = tokens[1]; m * 2 }));
    drop(span!(NAME));
    drop(span!(NAME, "cat", layer));
    drop(span!(names::ELSEWHERE, layer));
    drop(span!(concat!("span", " ", 11), "cat"));
    drop(span!(stringify!(a::path), "cat"));
    drop(ferrum_trace::span!("span 12", closure = tokens.iter().map(|n| 2 * n).sum::<i32>()));

    drop(laps!("laps 1"));
    drop(laps!("laps 2",));
    drop(laps!("laps 3", "cat"));
    drop(laps!("laps 4", "cat", layer, n = 1,));
    drop(laps!("laps 5", layer));
    drop(laps!(NAME, "laps"));

    instant!("instant 1");
    instant!("instant 2",);
    instant!("instant 3", "cat");
    instant!("instant 4", "cat", layer, n = 1,);
    instant!("instant 5", layer);
    instant!(NAME, "instant");
    let () = instant!("instant 6");
    if layer > 0 { instant!("instant 7") } else { instant!("not this one") }

    counter!("counter 1", layer);
    counter!("counter 2", layer,);
    counter!("counter 3", used = 1, free = tokens.len(),);
    counter!(NAME, value = 0.5);

    drop(async_span!("async 1"));
    drop(async_span!("async 2",));
    drop(async_span!("async 3", "cat"));
    drop(async_span!("async 4", "cat", layer, n = 1,));
    drop(async_span!("async 5", layer));

    async_begin!("begun 1", "cat", id);
    async_end!("begun 1", "cat", id);
    async_begin!("begun 2", "cat", id + 1, layer, n = 1,);
    async_instant!("point", "cat", id + 1,);
    async_instant!("point with args", "cat", id + 1, layer, n = 1);
    async_end!("begun 2", "cat", id + 1, tokens = 5);

    let (track, now) = (Track::new("track"), Timestamp::now());
    complete_at!(track, now, now, "complete 1", "cat");
    complete_at!(track, now, now, "complete 2", "cat",);
    complete_at!(&track, now, now + Duration::from_nanos(5), NAME, "complete", layer, n = 1,);
}

thread_local! {
    static EVALUATED: Cell<u64> = const { Cell::new(0) };
}

fn counted(value: u64) -> u64 {
    EVALUATED.set(EVALUATED.get() + 1);
    value
}

/// Arguments, ids and times with side effects.
pub(crate) fn side_effects() {
    let track = Track::new("track");
    let time = || Timestamp::from_monotonic_nanos(counted(1));
    drop(span!("span", a = counted(1), b = counted(2)));
    drop(span!("span", "cat", a = counted(1)));
    drop(laps!("laps", a = counted(1)));
    instant!("instant", a = counted(1));
    counter!("counter", a = counted(1));
    drop(async_span!("async", a = counted(1)));
    async_begin!("begun", "cat", counted(9), a = counted(1));
    async_instant!("point", "cat", counted(9), a = counted(1));
    async_end!("begun", "cat", counted(9), a = counted(1));
    complete_at!(track, time(), time(), "complete", "cat", a = counted(1));
    report("evaluated", EVALUATED.get());
    report("is_on", u64::from(ferrum_trace::is_on()));
    report("span_is_on", u64::from(span!("is it on").is_on()));
    report("has_stats", u64::from(ferrum_trace::stats().is_some()));
    report("pushes", u64::from(global_trace().is_enabled()));
}

/// Processes and threads named in every possible way.
pub(crate) fn processes_and_threads() {
    instant!("on main");
    ferrum_trace::set_process_name("a first name");
    ferrum_trace::set_process_name("engine 7");
    let named = std::thread::Builder::new().name("by the standard library".into());
    named.spawn(|| instant!("on a named thread")).expect("a thread").join().expect("it ends");
    std::thread::spawn(|| instant!("on a thread without a name")).join().expect("it ends");
    let renamed = std::thread::Builder::new().name("before".into()).spawn(|| {
        instant!("on a renamed thread");
        ferrum_trace::set_thread_name("after");
    });
    renamed.expect("a thread").join().expect("it ends");
    let silent = || ferrum_trace::set_thread_name("named before its first event");
    std::thread::spawn(move || {
        silent();
        instant!("on a thread named before its first event");
    })
    .join()
    .expect("it ends");
}

/// Names set after a flush.
pub(crate) fn late_names() {
    instant!("before");
    ferrum_trace::flush().expect("the trace can be written");
    ferrum_trace::set_process_name("a late process name");
    ferrum_trace::set_thread_name("a late thread name");
}

/// Tracks with a sort order, slices that nest and slices that overlap.
pub(crate) fn tracks() {
    assert!(ferrum_trace::is_on());
    let start = Timestamp::now();
    let at = |micros| start + Duration::from_micros(micros);
    let (first, second) = (Track::new("stream 1").sort(-5), Track::new("stream 2").sort(7));
    first.complete_at("outer", "gpu", at(0), at(100));
    first.complete_at("inner", "gpu", at(10), at(100));
    first.complete_at("next", "gpu", at(100), at(110));
    second.complete_at("one", "gpu", at(0), at(50));
    second.complete_at("overlaps one", "gpu", at(49), at(99));
    second.complete_at("overlaps both", "gpu", at(25), at(75));
    second.complete_at("backwards", "gpu", at(300), at(200));
    Track::new("nothing on it").sort(1);
    assert_eq!(first.name(), "stream 1");
}

/// Explicit times that the test can compute.
pub(crate) fn explicit_times() {
    assert!(ferrum_trace::is_on());
    let track = Track::new("device");
    let start = Timestamp::now();
    report("start", start.monotonic_nanos());
    for (n, nanos) in [0, 1, 999, 1000, 1001, 1_000_000_007].into_iter().enumerate() {
        let begin = start + Duration::from_nanos(nanos);
        complete_at!(track, begin, begin + Duration::from_nanos(nanos), "slice", "device", n, nanos);
    }
    assert_eq!(start + Duration::from_secs(2) - Duration::from_secs(2), start);
    assert_eq!(Timestamp::from_monotonic_nanos(5) - Duration::from_secs(1), Timestamp::from_monotonic_nanos(0));
    assert!(Timestamp::now() >= start);
}

/// Slices that began before the recording did.
pub(crate) fn times_before_the_trace() {
    assert!(ferrum_trace::is_on());
    let track = Track::new("device");
    let now = Timestamp::now();
    report("now", now.monotonic_nanos());
    let before = now - Duration::from_secs(2);
    track.complete_at("all of it before", "device", before, before + Duration::from_secs(1));
    track.complete_at("begun before", "device", before, now);
}

/// Slices of many hours.
pub(crate) fn long_explicit_times() {
    assert!(ferrum_trace::is_on());
    let track = Track::new("device");
    let now = Timestamp::now();
    track.complete_at("a year", "device", now, now + Duration::from_secs(365 * 24 * 3600));
    // About 49 days: more than 40 bits of microseconds, and of nanoseconds.
    track.complete_at("49 days", "device", now, now + Duration::from_micros(1 << 42));
}

#[expect(clippy::disallowed_methods, reason = "tests the clock of the host program")]
fn instant_now() -> Instant {
    Instant::now()
}

/// Instants of the standard library, converted to timestamps.
pub(crate) fn standard_instants() {
    assert!(ferrum_trace::is_on());
    let mut n_apart = 0;
    for _ in 0..10_000 {
        let instant = instant_now();
        let (one, other) = (Timestamp::from(instant), Timestamp::from(instant + Duration::from_nanos(1)));
        n_apart += u64::from(other != one + Duration::from_nanos(1));
    }
    report("not_as_far_apart", n_apart);
    let track = Track::new("device");
    let (begin, half) = (instant_now(), Duration::from_micros(2500));
    track.complete_at("first half", "device", begin.into(), (begin + half).into());
    track.complete_at("second half", "device", (begin + half).into(), (begin + 2 * half).into());
    let in_an_hour = Timestamp::from(instant_now() + Duration::from_secs(3600));
    assert!(in_an_hour > Timestamp::now() + Duration::from_secs(3590));
    assert!(in_an_hour < Timestamp::now() + Duration::from_secs(3610));
}

/// Flows: to another thread, through a third, and within one.
pub(crate) fn flows() {
    let (there, around) = (Flow::new(), Flow::new());
    {
        let span = span!("enqueue", "flows");
        span.flow_out(there);
        span.flow_out(around);
    }
    std::thread::spawn(move || {
        let span = span!("pass on", "flows");
        span.flow_step(around);
    })
    .join()
    .expect("it ends");
    std::thread::spawn(move || {
        let span = span!("run", "flows");
        span.flow_in(there);
        span.flow_in(around);
    })
    .join()
    .expect("it ends");
    let within = Flow::new();
    let outer = span!("outer", "flows");
    span!("cause", "flows").flow_out(within);
    span!("effect", "flows").flow_in(within);
    drop(outer);
}

/// Requests and tasks that begin on one thread and end on another.
pub(crate) fn asynchronous() {
    let task = async_span!("task", "io", bytes = 100);
    report("task_id", task.id());
    async_begin!("request", "llm", 42, prompt_tokens = 17);
    async_begin!("request", "llm", 43);
    let worker = std::thread::Builder::new().name("worker".into()).spawn(move || {
        async_instant!("first token", "llm", 42, token = 5);
        task.instant("half");
        task.instant(&format!("{} percent", 75));
        drop(task);
        async_end!("request", "llm", 43);
    });
    worker.expect("a thread").join().expect("it ends");
    async_end!("request", "llm", 42, tokens = 100);
}

/// Async events with and without arguments that identify them.
pub(crate) fn row_titles() {
    let long = "9f8b2c61-55a4-4d0e-9c0b-0d4f1d1f3a77".to_owned();
    drop(async_span!("download", "io", id = 7, request_id = long));
    drop(async_span!("upload", id = -1));
    drop(async_span!("request", "http", bytes = 3));
    async_begin!("request", "llm", 41, id = 5);
    async_end!("request", "llm", 41);
    ferrum_trace::llm::request(42).arrived().finished("stop");
    std::mem::forget(ferrum_trace::llm::request(43).arrived());
}

/// A recording that the program starts and finishes.
pub(crate) fn builder(path: &str) {
    drop(span!("before"));
    assert!(!ferrum_trace::is_on());
    let recorder = Recorder::builder()
        .path(path)
        .limit(8 << 20)
        .process_name("named by the builder")
        .monotonic_clock()
        .start()
        .expect("the path can be written to");
    assert!(ferrum_trace::is_on());
    assert_eq!(recorder.path(), std::path::Path::new(path));
    drop(span!("within"));
    std::thread::spawn(|| instant!("within, elsewhere")).join().expect("it ends");
    recorder.flush().expect("the trace can be written");
    drop(span!("after the flush"));
    let so_far = recorder.stats().expect("the spool can be read");
    report("recorded_so_far", so_far.recorded);
    let open = span!("still open");
    let stats = recorder.finish().expect("the trace can be written");
    drop(open);
    drop(span!("after"));
    assert!(!ferrum_trace::is_on());
    assert_eq!(ferrum_trace::stats(), None);
    report("recorded", stats.recorded);
    report("dropped", stats.dropped);
    report("bytes", stats.bytes);
    report("threads", stats.threads as u64);
}

/// Two recordings, one after the other, with the same call sites and names.
pub(crate) fn two_recordings(one: &str, other: &str) {
    let track = Track::new("a track of both");
    for path in [one, other] {
        let recorder = Recorder::builder().path(path).start().expect("the path can be written to");
        let now = Timestamp::now();
        drop(span!("place", "both", path));
        drop(Span::dynamic("name", "both"));
        track.complete_at("slice", "both", now, now);
        recorder.finish().expect("the trace can be written");
    }
}

/// Errors of the builder.
pub(crate) fn builder_mistakes(path: &str) {
    let no_path = Recorder::builder().start().expect_err("there is no path");
    println!("no path: {no_path}");
    let nowhere = Recorder::builder().path("missing folder/trace.json").start().expect_err("there is no such folder");
    println!("nowhere: {nowhere}");
    assert!(!nowhere.is_already_recording());
    let recorder = Recorder::builder().path(path).start().expect("the path can be written to");
    let second = Recorder::builder().path(format!("{path}.second")).start().expect_err("there is one already");
    assert!(second.is_already_recording());
    println!("second: {second}");
    ferrum_trace::finish().expect("the trace can be written");
    let again = recorder.finish().expect_err("it is finished");
    assert!(again.is_not_recording());
    println!("again: {again}");
    assert!(ferrum_trace::flush().expect_err("nothing is recorded").is_not_recording());
}

/// `n` threads whose first action is to record a span, all at the same moment.
pub(crate) fn first_spans_at_once(n: u64) {
    let barrier = std::sync::Barrier::new(n as usize);
    std::thread::scope(|scope| {
        for n in 0..n {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                drop(span!("first", "api", n));
            });
        }
    });
}

/// Statistics while threads start and record.
pub(crate) fn stats_while_running() {
    assert!(ferrum_trace::is_on());
    let stats = || ferrum_trace::stats().expect("recording is on");
    report("at_first", stats().recorded);
    for _ in 0..10_000 {
        let _span = span!("span");
    }
    report("then", stats().recorded);
    std::thread::spawn(|| instant!("elsewhere")).join().expect("it ends");
    let _open = span!("still open");
    report("at_last", stats().recorded);
    report("dropped", stats().dropped);
    report("threads", stats().threads as u64);
    report("bytes", stats().bytes);
}

/// Finishes the recording that the environment started.
pub(crate) fn finish_by_name() {
    drop(span!("span"));
    let stats = ferrum_trace::finish().expect("the trace can be written");
    report("recorded", stats.recorded);
    assert!(ferrum_trace::finish().expect_err("it is finished").is_not_recording());
    drop(span!("too late"));
}
