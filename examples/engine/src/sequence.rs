//! A request, from its arrival to its last token.

use crate::stats::RequestStats;
use crate::watch;
use ferrum_trace::llm;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::time::Instant;

/// The input of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestSpec {
    pub id: u64,
    pub prompt: Vec<u32>,
    /// Number of tokens to generate.
    pub n_tokens_max: usize,
    /// Seed of its samples.
    pub seed: u64,
}

/// A request that has arrived.
#[derive(Debug)]
pub struct Sequence {
    spec: RequestSpec,
    /// The prompt and the generated tokens.
    tokens: Vec<u32>,
    /// Number of tokens in the cache.
    pub n_computed: usize,
    /// Number of tokens to prefill: the prompt, and tokens that are computed again after a preemption.
    n_prefill: usize,
    /// Number of tokens that the next step computes.
    pub n_planned: usize,
    /// Its blocks of the cache.
    pub table: Vec<u32>,
    /// Random numbers of this request, so that its tokens do not depend on other requests.
    pub random: StdRng,
    /// The request in the trace.
    probe: llm::Request,
    /// Times for the engine's own statistics.
    arrival: Instant,
    first_token: Option<Instant>,
    last_token: Option<Instant>,
    n_preempted: usize,
}

impl Sequence {
    /// Creates a request at its arrival.
    pub fn new(spec: RequestSpec) -> Self {
        let probe = llm::request(spec.id).prompt_tokens(spec.prompt.len()).arrived();
        Self {
            tokens: spec.prompt.clone(),
            n_computed: 0,
            n_prefill: spec.prompt.len(),
            n_planned: 0,
            table: Vec::new(),
            random: StdRng::seed_from_u64(spec.seed),
            probe,
            arrival: watch::now(),
            first_token: None,
            last_token: None,
            n_preempted: 0,
            spec,
        }
    }

    pub fn id(&self) -> u64 {
        self.spec.id
    }

    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    fn n_generated(&self) -> usize {
        self.tokens.len() - self.spec.prompt.len()
    }

    /// Number of tokens that are not in the cache yet.
    pub fn n_new(&self) -> usize {
        self.tokens.len() - self.n_computed
    }

    /// Returns true if the next tokens are part of a prompt, or computed again.
    pub fn is_in_prefill(&self) -> bool {
        self.n_computed < self.n_prefill
    }

    /// Returns true if a token follows the planned ones.
    pub fn gives_token(&self) -> bool {
        self.n_planned > 0 && self.n_planned == self.n_new()
    }

    /// Starts the request after it got its cache blocks.
    pub fn begin(&mut self) {
        self.n_prefill = self.tokens.len();
        self.probe.prefill();
    }

    /// Preempts the request: it has lost its blocks, and starts again later.
    pub fn preempt(&mut self) {
        self.n_computed = 0;
        self.n_preempted += 1;
        self.probe.preempted();
    }

    /// Marks the planned tokens as computed.
    pub fn advance(&mut self) {
        self.n_computed += self.n_planned;
    }

    /// Appends a generated token.
    pub fn push(&mut self, token: u32) {
        self.tokens.push(token);
        self.probe.token();
        let now = watch::now();
        self.first_token.get_or_insert(now);
        self.last_token = Some(now);
    }

    /// The reason to end, if the request is complete.
    pub fn is_done(&self, is_stop: impl Fn(u32) -> bool) -> Option<&'static str> {
        let last = self.tokens.last().filter(|_| self.n_generated() > 0)?;
        if is_stop(*last) {
            return Some("stop");
        }
        (self.n_generated() >= self.spec.n_tokens_max).then_some("length")
    }

    /// Ends the request.
    pub fn finish(mut self, reason: &'static str, epoch: Instant) -> RequestStats {
        self.probe.finished(reason);
        let end = watch::now();
        let since = |time: Instant| time.saturating_duration_since(epoch).as_nanos() as u64;
        let tokens = self.tokens.split_off(self.spec.prompt.len());
        RequestStats {
            id: self.spec.id,
            prompt_tokens: self.spec.prompt.len(),
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
