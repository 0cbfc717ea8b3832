//! Flushes, in any number and from any thread: the output is always valid, and has every event once.

mod common;

use common::{Stage, TraceFile, assert_counts_up};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[test]
fn flushes_from_several_threads_while_others_record_have_every_event_once() {
    let stage = Stage::new();
    // The scene reads the output after each flush, and watches its size.
    let finished = stage.run("flush-from-many").expect_success();
    let trace = stage.finished_trace();
    let work = trace.numbers("work", "n");
    assert_counts_up(&work);
    assert_eq!(work.len(), 4500);
    let marks: Vec<u64> = (0..3).flat_map(|flusher| (0..5).map(move |n| 10 * flusher + n)).collect();
    assert_eq!(trace.numbers("mark", "n"), marks);
    assert_eq!(finished.number("dropped"), 0);
    assert_eq!(finished.number("recorded"), 4515);
    assert_eq!(trace.about("recorded"), 4515);
    assert_eq!(trace.recorded().count(), 4515);
    trace.assert_nested();
}

/// Opens the output, if it exists.
#[track_caller]
fn open(path: &Path) -> Option<File> {
    match File::open(path) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn read_all(mut file: File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_reader_sees_no_file_or_a_complete_one_at_any_moment() {
    let stage = Stage::new();
    let mut scene = stage.start("flush-for-readers");
    scene.wait_for_line("ready");
    assert!(open(&stage.trace()).is_none());
    scene.tell("go");
    scene.tell("end");
    let (mut n_seen, mut bytes_before, mut events_before) = (0, 0, 0);
    // During all flushes and the end.
    while !scene.has_ended() {
        let Some(file) = open(&stage.trace()) else {
            continue;
        };
        let bytes = read_all(file);
        let trace = TraceFile::parse(&bytes).unwrap();
        let n_events = trace.recorded().count();
        assert!(bytes.len() >= bytes_before, "shrunk from {bytes_before} bytes to {}", bytes.len());
        assert!(n_events >= events_before, "shrunk from {events_before} events to {n_events}");
        (bytes_before, events_before) = (bytes.len(), n_events);
        n_seen += 1;
    }
    assert!(n_seen > 0);
    scene.finish().expect_success();
    let trace = stage.finished_trace();
    assert_counts_up(&trace.numbers("little", "n"));
    assert_eq!(trace.count("little"), 150);
    for worker in 0..2 {
        assert_counts_up(&trace.numbers_on(trace.tid_of(&format!("worker {worker}")), "work", "n"));
    }
}

#[test]
fn a_slow_reader_sees_the_file_that_it_opened() {
    let stage = Stage::new();
    let mut scene = stage.start("flush-for-readers");
    scene.wait_for_line("ready");
    scene.tell("go");
    let n_flushes = || stage.counters().get(2).copied().unwrap_or(0);
    let mut n_slow = 0;
    while n_flushes() < 150 {
        let Some(mut file) = open(&stage.trace()) else {
            continue;
        };
        let size = file.metadata().unwrap().len();
        let mut bytes = vec![0; usize::try_from(size / 2).unwrap()];
        file.read_exact(&mut bytes).unwrap();
        // Across several flushes, which must not change the rest of the opened file.
        let until = (n_flushes() + 3).min(150);
        while n_flushes() < until {
            std::thread::yield_now();
        }
        file.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes.len() as u64, size);
        TraceFile::parse(&bytes).unwrap();
        let is_replaced = std::fs::metadata(stage.trace()).is_ok_and(|now| now.ino() != file.metadata().unwrap().ino());
        n_slow += u32::from(is_replaced);
    }
    assert!(n_slow > 0);
    scene.finish().expect_success();
    assert_counts_up(&stage.finished_trace().numbers("little", "n"));
}

#[test]
fn the_cost_of_a_flush_depends_on_new_events_only() {
    const MB: u64 = 1_000_000;
    let stage = Stage::new();
    let finished = stage.run("flush-little-after-much").expect_success();
    // The file has 100 MB, 10 events are new.
    for (what, limit) in [("written", MB), ("read", 2 * MB)] {
        let moved: Vec<u64> = finished.answers(what).map(|bytes| bytes.parse().unwrap()).collect();
        assert_eq!(moved.len(), 5);
        assert!(moved.iter().all(|&bytes| bytes < limit), "bytes {what} by flushes: {moved:?}");
    }
    let text = std::fs::read(stage.trace()).unwrap();
    let n_work = text.split(|&byte| byte == b'\n').filter(|line| line.starts_with(b"{\"name\":\"work\"")).count();
    assert_eq!(n_work, 1_000_050);
}

#[test]
fn a_flush_of_nothing_leaves_an_empty_array() {
    let stage = Stage::new();
    stage.run("flush-nothing").expect_success();
    assert_eq!(stage.finished_trace().count("work"), 10);
}

#[test]
fn an_exit_during_flushes_leaves_a_complete_file_and_nothing_else() {
    for _ in 0..10 {
        let stage = Stage::new();
        stage.run("flush-amid-exits").expect_success();
        let trace = stage.finished_trace();
        assert_counts_up(&trace.numbers("work", "n"));
        assert_eq!(trace.count("work"), 1000);
        assert_eq!(trace.numbers("last", "n"), (1..=20).collect::<Vec<u64>>());
    }
}
