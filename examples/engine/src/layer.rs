//! One layer: attention and MLP.

use crate::batch::{Batch, Member};
use crate::cache::LayerCache;
use crate::checkpoint::Checkpoint;
use crate::config::Config;
use crate::linear::Linear;
use crate::rope::Angles;
use crate::slow::Slowdowns;
use candle_core::{D, Result, Tensor};
use candle_nn::ops::{rms_norm, silu, softmax_last_dim};
use ferrum_trace::llm::{self, AttentionSums};

/// Type of all tensors, for the trace.
pub const DTYPE: &str = "f32";

/// The weights of a layer, and its part of the cache.
#[derive(Debug)]
pub struct Layer {
    config: Config,
    attention_norm: Tensor,
    qkv: Linear,
    output: Linear,
    mlp_norm: Tensor,
    gate_up: Linear,
    down: Linear,
    cache: LayerCache,
    slow: Slowdowns,
}

impl Layer {
    pub fn load(n: usize, checkpoint: &mut Checkpoint, cache: LayerCache, slow: Slowdowns) -> anyhow::Result<Self> {
        let mut take = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| format!("model.layers.{n}.{name}")).collect();
            checkpoint.take(&names.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let attention_norm = take(&["input_layernorm"])?;
        let qkv = Linear::new(take(&["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"])?);
        let output = Linear::new(take(&["self_attn.o_proj"])?);
        let mlp_norm = take(&["post_attention_layernorm"])?;
        let gate_up = Linear::new(take(&["mlp.gate_proj", "mlp.up_proj"])?);
        let down = Linear::new(take(&["mlp.down_proj"])?);
        let config = checkpoint.config.clone();
        Ok(Self { config, attention_norm, qkv, output, mlp_norm, gate_up, down, cache, slow })
    }

    /// The output of the layer for each row.
    pub fn forward(&self, hidden: &Tensor, batch: &Batch, angles: &Angles) -> Result<Tensor> {
        let hidden = (hidden + self.attention(hidden, batch, angles)?)?;
        &hidden + self.mlp(&hidden)?
    }

    fn attention(&self, hidden: &Tensor, batch: &Batch, angles: &Angles) -> Result<Tensor> {
        let normed = self.norm(hidden, &self.attention_norm)?;
        let (queries, keys, values) = self.project(&normed)?;
        let (queries, keys) = {
            let _op = llm::op!("rope", Rope, elements = queries.elem_count() + keys.elem_count(), dtype = DTYPE);
            let _slow = self.slow.op("rope");
            let config = &self.config;
            match self.slow.skips("rope") {
                true => (queries, keys),
                false => (angles.turn(&queries, config.num_attention_heads)?, angles.turn(&keys, config.kv_heads())?),
            }
        };
        self.remember(batch, &keys, &values)?;
        let attended = self.attend_all(batch, &queries)?;
        let _op =
            llm::op!("o_proj", Gemm, m = batch.n_rows, n = self.output.n_out(), k = self.output.n_in(), dtype = DTYPE);
        let _slow = self.slow.op("o_proj");
        self.output.rows(&attended)
    }

    fn norm(&self, hidden: &Tensor, gains: &Tensor) -> Result<Tensor> {
        let (rows, dim) = hidden.dims2()?;
        let _op = llm::op!("rms_norm", Norm, rows, dim, dtype = DTYPE);
        let _slow = self.slow.op("rms_norm");
        rms_norm(hidden, gains, self.config.rms_norm_eps as f32)
    }

    /// Queries, keys and values.
    fn project(&self, normed: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
        let m = normed.dim(0)?;
        let _op = llm::op!("qkv_proj", Gemm, m, n = self.qkv.n_out(), k = self.qkv.n_in(), dtype = DTYPE);
        let _slow = self.slow.op("qkv_proj");
        let (queries, keys) = (self.config.query_width(), self.config.kv_width());
        let qkv = self.qkv.columns(normed)?;
        let part = |begin, width| qkv.narrow(0, begin, width)?.t()?.contiguous();
        Ok((part(0, queries)?, part(queries, keys)?, part(queries + keys, keys)?))
    }

    fn remember(&self, batch: &Batch, keys: &Tensor, values: &Tensor) -> Result<()> {
        let _op = llm::op!("kv_write", KvCache, tokens = batch.n_rows);
        let _slow = self.slow.op("kv_write");
        if self.slow.skips("kv_write") {
            return Ok(());
        }
        for Member { first_row, n_rows, begin, table, .. } in &batch.members {
            let (keys, values) = (keys.narrow(0, *first_row, *n_rows)?, values.narrow(0, *first_row, *n_rows)?);
            self.cache.write(table, *begin, &keys, &values)?;
        }
        Ok(())
    }

    fn attend_all(&self, batch: &Batch, queries: &Tensor) -> Result<Tensor> {
        let AttentionSums { q, kv, twice_pairs } = batch.attention_sums();
        let (heads, kv_heads, head_dim) =
            (self.config.num_attention_heads, self.config.kv_heads(), self.config.head_size());
        let _op = llm::op!(
            "attention",
            Attention,
            sequences = batch.members.len(),
            context = batch.n_context,
            heads,
            kv_heads,
            head_dim,
            q,
            kv,
            twice_pairs,
            dtype = DTYPE
        );
        let _slow = self.slow.op("attention");
        if self.slow.skips("attention") {
            return Ok(queries.clone());
        }
        let attended = batch.members.iter().map(|member| self.attend(member, queries)).collect::<Result<Vec<_>>>()?;
        Tensor::cat(&attended, 0)
    }

    /// Attention of one sequence over its part of the cache.
    fn attend(&self, member: &Member, queries: &Tensor) -> Result<Tensor> {
        let (heads, sharing, size) = (self.config.kv_heads(), self.config.heads_sharing(), self.config.head_size());
        let n_rows = member.n_rows;
        let (keys, values) = self.cache.read(&member.blocks)?;
        let by_head = |x: Tensor| x.reshape(((), heads, size))?.transpose(0, 1);
        let (keys, values) = (by_head(keys)?, by_head(values)?);
        // All queries that share keys are one matrix.
        let queries = queries.narrow(0, member.first_row, n_rows)?.reshape((n_rows, heads, sharing, size))?;
        let queries =
            (queries.permute((1, 2, 0, 3))?.reshape((heads, sharing * n_rows, size))? / (size as f64).sqrt())?;
        let scores = queries.matmul(&keys.transpose(1, 2)?)?.broadcast_add(&member.mask)?;
        let attended = softmax_last_dim(&scores)?.matmul(&values)?;
        let attended = attended.reshape((heads, sharing, n_rows, size))?.permute((2, 0, 1, 3))?;
        attended.reshape((n_rows, heads * sharing * size))
    }

    fn mlp(&self, hidden: &Tensor) -> Result<Tensor> {
        let normed = self.norm(hidden, &self.mlp_norm)?;
        let n_rows = normed.dim(0)?;
        let gate_up = {
            let _op = llm::op!(
                "gate_up_proj",
                Gemm,
                m = n_rows,
                n = self.gate_up.n_out(),
                k = self.gate_up.n_in(),
                dtype = DTYPE
            );
            let _slow = self.slow.op("gate_up_proj");
            self.gate_up.columns(&normed)?
        };
        let active = {
            let _op =
                llm::op!("silu_mul", Act, elements = n_rows * self.config.intermediate_size, inputs = 2, dtype = DTYPE);
            let _slow = self.slow.op("silu_mul");
            let halves = gate_up.chunk(2, 0)?;
            match self.slow.skips("silu_mul") {
                true => halves[0].clone(),
                false => (silu(&halves[0])? * &halves[1])?,
            }
        };
        let _op = llm::op!("down_proj", Gemm, m = n_rows, n = self.down.n_out(), k = self.down.n_in(), dtype = DTYPE);
        let _slow = self.slow.op("down_proj");
        self.down.rows(&active.transpose(D::Minus1, D::Minus2)?)
    }
}
