//! The engine's own count of floating-point operations, from the model's configuration and the tokens of a step.

use crate::batch::Batch;
use crate::config::Config;

/// FLOP of a step. A multiplication and an addition are two, and a token sees half of itself in attention.
pub fn of_step(config: &Config, batch: &Batch, n_sampled: usize) -> u64 {
    let layers = config.num_hidden_layers as u64;
    let [hidden, vocabulary, rows, sampled] =
        [config.hidden_size, config.vocab_size, batch.n_rows, n_sampled].map(|n| n as u64);
    let attention: u64 = batch.members.iter().map(|member| of_attention(config, member.begin, member.n_rows)).sum();
    let head = sampled * (2 * hidden * vocabulary + of_norm(hidden));
    layers * (rows * of_token(config) + attention) + head
}

/// FLOP of one token in one layer, without attention.
fn of_token(config: &Config) -> u64 {
    let [hidden, inter, queries, keys] =
        [config.hidden_size, config.intermediate_size, config.query_width(), config.kv_width()].map(|n| n as u64);
    let weights = hidden * (queries + 2 * keys) + queries * hidden + 3 * hidden * inter;
    let rope = queries + keys;
    2 * weights + 2 * of_norm(hidden) + rope + inter
}

/// FLOP of the norm of one token.
fn of_norm(hidden: u64) -> u64 {
    4 * hidden + 2
}

/// FLOP of the attention of one sequence in one layer: each of its new tokens sees those before it.
fn of_attention(config: &Config, begin: usize, n_rows: usize) -> u64 {
    let seen_twice: usize = (begin..begin + n_rows).map(|position| 2 * position + 1).sum();
    (2 * config.query_width() * seen_twice) as u64
}
