//! Who is served next.

use crate::cache::{Cache, Table};
use crate::request::Request;
use ferrum_trace::{instant, span};
use std::collections::VecDeque;

/// A request that is being served.
#[derive(Debug)]
pub struct Running {
    pub request: Request,
    pub table: Table,
}

/// What a step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The whole prompt of the request that came last.
    Prefill,
    /// One token of each running request.
    Decode,
}

impl Phase {
    /// What it is called in the trace.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prefill => "prefill",
            Self::Decode => "decode",
        }
    }
}

/// The requests that are to come, wait, and are served.
#[derive(Debug, Default)]
pub struct Scheduler {
    /// In the order of their arrival.
    coming: VecDeque<Request>,
    waiting: VecDeque<Request>,
    running: Vec<Running>,
}

impl Scheduler {
    /// Nothing has come yet.
    pub fn new(requests: Vec<Request>) -> Self {
        Self { coming: requests.into(), ..Self::default() }
    }

    /// What the next step is for, if there is anything left to do. A request begins as soon as there is room for it.
    pub fn next(&mut self, step: usize, cache: &mut Cache) -> Option<Phase> {
        let _span = span!("schedule", "scheduler", waiting = self.waiting.len(), running = self.running.len());
        self.let_in(step);
        if self.admit(cache) {
            return Some(Phase::Prefill);
        }
        (!self.running.is_empty()).then_some(Phase::Decode)
    }

    /// The requests of a step, and the numbers of their tokens that are to be computed.
    pub fn members(&mut self, phase: Phase) -> &mut [Running] {
        let begin = match phase {
            Phase::Prefill => self.running.len() - 1,
            Phase::Decode => 0,
        };
        &mut self.running[begin..]
    }

    /// Takes out what is done.
    pub fn retire(&mut self, cache: &mut Cache) -> Vec<Request> {
        let done = self.running.extract_if(.., |running| running.request.is_done());
        done.map(|running| {
            cache.release(running.table);
            running.request
        })
        .collect()
    }

    fn let_in(&mut self, step: usize) {
        let is_idle = self.waiting.is_empty() && self.running.is_empty();
        // With nothing else to do, time passes until the next one comes.
        let mut is_awaited = is_idle;
        while let Some(request) = self.coming.pop_front_if(|next| next.arrival <= step || is_awaited) {
            is_awaited = false;
            request.arrive();
            self.waiting.push_back(request);
        }
    }

    /// True if a request has begun.
    fn admit(&mut self, cache: &mut Cache) -> bool {
        let Some(table) = self.waiting.front().and_then(|first| cache.admit(first.n_tokens_max())) else {
            return false;
        };
        let request = self.waiting.pop_front().expect("it was there just now");
        instant!("admit", "scheduler", request = request.id());
        request.begin();
        self.running.push(Running { request, table });
        true
    }
}
