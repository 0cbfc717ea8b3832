//! Experts of a mixture of experts.

use super::counts::{product, sum};
use super::data_type::DataType;
use super::op_work::OpWork;

/// Experts, from the routed tokens to their weighted sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moe {
    /// Number of tokens.
    pub(crate) tokens: u64,
    /// Elements of a token.
    pub(crate) hidden: u64,
    /// Elements of a token inside an expert.
    pub(crate) inter: u64,
    /// Number of experts.
    pub(crate) experts: u64,
    /// Experts of each token.
    pub(crate) top_k: u64,
    /// True if the activation has a gate, which doubles the first product.
    pub(crate) is_gated: bool,
    /// Number of experts that get a token; `None` to expect it for uniform routing.
    pub(crate) used: Option<u64>,
}

impl Moe {
    /// Returns the products of all experts and the weighted sum of their results; input, output and the weights of the
    /// experts in use are moved once. `types` are those of the tokens and of the weights.
    pub(crate) fn work(&self, types: Option<(DataType, DataType)>) -> OpWork {
        let &Self { tokens, hidden, inter, top_k, .. } = self;
        let products = product(&[2, tokens, top_k, hidden, inter, self.n_products()]);
        let weighted_sum = product(&[tokens, hidden, product(&[2, top_k]).saturating_sub(1)]);
        let bytes = types.map(|(of_tokens, of_weights)| {
            let of_expert = product(&[self.n_products(), hidden, inter]);
            let weights = self.used_experts() * of_weights.bytes(of_expert) as f64;
            sum(&[of_tokens.bytes(product(&[2, tokens, hidden])), weights.round() as u64])
        });
        OpWork { flop: products.saturating_add(weighted_sum), bytes }
    }

    fn n_products(&self) -> u64 {
        if self.is_gated { 3 } else { 2 }
    }

    /// Returns the expected number of experts that get a token, if every expert is equally likely.
    fn used_experts(&self) -> f64 {
        if let Some(used) = self.used {
            return used.min(self.experts) as f64;
        }
        let (experts, top_k) = (self.experts as f64, self.top_k.min(self.experts) as f64);
        if experts == 0.0 { 0.0 } else { experts * (1.0 - (1.0 - top_k / experts).powf(self.tokens as f64)) }
    }

    /// Returns its shape as text.
    pub(crate) fn shape(&self) -> String {
        let &Self { tokens, hidden, inter, experts, top_k, .. } = self;
        format!("tokens={tokens} hidden={hidden} inter={inter} experts={experts} topk={top_k}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOE: Moe = Moe { tokens: 1, hidden: 8, inter: 4, experts: 16, top_k: 2, is_gated: true, used: None };

    #[test]
    fn one_token_uses_its_own_experts() {
        let work = MOE.work(Some((DataType::Bf16, DataType::Fp8)));
        assert_eq!(work.flop, 2 * 2 * 8 * 4 * 3 + 8 * 3);
        assert_eq!(work.bytes, Some(2 * 2 * 8 + 2 * 3 * 32));
    }

    #[test]
    fn many_tokens_use_all_experts() {
        let many = Moe { tokens: 10_000, ..MOE };
        assert_eq!(many.work(Some((DataType::Bf16, DataType::Fp8))).bytes, Some(4 * 10_000 * 8 + 16 * 3 * 32));
        let known = Moe { used: Some(5), ..many };
        assert_eq!(known.work(Some((DataType::Bf16, DataType::Fp8))).bytes, Some(4 * 10_000 * 8 + 5 * 3 * 32));
        assert_eq!(Moe { experts: 0, ..MOE }.work(Some((DataType::Bf16, DataType::Fp8))).bytes, Some(32));
    }
}
