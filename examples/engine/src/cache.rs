//! The KV cache: keys and values of all tokens so far, in blocks of limited number.

use crate::config::Config;
use candle_core::{DType, Device, Result, Tensor};
use ferrum_trace::llm;

/// Number of tokens in a block.
pub const BLOCK: usize = 16;

/// The free blocks, without their content.
#[derive(Debug)]
pub struct Blocks {
    n_blocks: usize,
    free: Vec<u32>,
}

impl Blocks {
    pub fn new(n_blocks: usize) -> Self {
        // The first block is taken first.
        Self { n_blocks, free: (0..n_blocks as u32).rev().collect() }
    }

    /// Takes the blocks that a sequence needs for `n_tokens`: all of them, or none if there are not enough.
    pub fn grow(&mut self, table: &mut Vec<u32>, n_tokens: usize) -> bool {
        let n_missing = n_tokens.div_ceil(BLOCK).saturating_sub(table.len());
        let Some(n_left) = self.free.len().checked_sub(n_missing) else { return false };
        table.extend(self.free.drain(n_left..).rev());
        true
    }

    /// Takes back the blocks of a sequence.
    pub fn release(&mut self, table: &mut Vec<u32>) {
        self.free.append(table);
    }

    /// Number of blocks in use.
    pub fn used(&self) -> usize {
        self.n_blocks - self.free.len()
    }

    /// Records the usage as a counter.
    pub fn count(&self) {
        llm::kv_cache(self.used(), self.free.len());
    }
}

/// The memory of all blocks, for one layer.
#[derive(Debug)]
pub struct LayerCache {
    /// One row per token.
    keys: Tensor,
    values: Tensor,
    width: usize,
}

impl LayerCache {
    /// Zeros, so that a read before the first write is finite.
    pub fn new(n_blocks: usize, config: &Config) -> Result<Self> {
        let width = config.kv_width();
        let zeros = || Tensor::zeros((n_blocks * BLOCK, width), DType::F32, &Device::Cpu);
        Ok(Self { keys: zeros()?, values: zeros()?, width })
    }

    /// Stores the keys and values of a sequence's tokens, starting at a position.
    pub fn write(&self, table: &[u32], begin: usize, keys: &Tensor, values: &Tensor) -> Result<()> {
        let end = begin + keys.dim(0)?;
        let mut position = begin;
        while position < end {
            // Up to the end of the block.
            let n_tokens = (BLOCK - position % BLOCK).min(end - position);
            let slot = table[position / BLOCK] as usize * BLOCK + position % BLOCK;
            self.keys.slice_set(&keys.narrow(0, position - begin, n_tokens)?, 0, slot)?;
            self.values.slice_set(&values.narrow(0, position - begin, n_tokens)?, 0, slot)?;
            position += n_tokens;
        }
        Ok(())
    }

    /// All keys and values in some blocks, one row per token.
    pub fn read(&self, table: &Tensor) -> Result<(Tensor, Tensor)> {
        let n_tokens = table.dim(0)? * BLOCK;
        let gather = |memory: &Tensor| {
            let blocks = memory.reshape(((), BLOCK * self.width))?;
            blocks.index_select(table, 0)?.reshape((n_tokens, self.width))
        };
        Ok((gather(&self.keys)?, gather(&self.values)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn the_cache_never_exceeds_its_size_and_loses_no_block() {
        let (mut blocks, mut random) = (Blocks::new(10), StdRng::seed_from_u64(7));
        let mut tables: Vec<(Vec<u32>, usize)> = Vec::new();
        for _ in 0..1000 {
            tables.push((Vec::new(), 0));
            for (table, n_tokens) in &mut tables {
                let wanted = *n_tokens + random.random_range(0..2 * BLOCK);
                if blocks.grow(table, wanted) {
                    *n_tokens = wanted;
                }
                assert_eq!(table.len(), n_tokens.div_ceil(BLOCK));
            }
            let mut taken: Vec<u32> = tables.iter().flat_map(|(table, _)| table).copied().collect();
            taken.sort_unstable();
            assert!(taken.is_sorted_by(|a, b| a < b) && taken.len() == blocks.used() && blocks.used() <= 10);
            let (mut table, _) = tables.swap_remove(random.random_range(0..tables.len()));
            blocks.release(&mut table);
        }
        tables.iter_mut().for_each(|(table, _)| blocks.release(table));
        assert_eq!(blocks.used(), 0);
    }

    #[test]
    fn sequences_read_their_own_keys_and_values() {
        let config = Config::made(1, 16);
        let (cache, mut blocks) = (LayerCache::new(8, &config).unwrap(), Blocks::new(8));
        let mut tables = [Vec::new(), Vec::new()];
        let number = |sequence: usize, position: usize| (100 * sequence + position) as f32;
        for (begin, end) in [(0, 5), (5, 6), (6, 40)] {
            for (sequence, table) in tables.iter_mut().enumerate() {
                assert!(blocks.grow(table, end));
                let rows: Vec<f32> = (begin..end).flat_map(|at| [number(sequence, at); 8]).collect();
                let keys = Tensor::from_vec(rows, (end - begin, 8), &Device::Cpu).unwrap();
                cache.write(table, begin, &keys, &keys.neg().unwrap()).unwrap();
            }
        }
        for (sequence, table) in tables.iter().enumerate() {
            let table = Tensor::new(table.as_slice(), &Device::Cpu).unwrap();
            let (keys, values) = cache.read(&table).unwrap();
            let (keys, values) = (keys.to_vec2::<f32>().unwrap(), values.to_vec2::<f32>().unwrap());
            for position in 0..40 {
                let number = number(sequence, position);
                assert_eq!((&keys[position][..], &values[position][..]), (&[number; 8][..], &[-number; 8][..]));
            }
        }
    }
}
