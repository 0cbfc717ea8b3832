//! Scenes that are killed, or kill themselves.

use crate::sys::{blocked_signals, dispositions, read_nowhere};
use crate::work::{Pace, Workers, counters, record, wait_for_test};
use crate::{Scene, report};
use ferrum_trace::{Span, flush, span};
use std::fs::File;

pub(crate) const SCENES: &[Scene] = &[
    ("full-speed", full_speed),
    ("full-speed-at-once", full_speed_at_once),
    ("full-speed-with-flushes", full_speed_with_flushes),
    ("exit-with-much-to-write", exit_with_much_to_write),
    ("abort", abort),
    ("fault", fault),
    ("signal-dispositions", signal_dispositions),
    ("churn", churn),
];

/// Records on request, until it is killed.
fn full_speed() {
    let workers = Workers::ready(4, Pace::Full);
    report!("ready");
    wait_for_test();
    workers.go();
    wait_for_test();
    workers.stop();
}

/// Records at once, without reporting when it begins.
fn full_speed_at_once() {
    let workers = Workers::with_counters(4, Pace::Full, counters(4));
    workers.go();
    wait_for_test();
    workers.stop();
}

/// The last counter is the number of complete flushes.
fn full_speed_with_flushes() {
    let counters = counters(3);
    record(1, 1);
    let workers = Workers::with_counters(2, Pace::Full, counters);
    report!("ready");
    wait_for_test();
    workers.go();
    for n in 1.. {
        flush().unwrap();
        counters.set(2, n);
    }
}

/// Has so much to write at the end that it can be killed while doing so.
fn exit_with_much_to_write() {
    record(1, 20_000);
    report!("ready");
}

/// Records on one thread after the other, with a new name each, until it is killed. Two spans tell the number of the
/// thread, the second one with the name. The counter is the number of threads that have ended.
fn churn() {
    let counters = counters(1);
    let (tell_recorded, is_recorded) = std::sync::mpsc::channel();
    let quiet = std::thread::Builder::new().name("quiet".into()).spawn(move || {
        drop(span!("quiet"));
        tell_recorded.send(()).unwrap();
        wait_for_test();
    });
    let _quiet = quiet.unwrap();
    is_recorded.recv().unwrap();
    report!("ready");
    for n in 1.. {
        let work = move || {
            drop(span!("work", n));
            drop(Span::dynamic(&format!("name {n}"), "dynamic"));
        };
        std::thread::Builder::new().name(format!("thread {n}")).spawn(work).unwrap().join().unwrap();
        counters.set(0, n);
    }
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

/// Reports the dispositions of all signals, before and after everything that might change them.
fn signal_dispositions() {
    report_signals("before");
    let out = std::env::var_os("FERRUM_TRACE_OUT").unwrap();
    for n in 0..10 {
        {
            let _span = span!("work", n);
        }
        flush().unwrap();
        // Sometimes another process has the output open.
        let reader = File::open(&out).unwrap();
        record(1, 3);
        flush().unwrap();
        drop(reader);
    }
    report_signals("after");
}

/// Reports one line for each signal.
fn report_signals(when: &str) {
    for (signal, handler, flags) in dispositions() {
        report!("{when} {signal} {handler} {flags}");
    }
    report!("blocked-{when} {:?}", blocked_signals());
}
