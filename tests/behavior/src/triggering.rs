//! Scenes with events that can trigger a dump of a flight recorder.

use crate::sys::{
    Ending, Fork, SIGUSR2, exit_at_once, fork, on_signal, on_signal_with_info, send_to_process, wait_for,
};
use crate::work::{record, wait_for_test};
use crate::{Scene, report};
use ferrum_trace::llm::{self, Phase, Step};
use ferrum_trace::{Recorder, dump, span};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(crate) const SCENES: &[Scene] = &[
    ("slow-step", || slow_steps(1)),
    ("slow-steps", || slow_steps(3)),
    ("slow-step-amid-steady-ones", slow_step_amid_steady_ones),
    ("wrong-step", wrong_step),
    ("slow-requests", slow_requests),
    ("dump-after-dump", dump_after_dump),
    ("wait-for-signal", wait_for_signal),
    ("wait-for-signal-with-handler", || wait_with_handler(|| on_signal(SIGUSR2, count))),
    ("wait-for-signal-with-info-handler", || wait_with_handler(|| on_signal_with_info(SIGUSR2, count_with_info))),
    ("signal-to-a-forked-child", signal_to_a_forked_child),
    ("panic-that-is-caught", panic_that_is_caught),
    ("panic-that-cannot-unwind", panic_that_cannot_unwind),
    ("panic-with-a-hook", panic_with_a_hook),
];

/// Longer than a very busy machine keeps a thread from running.
const SLOW: Duration = Duration::from_millis(1200);

fn step(phase: Phase, batch: usize, takes: Duration) {
    let _step = llm::step(Step { phase, batch, prefill_tokens: 0, decode_tokens: batch, context_tokens: batch });
    if !takes.is_zero() {
        std::thread::sleep(takes);
    }
}

/// Steps that take no time, and slow ones among them: only these compute 77 sequences.
fn slow_steps(n_slow: u64) {
    for _ in 0..n_slow {
        (0..200).for_each(|n| step(Phase::Decode, n % 7, Duration::ZERO));
        step(Phase::Decode, 77, SLOW);
        (0..50).for_each(|n| step(Phase::Mixed, n % 7, Duration::ZERO));
    }
}

fn slow_step_amid_steady_ones() {
    step(Phase::Decode, 1, SLOW);
    step(Phase::Prefill, 1, SLOW);
    (0..150).for_each(|_| step(Phase::Decode, 1, Duration::from_millis(2)));
    step(Phase::Prefill, 1, SLOW);
    step(Phase::Decode, 77, 2 * SLOW);
}

/// The program itself marks a step as wrong.
fn wrong_step() {
    let builder = Recorder::builder().path("trace.json").ring(1 << 20);
    let recorder = builder.trigger_when("seventy-seven", |ended| ended.step.batch == 77).start().unwrap();
    for n in 0..100 {
        step(Phase::Decode, n, Duration::ZERO);
    }
    report!("dumps {}", recorder.finish().unwrap().dumps);
}

/// A quick request, one that waits for its first token, one whose second token takes long, and one that misses an
/// objective of its own.
fn slow_requests() {
    let mut quick = llm::request(1).arrived();
    quick.prefill();
    quick.tokens(3);
    quick.finished("stop");
    let mut late = llm::request(2).arrived();
    std::thread::sleep(SLOW);
    late.prefill();
    late.tokens(2);
    late.finished("stop");
    for slow in [llm::request(3), llm::request(4).slo(SLOW / 2)] {
        let mut slow = slow.arrived();
        slow.prefill();
        slow.token();
        std::thread::sleep(SLOW);
        slow.token();
        slow.finished("length");
    }
}

fn wait_for_file(name: &str) {
    while !Path::new(name).exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// As many dumps as are allowed, each requested repeatedly once the previous one is there.
fn dump_after_dump() {
    record(1, 1000);
    let (mut n_granted, mut n_refused) = (0, 0);
    let mut is_granted = || {
        let is_granted = dump("again");
        n_refused += u64::from(!is_granted);
        // The file is visible shortly before it is counted.
        std::thread::sleep(Duration::from_millis(if is_granted { 0 } else { 10 }));
        is_granted
    };
    while (0..200).any(|_| is_granted()) {
        n_granted += 1;
        wait_for_file(&format!("trace.dump-{n_granted:03}.json"));
    }
    report!("granted {n_granted}");
    report!("refused {n_refused}");
}

fn wait_for_signal() {
    record(1, 100);
    report!("ready");
    wait_for_test();
    record(101, 200);
}

static N_HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(signal: i32) {
    assert_eq!(signal, SIGUSR2);
    N_HANDLED.fetch_add(1, Ordering::SeqCst);
}

extern "C" fn count_with_info(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    assert!(!info.is_null() && !context.is_null());
    count(signal);
}

fn wait_with_handler(install: fn()) {
    install();
    wait_for_signal();
    report!("handled {}", N_HANDLED.load(Ordering::SeqCst));
}

/// The child has its own recording by then; that of the parent is not affected.
fn signal_to_a_forked_child() {
    record(1, 100);
    match fork() {
        Fork::Child => {
            record(1, 50);
            send_to_process(std::process::id() as i32, SIGUSR2);
            wait_for_file(&format!("trace.{}.dump-001.json", std::process::id()));
            exit_at_once(0);
        }
        Fork::Parent { child } => {
            report!("child {child}");
            assert_eq!(wait_for(child), Ending::Code(0));
        }
    }
}

fn panic_that_is_caught() {
    record(1, 100);
    let panics = || {
        let _span = span!("unwound");
        panic!("a planned panic");
    };
    assert!(std::thread::spawn(panics).join().is_err());
    wait_for_file("trace.dump-001.json");
    record(101, 200);
}

/// Unwinding stops at a function with the C ABI, and the process aborts there.
fn panic_that_cannot_unwind() {
    extern "C" fn panics() {
        panic!("a planned panic");
    }
    record(1, 100);
    panics();
}

fn panic_with_a_hook() {
    std::panic::set_hook(Box::new(|info| report!("hook {}", info.payload_as_str().unwrap_or_default())));
    record(1, 100);
    assert!(std::panic::catch_unwind(|| panic!("one")).is_err());
    panic!("two");
}
