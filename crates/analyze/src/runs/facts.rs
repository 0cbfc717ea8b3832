//! Facts about a run that decide whether it can be compared with another.

use serde::{Deserialize, Serialize};

/// Facts about the traces of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunFacts {
    /// Number of traces.
    pub n_traces: u64,
    /// Number of slices.
    pub n_slices: u64,
    /// Number of layers of the model, and how it was found; `None` if nothing tells.
    pub layers: Option<LayerCount>,
    /// Names of the devices that the traces list.
    pub devices: Vec<String>,
    /// Number of kernels and copies.
    pub n_kernels: u64,
    /// Number of steps whose device work is not in the traces.
    pub n_incomplete_steps: u64,
    /// Number of launches whose kernels are not in the traces.
    pub n_unanswered_launches: u64,
    /// Number of steps that had not ended.
    pub n_unfinished_steps: u64,
    /// Tools that marked the steps.
    pub step_sources: Vec<String>,
    /// Sum of the durations of the marks of steps.
    pub mark_ns: i64,
    /// The part of these that is in no slice.
    pub unexplained_ns: i64,
    /// Sum of the context tokens of decode steps, and the number of these steps that state it.
    pub context_tokens: (u64, u64),
    /// Losses: data that is known to be missing.
    pub losses: LossCounts,
}

/// Number of layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerCount {
    /// The number.
    pub count: u32,
    /// True if it is the number of attention operations of a step, because the trace names no layers.
    pub is_estimate: bool,
}

/// Counts of data that is known to be missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossCounts {
    /// Places of the files that could not be read.
    pub places: u64,
    /// Events that the recorder dropped.
    pub dropped: u64,
    /// Chunks that a flight recorder has overwritten.
    pub overwritten_chunks: u64,
    /// Recordings that stopped before their program did.
    pub stopped: u64,
}

impl LossCounts {
    /// Returns true if nothing is known to be missing.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    fn add(&mut self, other: &Self) {
        self.places = self.places.saturating_add(other.places);
        self.dropped = self.dropped.saturating_add(other.dropped);
        self.overwritten_chunks = self.overwritten_chunks.saturating_add(other.overwritten_chunks);
        self.stopped = self.stopped.saturating_add(other.stopped);
    }
}

impl RunFacts {
    /// Returns the part of the marks of steps that is in slices; `None` without marks.
    pub fn coverage(&self) -> Option<f64> {
        (self.mark_ns > 0).then(|| 1.0 - self.unexplained_ns as f64 / self.mark_ns as f64)
    }

    /// Returns the mean number of context tokens of decode steps, if they state it.
    pub fn mean_context(&self) -> Option<f64> {
        let (tokens, steps) = self.context_tokens;
        (steps > 0).then(|| tokens as f64 / steps as f64)
    }

    /// Adds the facts of another trace or run.
    pub fn join(&mut self, other: Self) {
        self.n_traces = self.n_traces.saturating_add(other.n_traces);
        self.n_slices = self.n_slices.saturating_add(other.n_slices);
        self.layers = match (self.layers, other.layers) {
            (Some(one), Some(two)) => Some(if one.count >= two.count { one } else { two }),
            (one, two) => one.or(two),
        };
        append_new(&mut self.devices, other.devices);
        append_new(&mut self.step_sources, other.step_sources);
        self.n_kernels = self.n_kernels.saturating_add(other.n_kernels);
        self.n_incomplete_steps = self.n_incomplete_steps.saturating_add(other.n_incomplete_steps);
        self.n_unanswered_launches = self.n_unanswered_launches.saturating_add(other.n_unanswered_launches);
        self.n_unfinished_steps = self.n_unfinished_steps.saturating_add(other.n_unfinished_steps);
        self.mark_ns = self.mark_ns.saturating_add(other.mark_ns);
        self.unexplained_ns = self.unexplained_ns.saturating_add(other.unexplained_ns);
        let (tokens, steps) = other.context_tokens;
        self.context_tokens =
            (self.context_tokens.0.saturating_add(tokens), self.context_tokens.1.saturating_add(steps));
        self.losses.add(&other.losses);
    }
}

/// Appends the texts that are not in the list yet, and sorts the list.
fn append_new(list: &mut Vec<String>, more: Vec<String>) {
    list.extend(more);
    list.sort();
    list.dedup();
}
