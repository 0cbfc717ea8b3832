//! A program that is killed in any way leaves a spool with everything that it had recorded.

mod common;

use common::{Running, Stage, TraceFile, assert_counts_up, build_with_panic_abort, recover, send};
use ferrum_trace_testkit::process::run;
use std::time::Duration;

/// Checks that the trace has all spans that the workers have counted, and at most one more: a worker may have recorded
/// it but not counted it yet.
#[track_caller]
fn assert_nothing_is_missing(trace: &TraceFile, counted: &[u64]) {
    for (worker, &counted) in counted.iter().enumerate() {
        if counted == 0 {
            // It may not have a name yet.
            continue;
        }
        let numbers = trace.numbers_on(trace.tid_of(&format!("worker {worker}")), "work", "n");
        assert_counts_up(&numbers);
        let found = numbers.len() as u64;
        assert!(found >= counted, "worker {worker}: {} of {counted} are missing", counted - found);
        assert!(found <= counted + 1, "worker {worker}: {found} found, {counted} recorded");
    }
    trace.assert_nested();
}

/// Starts a scene with workers, and lets them record.
#[track_caller]
fn start_workers(stage: &Stage, name: &str) -> Running {
    let mut scene = stage.start(name);
    scene.wait_for_line("ready");
    scene.tell("go");
    scene
}

#[test]
fn nothing_is_missing_after_kill_9_at_full_speed() {
    let mut n_counted = 0;
    for micros in [100, 300, 1000, 2000, 5000, 10_000] {
        let stage = Stage::new();
        let mut scene = start_workers(&stage, "full-speed");
        std::thread::sleep(Duration::from_micros(micros));
        scene.kill();
        scene.finish().expect_signal(libc::SIGKILL);
        assert!(!stage.trace().exists());
        let counted = stage.counters();
        assert_eq!(counted.len(), 4);
        n_counted += counted.iter().sum::<u64>();
        let (trace, summary) = recover(&stage.path("trace.json.spool"));
        assert!(!summary.finished);
        assert_eq!(summary.dropped, 0);
        assert_nothing_is_missing(&trace, &counted);
    }
    assert!(n_counted > 0);
}

#[test]
fn nothing_is_missing_after_kill_9_at_any_moment_of_the_start() {
    for step in 0..40 {
        let stage = Stage::new();
        let mut scene = stage.start("full-speed-at-once");
        std::thread::sleep(Duration::from_micros(200 * step));
        scene.kill();
        scene.finish().expect_signal(libc::SIGKILL);
        let counted = stage.counters();
        if counted.iter().any(|&counted| counted > 0) {
            let (trace, _) = recover(&stage.path("trace.json.spool"));
            assert_nothing_is_missing(&trace, &counted);
        }
    }
}

#[test]
fn nothing_is_missing_after_kill_9_during_flushes() {
    for millis in [1, 3, 10, 20] {
        let stage = Stage::new();
        let mut scene = start_workers(&stage, "full-speed-with-flushes");
        std::thread::sleep(Duration::from_millis(millis));
        scene.kill();
        scene.finish().expect_signal(libc::SIGKILL);
        let [counted @ .., n_flushes] = &stage.counters()[..] else {
            panic!("expected a counter of flushes");
        };
        let (trace, _) = recover(&stage.path("trace.json.spool"));
        assert_nothing_is_missing(&trace, counted);
        if *n_flushes > 0 || stage.trace().exists() {
            // The file of the last flush is complete too.
            let flushed = TraceFile::read(&stage.trace());
            assert!(flushed.recorded().count() <= trace.recorded().count());
            flushed.assert_nested();
        }
    }
}

#[test]
fn nothing_is_missing_after_kill_9_while_the_file_is_written_at_the_end() {
    let mut n_killed = 0;
    for millis in [0, 2, 5, 10, 20, 50] {
        let stage = Stage::new();
        let mut scene = stage.start("exit-with-much-to-write");
        scene.wait_for_line("ready");
        std::thread::sleep(Duration::from_millis(millis));
        scene.kill();
        n_killed += u32::from(!scene.finish().status.success());
        let trace = match stage.trace().exists() {
            true => TraceFile::read(&stage.trace()),
            false => recover(&stage.path("trace.json.spool")).0,
        };
        let work = trace.numbers("work", "n");
        assert_counts_up(&work);
        assert_eq!(work.len(), 20_000);
    }
    assert!(n_killed > 0);
}

/// Runs a scene that is terminated by a signal, and checks its spool.
#[track_caller]
fn assert_is_recovered_after(signal: i32, end: impl FnOnce(&Stage) -> Running) {
    let stage = Stage::new();
    let scene = end(&stage);
    scene.finish().expect_signal(signal);
    let (trace, _) = recover(&stage.path("trace.json.spool"));
    assert_eq!(stage.counters().len(), 4);
    assert_nothing_is_missing(&trace, &stage.counters());
}

#[test]
fn nothing_is_missing_after_a_signal_that_ends_the_program() {
    let signals = [
        ("TERM", libc::SIGTERM),
        ("INT", libc::SIGINT),
        ("HUP", libc::SIGHUP),
        ("QUIT", libc::SIGQUIT),
        ("USR1", libc::SIGUSR1),
        ("ABRT", libc::SIGABRT),
    ];
    for (name, signal) in signals {
        assert_is_recovered_after(signal, |stage| {
            let scene = start_workers(stage, "full-speed");
            send(name, &scene);
            scene
        });
    }
}

#[test]
fn nothing_is_missing_after_abort() {
    assert_is_recovered_after(libc::SIGABRT, |stage| stage.start("abort"));
}

#[test]
fn nothing_is_missing_after_a_segmentation_fault() {
    assert_is_recovered_after(libc::SIGSEGV, |stage| stage.start("fault"));
}

#[test]
fn nothing_is_missing_after_a_panic_that_aborts() {
    let program = build_with_panic_abort();
    for (scene, thread, n_work) in [("panic", "main", 100), ("panic-on-another-thread", "panics", 100)] {
        let stage = Stage::new();
        run(&mut stage.scene_of(&program, scene)).expect_signal(libc::SIGABRT);
        let (trace, _) = recover(&stage.path("trace.json.spool"));
        let work = trace.numbers_on(trace.tid_of(thread), "work", "n");
        assert_counts_up(&work);
        assert_eq!(work.len(), n_work);
        // Nothing is unwound: the guard was never dropped.
        assert_eq!(trace.count("unwound"), 0);
    }
}

#[test]
fn the_recorder_changes_no_signal_disposition_but_that_of_sigbus() {
    for (setting, changed) in [("on", vec!["7"]), ("off", vec![])] {
        let stage = Stage::new();
        let finished = run(stage.scene("signal-dispositions").env("FERRUM_TRACE_SIGBUS", setting)).expect_success();
        let (before, after) = (finished.answers("before"), finished.answers("after"));
        let differs = before.zip(after).filter(|(before, after)| before != after);
        let signals: Vec<&str> = differs.map(|(before, _)| before.split(' ').next().unwrap()).collect();
        assert_eq!(signals, changed, "{finished}");
        assert_eq!(finished.answer("blocked-after"), finished.answer("blocked-before"));
        assert_eq!(stage.finished_trace().count("work"), 40);
    }
}

/// Kills a scene with a flight recorder, and returns the trace in its spool, which is whole and within its size.
#[track_caller]
fn killed_ring(stage: &Stage, mut scene: Running, ring_bytes: u64) -> TraceFile {
    scene.kill();
    scene.finish().expect_signal(libc::SIGKILL);
    let spool = stage.path("trace.json.spool");
    assert!(std::fs::metadata(&spool).unwrap().len() <= ring_bytes);
    let (trace, summary) = recover(&spool);
    assert_eq!((summary.dropped, summary.n_diagnostics), (0, 0));
    trace
}

#[test]
fn a_ring_has_the_newest_of_many_threads_and_names_after_kill_9() {
    const RING_BYTES: u64 = 1 << 20;
    let stage = Stage::new();
    let mut scene = Running::start(stage.scene("churn").env("FERRUM_TRACE_RING", "1MiB"));
    scene.wait_for_line("ready");
    // More threads than fit: each takes more than 100 bytes.
    let n_wanted = 2 * RING_BYTES / 100;
    while stage.counters().first().is_none_or(|&n| n < n_wanted) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let trace = killed_ring(&stage, scene, RING_BYTES);
    let counted = stage.counters()[0];
    let threads = trace.thread_names();
    let mut found: Vec<u64> = Vec::new();
    for event in trace.named("work") {
        assert_eq!(threads[&event.tid], format!("thread {}", event.number("n")));
        found.push(event.number("n"));
    }
    assert!(found.windows(2).all(|pair| pair[0] + 1 == pair[1]), "threads are missing in the middle");
    let last = found.last().copied().unwrap_or(0);
    assert!((counted..=counted + 1).contains(&last), "{last} found, {counted} recorded");
    assert!(found.len() as u64 > RING_BYTES / 2 / 300, "only {}", found.len());
    assert_eq!(trace.count(&format!("name {counted}")), 1);
    assert_eq!(trace.count("quiet"), 1, "the last moments of a living thread are kept");
}

#[test]
fn a_ring_has_the_newest_events_after_kill_9() {
    const RING_BYTES: u64 = 2 << 20;
    let mut n_wrapped = 0;
    for millis in [1, 20, 50, 100] {
        let stage = Stage::new();
        let mut scene = Running::start(stage.scene("full-speed").env("FERRUM_TRACE_RING", "2MiB"));
        scene.wait_for_line("ready");
        scene.tell("go");
        std::thread::sleep(Duration::from_millis(millis));
        let trace = killed_ring(&stage, scene, RING_BYTES);
        trace.assert_nested();
        for (worker, counted) in stage.counters().into_iter().enumerate().filter(|(_, counted)| *counted > 0) {
            let numbers = trace.numbers_on(trace.tid_of(&format!("worker {worker}")), "work", "n");
            assert!(
                numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]),
                "worker {worker}: spans are missing in the middle"
            );
            let last = numbers.last().copied().unwrap_or(0);
            assert!((counted..=counted + 1).contains(&last), "worker {worker}: {last} found, {counted} recorded");
            n_wrapped += u32::from(numbers[0] > 1);
        }
    }
    assert!(n_wrapped > 0, "no ring was ever full");
}
