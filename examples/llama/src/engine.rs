//! The loop that serves all requests, step by step.

use crate::cache::{BLOCK, Cache};
use crate::model::{Batch, Model, Row};
use crate::request::Request;
use crate::sampler::sample;
use crate::scheduler::{Phase, Running, Scheduler};
use ferrum_trace::{counter, span};

/// The cache has room for as many of the longest requests. The next one waits.
const N_LONGEST: usize = 3;

/// What has been done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    pub requests: usize,
    pub prompt_tokens: usize,
    /// Generated ones.
    pub tokens: usize,
    pub prefill_steps: usize,
    pub decode_steps: usize,
}

impl Served {
    /// Adds a step that computed some tokens and found the next one of each member.
    fn add(&mut self, phase: Phase, tokens: usize, members: usize) {
        self.tokens += members;
        match phase {
            Phase::Prefill => {
                self.prefill_steps += 1;
                self.prompt_tokens += tokens;
            }
            Phase::Decode => self.decode_steps += 1,
        }
    }
}

/// A model, its cache, and who wants something of it.
#[derive(Debug)]
pub struct Engine {
    model: Model,
    cache: Cache,
    scheduler: Scheduler,
    served: Served,
    done: Vec<Request>,
}

impl Engine {
    /// An engine that has done nothing yet.
    pub fn new(model: Model, requests: Vec<Request>) -> Self {
        let longest = requests.iter().map(Request::n_tokens_max).max().unwrap_or(0);
        let n_blocks = N_LONGEST * longest.div_ceil(BLOCK);
        let cache = Cache::new(model.config().n_layers, n_blocks, model.config().kv_width());
        Self { model, cache, scheduler: Scheduler::new(requests), served: Served::default(), done: Vec::new() }
    }

    /// Serves all requests.
    pub fn run(&mut self) -> Served {
        // So that the curves begin at zero, not after the first step.
        self.count();
        while let Some(phase) = self.scheduler.next(self.n_steps(), &mut self.cache) {
            self.step(phase);
            let done = self.scheduler.retire(&mut self.cache);
            self.served.requests += done.len();
            self.done.extend(done);
            self.count();
        }
        self.served.clone()
    }

    fn n_steps(&self) -> usize {
        self.served.prefill_steps + self.served.decode_steps
    }

    fn step(&mut self, phase: Phase) {
        let Self { model, cache, scheduler, served, .. } = self;
        let members = scheduler.members(phase);
        let tokens: usize = members.iter().map(|member| n_new_tokens(&member.request)).sum();
        let _span = span!("step", "step", phase = phase.name(), batch = members.len(), tokens);
        let batch = gather(members, cache);
        let scores = model.forward(&batch, cache);
        choose(members, &scores);
        served.add(phase, tokens, members.len());
    }

    fn count(&self) {
        self.cache.count();
        counter!("tokens", prompt = self.served.prompt_tokens, generated = self.served.tokens);
    }
}

/// Tokens of a request that are not in the cache yet: the prompt, then what came last.
fn n_new_tokens(request: &Request) -> usize {
    if request.generated().is_empty() { request.prompt().len() } else { 1 }
}

/// Makes room for the new tokens and lays them side by side.
fn gather<'a>(members: &'a mut [Running], cache: &mut Cache) -> Batch<'a> {
    let _span = span!("kv_alloc", "kv_cache", sequences = members.len());
    let mut rows = Vec::new();
    for (sequence, Running { request, table }) in members.iter_mut().enumerate() {
        let begin = table.n_tokens();
        cache.grow(table, n_new_tokens(request));
        let tokens = request.generated().last().map_or(request.prompt(), std::slice::from_ref);
        rows.extend(tokens.iter().enumerate().map(|(n, &token)| Row { token, position: begin + n, sequence }));
    }
    Batch { rows, tables: members.iter().map(|member| &member.table).collect() }
}

/// Gives each its next token.
fn choose(members: &mut [Running], scores: &[f32]) {
    let _span = span!("sample", "sampling", batch = members.len());
    let n_scores = scores.len() / members.len();
    for (Running { request, .. }, scores) in members.iter_mut().zip(scores.chunks_exact(n_scores)) {
        let token = sample(scores, &mut request.random);
        request.push(token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Config;

    const SEED: u64 = 11;

    /// What requests of these numbers get.
    fn tokens(ids: &[usize], seed: u64) -> Vec<Vec<usize>> {
        let config = Config::tiny();
        let requests = ids.iter().map(|&id| Request::new(id, 12, &config, SEED)).collect();
        let mut engine = Engine::new(Model::new(config, seed), requests);
        engine.run();
        engine.done.sort_by_key(Request::id);
        engine.done.iter().map(|request| request.generated().to_vec()).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_tokens() {
        let first = tokens(&[1, 2, 3, 4, 5], SEED);
        assert_eq!(first, tokens(&[1, 2, 3, 4, 5], SEED));
        assert_ne!(first, tokens(&[1, 2, 3, 4, 5], SEED + 1));
    }

    #[test]
    fn a_request_gets_the_same_alone_and_among_others() {
        let together = tokens(&[1, 2, 3, 4, 5], SEED);
        for id in 1..=5 {
            assert_eq!(tokens(&[id], SEED), [together[id - 1].clone()]);
        }
    }

    #[test]
    fn every_request_is_served_and_the_cache_is_empty_in_the_end() {
        let config = Config::tiny();
        let requests: Vec<Request> = (1..=7).map(|id| Request::new(id, 12, &config, SEED)).collect();
        let prompt_tokens = requests.iter().map(|request| request.prompt().len()).sum();
        let mut engine = Engine::new(Model::new(config, SEED), requests);
        let served = engine.run();
        assert_eq!((served.requests, served.prefill_steps, served.tokens), (7, 7, 7 * 12));
        assert_eq!((served.prompt_tokens, engine.cache.used()), (prompt_tokens, 0));
        assert!(engine.done.iter().all(Request::is_done));
    }
}
