//! Matrix products and convolutions.

use super::attempt::Attempt;
use super::inputs::{Inputs, Tensor};
use crate::roofline::missing::Missing;
use crate::roofline::modelled::Modelled;
use crate::roofline::work::{Convolution, DataType, Gemm, GemmTypes, OpKind, product};

/// Models a matrix product or a convolution.
pub(super) fn model(name: &str, inputs: &Inputs) -> Attempt {
    let modelled = match name {
        "aten::mm" => plain(inputs, 0, false),
        "aten::addmm" | "aten::addmm_" => plain(inputs, 1, true),
        "aten::bmm" => batched(inputs, 0, false),
        "aten::baddbmm" | "aten::baddbmm_" => batched(inputs, 1, true),
        "aten::matmul" => matmul(inputs),
        "aten::linear" | "vllm::rocm_unquantized_gemm" => linear(inputs),
        "aten::_scaled_mm" => scaled(inputs),
        "aten::_grouped_mm" => grouped(inputs),
        "aten::convolution" | "aten::_convolution" => convolution(inputs),
        _ => return None,
    };
    Some(modelled.ok_or(Missing::UnexpectedShapes))
}

/// Returns the product of two matrices at `first` and after it. Its type is that of the first.
fn plain(inputs: &Inputs, first: usize, has_bias: bool) -> Option<Modelled> {
    let ([m, k], data_type) = inputs.tensor_of(first)?;
    let ([inner, n], _) = inputs.tensor_of(first + 1)?;
    (inner == k).then(|| uniform(Gemm { batch: 1, m, n, k, groups: 1, has_bias }, data_type))
}

/// Returns the products of two lists of matrices.
fn batched(inputs: &Inputs, first: usize, has_bias: bool) -> Option<Modelled> {
    let ([batch, m, k], data_type) = inputs.tensor_of(first)?;
    let ([other_batch, inner, n], _) = inputs.tensor_of(first + 1)?;
    (inner == k && other_batch == batch).then(|| uniform(Gemm { batch, m, n, k, groups: 1, has_bias }, data_type))
}

/// Returns the product of tensors of any number of dimensions. A second one with two dimensions is one matrix.
fn matmul(inputs: &Inputs) -> Option<Modelled> {
    let (one, other) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let (&k, ahead) = one.dims.split_last()?;
    let gemm = match *other.dims {
        [inner] if inner == k => Gemm { batch: 1, m: product(ahead), n: 1, k, groups: 1, has_bias: false },
        [inner, n] if inner == k => Gemm { batch: 1, m: product(ahead), n, k, groups: 1, has_bias: false },
        [.., inner, n] if inner == k => {
            let (&m, batch) = ahead.split_last()?;
            let of_other = product(other.dims.get(..other.dims.len() - 2)?);
            Gemm { batch: product(batch).max(of_other), m, n, k, groups: 1, has_bias: false }
        }
        _ => return None,
    };
    Some(uniform(gemm, one.data_type))
}

/// Returns the product with a weight whose rows are the columns of the result.
fn linear(inputs: &Inputs) -> Option<Modelled> {
    let input = inputs.tensor(0)?;
    let ([n, inner], _) = inputs.tensor_of(1)?;
    let (&k, ahead) = input.dims.split_last()?;
    let has_bias = inputs.tensor(2).is_some();
    (inner == k).then(|| uniform(Gemm { batch: 1, m: product(ahead), n, k, groups: 1, has_bias }, input.data_type))
}

/// Returns the product of scaled 8-bit matrices; the result has 16 bits.
fn scaled(inputs: &Inputs) -> Option<Modelled> {
    let ([m, k], a) = inputs.tensor_of(0)?;
    let ([inner, n], b) = inputs.tensor_of(1)?;
    let gemm = Gemm { batch: 1, m, n, k, groups: 1, has_bias: false };
    let types = |a: DataType, b: DataType| {
        let out = if matches!(a, DataType::Fp8 | DataType::Int8) { DataType::Bf16 } else { a };
        GemmTypes { a, b, out }
    };
    (inner == k).then(|| modelled(OpKind::Gemm, gemm, a, a.zip(b).map(|(a, b)| types(a, b))))
}

/// Returns the products of parts of the first tensor with the matrices of the second.
fn grouped(inputs: &Inputs) -> Option<Modelled> {
    let ([m, k], data_type) = inputs.tensor_of(0)?;
    let ([groups, inner, n], _) = inputs.tensor_of(1)?;
    let gemm = Gemm { batch: 1, m, n, k, groups, has_bias: false };
    (inner == k).then(|| modelled(OpKind::GroupedGemm, gemm, data_type, data_type.map(GemmTypes::uniform)))
}

fn uniform(gemm: Gemm, data_type: Option<DataType>) -> Modelled {
    modelled(OpKind::Gemm, gemm, data_type, data_type.map(GemmTypes::uniform))
}

fn modelled(kind: OpKind, gemm: Gemm, data_type: Option<DataType>, types: Option<GemmTypes>) -> Modelled {
    Modelled { kind, data_type, shape: gemm.shape(), work: gemm.work(types) }
}

/// Returns a convolution. Its bias does not count: most backends add it with an operation of its own.
fn convolution(inputs: &Inputs) -> Option<Modelled> {
    let (Tensor { dims: input, data_type }, weight) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let list = |place, default| inputs.number_list(place).unwrap_or_else(|| vec![default]);
    let convolution = Convolution {
        input: input.to_vec(),
        weight: weight.dims.to_vec(),
        stride: list(3, 1),
        padding: list(4, 0),
        dilation: list(5, 1),
        transposed: inputs.is_true(6).then(|| list(7, 0)),
        groups: inputs.number(8).unwrap_or(1),
    };
    let work = convolution.work(data_type)?;
    Some(Modelled { kind: OpKind::Convolution, data_type, shape: convolution.shape(), work })
}
