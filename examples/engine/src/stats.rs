//! The engine's own statistics of a run, without the trace.

use anyhow::{Context, Result};
use ferrum_trace::llm::Phase;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A run. Times are nanoseconds since its begin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    pub wall_ns: u64,
    pub steps: Steps,
    /// Number of prefill tokens; those of preempted requests count more than once.
    pub prefill_tokens: usize,
    pub generated_tokens: usize,
    /// Floating-point operations, by the engine's own count.
    #[serde(default)]
    pub flop: u64,
    pub preemptions: usize,
    /// Sorted by id.
    pub requests: Vec<RequestStats>,
}

/// Numbers of steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steps {
    pub prefill: usize,
    pub decode: usize,
    pub mixed: usize,
}

/// A finished request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestStats {
    pub id: u64,
    pub prompt_tokens: usize,
    pub output_tokens: usize,
    pub preemptions: usize,
    pub reason: String,
    pub arrival_ns: u64,
    pub first_token_ns: Option<u64>,
    pub last_token_ns: Option<u64>,
    pub end_ns: u64,
    /// The generated tokens.
    pub tokens: Vec<u32>,
}

impl Steps {
    pub fn add(&mut self, phase: Phase) {
        match phase {
            Phase::Prefill => self.prefill += 1,
            Phase::Decode => self.decode += 1,
            Phase::Mixed => self.mixed += 1,
        }
    }

    pub fn all(&self) -> usize {
        self.prefill + self.decode + self.mixed
    }
}

impl RequestStats {
    /// Time from arrival to first token.
    pub fn first_token_latency_ns(&self) -> Option<u64> {
        Some(self.first_token_ns?.saturating_sub(self.arrival_ns))
    }

    /// Average time between two tokens.
    pub fn token_latency_ns(&self) -> Option<u64> {
        let n_between = self.output_tokens.checked_sub(1).filter(|n| *n > 0)? as u64;
        Some(self.last_token_ns?.saturating_sub(self.first_token_ns?) / n_between)
    }

    /// Time from arrival to end.
    pub fn latency_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.arrival_ns)
    }
}

impl Stats {
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        std::fs::write(path, text).with_context(|| path.display().to_string())
    }
}
