//! Memory of the command, as `docs/memory.md` states it. The tests have a program of their own: the measured peak of a
//! child is at least that of the process that starts it.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "the peak memory of a child and the processors that it uses")]

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Set in the child that records a spool.
const CHILD: &str = "FERRUM_TRACE_MEMORY_TEST_CHILD";

/// A folder for the inputs and outputs of the command.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        use_two_processors();
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a trace with the lines that `event` returns for each number below `n`.
    fn trace(&self, name: &str, n: u64, event: impl Fn(u64) -> String) -> PathBuf {
        let path = self.path(name);
        write_trace(BufWriter::new(File::create(&path).unwrap()), n, event);
        path
    }

    /// Returns the peak of resident memory of a command, in bytes.
    fn peak(&self, words: &[&str], trace: &Path) -> u64 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ferrum-trace"));
        command.args(words).arg(trace).current_dir(self.0.path());
        peak_of(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))
    }

    /// Returns the memory of `summary` per event, from the difference of two traces.
    fn summary_bytes_per_event(&self, n_per_call: u64, event: impl Fn(u64) -> String) -> f64 {
        let [few, many] = [200_000, 1_000_000].map(|n| {
            let trace = self.trace("trace.json", n / n_per_call, &event);
            self.peak(&["summary"], &trace)
        });
        (many as f64 - few as f64) / 800_000.0
    }
}

fn write_trace(mut out: impl Write, n: u64, event: impl Fn(u64) -> String) {
    out.write_all(b"[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"p\"}}").unwrap();
    for n in 0..n {
        write!(out, ",\n{}", event(n)).unwrap();
    }
    out.write_all(b"]").unwrap();
    out.flush().unwrap();
}

/// Limits the children of this thread to two processors. Each thread of the command has pieces of the file in memory,
/// so their number must not vary.
fn use_two_processors() {
    let mut allowed = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: the pointer is to a live value of the given size.
    let status = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), allowed.as_mut_ptr()) };
    assert_eq!(status, 0);
    // SAFETY: a set of any bits is valid, and it was zeroed.
    let mut allowed = unsafe { allowed.assume_init() };
    let mut n_allowed = 0;
    for processor in 0..libc::CPU_SETSIZE as usize {
        // SAFETY: the number is within the set.
        unsafe {
            n_allowed += usize::from(libc::CPU_ISSET(processor, &allowed));
            if n_allowed > 2 {
                libc::CPU_CLR(processor, &mut allowed);
            }
        }
    }
    // SAFETY: the pointer is to a live value of the given size.
    let status = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const allowed) };
    assert_eq!(status, 0);
}

/// Runs a command and returns the peak of its resident memory, in bytes.
#[expect(clippy::zombie_processes, reason = "`wait4` waits for it")]
fn peak_of(command: &mut Command) -> u64 {
    let child = command.spawn().unwrap();
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    let mut status = 0;
    let pid = child.id() as libc::pid_t;
    // SAFETY: both pointers are to live values; the call fills `usage` when it returns the id, checked below.
    let ended = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
    assert_eq!((ended, status), (pid, 0), "{command:?}");
    // SAFETY: filled by the successful call above.
    let usage = unsafe { usage.assume_init() };
    usage.ru_maxrss as u64 * 1024
}

#[track_caller]
fn assert_at_most(bytes: f64, stated: f64) {
    assert!(bytes <= stated, "{bytes:.1} bytes, more than {stated}");
}

#[test]
fn a_summary_takes_at_most_52_bytes_per_slice() {
    let slice = |n: u64| format!(r#"{{"ph":"X","ts":{},"dur":1,"pid":1,"tid":1,"name":"a"}}"#, 2 * n);
    assert_at_most(Folder::new().summary_bytes_per_event(1, slice), 52.0);
}

#[test]
fn a_summary_takes_at_most_52_bytes_per_slice_of_a_track_in_order_of_ends() {
    let four = |n: u64| {
        let at = |start: u64, duration| {
            format!(r#"{{"ph":"X","ts":{},"dur":{duration},"pid":1,"tid":1,"name":"a"}}"#, 10 * n + start)
        };
        [at(2, 1), at(4, 1), at(1, 5), at(0, 7)].join(",\n")
    };
    assert_at_most(Folder::new().summary_bytes_per_event(4, four), 52.0);
}

#[test]
fn a_summary_takes_at_most_64_bytes_per_point_of_a_flow_and_54_per_begin_or_end() {
    let flow = |n: u64| {
        let end = |phase, tid| {
            format!(r#"{{"ph":"{phase}","id":{n},"pid":1,"tid":{tid},"ts":{n},"cat":"launch","name":"launch"}}"#)
        };
        [end("s", 1), end("f", 2)].join(",\n")
    };
    let pair = |n: u64| {
        let (begin, end) = (2 * n, 2 * n + 1);
        format!(
            r#"{{"ph":"B","name":"a","pid":1,"tid":1,"ts":{begin}}},
{{"ph":"E","pid":1,"tid":1,"ts":{end}}}"#
        )
    };
    assert_at_most(Folder::new().summary_bytes_per_event(2, flow), 64.0);
    assert_at_most(Folder::new().summary_bytes_per_event(2, pair), 54.0);
}

#[test]
fn a_summary_takes_at_most_110_bytes_per_async_event() {
    let task = |n: u64| {
        let end =
            |phase, ts| format!(r#"{{"ph":"{phase}","cat":"t","name":"task","id":{n},"pid":1,"tid":1,"ts":{ts}}}"#);
        [end("b", n), end("e", n + 5)].join(",\n")
    };
    assert_at_most(Folder::new().summary_bytes_per_event(2, task), 110.0);
}

#[test]
fn a_summary_of_a_spool_takes_at_most_52_bytes_per_span() {
    let folder = Folder::new();
    let [few, many] = [200_000_u64, 1_000_000].map(|n| {
        let spool = folder.path(&format!("{n}.spool"));
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "the_child_records_nested_spans"]).env(CHILD, n.to_string());
        let status = command.env("FERRUM_TRACE_OUT", &spool).stdout(Stdio::null()).status().unwrap();
        assert!(status.success());
        folder.peak(&["summary"], &spool)
    });
    assert_at_most((many as f64 - few as f64) / 800_000.0, 52.0);
}

/// Does nothing when it is run as a test; it records when it is run as a child.
#[test]
fn the_child_records_nested_spans() {
    let Some(n) = std::env::var_os(CHILD) else { return };
    let n: u64 = n.to_str().unwrap().parse().unwrap();
    for _ in 0..n / 4 {
        let _step = ferrum_trace::span!("step");
        let _layer = ferrum_trace::span!("layer");
        drop(ferrum_trace::span!("attention"));
        drop(ferrum_trace::span!("mlp"));
    }
}

#[test]
fn gzip_takes_the_memory_of_the_events_in_it() {
    let folder = Folder::new();
    let slice = |_| r#"{"ph":"X","ts":1,"dur":0,"pid":1,"tid":1,"name":"a"}"#.to_owned();
    let path = folder.path("trace.json.gz");
    let n = 1_000_000;
    write_trace(GzEncoder::new(File::create(&path).unwrap(), Compression::best()), n, slice);
    let n_packed = std::fs::metadata(&path).unwrap().len();
    assert!(n * 54 / n_packed > 250, "{n_packed} bytes");
    let peak = folder.peak(&["summary"], &path);
    assert!(peak <= (32 << 20) + n * 52, "{peak} bytes");
}

#[test]
fn a_perfetto_trace_takes_at_most_250_bytes_per_track() {
    let folder = Folder::new();
    let n = 400_000;
    let slice = |tid: u64, n: u64| format!(r#"{{"ph":"X","ts":{n},"dur":0.5,"pid":1,"tid":{tid},"name":"a"}}"#);
    let one_track = folder.trace("one.json", n, |n| slice(1_000_000, n));
    let many_tracks = folder.trace("many.json", n, |n| slice(1_000_000 + n, n));
    let [one, many] = [(one_track, "one.pftrace"), (many_tracks, "many.pftrace")]
        .map(|(trace, output)| folder.peak(&["convert", "--output", output], &trace));
    assert_at_most((many as f64 - one as f64) / n as f64, 250.0);
}
