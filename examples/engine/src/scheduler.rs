//! Selects the requests of each step.

use crate::cache::Blocks;
use crate::sequence::Sequence;
use crate::slow::Slowdowns;
use ferrum_trace::instant;
use ferrum_trace::llm::{self, Phase, Step};
use std::collections::VecDeque;

/// Limits of a step.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub sequences: usize,
    pub tokens: usize,
}

/// The waiting and the running requests.
#[derive(Debug)]
pub struct Scheduler {
    limits: Limits,
    waiting: VecDeque<Sequence>,
    /// In order of their start, which is also their priority for cache blocks.
    running: Vec<Sequence>,
    n_preempted: usize,
    slow: Slowdowns,
}

impl Scheduler {
    pub fn new(limits: Limits, slow: Slowdowns) -> Self {
        Self { limits, waiting: VecDeque::new(), running: Vec::new(), n_preempted: 0, slow }
    }

    pub fn add(&mut self, sequence: Sequence) {
        self.waiting.push_back(sequence);
    }

    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    pub fn n_preempted(&self) -> usize {
        self.n_preempted
    }

    pub fn running(&mut self) -> &mut Vec<Sequence> {
        &mut self.running
    }

    /// Plans the next step: the next token of all running requests, as much of their prompts as fits, and admission of
    /// waiting requests.
    pub fn plan(&mut self, blocks: &mut Blocks) -> Step {
        let _op = llm::op!("schedule", Scheduler, running = self.running.len(), waiting = self.waiting.len());
        let _slow = self.slow.op("schedule");
        let mut n_left = self.limits.tokens;
        let n_preempted = self.n_preempted;
        let mut n = 0;
        while n < self.running.len() {
            if self.has_room(n, blocks) {
                n_left -= plan_one(&mut self.running[n], n_left);
                n += 1;
            }
        }
        // A request that was just preempted would only take the blocks back.
        if self.n_preempted == n_preempted {
            self.admit(n_left, blocks);
        }
        self.step()
    }

    /// Records the numbers of waiting and running requests.
    pub fn count(&self) {
        llm::running(self.running.len());
        llm::waiting(self.waiting.len());
    }

    /// Makes room for the next token of a sequence. Returns false if the sequence itself was preempted.
    fn has_room(&mut self, n: usize, blocks: &mut Blocks) -> bool {
        while let Some(sequence) = self.running.get_mut(n) {
            let n_tokens = sequence.tokens().len();
            if blocks.grow(&mut sequence.table, n_tokens) {
                return true;
            }
            self.preempt_last(blocks);
        }
        false
    }

    fn preempt_last(&mut self, blocks: &mut Blocks) {
        if let Some(mut last) = self.running.pop() {
            instant!("preempt", "scheduler", request = last.id());
            blocks.release(&mut last.table);
            last.preempt();
            self.n_preempted += 1;
            self.waiting.push_front(last);
        }
    }

    /// Admits the longest waiting requests while all their tokens fit.
    fn admit(&mut self, mut n_left: usize, blocks: &mut Blocks) {
        while n_left > 0 && self.running.len() < self.limits.sequences {
            let Some(mut sequence) = self.waiting.pop_front() else { return };
            let n_tokens = sequence.tokens().len();
            if !blocks.grow(&mut sequence.table, n_tokens) {
                self.waiting.push_front(sequence);
                return;
            }
            sequence.begin();
            n_left -= plan_one(&mut sequence, n_left);
            self.running.push(sequence);
        }
    }

    /// The planned step for the trace.
    fn step(&self) -> Step {
        let members = || self.running.iter().filter(|sequence| sequence.n_planned > 0);
        let planned = |is_prefill| {
            let of_kind = members().filter(move |sequence| sequence.is_in_prefill() == is_prefill);
            of_kind.map(|sequence| sequence.n_planned).sum::<usize>()
        };
        let (prefill_tokens, decode_tokens) = (planned(true), planned(false));
        let phase = match (prefill_tokens, decode_tokens) {
            (_, 0) => Phase::Prefill,
            (0, _) => Phase::Decode,
            _ => Phase::Mixed,
        };
        let context_tokens = members().map(|sequence| sequence.n_computed).sum();
        Step { phase, batch: members().count(), prefill_tokens, decode_tokens, context_tokens }
    }
}

/// Plans new tokens of a sequence, as far as the step has room for them.
fn plan_one(sequence: &mut Sequence, n_left: usize) -> usize {
    sequence.n_planned = sequence.n_new().min(n_left);
    sequence.n_planned
}
