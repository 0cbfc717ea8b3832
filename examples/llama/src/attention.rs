//! Each token looks back at those before it.

use crate::cache::Cache;
use crate::math::{Matrix, Rope, add, add_scaled, dot, rms_norm, softmax};
use crate::model::{Batch, Config};
use crate::random::Random;
use ferrum_trace::span;

/// The attention of one layer.
#[derive(Debug)]
pub struct Attention {
    layer: usize,
    config: Config,
    /// Queries, keys and values in one product.
    qkv: Matrix,
    output: Matrix,
    rope: Rope,
}

impl Attention {
    /// With random weights.
    pub fn random(layer: usize, config: &Config, random: &mut Random) -> Self {
        let qkv = Matrix::random(config.width + 2 * config.kv_width(), config.width, random);
        let output = Matrix::random(config.width, config.width, random);
        Self { layer, config: config.clone(), qkv, output, rope: Rope::new(config.head_size()) }
    }

    /// Adds to each token what it found.
    pub fn add_to(&self, hidden: &mut [f32], batch: &Batch<'_>, cache: &mut Cache) {
        let normed = {
            let _span = span!("rms_norm", "norm");
            rms_norm(hidden, self.config.width)
        };
        let mut qkv = {
            let _span = span!("qkv_proj", "gemm", m = batch.rows.len(), n = self.qkv.rows(), k = self.config.width);
            self.qkv.apply(&normed)
        };
        self.rotate(&mut qkv, batch);
        self.keep(&qkv, batch, cache);
        let found = self.look_back(&qkv, batch, cache);
        let _span = span!("o_proj", "gemm", m = batch.rows.len(), n = self.output.rows(), k = self.config.width);
        add(hidden, &self.output.apply(&found));
    }

    fn rotate(&self, qkv: &mut [f32], batch: &Batch<'_>) {
        let _span = span!("rope", "rope");
        // Queries and keys turn, values do not.
        let turning = self.config.width + self.config.kv_width();
        for (row, qkv) in batch.rows.iter().zip(qkv.chunks_exact_mut(self.qkv.rows())) {
            self.rope.rotate(&mut qkv[..turning], row.position);
        }
    }

    fn keep(&self, qkv: &[f32], batch: &Batch<'_>, cache: &mut Cache) {
        let _span = span!("kv_append", "kv_cache");
        for (row, qkv) in batch.rows.iter().zip(qkv.chunks_exact(self.qkv.rows())) {
            let (key, value) = qkv[self.config.width..].split_at(self.config.kv_width());
            cache.put(self.layer, batch.tables[row.sequence], row.position, key, value);
        }
    }

    fn look_back(&self, qkv: &[f32], batch: &Batch<'_>, cache: &Cache) -> Vec<f32> {
        let _span = span!("paged_attention", "attention", batch = batch.tables.len());
        let mut found = vec![0.0; batch.rows.len() * self.config.width];
        let queries = qkv.chunks_exact(self.qkv.rows());
        let size = self.config.head_size();
        for (n, (query, found)) in queries.zip(found.chunks_exact_mut(self.config.width)).enumerate() {
            for (head, found) in found.chunks_exact_mut(size).enumerate() {
                self.look_back_with(head, &query[head * size..][..size], batch, n, cache, found);
            }
        }
        found
    }

    /// One head of the token of row `n`.
    fn look_back_with(
        &self,
        head: usize,
        query: &[f32],
        batch: &Batch<'_>,
        n: usize,
        cache: &Cache,
        found: &mut [f32],
    ) {
        let (row, table) = (&batch.rows[n], batch.tables[batch.rows[n].sequence]);
        let size = self.config.head_size();
        // Some heads share their keys and values.
        let shared = head / (self.config.n_heads / self.config.n_kv_heads) * size;
        let scale = 1.0 / (size as f32).sqrt();
        // Up to the token itself: the cache holds later ones of the same prompt already.
        let keys = (0..=row.position).map(|position| &cache.key(self.layer, table, position)[shared..][..size]);
        let mut scores: Vec<f32> = keys.map(|key| scale * dot(query, key)).collect();
        softmax(&mut scores);
        for (position, probability) in scores.into_iter().enumerate() {
            add_scaled(found, &cache.value(self.layer, table, position)[shared..][..size], probability);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Row;

    /// What each of 20 tokens becomes, if the last of them is as given.
    fn outputs(last: f32) -> Vec<f32> {
        let config = Config::tiny();
        let attention = Attention::random(0, &config, &mut Random::new(8));
        let mut cache = Cache::new(1, 2, config.kv_width());
        let mut table = cache.admit(20).unwrap();
        cache.grow(&mut table, 20);
        let rows = (0..20).map(|position| Row { token: 0, position, sequence: 0 }).collect();
        let mut hidden = Random::new(9).fill(20 * config.width, 1.0);
        hidden[19 * config.width..].iter_mut().enumerate().for_each(|(n, x)| *x = last + n as f32);
        attention.add_to(&mut hidden, &Batch { rows, tables: vec![&table] }, &mut cache);
        hidden
    }

    #[test]
    fn a_token_does_not_see_those_after_it() {
        let (one, other) = (outputs(1.0), outputs(-20.0));
        let last = 19 * Config::tiny().width;
        assert_eq!(one[..last], other[..last]);
        assert_ne!(one[last..], other[last..]);
    }
}
