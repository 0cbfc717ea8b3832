//! Scenes for `ferrum-trace record`: trees of processes, each with spans of a different name.

use crate::sys::{Ending, Fork, fork, send_to_process, wait_for};
use crate::work::wait_for_test;
use crate::{Scene, report};
use ferrum_trace::Span;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub(crate) const SCENES: &[Scene] = &[
    ("gather-one", one),
    ("gather-killed", killed),
    ("gather-forked", forked),
    ("gather-eight", eight),
    ("gather-elsewhere", elsewhere),
    ("gather-after-parent", after_parent),
    ("gather-for-long", for_long),
    ("gather-and-leave", and_leave),
    ("gather-and-leave-early", and_leave_early),
    ("gather-through-exec", through_exec),
    ("gather-dump", dump),
    ("gather-nothing", || assert!(ferrum_trace::is_on())),
];

fn argument(place: usize) -> String {
    std::env::args().nth(place).unwrap_or_default()
}

/// Records this many spans with a name, and reports it.
fn record_named(name: &str, n_spans: u32) {
    for n in 1..=n_spans {
        drop(Span::dynamic(name, "gathered"));
        if n % 5000 == 0 {
            // Time for the keeper thread, which rotates files.
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    report!("recorded {name} {n_spans}");
}

/// `NAME N`: waits for input, so that others can be started, and records.
fn one() {
    wait_for_test();
    record_named(&argument(2), argument(3).parse().unwrap());
}

fn killed() {
    one();
    send_to_process(std::process::id() as i32, libc::SIGKILL);
}

/// Parent and child record at the same time.
fn forked() {
    wait_for_test();
    let (name, n_spans) = (argument(2), argument(3).parse().unwrap());
    record_named(&name, n_spans);
    match fork() {
        Fork::Child => record_named(&format!("{name}-child"), n_spans),
        Fork::Parent { child } => {
            record_named(&format!("{name}-parent"), n_spans);
            assert_eq!(wait_for(child), Ending::Code(0));
        }
    }
}

fn scene(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(words);
    command
}

/// Eight processes at once: two are killed, one forks.
fn eight() {
    let start = |n: u32| {
        let scene_name = match n {
            0 | 1 => "gather-killed",
            2 => "gather-forked",
            _ => "gather-one",
        };
        let (name, n_spans) = (format!("process-{n}"), (1000 * (n + 1)).to_string());
        scene(&[scene_name, &name, &n_spans]).stdin(Stdio::piped()).spawn().unwrap()
    };
    let mut children: Vec<Child> = (0..8).map(start).collect();
    record_named("starter", 10);
    // All are running; closing their standard input lets them continue.
    children.iter_mut().for_each(|child| drop(child.stdin.take()));
    for mut child in children {
        report!("ended {}", child.wait().unwrap());
    }
}

/// Records in another folder than the one it was started in.
fn elsewhere() {
    std::env::set_current_dir("/").unwrap();
    record_named("elsewhere", 10);
}

/// Starts a process that outlives this one, and returns the first line that it writes.
#[expect(clippy::zombie_processes, reason = "the child outlives this process")]
fn leave_behind(scene_name: &str) -> String {
    // A separate pipe, because the test waits until its own one is closed.
    let mut child = scene(&[scene_name]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    line
}

fn and_leave() {
    record_named("starter", 10);
    report!("{}", leave_behind("gather-after-parent").trim());
}

/// Records before and after its parent ends.
fn after_parent() {
    let parent = std::os::unix::process::parent_id();
    record_named("before", 10);
    while std::os::unix::process::parent_id() == parent {
        std::thread::sleep(Duration::from_millis(1));
    }
    record_named("after", 10);
}

/// Starts a process that lives until the test closes standard input, and ends when that process has recorded.
fn and_leave_early() {
    leave_behind("gather-for-long");
    record_named("starter", 10);
}

/// Records, and lives until the test closes standard input.
fn for_long() {
    record_named("long", 10);
    wait_for_test();
    record_named("late", 10);
}

/// Records, and executes another program with the same process id.
fn through_exec() {
    use std::os::unix::process::CommandExt;
    record_named("before", 10);
    let error = scene(&["gather-one", "after", "10"]).exec();
    panic!("{error}");
}

/// A flight recorder that is dumped before it ends.
fn dump() {
    record_named("ring", 10);
    report!("dumped {}", ferrum_trace::dump("something odd"));
}
