//! What the user asks for.

use crate::cache::BLOCK;
use clap::Parser;
use clap::builder::RangedU64ValueParser;
use std::path::PathBuf;

/// A small serving engine for Llama models on the CPU, recorded.
///
/// Clients send requests at random moments; the engine batches them and generates tokens. Then it says where the time went,
/// how long requests took, and where the trace is. Tokens depend on the seed and the weights, not on when requests come.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "engine",
    args_override_self = true,
    after_help = "The trace goes to trace.json, or to where FERRUM_TRACE_OUT says."
)]
pub struct Flags {
    /// How many requests come.
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = from_one())]
    pub requests: usize,
    /// How many come in a second, on average; 0: all at once.
    #[arg(long, value_name = "N", default_value_t = 8.0, value_parser = rate)]
    pub rate: f64,
    /// How long prompts are at most; each request has half of it or more.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = from_one())]
    pub prompt: usize,
    /// How many tokens are generated at most; each request wants half of it or more.
    #[arg(long, value_name = "N", default_value_t = 96, value_parser = from_one())]
    pub tokens: usize,
    /// How many requests are worked on at the same time, at most.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = from_one())]
    pub batch: usize,
    /// How many tokens a step computes, at most: longer prompts are computed in pieces.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = from_one())]
    pub step_tokens: usize,
    /// How many blocks of 16 tokens the KV cache has; with too few, requests are preempted.
    #[arg(long, value_name = "N", default_value_t = 44, value_parser = from_one())]
    pub kv_blocks: usize,
    /// Of prompts, arrivals, samples, and the weights if they are made here.
    #[arg(long, value_name = "N", default_value_t = 2026)]
    pub seed: u64,
    /// A Llama checkpoint of Hugging Face's form: a folder with config.json and .safetensors files, or one such file. Without
    /// it, weights are made at random.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["layers", "width", "save"])]
    pub weights: Option<PathBuf>,
    /// Where the weights that are made here are kept, for --weights.
    #[arg(long, value_name = "FOLDER")]
    pub save: Option<PathBuf>,
    /// How many layers the model has, if it is made here.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = from_one())]
    pub layers: usize,
    /// How wide it is, a multiple of 16.
    #[arg(long, value_name = "N", default_value_t = 384, value_parser = width)]
    pub width: usize,
    /// Where the engine's own account of the run goes, as JSON.
    #[arg(long, value_name = "FILE")]
    pub stats: Option<PathBuf>,
    /// Record nothing, unless FERRUM_TRACE_OUT is set.
    #[arg(long)]
    pub off: bool,
}

impl Flags {
    /// The most tokens that a request can have in the cache. The last one is never computed with.
    pub fn context_max(&self) -> usize {
        self.prompt + self.tokens - 1
    }

    /// Blocks that the longest request needs.
    pub fn blocks_min(&self) -> usize {
        self.context_max().div_ceil(BLOCK)
    }
}

fn from_one() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=1_000_000)
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate >= 0.0);
    rate.ok_or_else(|| "expected a number of at least 0".to_owned())
}

fn width(text: &str) -> Result<usize, String> {
    let width = text.parse().ok().filter(|width| (16..=16_384).contains(width) && width % 16 == 0);
    width.ok_or_else(|| "expected a multiple of 16, up to 16384".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn flags_make_sense_together() {
        Flags::command().debug_assert();
    }

    #[test]
    fn what_is_wrong_is_named() {
        let cases = [
            ("--width 40", "a multiple of 16"),
            ("--rate=-1", "at least 0"),
            ("--rate=nan", "at least 0"),
            ("--tokens 0", "1..=1000000"),
            ("--weights a --layers 3", "--layers"),
        ];
        for (words, wrong) in cases {
            let parsed = Flags::try_parse_from(["engine"].into_iter().chain(words.split(' ')));
            assert!(parsed.unwrap_err().to_string().contains(wrong), "{words}");
        }
    }
}
