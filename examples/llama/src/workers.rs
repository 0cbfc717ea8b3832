//! The threads that compute the MLP, each with its share of the weights.

use crate::math::add;
use crate::mlp::Shard;
use ferrum_trace::{Flow, span};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

/// The input of one layer, for all workers.
struct Job {
    layer: usize,
    input: Arc<[f32]>,
    /// The arrow from the engine to the worker.
    flow: Flow,
}

#[derive(Debug)]
struct Worker {
    /// `None` once it is to end.
    jobs: Option<Sender<Job>>,
    results: Receiver<Vec<f32>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// A thread with the shards of all layers.
    fn start(n: usize, shards: Vec<Shard>) -> Self {
        let (jobs, to_do) = channel::<Job>();
        let (done, results) = channel();
        let work = move || {
            for job in to_do {
                let span = span!("mlp_shard", "worker", worker = n, layer = job.layer);
                span.flow_in(job.flow);
                let result = shards[job.layer].apply(&job.input);
                // The span ends before the engine can know of it.
                drop(span);
                if done.send(result).is_err() {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name(format!("worker {n}")).spawn(work).expect("a thread can be started");
        Self { jobs: Some(jobs), results, thread: Some(thread) }
    }

    fn send(&self, job: Job) {
        let jobs = self.jobs.as_ref().expect("only its end takes it away");
        jobs.send(job).expect("a worker runs until it is told to end");
    }

    fn receive(&self) -> Vec<f32> {
        self.results.recv().expect("a worker answers every job")
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Its loop ends with its jobs.
        self.jobs = None;
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

/// All of them.
#[derive(Debug)]
pub struct Workers {
    workers: Vec<Worker>,
}

impl Workers {
    /// Starts a worker for each list of shards.
    pub fn start(shards: Vec<Vec<Shard>>) -> Self {
        Self { workers: shards.into_iter().enumerate().map(|(n, shards)| Worker::start(n, shards)).collect() }
    }

    /// Adds the MLP of `input` to `hidden`.
    pub fn add_mlp(&self, layer: usize, input: Vec<f32>, hidden: &mut [f32]) {
        self.dispatch(layer, input.into());
        let parts = self.wait();
        let _span = span!("reduce", "worker");
        // In the order of the workers, not of their answers: the sum is the same in every run.
        parts.iter().for_each(|part| add(hidden, part));
    }

    fn dispatch(&self, layer: usize, input: Arc<[f32]>) {
        let span = span!("dispatch", "scheduler", layer, workers = self.workers.len());
        for worker in &self.workers {
            let flow = Flow::new();
            span.flow_out(flow);
            worker.send(Job { layer, input: Arc::clone(&input), flow });
        }
    }

    fn wait(&self) -> Vec<Vec<f32>> {
        let _span = span!("wait", "scheduler");
        self.workers.iter().map(Worker::receive).collect()
    }
}
