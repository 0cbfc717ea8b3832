//! A request, from its arrival to its last token.

use crate::stats::RequestStats;
use crate::watch;
use ferrum_trace::llm;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::time::Instant;

/// What somebody wants to have continued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    pub id: u64,
    pub prompt: Vec<u32>,
    /// How many tokens to generate.
    pub n_wanted: usize,
    /// Of its samples.
    pub seed: u64,
}

/// A request that has arrived.
#[derive(Debug)]
pub struct Sequence {
    wish: Wish,
    /// The prompt, and what was generated.
    tokens: Vec<u32>,
    /// Tokens that are in the cache.
    pub n_computed: usize,
    /// Up to here, tokens were there before the cache was: prompts, and what is computed again after a preemption.
    n_prefill: usize,
    /// Tokens that the next step computes.
    pub n_planned: usize,
    /// Its blocks of the cache.
    pub table: Vec<u32>,
    /// Its own, so that what it gets does not depend on who else is served.
    pub random: StdRng,
    /// What the trace is told.
    probe: llm::Request,
    /// What the engine notes for itself.
    arrival: Instant,
    first_token: Option<Instant>,
    last_token: Option<Instant>,
    n_preempted: usize,
}

impl Sequence {
    /// A request arrives.
    pub fn new(wish: Wish) -> Self {
        let probe = llm::request(wish.id).prompt_tokens(wish.prompt.len()).arrived();
        Self {
            tokens: wish.prompt.clone(),
            n_computed: 0,
            n_prefill: wish.prompt.len(),
            n_planned: 0,
            table: Vec::new(),
            random: StdRng::seed_from_u64(wish.seed),
            probe,
            arrival: watch::now(),
            first_token: None,
            last_token: None,
            n_preempted: 0,
            wish,
        }
    }

    pub fn id(&self) -> u64 {
        self.wish.id
    }

    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    pub fn n_generated(&self) -> usize {
        self.tokens.len() - self.wish.prompt.len()
    }

    /// Tokens that are not in the cache yet.
    pub fn n_new(&self) -> usize {
        self.tokens.len() - self.n_computed
    }

    /// Whether the next tokens to compute are of a prompt, or computed again.
    pub fn is_in_prefill(&self) -> bool {
        self.n_computed < self.n_prefill
    }

    /// Whether there will be a token after what is planned.
    pub fn gives_token(&self) -> bool {
        self.n_planned > 0 && self.n_planned == self.n_new()
    }

    /// It has blocks of the cache for what it has, and is worked on from now on.
    pub fn begin(&mut self) {
        self.n_prefill = self.tokens.len();
        self.probe.prefill();
    }

    /// It has lost its blocks, and begins from the start later.
    pub fn preempt(&mut self) {
        self.n_computed = 0;
        self.n_preempted += 1;
        self.probe.preempted();
    }

    /// What was planned is in the cache.
    pub fn advance(&mut self) {
        self.n_computed += self.n_planned;
    }

    /// It gets a token.
    pub fn push(&mut self, token: u32) {
        self.tokens.push(token);
        self.probe.token();
        let now = watch::now();
        self.first_token.get_or_insert(now);
        self.last_token = Some(now);
    }

    /// Whether it has all, and why it ends then.
    pub fn is_done(&self, is_stop: impl Fn(u32) -> bool) -> Option<&'static str> {
        let last = self.tokens.last().filter(|_| self.n_generated() > 0)?;
        if is_stop(*last) {
            return Some("stop");
        }
        (self.n_generated() >= self.wish.n_wanted).then_some("length")
    }

    /// It ends.
    pub fn finish(mut self, reason: &'static str, epoch: Instant) -> RequestStats {
        self.probe.finished(reason);
        let end = watch::now();
        let since = |time: Instant| time.saturating_duration_since(epoch).as_nanos() as u64;
        let tokens = self.tokens.split_off(self.wish.prompt.len());
        RequestStats {
            id: self.wish.id,
            prompt_tokens: self.wish.prompt.len(),
            output_tokens: tokens.len(),
            preemptions: self.n_preempted,
            reason: reason.to_owned(),
            arrival_ns: since(self.arrival),
            first_token_ns: self.first_token.map(since),
            last_token_ns: self.last_token.map(since),
            end_ns: since(end),
            tokens,
        }
    }
}
