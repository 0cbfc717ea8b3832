//! Mixtures of experts.

use super::attempt::Attempt;
use super::inputs::Inputs;
use crate::roofline::missing::Missing;
use crate::roofline::modelled::Modelled;
use crate::roofline::work::{Moe, OpKind};

/// Operations with the inputs tokens, first weights, second weights, and the weights of the experts of each token.
const FUSED: [&str; 6] = [
    "vllm::inplace_fused_experts",
    "vllm::outplace_fused_experts",
    "sglang::inplace_fused_experts",
    "sglang::outplace_fused_experts",
    "sgl_kernel::fused_experts",
    "vllm::rocm_aiter_fused_moe",
];

/// Models the experts of a mixture of experts.
pub(super) fn model(name: &str, inputs: &Inputs) -> Attempt {
    FUSED.contains(&name).then(|| fused(inputs).ok_or(Missing::UnexpectedShapes))
}

fn fused(inputs: &Inputs) -> Option<Modelled> {
    let ([tokens, hidden], data_type) = inputs.tensor_of(0)?;
    let ([experts, first_rows, _], weight_type) = inputs.tensor_of(1)?;
    let ([_, _, inter], _) = inputs.tensor_of(2)?;
    let ([_, top_k], _) = inputs.tensor_of(3)?;
    let is_gated = first_rows == inter.checked_mul(2)?;
    let moe = Moe { tokens, hidden, inter, experts, top_k, is_gated, used: None };
    let work = moe.work(data_type.zip(weight_type));
    Some(Modelled { kind: OpKind::Moe, data_type, shape: moe.shape(), work })
}
