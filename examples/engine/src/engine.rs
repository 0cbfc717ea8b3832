//! The loop that serves all requests, step by step.

use crate::batch::Batch;
use crate::cache::Blocks;
use crate::checkpoint::Checkpoint;
use crate::clients::Clients;
use crate::config::Config;
use crate::flags::Flags;
use crate::flop;
use crate::model::{Model, Room};
use crate::sampler::sample;
use crate::scheduler::{Limits, Scheduler};
use crate::sequence::Sequence;
use crate::slow::{self, Slowdowns};
use crate::stats::Stats;
use crate::watch;
use anyhow::{Result, ensure};
use ferrum_trace::llm::{self, Step};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Instant;

/// A model, its cache, and the scheduler of its requests.
#[derive(Debug)]
pub struct Engine {
    model: Model,
    blocks: Blocks,
    scheduler: Scheduler,
    stats: Stats,
    slow: Slowdowns,
    /// Origin of all times.
    epoch: Instant,
}

impl Engine {
    pub fn load(checkpoint: Checkpoint, flags: &Flags) -> Result<Self> {
        let (n_blocks, needed) = (flags.kv_blocks, flags.blocks_min());
        ensure!(
            n_blocks >= needed,
            "--kv-blocks {n_blocks}: expected at least {needed}, the most that a request needs"
        );
        slow::check_layers(&flags.slow, checkpoint.config.num_hidden_layers)?;
        let slow = Slowdowns::outside(&flags.slow);
        let room = Room { n_blocks, n_positions: flags.context_max() };
        let limits = Limits { sequences: flags.batch, tokens: flags.step_tokens.max(flags.batch) };
        Ok(Self {
            model: Model::load(checkpoint, room, &flags.slow)?,
            blocks: Blocks::new(n_blocks),
            scheduler: Scheduler::new(limits, slow.clone()),
            stats: Stats::default(),
            slow,
            epoch: watch::now(),
        })
    }

    pub fn config(&self) -> &Config {
        self.model.config()
    }

    /// Serves all requests.
    pub fn serve(mut self, clients: Clients) -> Result<Stats> {
        self.epoch = watch::now();
        // So that the counters begin at zero, not after the first step.
        self.count();
        let coming = clients.start();
        while self.accept(&coming) {
            self.step()?;
        }
        self.stats.wall_ns = self.epoch.elapsed().as_nanos() as u64;
        self.stats.preemptions = self.scheduler.n_preempted();
        self.stats.requests.sort_by_key(|request| request.id);
        Ok(self.stats)
    }

    pub fn add(&mut self, sequence: Sequence) {
        self.scheduler.add(sequence);
    }

    /// Runs one step: computes tokens of all scheduled requests.
    pub fn step(&mut self) -> Result<Step> {
        let step = self.scheduler.plan(&mut self.blocks);
        {
            let _step = llm::step(step);
            let batch = Batch::of(self.scheduler.running(), self.model.config(), &self.slow)?;
            let scores = self.model.forward(&batch)?;
            self.stats.flop += flop::of_step(self.model.config(), &batch, scores.len());
            self.choose(&scores);
        }
        self.stats.steps.add(step.phase);
        self.stats.prefill_tokens += step.prefill_tokens;
        self.retire();
        self.count();
        Ok(step)
    }

    /// Accepts all requests that have arrived, and waits for the next if there is nothing to do. Returns false if there
    /// is nothing left.
    fn accept(&mut self, coming: &Receiver<Sequence>) -> bool {
        loop {
            match coming.try_recv() {
                Ok(sequence) => self.scheduler.add(sequence),
                Err(_) if !self.scheduler.is_idle() => return true,
                Err(TryRecvError::Disconnected) => return false,
                Err(TryRecvError::Empty) => {
                    let _op = llm::op!("wait_for_requests", Scheduler);
                    match coming.recv() {
                        Ok(sequence) => self.scheduler.add(sequence),
                        Err(_) => return false,
                    }
                }
            }
        }
    }

    /// Samples a token for each sequence that needs one.
    fn choose(&mut self, scores: &[Vec<f32>]) {
        let _op = llm::op!("sample", Sampling, batch = scores.len());
        let _slow = self.slow.op("sample");
        let mut scores = scores.iter();
        for sequence in self.scheduler.running() {
            let token = if sequence.gives_token() { scores.next() } else { None };
            sequence.advance();
            if let Some(scores) = token {
                let token = sample(scores, &mut sequence.random);
                sequence.push(token);
                self.stats.generated_tokens += 1;
            }
        }
    }

    /// Removes finished sequences.
    fn retire(&mut self) {
        let Self { model, blocks, scheduler, stats, epoch, .. } = self;
        let why = |sequence: &Sequence| sequence.is_done(|token| model.config().is_stop(token));
        for mut sequence in scheduler.running().extract_if(.., |sequence| why(sequence).is_some()) {
            blocks.release(&mut sequence.table);
            let reason = why(&sequence).unwrap_or_default();
            stats.requests.push(sequence.finish(reason, *epoch));
        }
    }

    fn count(&self) {
        self.blocks.count();
        self.scheduler.count();
        llm::tokens(self.stats.prefill_tokens, self.stats.generated_tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint;
    use crate::stats::RequestStats;
    use clap::Parser;
    use tempfile::tempdir;

    /// Small enough for tests without optimization.
    const TINY: &str = "engine --layers=2 --width=32 --prompt=20 --tokens=12 --rate=0 --step-tokens=16 --requests=5";

    fn served(more: &str) -> Stats {
        let flags = Flags::parse_from(TINY.split(' ').chain(more.split_whitespace()));
        let engine = Engine::load(checkpoint::open(&flags).unwrap(), &flags).unwrap();
        let clients = Clients::new(&flags, engine.config());
        engine.serve(clients).unwrap()
    }

    fn tokens(stats: &Stats) -> Vec<&[u32]> {
        stats.requests.iter().map(|request| &request.tokens[..]).collect()
    }

    #[test]
    fn the_tokens_of_a_request_do_not_depend_on_batching_chunking_or_preemption() {
        let together = served("");
        assert!(together.preemptions == 0 && together.steps.mixed > 0, "{together:?}");
        assert_eq!(tokens(&together), tokens(&served("--batch=1")));
        assert_eq!(tokens(&together), tokens(&served("--step-tokens=3 --batch=3")));
        let preempted = served("--kv-blocks=3");
        assert!(preempted.preemptions > 0, "{preempted:?}");
        assert_eq!(tokens(&together), tokens(&preempted));
        assert_ne!(tokens(&together), tokens(&served("--seed=1")));
    }

    #[test]
    fn every_request_is_served_to_its_end() {
        let stats = served("--kv-blocks=4 --requests=9");
        assert_eq!(stats.requests.iter().map(|request| request.id).collect::<Vec<_>>(), (1..=9).collect::<Vec<_>>());
        let sum = |of: fn(&RequestStats) -> usize| stats.requests.iter().map(of).sum::<usize>();
        assert_eq!(stats.generated_tokens, sum(|request| request.output_tokens));
        assert_eq!(stats.preemptions, sum(|request| request.preemptions));
        // Tokens that are computed again come on top.
        assert!(stats.prefill_tokens > sum(|request| request.prompt_tokens), "{stats:?}");
        for request in &stats.requests {
            assert!((6..=12).contains(&request.output_tokens) && request.reason == "length", "{request:?}");
            let times = [Some(request.arrival_ns), request.first_token_ns, request.last_token_ns, Some(request.end_ns)];
            assert!(times.is_sorted() && times[1].is_some(), "{request:?}");
        }
    }

    #[test]
    fn blocks_return_when_their_requests_end() {
        let flags = Flags::parse_from(TINY.split(' '));
        let mut engine = Engine::load(checkpoint::open(&flags).unwrap(), &flags).unwrap();
        let coming = Clients::new(&flags, engine.config()).start();
        for sequence in coming.iter() {
            engine.add(sequence);
        }
        let mut most_used = 0;
        while !engine.scheduler.is_idle() {
            engine.step().unwrap();
            most_used = most_used.max(engine.blocks.used());
        }
        assert!(most_used > 0 && engine.blocks.used() == 0);
    }

    #[test]
    fn a_text_ends_with_its_stop_token() {
        let folder = tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let before = served(&format!("--save={path}"));
        let stop = before.requests[0].tokens[3];
        let config = folder.path().join("config.json");
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, text.replacen('{', &format!("{{\"eos_token_id\": {stop},"), 1)).unwrap();
        let flags = "engine --prompt=20 --tokens=12 --rate=0 --step-tokens=16 --requests=5 --weights";
        let flags = Flags::parse_from(flags.split(' ').chain([path]));
        let engine = Engine::load(checkpoint::open(&flags).unwrap(), &flags).unwrap();
        let clients = Clients::new(&flags, engine.config());
        let after = engine.serve(clients).unwrap();
        let end = before.requests[0].tokens.iter().position(|token| *token == stop).unwrap();
        assert_eq!(after.requests[0].tokens, before.requests[0].tokens[..=end]);
        assert_eq!(after.requests[0].reason, "stop");
    }

    #[test]
    fn a_cache_too_small_for_one_request_is_refused() {
        let flags = Flags::parse_from(TINY.split(' ').chain(["--kv-blocks=1"]));
        let error = Engine::load(checkpoint::open(&flags).unwrap(), &flags).unwrap_err();
        assert!(error.to_string().contains("expected at least 2"), "{error}");
    }
}
