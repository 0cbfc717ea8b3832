//! Scenes that fork, and scenes of several processes with one path.

use crate::sys::{self, Ending, Fork, exit_as_in_c, exit_at_once, fork, wait_for};
use crate::work::{Pace, Workers, record, slow_start, wait_for_test};
use crate::{Scene, report};
use ferrum_trace::{TraceWriter, flush, span};
use std::cell::Cell;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(crate) const SCENES: &[Scene] = &[
    ("fork-amid-recording", fork_amid_recording),
    ("fork-and-record-nothing", fork_and_record_nothing),
    ("fork-and-fork-again", fork_and_fork_again),
    ("fork-before-recording", fork_before_recording),
    ("fork-at-the-start", fork_at_the_start),
    ("fork-during-a-slow-start", fork_during_a_slow_start),
    ("fork-amid-flushes", fork_amid_flushes),
    ("fork-amid-writes-to-stderr", fork_amid_writes_to_stderr),
    ("fork-amid-new-sites", fork_amid_new_sites),
    ("fork-amid-new-threads", fork_amid_new_threads),
    ("fork-in-a-span", fork_in_a_span),
    ("fork-with-a-writer", fork_with_a_writer),
    ("fork-in-a-destructor", fork_in_a_destructor),
    ("fork-in-an-exit-handler", fork_in_an_exit_handler),
    ("fork-and-outlive", fork_and_outlive),
    ("spawn", spawn),
    ("two-at-once", two_at_once),
];

/// Number of spans that each child records.
const CHILD_SPANS: u64 = 20;

fn out() -> PathBuf {
    std::env::var_os("FERRUM_TRACE_OUT").unwrap().into()
}

fn record_as_child() {
    for n in 1..=CHILD_SPANS {
        let _span = span!("child", n, pid = std::process::id());
    }
}

/// Forks; the child runs `part`, which must not return. Reports how the child ended, under `key`.
fn with_child(key: &str, part: impl FnOnce()) {
    match fork() {
        Fork::Child => {
            part();
            exit_at_once(99);
        }
        Fork::Parent { child } => {
            let ending = wait_for(child);
            report!("{key} {child} {ending:?}");
            if ending == Ending::Hung {
                // Later children would hang too.
                exit_at_once(98);
            }
        }
    }
}

fn fork_amid_recording() {
    let workers = Workers::ready(3, Pace::Slow);
    workers.go();
    for n in 1..=10 {
        with_child("exited", || {
            record_as_child();
            std::process::exit(0);
        });
        with_child("gone", || {
            record_as_child();
            exit_at_once(0);
        });
        {
            let _span = span!("parent", n);
        }
    }
    report!("done {:?}", workers.stop());
}

fn fork_and_record_nothing() {
    record(1, 10);
    with_child("exited", || std::process::exit(0));
    with_child("gone", || exit_at_once(0));
    record(11, 20);
}

fn fork_and_fork_again() {
    record(1, 10);
    with_child("child", || {
        with_child("grandchild-before", || {
            record_as_child();
            std::process::exit(0);
        });
        record_as_child();
        with_child("grandchild-after", || {
            record_as_child();
            std::process::exit(0);
        });
        std::process::exit(0);
    });
    record(11, 20);
}

fn fork_before_recording() {
    with_child("exited", || {
        record_as_child();
        std::process::exit(0);
    });
    record(1, 10);
}

/// Forks at the moment when another thread starts the recorder.
fn fork_at_the_start() {
    let go = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !go.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
            record(1, 10);
        });
        go.store(true, Ordering::Relaxed);
        // The test runs this scene often, with increasing delays.
        let delay = std::env::args().nth(2).unwrap().parse().unwrap();
        (0..delay).for_each(|_| std::hint::spin_loop());
        with_child("exited", || {
            record_as_child();
            std::process::exit(0);
        });
    });
}

/// Forks while another thread starts the recorder and waits for its file.
fn fork_during_a_slow_start() {
    let lease = slow_start();
    std::thread::scope(|scope| {
        scope.spawn(|| record(1, 10));
        // The wait of the other thread cannot be observed: it is inside a system call.
        std::thread::sleep(Duration::from_millis(50));
        with_child("exited", || std::process::exit(0));
        drop(lease);
    });
}

fn fork_amid_flushes() {
    record(1, 1000);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    drop(span!("flushed"));
                    flush().unwrap();
                }
            });
        }
        for _ in 0..20 {
            with_child("exited", || {
                record_as_child();
                flush().unwrap();
                std::process::exit(0);
            });
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// Another thread, which the child does not have, may hold the lock of the standard library's stream.
fn fork_amid_writes_to_stderr() {
    record(1, 10);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let words = std::io::stderr().lock();
                    (0..100).for_each(|_| std::hint::spin_loop());
                    drop(words);
                }
            });
        }
        for _ in 0..20 {
            with_child("exited", || {
                record_as_child();
                std::process::exit(0);
            });
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// Other threads are registering sites, names and threads.
fn fork_amid_new_sites() {
    record(1, 10);
    let stop = AtomicBool::new(false);
    let n_names = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let n = n_names.fetch_add(1, Ordering::Relaxed);
                    drop(ferrum_trace::Span::dynamic(&format!("name {n}"), ""));
                    std::thread::spawn(|| drop(span!("on a new thread"))).join().unwrap();
                }
            });
        }
        for _ in 0..20 {
            with_child("exited", || {
                record_as_child();
                drop(ferrum_trace::Span::dynamic("name", ""));
                exit_as_in_c(0);
            });
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// Other threads start and end, for which the standard library has a lock. The child has so much to write that the
/// recorder may start threads.
fn fork_amid_new_threads() {
    record(1, 10);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::thread::spawn(|| ()).join().unwrap();
                }
            });
        }
        for _ in 0..50 {
            with_child("exited", || {
                record(1, 20_000);
                exit_as_in_c(0);
            });
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// Guards that are open at the fork are dropped in both processes.
fn fork_in_a_span() {
    record(1, 10);
    let outer = span!("outer");
    let inner = span!("inner");
    let mut guards = Some((outer, inner));
    with_child("exited", || {
        record_as_child();
        let (outer, inner) = guards.take().unwrap();
        drop(inner);
        drop(outer);
        std::process::exit(0);
    });
}

/// A writer of the original engine's interface, with a file of its own, exists in both processes.
fn fork_with_a_writer() {
    let path = out().with_file_name("writer.json");
    let mut writer = Some(TraceWriter::enabled(path.clone()));
    let push = |writer: &Option<TraceWriter>, name: &str| writer.as_ref().unwrap().push(name, "", 1.0, 1);
    push(&writer, "before");
    with_child("exited", || {
        push(&writer, "in the child");
        let _ = writer.as_ref().unwrap().flush();
        drop(writer.take());
        std::process::exit(0);
    });
    with_child("exited", || {
        push(&writer, "in the child");
        std::process::exit(0);
    });
    report!("written {}", path.exists());
    push(&writer, "after");
}

/// Forks when its thread ends.
struct ForksInDrop(Cell<bool>);

impl Drop for ForksInDrop {
    fn drop(&mut self) {
        with_child("exited", || std::process::exit(0));
    }
}

thread_local! {
    static FORKS_IN_DROP: ForksInDrop = const { ForksInDrop(Cell::new(false)) };
}

/// The destructor runs after those of the recorder, and this thread has forked before.
fn fork_in_a_destructor() {
    let fork_late = || {
        FORKS_IN_DROP.with(|local| local.0.set(true));
        record(1, 10);
        with_child("gone", || exit_at_once(0));
    };
    std::thread::spawn(fork_late).join().unwrap();
    report!("spool {}", PathBuf::from(format!("{}.spool", out().display())).exists());
    report!("trace {}", out().exists());
    record(11, 20);
}

extern "C" fn forks_at_exit() {
    with_child("gone", || {
        record_as_child();
        exit_at_once(0);
    });
}

fn fork_in_an_exit_handler() {
    sys::at_exit(forks_at_exit);
    record(1, 10);
}

/// The parent is killed; a child lives until the test ends it.
fn fork_and_outlive() {
    record(1, 10);
    if let Fork::Child = fork() {
        report!("child {}", std::process::id());
        wait_for_test();
        exit_at_once(0);
    }
    // Waits for the kill.
    std::thread::sleep(Duration::from_secs(600));
}

/// Starts another program that records too, while this one records.
fn spawn() {
    let workers = Workers::ready(2, Pace::Slow);
    workers.go();
    let program = std::env::current_exe().unwrap();
    for _ in 0..5 {
        let mut command = Command::new(&program);
        let child = command.arg("return").stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let pid = child.id();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        report!("spawned {pid} {}", String::from_utf8(output.stderr).unwrap().trim());
    }
    report!("done {:?}", workers.stop());
}

/// Records, and lives until the test ends it.
fn two_at_once() {
    record(1, 100);
    report!("ready");
    wait_for_test();
    record(101, 200);
}
