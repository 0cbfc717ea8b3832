//! From tokens to scores of the next token.

use crate::attention::Attention;
use crate::cache::{Cache, Table};
use crate::math::{Matrix, rms_norm};
use crate::mlp::Shard;
use crate::random::Random;
use crate::workers::Workers;
use ferrum_trace::{laps, span};

/// Threads that share the MLP.
const N_WORKERS: usize = 2;

/// The sizes of a model.
#[derive(Clone, Debug)]
pub struct Config {
    pub n_layers: usize,
    /// Numbers that a token is between layers.
    pub width: usize,
    pub n_heads: usize,
    /// Heads of keys and values: several heads of queries share one.
    pub n_kv_heads: usize,
    /// Numbers that a token is inside the MLP.
    pub hidden: usize,
    /// Different tokens.
    pub vocabulary: usize,
}

impl Config {
    /// The proportions of a Llama.
    pub fn new(n_layers: usize, width: usize) -> Self {
        Self { n_layers, width, n_heads: 12, n_kv_heads: 4, hidden: width * 8 / 3, vocabulary: 4096 }
    }

    /// Numbers that a token is in one head.
    pub fn head_size(&self) -> usize {
        self.width / self.n_heads
    }

    /// Numbers that a token's keys are, and its values.
    pub fn kv_width(&self) -> usize {
        self.n_kv_heads * self.head_size()
    }

    /// Small enough for tests without optimization.
    #[cfg(test)]
    pub fn tiny() -> Self {
        Self { n_layers: 2, width: 16, n_heads: 4, n_kv_heads: 2, hidden: 24, vocabulary: 50 }
    }
}

/// One token to compute.
#[derive(Clone, Debug)]
pub struct Row {
    pub token: usize,
    /// Its place in its sequence.
    pub position: usize,
    /// The place of its sequence in the batch.
    pub sequence: usize,
}

/// What one step computes: some tokens of some sequences. Those of a sequence are in order and beside each other.
#[derive(Debug)]
pub struct Batch<'a> {
    pub rows: Vec<Row>,
    /// Of each sequence.
    pub tables: Vec<&'a Table>,
}

impl Batch<'_> {
    /// The last row of each sequence.
    fn last_rows(&self) -> impl Iterator<Item = usize> {
        (0..self.rows.len()).filter(|&n| self.rows.get(n + 1).is_none_or(|next| next.sequence != self.rows[n].sequence))
    }
}

/// The weights, and the threads that hold a part of them.
#[derive(Debug)]
pub struct Model {
    config: Config,
    embedding: Matrix,
    layers: Vec<Attention>,
    workers: Workers,
    head: Matrix,
}

impl Model {
    /// The weights that come from a seed.
    pub fn new(config: Config, seed: u64) -> Self {
        let _span = span!("load_model", "load", layers = config.n_layers, width = config.width);
        let random = &mut Random::new(seed);
        let embedding = Matrix::random(config.vocabulary, config.width, random);
        let layers = (0..config.n_layers).map(|layer| Attention::random(layer, &config, random)).collect();
        let mut shards = |_| (0..config.n_layers).map(|_| Shard::random(&config, N_WORKERS, random)).collect();
        let workers = Workers::start((0..N_WORKERS).map(&mut shards).collect());
        let head = Matrix::random(config.vocabulary, config.width, random);
        Self { config, embedding, layers, workers, head }
    }

    /// Its sizes.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The scores of what comes after each sequence.
    pub fn forward(&self, batch: &Batch<'_>, cache: &mut Cache) -> Vec<f32> {
        let mut hidden = self.embed(batch);
        for (n, attention) in self.layers.iter().enumerate() {
            let mut lap = laps!("layer", "layer", layer = n);
            attention.add_to(&mut hidden, batch, cache);
            lap.mark("attention");
            self.workers.add_mlp(n, self.norm(&hidden), &mut hidden);
            lap.mark("mlp");
        }
        self.score(&hidden, batch)
    }

    fn embed(&self, batch: &Batch<'_>) -> Vec<f32> {
        let _span = span!("embed", "embedding", tokens = batch.rows.len());
        batch.rows.iter().flat_map(|row| self.embedding.row(row.token)).copied().collect()
    }

    fn norm(&self, hidden: &[f32]) -> Vec<f32> {
        let _span = span!("rms_norm", "norm");
        rms_norm(hidden, self.config.width)
    }

    fn score(&self, hidden: &[f32], batch: &Batch<'_>) -> Vec<f32> {
        let width = self.config.width;
        // Only the last token of a sequence has a next one to be found, and this product is a large one.
        let last: Vec<f32> = batch.last_rows().flat_map(|n| &hidden[n * width..][..width]).copied().collect();
        let normed = self.norm(&last);
        let _span = span!("lm_head", "gemm", m = batch.tables.len(), n = self.head.rows(), k = width);
        self.head.apply(&normed)
    }
}
