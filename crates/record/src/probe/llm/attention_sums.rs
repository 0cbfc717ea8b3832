//! Sums over the sequences of an attention.

/// Sums over the sequences of an attention, from which `ferrum-trace roofline` computes its FLOP and bytes. They are
/// the arguments `q`, `kv` and `twice_pairs` of the operation.
///
/// ```
/// use ferrum_trace::llm::{self, AttentionSums};
///
/// let mut sums = AttentionSums::default();
/// sums.add_causal(512, 512); // a prompt
/// sums.add_causal(1, 1000); // a generated token
/// assert_eq!((sums.q, sums.kv, sums.twice_pairs), (513, 1512, 512 * 512 + 1999));
///
/// let AttentionSums { q, kv, twice_pairs } = sums;
/// let _op = llm::op!("attention", Attention, heads = 32, kv_heads = 8, head_dim = 128, q, kv, twice_pairs, dtype = "bf16");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttentionSums {
    /// Query tokens.
    pub q: u64,
    /// Tokens that are read for them, new and cached.
    pub kv: u64,
    /// Twice the number of pairs of a query and a token that it sees.
    pub twice_pairs: u64,
}

impl AttentionSums {
    /// Adds a sequence whose last `queries` of `context` tokens are computed. A query sees the tokens before it, and by
    /// convention half of itself.
    pub fn add_causal(&mut self, queries: usize, context: usize) {
        let (queries, context) = (queries as u64, context as u64);
        let pairs = queries.saturating_mul(context).saturating_mul(2).saturating_sub(queries.saturating_mul(queries));
        self.add(queries, context, pairs);
    }

    /// Adds a sequence whose queries see all `context` tokens.
    pub fn add_full(&mut self, queries: usize, context: usize) {
        let (queries, context) = (queries as u64, context as u64);
        self.add(queries, context, queries.saturating_mul(context).saturating_mul(2));
    }

    fn add(&mut self, queries: u64, context: u64, twice_pairs: u64) {
        self.q = self.q.saturating_add(queries);
        self.kv = self.kv.saturating_add(context);
        self.twice_pairs = self.twice_pairs.saturating_add(twice_pairs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_causal_mask_halves_the_pairs_of_a_prompt() {
        let (mut causal, mut full) = (AttentionSums::default(), AttentionSums::default());
        causal.add_causal(100, 100);
        full.add_full(100, 100);
        assert_eq!((causal.q, causal.kv, 2 * causal.twice_pairs), (full.q, full.kv, full.twice_pairs));
        causal.add_causal(1, 51);
        assert_eq!((causal.q, causal.kv, causal.twice_pairs), (101, 151, 10_000 + 101));
    }
}
