//! Scenes that are killed, or kill themselves.

use crate::sys::{blocked_signals, dispositions, read_nowhere};
use crate::work::{Pace, Workers, counters, record, wait_for_test};
use crate::{Scene, tell};
use ferrum_trace::{flush, span};
use std::fs::File;

pub const SCENES: &[Scene] = &[
    ("full-speed", full_speed),
    ("full-speed-at-once", full_speed_at_once),
    ("full-speed-with-flushes", full_speed_with_flushes),
    ("leave-with-much", leave_with_much),
    ("abort", abort),
    ("fault", fault),
    ("dispositions", signals_are_left_alone),
];

/// When it is told to, until it is killed.
fn full_speed() {
    let workers = Workers::ready(4, Pace::Full);
    tell!("ready");
    wait_for_test();
    workers.go();
    wait_for_test();
    workers.stop();
}

/// The same, without a word when it has begun.
fn full_speed_at_once() {
    let workers = Workers::with_counters(4, Pace::Full, counters(4));
    workers.go();
    wait_for_test();
    workers.stop();
}

/// The last counter is how many flushes are complete.
fn full_speed_with_flushes() {
    let counters = counters(3);
    record(1, 1);
    let workers = Workers::with_counters(2, Pace::Full, counters);
    tell!("ready");
    wait_for_test();
    workers.go();
    for n in 1.. {
        flush().unwrap();
        counters.set(2, n);
    }
}

/// Has enough to write at the end that it can be killed then.
fn leave_with_much() {
    record(1, 20_000);
    tell!("ready");
}

fn abort() {
    let workers = Workers::ready(4, Pace::Full);
    workers.go();
    workers.wait_for_more(1);
    std::process::abort();
}

fn fault() {
    let workers = Workers::ready(4, Pace::Full);
    workers.go();
    workers.wait_for_more(1);
    read_nowhere();
}

/// Tells what happens on each signal, before and after everything that might change it.
fn signals_are_left_alone() {
    tell!("before {:?} {:?}", dispositions(), blocked_signals());
    let out = std::env::var_os("FERRUM_TRACE_OUT").unwrap();
    for n in 0..10 {
        {
            let _span = span!("work", n);
        }
        flush().unwrap();
        // Now and then somebody has the output open.
        let reader = File::open(&out).unwrap();
        record(1, 3);
        flush().unwrap();
        drop(reader);
    }
    tell!("after {:?} {:?}", dispositions(), blocked_signals());
}
