//! Spools as killed processes leave them.

use crate::scene::Scene;
use ferrum_trace::{Timestamp, Track, complete_at};
use ferrum_trace_testkit::process::Running;
use std::io::BufRead;
use std::process::Command;
use std::time::Duration;

/// Says that this process is the child.
pub const CHILD: &str = "FERRUM_TRACE_CLI_TEST_CHILD";
/// Arguments with which the tests are the child alone.
pub const CHILD_ARGS: [&str; 3] = ["--exact", "maker::the_child_records_until_it_is_killed", "--nocapture"];
/// What the child writes when it has done what it was told.
const DONE: &str = "@done";

/// A process that records what it is told to.
pub struct Maker {
    running: Running,
}

impl Maker {
    /// Starts a process that records to this file of the scene.
    pub fn start(scene: &Scene, trace: &str) -> Self {
        Self::start_with(scene, trace, &[])
    }

    /// The same with more variables.
    pub fn start_with(scene: &Scene, trace: &str, vars: &[(&str, &str)]) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(CHILD_ARGS).env(CHILD, "1").env("FERRUM_TRACE_OUT", scene.path(trace)).envs(vars.iter().copied());
        let mut maker = Self { running: Running::start(&mut command) };
        maker.running.wait_for_line(DONE);
        maker
    }

    pub fn pid(&self) -> u32 {
        self.running.pid()
    }

    /// Has two threads record so many spans each.
    pub fn record(&mut self, n_spans: u32) {
        self.tell(&format!("record {n_spans}"));
    }

    /// Has it serve so many requests, one after the other: a step for the prompt, then two that decode.
    pub fn serve(&mut self, n_requests: u32) {
        self.tell(&format!("serve {n_requests}"));
    }

    /// Has it record something of every kind, so many times.
    pub fn record_everything(&mut self, n: u32) {
        self.tell(&format!("everything {n}"));
    }

    /// Has it record four steps of an engine with a device, whose times are known: see [`record_device`].
    pub fn record_device(&mut self, rank: u64) {
        self.tell(&format!("device {rank}"));
    }

    /// Has it bring its trace up to date.
    pub fn flush(&mut self) {
        self.tell("flush");
    }

    /// Kills it.
    pub fn kill(mut self) {
        self.running.kill();
        self.running.finish();
    }

    /// Has it end by itself.
    pub fn exit(self) {
        self.running.finish().expect_success();
    }

    fn tell(&mut self, order: &str) {
        self.running.tell(order);
        self.running.wait_for_line(DONE);
    }
}

/// A spool with `2 * n_spans` spans of two threads, whose process was killed.
pub fn killed(scene: &Scene, trace: &str, n_spans: u32) {
    let mut maker = Maker::start(scene, trace);
    maker.record(n_spans);
    maker.kill();
}

/// Not a test of anything when it is run with the others: [`Maker`] runs it alone, as the child.
#[test]
fn the_child_records_until_it_is_killed() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    assert!(ferrum_trace::is_on(), "the environment asks for a recording");
    // What the test harness has written so far is no whole line.
    println!("\n{DONE}");
    for order in std::io::stdin().lock().lines() {
        match order.unwrap().split_once(' ') {
            Some(("record", n_spans)) => record(n_spans.parse().unwrap()),
            Some(("serve", n_requests)) => (0..n_requests.parse().unwrap()).for_each(serve),
            Some(("everything", n)) => (0..n.parse().unwrap()).for_each(record_everything),
            Some(("device", rank)) => record_device(rank.parse().unwrap()),
            _ => ferrum_trace::flush().unwrap(),
        }
        println!("{DONE}");
    }
}

/// Four steps of a millisecond, each with this on two streams, in microseconds; `R` is 50 a rank:
///
/// ```text
/// stream 7     100 qkv 300      400 mlp 600      700 copy 750
/// stream 20           250 all_reduce 450 + R
/// ```
fn record_device(rank: u64) {
    let (engine, compute) = (Track::new("engine"), Track::new("GPU 0 / stream 7"));
    let comm = Track::new("GPU 0 / stream 20");
    let base = Timestamp::now();
    for step in 0..4 {
        let at = |micros: u64| base + Duration::from_micros(step * 1000 + micros);
        complete_at!(engine, at(0), at(900), "decode", "step", phase = "decode", batch = 2);
        complete_at!(engine, at(50), at(650), "layer", "layer", layer = 0);
        complete_at!(compute, at(100), at(300), "qkv", "gemm", layer = 0);
        complete_at!(comm, at(250), at(450 + 50 * rank), "all_reduce", "comm");
        complete_at!(compute, at(400), at(600), "mlp", "gemm", layer = 0);
        complete_at!(compute, at(700), at(750), "kv d2h", "memory");
    }
}

fn record(n_spans: u32) {
    for name in ["prefill loop", "decode loop"] {
        let work = move || {
            for n in 0..n_spans {
                let _span = ferrum_trace::span!("step", "engine", n, text = "a text that is longer than eight bytes");
            }
        };
        std::thread::Builder::new().name(name.to_owned()).spawn(work).unwrap().join().unwrap();
    }
}

/// Requests that overlap with those before and after them, slices inside of each other, points, counters and arrows.
fn record_everything(id: u64) {
    use ferrum_trace::{Flow, async_begin, async_end, async_instant, counter, instant, span};
    async_begin!("request", "request", id, prompt_tokens = 7);
    async_begin!("decode", "request", id);
    async_instant!("token", "request", id, text = "a text that is longer than eight bytes");
    let flow = Flow::new();
    {
        let step = span!("decode", "step", batch = 2, ratio = 0.5);
        step.flow_out(flow);
        let _op = span!("up_proj", "gemm");
        instant!("mark", "step", reason = "test");
        counter!("queue", waiting = id, running = 1);
    }
    let work = move || span!("copy", "memory").flow_in(flow);
    std::thread::Builder::new().name("copies".to_owned()).spawn(work).unwrap().join().unwrap();
    async_end!("decode", "request", id);
    if let Some(before) = id.checked_sub(1) {
        async_end!("request", "request", before, reason = "length");
    }
}

fn serve(id: u64) {
    use ferrum_trace::{async_begin, async_end, async_instant, span};
    async_begin!("request", "request", id, prompt_tokens = 7);
    async_begin!("queued", "request", id);
    async_end!("queued", "request", id);
    async_begin!("prefill", "request", id);
    {
        let _step = span!("prefill", "step", phase = "prefill", batch = 1, prefill_tokens = 7, decode_tokens = 0);
        let _op = span!("up_proj", "gemm");
    }
    async_end!("prefill", "request", id);
    async_instant!("first token", "request", id);
    async_begin!("decode", "request", id);
    for n_tokens in [1, 3] {
        {
            let _step =
                span!("decode", "step", phase = "decode", batch = 1, prefill_tokens = 0, decode_tokens = n_tokens);
            let _op = span!("up_proj", "gemm");
        }
        async_instant!("token", "request", id, tokens = n_tokens);
    }
    async_end!("decode", "request", id);
    async_end!("request", "request", id, output_tokens = 5, reason = "length");
}
