//! Norms.

use super::attempt::Attempt;
use super::inputs::{Inputs, Tensor};
use crate::roofline::missing::Missing;
use crate::roofline::modelled::Modelled;
use crate::roofline::work::{BatchNorm, LayerNorm, OpKind, OpWork, RmsNorm, product};

/// Models a norm.
pub(super) fn model(name: &str, inputs: &Inputs) -> Attempt {
    let modelled = match name {
        "aten::layer_norm" | "aten::native_layer_norm" => layer_norm(inputs),
        "aten::group_norm" | "aten::native_group_norm" => group_norm(inputs),
        "aten::batch_norm" | "aten::native_batch_norm" | "aten::cudnn_batch_norm" | "aten::miopen_batch_norm" => {
            batch_norm(inputs)
        }
        name if is_rms_norm(name) => rms_norm(inputs, name.contains("add")),
        _ => return None,
    };
    Some(modelled.ok_or(Missing::UnexpectedShapes))
}

/// Returns true for the RMS norm of any library. Those that also quantize move other types.
fn is_rms_norm(name: &str) -> bool {
    let is_norm = name.contains("rms_norm") || name.contains("rmsnorm");
    is_norm && !name.contains("quant") && !name.contains("backward") && !name.contains("static")
}

fn layer_norm(inputs: &Inputs) -> Option<Modelled> {
    let input = inputs.tensor(0)?;
    let channels = product(&inputs.number_list(1)?);
    Some(modelled(input, channels, LayerNorm { elements: input.elements(), channels }.work(input.data_type)))
}

fn group_norm(inputs: &Inputs) -> Option<Modelled> {
    let input = inputs.tensor(0)?;
    let &channels = input.dims.get(1)?;
    Some(modelled(input, channels, LayerNorm { elements: input.elements(), channels }.work(input.data_type)))
}

fn batch_norm(inputs: &Inputs) -> Option<Modelled> {
    let input = inputs.tensor(0)?;
    let &channels = input.dims.get(1)?;
    let norm = BatchNorm { elements: input.elements(), channels, is_training: inputs.is_true(5) };
    Some(modelled(input, channels, norm.work(input.data_type)))
}

/// Returns an RMS norm. Libraries order the inputs differently: the weight is the first tensor with one dimension, and
/// the input the first tensor whose rows have its length.
fn rms_norm(inputs: &Inputs, has_residual: bool) -> Option<Modelled> {
    let weight = inputs.tensors().find(|tensor| tensor.dims.len() == 1)?;
    let channels = weight.elements();
    let is_input = |tensor: &Tensor<'_>| tensor.dims.len() > 1 && tensor.dims.last() == Some(&channels);
    let input = inputs.tensors().find(is_input)?;
    let norm = RmsNorm { elements: input.elements(), channels, has_residual };
    Some(modelled(input, channels, norm.work(input.data_type)))
}

fn modelled(input: Tensor<'_>, channels: u64, work: OpWork) -> Modelled {
    let shape = format!("input={} channels={channels}", super::elementwise::dims_text(input.dims));
    Modelled { kind: OpKind::Norm, data_type: input.data_type, shape, work }
}
