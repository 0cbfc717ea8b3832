//! Scenes that end, are killed or write their trace while spans are open.

use crate::work::wait_for_test;
use crate::{Scene, report};
use ferrum_trace::llm::{self, Phase, Step};
use ferrum_trace::{Recorder, Span, control, dump, flush, laps, span};
use std::sync::mpsc::{Receiver, channel};
use std::thread::Builder;
use std::time::Duration;

pub(crate) const SCENES: &[Scene] = &[
    ("hang-inside", hang_inside),
    ("hang-in-first-span", hang_in_first_span),
    ("exit-inside", exit_inside),
    ("abort-inside", abort_inside),
    ("flush-inside", flush_inside),
    ("finish-inside", finish_inside),
    ("stop-inside", stop_inside),
    ("dump-inside", dump_inside),
    ("hang-deep", hang_deep),
    ("hang-in-other-spans", hang_in_other_spans),
    ("hang-while-rotating", hang_while_rotating),
    ("continue-after-rotation", continue_after_rotation),
];

/// Opens a step, layer 17 and a kernel, and calls `stuck` inside all three.
fn inside(stuck: impl FnOnce()) {
    drop(span!("before"));
    let _step =
        llm::step(Step { phase: Phase::Decode, batch: 8, prefill_tokens: 0, decode_tokens: 8, context_tokens: 512 });
    drop(span!("ended in the step"));
    let _layer = llm::layer(17);
    let _op = span!("stuck_kernel", "gemm", m = 4096, kernel = "a name of more than seven bytes");
    stuck();
}

/// Runs `inside` on a thread named `engine` that waits for the test. Returns when it waits.
fn engine_inside() -> Receiver<()> {
    let (tell_inside, is_inside) = channel();
    let engine = move || {
        inside(|| {
            tell_inside.send(()).unwrap();
            wait_forever();
        });
    };
    Builder::new().name("engine".into()).spawn(engine).unwrap();
    is_inside.recv().unwrap();
    is_inside
}

fn wait_forever() {
    loop {
        std::thread::park();
    }
}

fn hang_inside() {
    inside(|| {
        report!("ready");
        wait_forever();
    });
}

/// No span has ended, on any thread.
fn hang_in_first_span() {
    let _span = span!("first");
    report!("ready");
    wait_forever();
}

fn exit_inside() {
    inside(|| std::process::exit(3));
}

fn abort_inside() {
    inside(|| std::process::abort());
}

/// The first flush has open spans; in the final file they have ended.
fn flush_inside() {
    inside(|| {
        flush().unwrap();
        report!("ready");
        wait_for_test();
    });
}

fn finish_inside() {
    let recorder = Recorder::builder().path("trace.json").start().unwrap();
    let _engine = engine_inside();
    let stats = recorder.finish().unwrap();
    report!("recorded {}", stats.recorded);
}

fn stop_inside() {
    let _engine = engine_inside();
    control::stop().unwrap().wait().unwrap();
    // Another recording does not contain them.
    let recorder = Recorder::builder().path("second.json").start().unwrap();
    drop(span!("after"));
    recorder.finish().unwrap();
}

fn dump_inside() {
    let _engine = engine_inside();
    assert!(dump("stuck"));
    while !std::path::Path::new("trace.dump-001.json").exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// More levels than a thread has room for at first.
fn hang_deep() {
    fn nest(level: u64) {
        let _span = span!("nested", level);
        if level < 40 {
            nest(level + 1);
        }
        report!("ready");
        wait_forever();
    }
    nest(1);
}

/// Spans that are not created by `span!`.
fn hang_in_other_spans() {
    let name = String::from("made at run time");
    let _dynamic = Span::dynamic(&name, "names");
    let mut laps = laps!("laps", "layers", layer = 3);
    laps.mark("attention");
    // A span that ends before the one inside it.
    let outer = span!("outer");
    let _inner = span!("inner");
    drop(outer);
    report!("ready");
    wait_forever();
}

/// Waits until the recording has reached its second file.
fn record_until_rotated() {
    let is_rotated = || control::status().path.unwrap().ends_with("trace.002.json");
    while !is_rotated() {
        (0..1000).for_each(|_| drop(span!("filler")));
    }
}

/// One thread hangs in the first file, another one continues.
fn hang_while_rotating() {
    let _engine = engine_inside();
    let _main = span!("main loop", n = 1);
    record_until_rotated();
    drop(span!("in the second file"));
    report!("ready");
    wait_forever();
}

/// A thread that hangs in the first file ends its spans in the second one.
fn continue_after_rotation() {
    let (go, wait) = channel::<()>();
    let engine = Builder::new().name("engine".into()).spawn(move || {
        inside(|| wait.recv().unwrap());
        let _span = span!("next");
        report!("ready");
        wait_forever();
    });
    engine.unwrap();
    record_until_rotated();
    go.send(()).unwrap();
    wait_forever();
}
