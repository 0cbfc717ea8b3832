//! A small language model that serves a few requests on the CPU, recorded.
//!
//! The engine is real, only small: a decoder of Llama's shape with weights from a seeded generator, a paged KV cache,
//! continuous batching, the MLP split between two worker threads. Its probes are where an engine's author would put them;
//! [`recording`] is all that it takes to get a trace out of them.

#![allow(clippy::print_stderr, reason = "a program for people to run and read")]

mod attention;
mod cache;
mod engine;
mod flags;
mod math;
mod mlp;
mod model;
mod random;
mod recording;
mod request;
mod sampler;
mod scheduler;
mod where_time_went;
mod workers;

use crate::engine::{Engine, Served};
use crate::flags::{Flags, HELP, Wish};
use crate::model::{Config, Model};
use crate::recording::Recording;
use crate::request::Request;
use ferrum_trace::Timestamp;
use std::io::Write;
use std::process::ExitCode;

/// Weights, prompts and samples all come from here: every run computes the same.
const SEED: u64 = 2026;

fn main() -> ExitCode {
    match flags::parse(std::env::args().skip(1)) {
        Ok(Wish::Help) => say(HELP),
        Ok(Wish::Run(flags)) => run(&flags),
        Err(wrong) => {
            eprintln!("llama: {wrong}\n\n{HELP}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn run(flags: &Flags) {
    let recording = Recording::begin();
    ferrum_trace::set_thread_name("engine");
    let config = Config::new(flags.layers, flags.width);
    let requests: Vec<Request> = (1..=flags.requests).map(|id| Request::new(id, flags.tokens, &config, SEED)).collect();
    // The engine is gone when this returns, and its threads with it: no span is open when the recording ends.
    let (served, nanos) = serve(config, requests);
    say(&summary(&served, nanos as f64 / 1e9));
    say(&recording.end());
}

/// Prints some lines, as far as anybody wants to read them: `llama | head` is no error.
fn say(lines: &str) {
    let _ = std::io::stdout().write_all(lines.as_bytes());
}

/// Serves all requests, and says in how many nanoseconds. Loading does not count.
fn serve(config: Config, requests: Vec<Request>) -> (Served, u64) {
    let mut engine = Engine::new(Model::new(config, SEED), requests);
    let begin = Timestamp::now();
    let served = engine.run();
    (served, Timestamp::now().monotonic_nanos() - begin.monotonic_nanos())
}

fn summary(served: &Served, seconds: f64) -> String {
    let Served { requests, prompt_tokens, tokens, prefill_steps, decode_steps } = served;
    let per_second = *tokens as f64 / seconds;
    let steps = prefill_steps + decode_steps;
    format!(
        "{requests} requests, {prompt_tokens} prompt tokens, {tokens} tokens in {seconds:.2} s: {per_second:.0} tokens/s\n\
         {steps} steps: {prefill_steps} prefill, {decode_steps} decode\n\n"
    )
}
