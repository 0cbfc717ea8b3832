//! Attention.

use super::counts::{product, sum};
use super::data_type::DataType;
use super::op_work::OpWork;

/// Heads of an attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attention {
    /// Number of query heads.
    pub(crate) heads: u64,
    /// Number of key and value heads.
    pub(crate) kv_heads: u64,
    /// Elements of a head of queries and keys.
    pub(crate) qk_dim: u64,
    /// Elements of a head of values.
    pub(crate) v_dim: u64,
}

/// Types of the tensors of an attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AttentionTypes {
    /// Type of queries, results, and keys and values that are not cached.
    pub(crate) query: DataType,
    /// Type of the cache.
    pub(crate) cache: DataType,
}

/// Sums over the sequences of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TokenSums {
    /// Query tokens.
    pub(crate) queries: u64,
    /// Tokens whose keys and values are new: they are read in the type of the queries.
    pub(crate) new: u64,
    /// Tokens whose keys and values are read from the cache.
    pub(crate) cached: u64,
    /// Twice the number of pairs of a query and a key that it sees.
    pub(crate) twice_pairs: u64,
}

impl TokenSums {
    /// Returns the sums of `batch` sequences with `queries` query tokens and `keys` keys, all of them new. A causal
    /// mask halves the number of pairs if there are as many queries as keys.
    pub(crate) fn of_batch(batch: u64, queries: u64, keys: u64, is_causal: bool) -> Self {
        let factor = if is_causal && queries == keys { 1 } else { 2 };
        Self {
            queries: product(&[batch, queries]),
            new: product(&[batch, keys]),
            cached: 0,
            twice_pairs: product(&[factor, batch, queries, keys]),
        }
    }

    /// Returns the sums of one sequence whose last `queries` of `context` tokens are new. Under a causal mask a query
    /// sees the tokens before it: of `context` tokens on average half of the new ones and all others, or at most
    /// `window`.
    pub(crate) fn of_sequence(queries: u64, context: u64, is_causal: bool, window: Option<u64>) -> Self {
        let before = context.saturating_sub(queries);
        let window = window.unwrap_or(u64::MAX);
        let new = queries.min(context);
        let seen = context.min(window.saturating_add(queries.saturating_sub(1)));
        let twice_pairs = match is_causal {
            false => product(&[2, queries, context.min(window)]),
            true => twice_causal_pairs(before, context, window),
        };
        Self { queries, new: new.min(seen), cached: seen.saturating_sub(new), twice_pairs }
    }

    /// Returns the sums of several equal batches.
    pub(crate) fn times(self, n: u64) -> Self {
        let [queries, new, cached, twice_pairs] =
            [self.queries, self.new, self.cached, self.twice_pairs].map(|sum| product(&[n, sum]));
        Self { queries, new, cached, twice_pairs }
    }

    /// Returns the sums of both batches.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            queries: self.queries.saturating_add(other.queries),
            new: self.new.saturating_add(other.new),
            cached: self.cached.saturating_add(other.cached),
            twice_pairs: self.twice_pairs.saturating_add(other.twice_pairs),
        }
    }
}

/// Returns twice the area under `min(position, window)` between two positions:
///
/// ```text
/// keys   window  ____________
///               /
///              /|          |
///             / |          |
///        before          context
/// ```
fn twice_causal_pairs(before: u64, context: u64, window: u64) -> u64 {
    let full = context.saturating_sub(before.max(window));
    let (from, to) = (before.min(window), context.min(window));
    let growing = to.saturating_sub(from).saturating_mul(to.saturating_add(from));
    if full == 0 { growing } else { growing.saturating_add(product(&[2, window, full])) }
}

impl Attention {
    /// Returns two operations for each pair and element of a head, in both products; the softmax does not count.
    /// Queries, results, keys and values are moved once.
    pub(crate) fn work(&self, sums: TokenSums, types: Option<AttentionTypes>) -> OpWork {
        let dims = self.qk_dim.saturating_add(self.v_dim);
        let flop = product(&[self.heads, dims, sums.twice_pairs]);
        let queries = product(&[sums.queries, self.heads, dims]);
        let [new, cached] = [sums.new, sums.cached].map(|tokens| product(&[tokens, self.kv_heads, dims]));
        let bytes = |types: AttentionTypes| {
            sum(&[types.query.bytes(queries), types.query.bytes(new), types.cache.bytes(cached)])
        };
        OpWork { flop, bytes: types.map(bytes) }
    }

    /// Returns its heads as text.
    pub(crate) fn shape(&self) -> String {
        let &Self { heads, kv_heads, qk_dim, v_dim } = self;
        let v_dim = if qk_dim == v_dim { String::new() } else { format!("+{v_dim}") };
        let heads = if heads == kv_heads { heads.to_string() } else { format!("{heads}/{kv_heads}") };
        format!("heads={heads} dim={qk_dim}{v_dim}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADS: Attention = Attention { heads: 8, kv_heads: 2, qk_dim: 64, v_dim: 32 };

    #[test]
    fn keys_of_grouped_heads_are_moved_once() {
        let types = Some(AttentionTypes { query: DataType::Bf16, cache: DataType::Bf16 });
        let work = HEADS.work(TokenSums::of_batch(3, 10, 20, false), types);
        assert_eq!(work.flop, 3 * 8 * 2 * 10 * 20 * (64 + 32));
        assert_eq!(work.bytes, Some(2 * 3 * (10 * 8 + 20 * 2) * (64 + 32)));
    }

    #[test]
    fn a_causal_mask_halves_square_attention_only() {
        let flop = |queries, keys, is_causal| HEADS.work(TokenSums::of_batch(1, queries, keys, is_causal), None).flop;
        assert_eq!(flop(10, 10, true) * 2, flop(10, 10, false));
        assert_eq!(flop(10, 20, true), flop(10, 20, false));
    }

    #[test]
    fn cached_tokens_have_their_own_type() {
        let types = Some(AttentionTypes { query: DataType::Bf16, cache: DataType::Fp8 });
        let sums = TokenSums::of_sequence(1, 100, true, None);
        assert_eq!((sums.queries, sums.new, sums.cached, sums.twice_pairs), (1, 1, 99, 199));
        assert_eq!(HEADS.work(sums, types).bytes, Some(2 * (8 + 2) * 96 + 99 * 2 * 96));
    }

    #[test]
    fn a_window_limits_pairs_and_keys() {
        let decode = TokenSums::of_sequence(1, 1000, true, Some(128));
        assert_eq!((decode.new + decode.cached, decode.twice_pairs), (128, 256));
        let prefill = TokenSums::of_sequence(1000, 1000, true, Some(128));
        assert_eq!((prefill.new, prefill.cached), (1000, 0));
        assert_eq!(prefill.twice_pairs, 128 * 128 + 2 * 128 * (1000 - 128));
        let wide = TokenSums::of_sequence(1000, 1000, true, Some(5000));
        assert_eq!(wide, TokenSums::of_sequence(1000, 1000, true, None));
    }

    proptest! {
        #[test]
        fn causal_pairs_of_parts_sum_to_those_of_the_whole(cut in 0_u64..200, rest in 0_u64..200, window in 1_u64..300) {
            let pairs = |queries, context| TokenSums::of_sequence(queries, context, true, Some(window)).twice_pairs;
            prop_assert_eq!(pairs(cut, cut) + pairs(rest, cut + rest), pairs(cut + rest, cut + rest));
        }

        #[test]
        fn without_a_window_pairs_are_those_of_the_usual_formula(queries in 0_u64..500, before in 0_u64..500) {
            let context = queries + before;
            let pairs = TokenSums::of_sequence(queries, context, true, None).twice_pairs;
            prop_assert_eq!(pairs, 2 * queries * context - queries * queries);
        }
    }
}
