//! One scene with everything that a viewer must draw, and one with the original engine's interface.

use content::texts::strange;
use ferrum_trace::{Flow, Span, Timestamp, Track, async_span, complete_at, counter, global_trace, instant, laps, span};
use std::time::{Duration, Instant};

/// Everything, on a few threads. `tests/viewers.rs` has the same counts.
pub(crate) fn everything() {
    ferrum_trace::set_process_name("everything");
    let flow = Flow::new();
    let task = async_span!("request", "llm", prompt_tokens = 17);
    for step in 0..3u32 {
        let step_span = span!("step", "engine", step, phase = if step == 0 { "prefill" } else { "decode" });
        for layer in 0..4u32 {
            let mut lap = laps!("layer", "engine", layer);
            work(2000);
            lap.mark("attention");
            {
                let _norm = span!("rms_norm", "norm", layer, tokens = 16);
                work(500);
            }
            work(500);
            lap.mark("mlp");
        }
        counter!("kv_cache", used = 10 + step, free = 90 - step);
        instant!("token", "engine", step);
        if step == 0 {
            step_span.flow_out(flow);
        }
    }
    task.instant("first token");
    let scheduler = std::thread::Builder::new().name("scheduler".into()).spawn(move || scheduler(flow, task));
    scheduler.expect("a thread").join().expect("it ends");
    std::thread::spawn(out_of_order).join().expect("it ends");
    std::thread::spawn(strange_names).join().expect("it ends");
    device();
    counter!("kv_cache", used = 13, free = 87);
    counter!("broken", value = f64::NAN);
}

fn scheduler(flow: Flow, task: ferrum_trace::AsyncSpan) {
    let span = span!("schedule", "scheduler", running = 1);
    span.flow_in(flow);
    work(1000);
    drop(span);
    drop(task);
    ferrum_trace::async_begin!("request", "queue", 7, tokens = 3);
    work(1000);
    ferrum_trace::async_instant!("preempted", "queue", 7);
    ferrum_trace::async_end!("request", "queue", 7);
}

/// Guards that do not end in reverse order of their begin.
fn out_of_order() {
    ferrum_trace::set_thread_name("out of order");
    let first = span!("ends first", "order");
    work(500);
    let second = span!("ends second", "order");
    work(500);
    let third = Span::dynamic("ends third", "order");
    work(500);
    drop(first);
    work(500);
    drop(second);
    work(500);
    drop(third);
    std::mem::forget(span!("never ends", "order"));
    let _after = span!("after", "order");
    work(500);
}

fn strange_names() {
    ferrum_trace::set_thread_name("strange \"names\" 🦀");
    let _outer = span!("strange", "names");
    for (n, text) in strange().iter().enumerate().filter(|(_, text)| text.len() < 100) {
        let _span = Span::dynamic(text, "strange \\ \"category\"");
        instant!("strange text", "names", n, text);
        work(100);
    }
}

/// Two streams of a device, one of them with concurrent kernels.
fn device() {
    let start = Timestamp::now();
    let at = |micros| start + Duration::from_micros(micros);
    let (busy, crowded) = (Track::new("GPU 0 / stream 7").sort(7), Track::new("GPU 0 / stream 8").sort(8));
    for n in 0..5u64 {
        complete_at!(busy, at(10 * n), at(10 * n + 10), "gemm", "gemm", n, m = 4096);
        complete_at!(crowded, at(10 * n), at(10 * n + 15), "overlapping", "gemm", n);
    }
    busy.complete_at("whole graph", "graph", at(0), at(50));
}

/// Pushes of an engine that uses only the original engine's interface.
#[expect(clippy::disallowed_methods, reason = "a program with the original interface measures its own times")]
pub(crate) fn original_interface() {
    for layer in 0..10u32 {
        work(10_000);
        global_trace().push("rms_norm", "norm", 0.0005, 1);
        let args = serde_json::Map::from_iter([("layer".to_owned(), layer.into())]);
        global_trace().push_with_args(format!("layer {layer}"), "layer", 0.002, 2, args);
    }
    // These overlap partly and need rows of their own: each begins 50 ms after the one before it, and before the first
    // one ends. The distances are long, so that they hold on a busy machine.
    let begin = Instant::now();
    std::thread::sleep(Duration::from_millis(300));
    for n in 0..3 {
        let since_begin = begin.elapsed().as_secs_f64() * 1e3;
        global_trace().push("overlapping", "engine", since_begin - 50.0 * f64::from(n), 3);
    }
    // Longer than the whole recording: these begin together.
    for millis in [10_000.0, 30_000.0, 20_000.0] {
        global_trace().push("before all", "engine", millis, 4);
    }
}

fn work(rounds: u32) {
    for round in 0..rounds {
        std::hint::black_box(round);
    }
}
