//! The command line.

use crate::cache::BLOCK;
use crate::slow::Slowdown;
use clap::Parser;
use clap::builder::RangedU64ValueParser;
use std::path::PathBuf;

/// A small serving engine for Llama models on the CPU, recorded.
///
/// Clients send requests at random times; the engine batches them and generates tokens. Then it prints where the time
/// went, how long requests took, and the path of the trace. Tokens depend on the seed and the weights, not on arrival
/// times.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "engine",
    args_override_self = true,
    after_help = "The trace goes to trace.json, or to the path in FERRUM_TRACE_OUT."
)]
pub struct Flags {
    /// Number of requests.
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = from_one())]
    pub requests: usize,
    /// Average number of requests per second; 0: all at once, before the first step, so that all runs have the same
    /// steps.
    #[arg(long, value_name = "N", default_value_t = 8.0, value_parser = rate)]
    pub rate: f64,
    /// Maximum length of a prompt; each request has at least half of it.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = from_one())]
    pub prompt: usize,
    /// Maximum number of generated tokens; each request has at least half of it.
    #[arg(long, value_name = "N", default_value_t = 96, value_parser = from_one())]
    pub tokens: usize,
    /// Maximum number of requests that run at the same time.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = from_one())]
    pub batch: usize,
    /// Maximum number of tokens per step: longer prompts are computed in chunks.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = from_one())]
    pub step_tokens: usize,
    /// Number of blocks of 16 tokens in the KV cache; with too few, requests are preempted.
    #[arg(long, value_name = "N", default_value_t = 44, value_parser = from_one())]
    pub kv_blocks: usize,
    /// Seed of prompts, arrivals, samples, and random weights.
    #[arg(long, value_name = "N", default_value_t = 2026)]
    pub seed: u64,
    /// A Llama checkpoint in Hugging Face's format: a folder with config.json and .safetensors files, or one such file.
    /// By default, weights are random.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["layers", "width", "save"])]
    pub weights: Option<PathBuf>,
    /// Folder in which random weights are saved, for --weights.
    #[arg(long, value_name = "FOLDER")]
    pub save: Option<PathBuf>,
    /// Number of layers of a random model.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = from_one())]
    pub layers: usize,
    /// Width of a random model, a multiple of 16.
    #[arg(long, value_name = "N", default_value_t = 384, value_parser = width)]
    pub width: usize,
    /// Makes an operation take FACTOR times as long, by waiting busily inside it: OP=FACTOR, or OP@LAYER=FACTOR for one
    /// layer. OP is its name in the trace, such as attention; FACTOR is at least 1, or 0 to skip the operation (rope,
    /// kv_write, attention, silu_mul; the tokens are then wrong). May be repeated; of several for the same operation,
    /// the last applies.
    #[arg(long, value_name = "OP=FACTOR")]
    pub slow: Vec<Slowdown>,
    /// Path for the engine's own statistics, as JSON.
    #[arg(long, value_name = "FILE")]
    pub stats: Option<PathBuf>,
    /// Record nothing, unless FERRUM_TRACE_OUT is set.
    #[arg(long)]
    pub off: bool,
}

impl Flags {
    /// Maximum number of tokens of a request in the cache. The last token is never computed.
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
    fn flags_are_consistent() {
        Flags::command().debug_assert();
    }

    #[test]
    fn several_operations_can_be_slowed_down() {
        let flags = Flags::parse_from(["engine", "--slow", "rope=2", "--slow=attention@1=1.5"]);
        assert_eq!(flags.slow, ["rope=2", "attention@1=1.5"].map(|text| text.parse().unwrap()));
    }

    #[test]
    fn an_invalid_flag_is_named() {
        let cases = [
            ("--width 40", "a multiple of 16"),
            ("--rate=-1", "at least 0"),
            ("--rate=nan", "at least 0"),
            ("--tokens 0", "1..=1000000"),
            ("--weights a --layers 3", "--layers"),
            ("--slow rope", "OP@LAYER=FACTOR"),
        ];
        for (words, wrong) in cases {
            let parsed = Flags::try_parse_from(["engine"].into_iter().chain(words.split(' ')));
            assert!(parsed.unwrap_err().to_string().contains(wrong), "{words}");
        }
    }
}
