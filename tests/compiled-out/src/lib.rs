//! Every macro and type of ferrum-trace in a program with recording compiled out.

use ferrum_trace::llm::{self, Phase, Step};
use ferrum_trace::{Flow, Measured, Span, Timestamp, TraceWriter, Track};

/// Does some work with a probe in every iteration. The arguments are never evaluated.
pub fn instrumented(numbers: &[u64]) -> u64 {
    let mut sum = 0;
    for number in numbers {
        let span = ferrum_trace::span!("add", "math", never = never(), number);
        span.flow_out(Flow::new());
        let mut lap = ferrum_trace::laps!("lap", number = never());
        sum += number;
        lap.mark("added");
        ferrum_trace::instant!("added", value = never());
        ferrum_trace::counter!("sum", sum = never());
        let task = ferrum_trace::async_span!("task", "math", value = never());
        task.instant("half");
        ferrum_trace::async_begin!("request", "math", never(), value = 1);
        ferrum_trace::async_instant!("token", "math", never());
        ferrum_trace::async_end!("request", "math", never());
        let _op = llm::op!("add", Gemm, layer = never());
    }
    sum
}

/// One span around an addition: compiled out, only the addition remains.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn add_with_span(a: u64, b: u64) -> u64 {
    let _span = ferrum_trace::span!("add", "math", a, b);
    a.wrapping_mul(3) ^ b
}

/// A step, a layer and a request around an addition.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn add_with_llm_vocabulary(a: u64, b: u64) -> u64 {
    let mut request = llm::request(a).prompt_tokens(5).arrived();
    request.prefill();
    let (phase, n) = (Phase::Decode, b as usize);
    let _step = llm::step(Step { phase, batch: n, prefill_tokens: 0, decode_tokens: n, context_tokens: n });
    let _layer = llm::layer(n);
    let _op = llm::op!("add", Gemm, m = n);
    llm::kv_cache(n, n);
    request.token();
    request.preempted();
    request.finished("stop");
    a.wrapping_mul(3) ^ b
}

/// The addition without a span.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn add_without_span(a: u64, b: u64) -> u64 {
    a.wrapping_mul(3) ^ b
}

/// Uses the rest of the interface.
pub fn everything_else() -> bool {
    let _dynamic = Span::dynamic("made", "up");
    let track = Track::new("GPU 0").sort(1);
    let now = Timestamp::now();
    ferrum_trace::complete_at!(track, now, now, "gemm", "gemm", value = never());
    track.complete_at("gemm", "gemm", now, now);
    let flow = Flow::from_open_span();
    let clock_error = std::time::Duration::ZERO;
    track.measured(&Measured { name: "gemm", category: "gemm", begin: now, end: now, clock_error, flow });
    ferrum_trace::set_thread_name("a");
    ferrum_trace::set_process_name("b");
    ferrum_trace::flush_global_trace();
    let writer = TraceWriter::enabled("never.json".into());
    writer.push("a", "b", 1.0, 1);
    writer.push_with_args("a", "b", 1.0, 1, serde_json::Map::new());
    ferrum_trace::global_trace().push("a", "b", 1.0, 1);
    ferrum_trace::is_on() || writer.is_enabled() || ferrum_trace::stats().is_some()
}

fn never() -> u64 {
    unreachable!("arguments are evaluated only while recording is on")
}
