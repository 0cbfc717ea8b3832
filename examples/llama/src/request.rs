//! What somebody wants to have continued.

use crate::model::Config;
use crate::random::Random;
use ferrum_trace::{async_begin, async_end, async_instant};

/// Steps between one request and the next.
const STEPS_BETWEEN: usize = 6;

/// A request, from its arrival to its last token. In the trace it is a slice with one inside for each stage: `queued`,
/// `prefill`, `decode`.
#[derive(Debug)]
pub struct Request {
    id: u64,
    /// The step at which it comes.
    pub arrival: usize,
    prompt: Vec<usize>,
    generated: Vec<usize>,
    n_wanted: usize,
    /// Its own, so that what it gets does not depend on who else is served.
    pub random: Random,
}

impl Request {
    /// A request with a prompt from a seed, for `n_wanted` tokens.
    pub fn new(id: usize, n_wanted: usize, config: &Config, seed: u64) -> Self {
        let mut random = Random::new(seed ^ (id as u64) << 32);
        let n_prompt = 8 + random.below(25);
        let prompt = (0..n_prompt).map(|_| random.below(config.vocabulary)).collect();
        Self { id: id as u64, arrival: (id - 1) * STEPS_BETWEEN, prompt, generated: Vec::new(), n_wanted, random }
    }

    /// Its number.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// What it came with.
    pub fn prompt(&self) -> &[usize] {
        &self.prompt
    }

    /// What it got.
    pub fn generated(&self) -> &[usize] {
        &self.generated
    }

    /// Whether it got all.
    pub fn is_done(&self) -> bool {
        self.generated.len() == self.n_wanted
    }

    /// Tokens that it will have in the cache. The last one is never computed with.
    pub fn n_tokens_max(&self) -> usize {
        self.prompt.len() + self.n_wanted - 1
    }

    /// It is here, and waits.
    pub fn arrive(&self) {
        // Viewers pair by the id but do not show it: an argument does.
        async_begin!("request", "request", self.id, id = self.id, prompt = self.prompt.len(), wanted = self.n_wanted);
        async_begin!("queued", "request", self.id);
    }

    /// It waits no more.
    pub fn begin(&self) {
        async_end!("queued", "request", self.id);
        async_begin!("prefill", "request", self.id);
    }

    /// It gets a token.
    pub fn push(&mut self, token: usize) {
        self.generated.push(token);
        if self.generated.len() == 1 {
            async_end!("prefill", "request", self.id);
            async_instant!("first token", "request", self.id);
            async_begin!("decode", "request", self.id);
        }
        if self.is_done() {
            async_end!("decode", "request", self.id);
            async_end!("request", "request", self.id, generated = self.generated.len());
        }
    }
}
