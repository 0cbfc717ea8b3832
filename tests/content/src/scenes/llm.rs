//! An engine that uses the LLM vocabulary.

use ferrum_trace::Recorder;
use ferrum_trace::llm::{self, Phase, Request, Step};

/// A step of each phase, the last one with layers and operations.
pub(crate) fn steps() {
    let step = Step { phase: Phase::Prefill, batch: 1, prefill_tokens: 2, decode_tokens: 0, context_tokens: 0 };
    drop(llm::step(step));
    drop(llm::step(Step { phase: Phase::Mixed, batch: 4, decode_tokens: 3, context_tokens: 50, ..step }));
    let decode =
        Step { phase: Phase::Decode, batch: 4, prefill_tokens: 0, decode_tokens: 4, context_tokens: usize::MAX };
    let _step = llm::step(decode);
    for layer in 0..2 {
        let _layer = llm::layer(layer);
        drop(llm::op!("qkv_proj", Gemm, layer, m = 4, quantized = true));
        drop(llm::op!("paged_attention", Attention));
        drop(llm::op!("silu", Act,));
    }
    drop(llm::op!("sample", Sampling, batch = 4,));
}

fn on_another_thread(mut request: Request, stage: fn(&mut Request)) -> Request {
    let work = move || {
        stage(&mut request);
        request
    };
    std::thread::spawn(work).join().expect("it ends")
}

/// A whole request, each stage recorded by another thread.
pub(crate) fn request_over_threads() {
    let request = llm::request(7).prompt_tokens(40).arrived();
    let request = on_another_thread(request, Request::prefill);
    let request = on_another_thread(request, Request::first_token);
    let request = on_another_thread(request, |request| {
        request.token();
        request.tokens(3);
    });
    let request = on_another_thread(request, Request::preempted);
    let request = on_another_thread(request, Request::prefill);
    let request = on_another_thread(request, Request::token);
    drop(on_another_thread(request, |request| request.finished("length")));
}

/// Requests whose stages are recorded twice, too early, too late or not at all.
pub(crate) fn requests_out_of_order() {
    let mut twice = llm::request(1).arrived();
    (0..2).for_each(|_| twice.prefill());
    (0..2).for_each(|_| twice.first_token());
    (0..2).for_each(|_| twice.preempted());
    (0..2).for_each(|_| twice.finished("stop"));
    twice.token();
    twice.prefill();
    let mut early = llm::request(2).prompt_tokens(5).arrived();
    early.preempted();
    early.tokens(0);
    early.tokens(2);
    early.prefill();
    drop(early);
    drop(llm::request(3).arrived());
}

/// A request that arrives before the first recording, and one that outlives it.
pub(crate) fn request_between_recordings(one: &str, other: &str) {
    let mut before = llm::request(1).arrived();
    let recorder = Recorder::builder().path(one).start().expect("the path can be written to");
    before.prefill();
    let mut within = llm::request(2).arrived();
    recorder.finish().expect("the trace can be written");
    within.prefill();
    let recorder = Recorder::builder().path(other).monotonic_clock().start().expect("the path can be written to");
    within.token();
    before.finished("stop");
    drop(within);
    drop(llm::request(3).arrived());
    recorder.finish().expect("the trace can be written");
}

/// All counters of an engine.
pub(crate) fn counters() {
    llm::kv_cache(3, 97);
    llm::running(2);
    llm::waiting(1);
    llm::tokens(512, 20);
}
