//! The model: from tokens to scores of the next token.

use crate::batch::Batch;
use crate::cache::LayerCache;
use crate::checkpoint::Checkpoint;
use crate::config::Config;
use crate::layer::{DTYPE, Layer};
use crate::linear::Linear;
use crate::rope::Rope;
use crate::slow::{Slowdown, Slowdowns};
use anyhow::ensure;
use candle_core::{Result, Tensor};
use candle_nn::ops::rms_norm;
use ferrum_trace::{llm, span};

/// Sizes of a model's memory beside its weights.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Blocks of the cache.
    pub n_blocks: usize,
    /// Length of the longest sequence.
    pub n_positions: usize,
}

/// The weights, and the cache.
#[derive(Debug)]
pub struct Model {
    config: Config,
    embedding: Tensor,
    rope: Rope,
    layers: Vec<Layer>,
    norm: Tensor,
    head: Linear,
    slow: Slowdowns,
}

impl Model {
    pub fn load(mut checkpoint: Checkpoint, room: Room, slow: &[Slowdown]) -> anyhow::Result<Self> {
        let config = checkpoint.config.clone();
        let _span = span!("load_model", "load", layers = config.num_hidden_layers);
        let (wanted, most) = (room.n_positions, config.max_position_embeddings);
        ensure!(wanted <= most, "requests of {wanted} tokens are longer than the {most} that the model was made for");
        let embedding = checkpoint.take(&["model.embed_tokens"])?;
        let cache = || LayerCache::new(room.n_blocks, &config);
        let slow_in = |layer| Slowdowns::of_layer(slow, layer);
        let layers = (0..config.num_hidden_layers).map(|n| Layer::load(n, &mut checkpoint, cache()?, slow_in(n)));
        let layers = layers.collect::<anyhow::Result<_>>()?;
        let norm = checkpoint.take(&["model.norm"])?;
        let head = Linear::new(checkpoint.head(&embedding)?);
        let rope = Rope::new(&config, room.n_positions)?;
        Ok(Self { config, embedding, rope, layers, norm, head, slow: Slowdowns::outside(slow) })
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The scores of the token after each of the batch's last rows.
    pub fn forward(&self, batch: &Batch) -> Result<Vec<Vec<f32>>> {
        let (mut hidden, angles) = {
            let _op = llm::op!("embed", Memory, tokens = batch.n_rows);
            let _slow = self.slow.op("embed");
            (self.embedding.index_select(&batch.tokens, 0)?, self.rope.at(&batch.positions)?)
        };
        for (n, layer) in self.layers.iter().enumerate() {
            let _layer = llm::layer(n);
            hidden = layer.forward(&hidden, batch, &angles)?;
        }
        self.score(&hidden, batch)
    }

    fn score(&self, hidden: &Tensor, batch: &Batch) -> Result<Vec<Vec<f32>>> {
        let n_last = batch.last_rows.dim(0)?;
        if n_last == 0 {
            return Ok(Vec::new());
        }
        // Only these rows need a next token, and this product is large.
        let normed = {
            let _op = llm::op!("rms_norm", Norm, rows = n_last, dim = self.config.hidden_size, dtype = DTYPE);
            let _slow = self.slow.op("rms_norm");
            rms_norm(&hidden.index_select(&batch.last_rows, 0)?, &self.norm, self.config.rms_norm_eps as f32)?
        };
        let _op = llm::op!("lm_head", Gemm, m = n_last, n = self.head.n_out(), k = self.head.n_in(), dtype = DTYPE);
        let _slow = self.slow.op("lm_head");
        self.head.rows(&normed)?.to_vec2()
    }
}
