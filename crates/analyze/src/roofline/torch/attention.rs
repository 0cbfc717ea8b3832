//! Attention.

use super::attempt::{Attempt, Context};
use super::inputs::Inputs;
use crate::roofline::missing::Missing;
use crate::roofline::modelled::Modelled;
use crate::roofline::step_sums::StepSums;
use crate::roofline::work::{Attention, AttentionTypes, DataType, OpKind, TokenSums};

/// Order of the dimensions of queries, keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Batch, heads, tokens, elements.
    HeadsFirst,
    /// Batch, tokens, heads, elements.
    TokensFirst,
}

/// Operations on a batch of equally long sequences, with the place of the value that states a causal mask.
const DENSE: [(&str, Layout, usize); 9] = [
    ("aten::scaled_dot_product_attention", Layout::HeadsFirst, 5),
    ("aten::_scaled_dot_product_attention_math", Layout::HeadsFirst, 5),
    ("aten::_scaled_dot_product_flash_attention", Layout::HeadsFirst, 4),
    ("aten::_scaled_dot_product_flash_attention_for_cpu", Layout::HeadsFirst, 4),
    ("aten::_scaled_dot_product_efficient_attention", Layout::HeadsFirst, 6),
    ("aten::_scaled_dot_product_cudnn_attention", Layout::HeadsFirst, 6),
    ("aten::_flash_attention_forward", Layout::TokensFirst, 8),
    ("flash_attn::_flash_attn_forward", Layout::TokensFirst, 5),
    ("FlashAttnFunc", Layout::TokensFirst, 5),
];

/// Operations over a paged cache, whose sequence lengths are those of the step.
const PAGED: [&str; 4] = [
    "vllm::unified_attention",
    "vllm::unified_attention_with_output",
    "sglang::unified_attention_with_output",
    "vllm::unified_mla_attention",
];

/// Models an attention.
pub(super) fn model(name: &str, inputs: &Inputs, context: &Context) -> Attempt {
    if let Some(&(_, layout, causal)) = DENSE.iter().find(|(known, ..)| *known == name) {
        return Some(dense(inputs, layout, inputs.is_true(causal)).ok_or(Missing::UnexpectedShapes));
    }
    PAGED.contains(&name).then(|| paged(inputs, context.sums.ok_or(Missing::NoSequenceLengths)?))
}

/// Sizes of a tensor of queries, keys or values.
struct Sizes {
    batch: u64,
    heads: u64,
    tokens: u64,
    dim: u64,
    data_type: Option<DataType>,
}

impl Sizes {
    fn of(inputs: &Inputs, place: usize, layout: Layout) -> Option<Self> {
        let ([batch, one, other, dim], data_type) = inputs.tensor_of(place)?;
        let (heads, tokens) = if layout == Layout::HeadsFirst { (one, other) } else { (other, one) };
        Some(Self { batch, heads, tokens, dim, data_type })
    }
}

fn dense(inputs: &Inputs, layout: Layout, is_causal: bool) -> Option<Modelled> {
    let [query, key, value] = [0, 1, 2].map(|place| Sizes::of(inputs, place, layout));
    let (query, key, value) = (query?, key?, value?);
    if (query.batch, query.dim) != (key.batch, key.dim) || (key.tokens, key.heads) != (value.tokens, value.heads) {
        return None;
    }
    let attention = Attention { heads: query.heads, kv_heads: key.heads, qk_dim: query.dim, v_dim: value.dim };
    let sums = TokenSums::of_batch(query.batch, query.tokens, key.tokens, is_causal);
    let mask = if is_causal { " causal" } else { "" };
    let shape = format!("b={} q={} kv={} {}{mask}", query.batch, query.tokens, key.tokens, attention.shape());
    let types = query.data_type.map(|query| AttentionTypes { query, cache: query });
    let work = attention.work(sums, types);
    Some(Modelled { kind: OpKind::Attention, data_type: query.data_type, shape, work })
}

/// Returns the attention of a step. Queries and keys are tensors of tokens, heads and elements.
fn paged(inputs: &Inputs, sums: StepSums) -> Result<Modelled, Missing> {
    let query = inputs.tensor_of::<3>(0).ok_or(Missing::UnexpectedShapes)?;
    let key = inputs.tensor_of::<3>(1).ok_or(Missing::UnexpectedShapes)?;
    let ([_, heads, qk_dim], data_type) = query;
    let ([_, kv_heads, _], cache) = key;
    let v_dim = inputs.tensor_of::<3>(2).map_or(qk_dim, |([_, _, dim], _)| dim);
    let attention = Attention { heads, kv_heads, qk_dim, v_dim };
    let types = data_type.zip(cache).map(|(query, cache)| AttentionTypes { query, cache });
    let work = attention.work(sums.tokens(), types);
    let shape = format!("{} {}", sums.shape(), attention.shape());
    Ok(Modelled { kind: OpKind::Attention, data_type, shape, work })
}
