//! Scenes in which a resource of the process ends: the size of files, the address space, or the spool itself.

use crate::sys::{
    Ending, Fork, SIGBUS, SharedCounters, exit_at_once, fork, on_signal, set_address_space_limit, set_file_size_limit,
    wait_for,
};
use crate::{Scene, report};
use ferrum_trace::{Recorder, dump, finish, flush, span, stats};
use std::fs::File;
use std::path::Path;

pub(crate) const SCENES: &[Scene] = &[
    ("file-size-limit", file_size_limit),
    ("file-size-limit-during-recording", file_size_limit_during_recording),
    ("file-size-limit-of-dumps", file_size_limit_of_dumps),
    ("address-space-limit", address_space_limit),
    ("cut-spool", || cut_spool(Recorder::builder().path("cut.json"), 0)),
    ("cut-spool-in-the-middle", || cut_spool(Recorder::builder().path("cut.json"), 1 << 20)),
    ("cut-ring", || cut_spool(Recorder::builder().path("cut.json").ring(4 << 20), 1 << 20)),
    ("cut-spool-and-nothing-recorded", cut_spool_and_nothing_recorded),
    ("faults-of-the-program", faults_of_the_program),
    ("faults-of-a-program-without-handler", faults_of_a_program_without_handler),
];

const MIB: u64 = 1 << 20;

fn record(n: u64) {
    for n in 0..n {
        drop(span!("work", n));
    }
}

/// The limit exists from the start.
fn file_size_limit() {
    let n_bytes = std::env::var("LIMIT").unwrap().parse().unwrap();
    set_file_size_limit(Some(n_bytes));
    record(200_000);
    report!("flushed {}", flush().is_ok());
    report!("pushed 200000");
}

/// The limit is set and removed by the program while it records.
fn file_size_limit_during_recording() {
    record(50_000);
    set_file_size_limit(Some(0));
    report!("flushed {}", flush().is_ok());
    set_file_size_limit(None);
    flush().unwrap();
    record(10);
    set_file_size_limit(Some(0));
    // Longer than the line that is written at exit, which goes to a file.
    report!("flushed {}", flush().is_ok());
    set_file_size_limit(None);
    report!("recorded {}", finish().unwrap().recorded);
}

fn file_size_limit_of_dumps() {
    let recorder = Recorder::builder().path("ring.json").ring(4 * MIB).start().unwrap();
    record(500_000);
    set_file_size_limit(Some(MIB));
    report!("flushed {}", recorder.flush().is_ok());
    report!("granted {}", dump("too large"));
    report!("finished {}", recorder.finish().is_ok());
}

fn address_space_limit() {
    record(300_000);
    // From what a small allocation needs to what a conversion needs.
    for more in [64 << 10, MIB, 4 * MIB, 9 * MIB, 17 * MIB, 33 * MIB, 66 * MIB] {
        set_address_space_limit(Some(more));
        report!("flush {} {}", more, flush().is_ok());
        report!("stats {} {}", more, stats().is_some());
        record(1);
    }
    set_address_space_limit(None);
    flush().unwrap();
    report!("recorded {}", finish().unwrap().recorded);
    set_address_space_limit(Some(MIB));
    report!("started {}", Recorder::builder().path("other.json").start().is_ok());
}

fn cut(path: &str, n_bytes: u64) {
    File::options().write(true).open(path).unwrap().set_len(n_bytes).unwrap();
}

/// Another process cuts the spool while threads record into it.
fn cut_spool(builder: ferrum_trace::RecorderBuilder, n_bytes: u64) {
    let recorder = builder.start().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| record(100_000));
        }
    });
    let _open = span!("open", n = 1);
    match fork() {
        Fork::Child => {
            cut("cut.json.spool", n_bytes);
            exit_at_once(0);
        }
        Fork::Parent { child } => assert_eq!(wait_for(child), Ending::Code(0)),
    }
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| record(300_000));
        }
    });
    report!("flush {}", recorder.flush().unwrap_err());
    report!("finish {}", recorder.finish().unwrap_err());
    // A new recording is not affected.
    let recorder = Recorder::builder().path("next.json").start().unwrap();
    record(1000);
    report!("next {}", recorder.finish().unwrap().recorded);
}

/// The loss is found although no page of it is used again.
fn cut_spool_and_nothing_recorded() {
    let recorder = Recorder::builder().path("cut.json").start().unwrap();
    record(300_000);
    cut("cut.json.spool", 2 * MIB);
    report!("finish {}", recorder.finish().unwrap_err());
}

/// Uses a page beyond the end of a file of the program itself.
fn fault() {
    let path = Path::new("own");
    let counters = SharedCounters::create(path, 1);
    cut("own", 0);
    counters.add_one(0);
}

extern "C" fn exit_in_handler(_signal: i32) {
    exit_at_once(7);
}

fn faults_of_the_program() {
    on_signal(SIGBUS, exit_in_handler);
    drop(span!("work"));
    fault();
}

fn faults_of_a_program_without_handler() {
    drop(span!("work"));
    fault();
}
