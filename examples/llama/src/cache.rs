//! The keys and values of all tokens so far, in blocks, as far as memory goes.

use ferrum_trace::counter;

/// Tokens that share a block.
pub const BLOCK: usize = 16;

/// The blocks of one sequence.
#[derive(Debug, Default)]
pub struct Table {
    blocks: Vec<usize>,
    /// Blocks that it may have in the end.
    promised: usize,
    n_tokens: usize,
}

impl Table {
    /// How many tokens of the sequence are in the cache.
    pub fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    /// Where the token at a position is, in tokens.
    fn slot(&self, position: usize) -> usize {
        self.blocks[position / BLOCK] * BLOCK + position % BLOCK
    }
}

/// A fixed number of blocks, for all layers.
#[derive(Debug)]
pub struct Cache {
    n_blocks: usize,
    free: Vec<usize>,
    /// Blocks promised to sequences, taken or not.
    promised: usize,
    /// Numbers that each token has for keys, and as many for values.
    width: usize,
    keys: Vec<Vec<f32>>,
    values: Vec<Vec<f32>>,
}

impl Cache {
    /// An empty cache.
    pub fn new(n_layers: usize, n_blocks: usize, width: usize) -> Self {
        let memory = vec![vec![0.0; n_blocks * BLOCK * width]; n_layers];
        // The first block is taken first.
        let free = (0..n_blocks).rev().collect();
        Self { n_blocks, free, promised: 0, width, keys: memory.clone(), values: memory }
    }

    /// A table for a sequence that will grow up to `n_tokens`, if there will be room for all of them. So a sequence that
    /// has begun never has to make way for another.
    pub fn admit(&mut self, n_tokens: usize) -> Option<Table> {
        let promised = n_tokens.div_ceil(BLOCK);
        if self.promised + promised > self.n_blocks {
            return None;
        }
        self.promised += promised;
        Some(Table { promised, ..Table::default() })
    }

    /// Takes the blocks that `n_tokens` more tokens of a sequence need.
    pub fn grow(&mut self, table: &mut Table, n_tokens: usize) {
        table.n_tokens += n_tokens;
        let n_blocks = table.n_tokens.div_ceil(BLOCK);
        assert!(n_blocks <= table.promised, "a sequence outgrows what it was admitted with");
        while table.blocks.len() < n_blocks {
            table.blocks.push(self.free.pop().expect("no more is promised than there is"));
        }
    }

    /// Takes the blocks of a sequence back.
    pub fn release(&mut self, table: Table) {
        self.promised -= table.promised;
        self.free.extend(table.blocks);
    }

    /// Blocks that hold something.
    pub fn used(&self) -> usize {
        self.n_blocks - self.free.len()
    }

    /// Records how full it is.
    pub fn count(&self) {
        counter!("kv_cache", used = self.used(), free = self.free.len());
    }

    /// Keeps the key and value of a token.
    pub fn put(&mut self, layer: usize, table: &Table, position: usize, key: &[f32], value: &[f32]) {
        let at = table.slot(position) * self.width;
        self.keys[layer][at..][..self.width].copy_from_slice(key);
        self.values[layer][at..][..self.width].copy_from_slice(value);
    }

    /// The key of a token.
    pub fn key(&self, layer: usize, table: &Table, position: usize) -> &[f32] {
        &self.keys[layer][table.slot(position) * self.width..][..self.width]
    }

    /// The value of a token.
    pub fn value(&self, layer: usize, table: &Table, position: usize) -> &[f32] {
        &self.values[layer][table.slot(position) * self.width..][..self.width]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn it_never_exceeds_its_size_and_no_block_is_lost() {
        let (mut cache, mut random) = (Cache::new(1, 10, 2), Random::new(7));
        let mut running: Vec<(Table, usize)> = Vec::new();
        for _ in 0..1000 {
            let n_tokens = 1 + random.below(6 * BLOCK);
            if let Some(table) = cache.admit(n_tokens) {
                running.push((table, n_tokens));
            }
            running.iter_mut().for_each(|(table, n_tokens)| {
                let missing = *n_tokens - table.n_tokens();
                cache.grow(table, random.below(missing + 1));
            });
            let held: usize = running.iter().map(|(table, _)| table.blocks.len()).sum();
            assert!(cache.used() == held && held <= 10 && cache.promised <= 10);
            if random.below(2) == 0 && !running.is_empty() {
                let (table, _) = running.swap_remove(random.below(running.len()));
                cache.release(table);
            }
        }
        running.into_iter().for_each(|(table, _)| cache.release(table));
        assert_eq!((cache.used(), cache.promised), (0, 0));
    }

    #[test]
    fn sequences_do_not_see_each_other() {
        let mut cache = Cache::new(1, 8, 1);
        let mut tables = [cache.admit(2 * BLOCK).unwrap(), cache.admit(2 * BLOCK).unwrap()];
        for position in 0..2 * BLOCK {
            for (n, table) in tables.iter_mut().enumerate() {
                cache.grow(table, 1);
                let number = (100 * n + position) as f32;
                cache.put(0, table, position, &[number], &[-number]);
            }
        }
        for (n, table) in tables.iter().enumerate() {
            for position in 0..2 * BLOCK {
                let number = (100 * n + position) as f32;
                assert_eq!(
                    (cache.key(0, table, position), cache.value(0, table, position)),
                    (&[number][..], &[-number][..])
                );
            }
        }
    }
}
