//! Elementwise operations, reductions and copies.

use super::attempt::Attempt;
use super::inputs::{Inputs, Tensor};
use crate::roofline::missing::Missing;
use crate::roofline::modelled::Modelled;
use crate::roofline::work::{DataType, OpKind, OpWork, broadcast, moved, product};

/// Operations on one tensor whose result has its shape and type.
const UNARY: &[&str] = &[
    "abs",
    "ceil",
    "clamp",
    "clamp_max",
    "clamp_min",
    "cos",
    "erf",
    "exp",
    "floor",
    "gelu",
    "hardtanh",
    "leaky_relu",
    "log",
    "neg",
    "pow",
    "reciprocal",
    "relu",
    "round",
    "rsqrt",
    "sigmoid",
    "silu",
    "sin",
    "sqrt",
    "tanh",
];

/// Operations on two tensors.
const BINARY: &[&str] =
    &["add", "div", "maximum", "minimum", "mul", "rsub", "sigmoid_backward", "sub", "threshold_backward"];

/// Operations that combine the elements of one tensor.
const REDUCTIONS: &[&str] = &[
    "amax",
    "amin",
    "argmax",
    "argmin",
    "linalg_norm",
    "linalg_vector_norm",
    "logsumexp",
    "max",
    "mean",
    "min",
    "norm",
    "std",
    "sum",
    "var",
];

/// Models an elementwise operation, a reduction or a copy.
pub(super) fn model(name: &str, inputs: &Inputs) -> Attempt {
    let plain = name.strip_prefix("aten::")?;
    let (plain, is_in_place) = plain.strip_suffix('_').map_or((plain, false), |plain| (plain, true));
    let modelled = match plain {
        "copy" => copy(inputs),
        "fill" | "zero" if is_in_place => fill(inputs),
        "_softmax" | "softmax" | "_log_softmax" | "log_softmax" => softmax(inputs),
        "cumsum" | "cumprod" => unary(inputs, OpKind::Reduction),
        _ if UNARY.contains(&plain) => unary(inputs, OpKind::Elementwise),
        _ if BINARY.contains(&plain) => binary(inputs, is_in_place),
        _ if REDUCTIONS.contains(&plain) => reduction(inputs),
        _ => return None,
    };
    Some(modelled.ok_or(Missing::UnexpectedShapes))
}

/// Returns one operation for each element, which is read and written.
fn unary(inputs: &Inputs, kind: OpKind) -> Option<Modelled> {
    let Tensor { dims, data_type } = inputs.tensor(0)?;
    let elements = product(dims);
    let work = OpWork { flop: elements, bytes: moved(&[(elements, data_type); 2]) };
    Some(Modelled { kind, data_type, shape: dims_text(dims), work })
}

/// Returns one operation for each element of the result; both tensors are read.
fn binary(inputs: &Inputs, is_in_place: bool) -> Option<Modelled> {
    let one = inputs.tensor(0)?;
    // The second one may be a number, which is not moved.
    let Some(other) = inputs.tensor(1) else { return unary(inputs, OpKind::Elementwise) };
    let elements = product(&broadcast(one.dims, other.dims)?);
    let result = inputs.tensor(2).filter(|tensor| !tensor.dims.is_empty());
    let data_type = match result {
        Some(result) => result.data_type,
        None if is_in_place => one.data_type,
        None => result_type(one, other),
    };
    let tensors = [(one.elements(), one.data_type), (other.elements(), other.data_type), (elements, data_type)];
    let shape = format!("{} {}", dims_text(one.dims), dims_text(other.dims));
    let work = OpWork { flop: elements, bytes: moved(&tensors) };
    Some(Modelled { kind: OpKind::Elementwise, data_type: one.data_type, shape, work })
}

/// Returns the type of the result of two tensors: the larger one, or that of the one with dimensions.
fn result_type(one: Tensor<'_>, other: Tensor<'_>) -> Option<DataType> {
    match (one.dims.is_empty(), other.dims.is_empty()) {
        (false, true) => one.data_type,
        (true, false) => other.data_type,
        _ => [one.data_type?, other.data_type?].into_iter().max_by_key(|it| it.bytes(1)),
    }
}

/// Returns one operation for each element. The result counts as one element: traces do not state its shape.
fn reduction(inputs: &Inputs) -> Option<Modelled> {
    let Tensor { dims, data_type } = inputs.tensor(0)?;
    let elements = product(dims);
    let work = OpWork { flop: elements, bytes: moved(&[(elements, data_type), (1, data_type)]) };
    Some(Modelled { kind: OpKind::Reduction, data_type, shape: dims_text(dims), work })
}

/// Returns five operations for each element: maximum, difference, exponential, sum and quotient.
fn softmax(inputs: &Inputs) -> Option<Modelled> {
    let modelled = unary(inputs, OpKind::Reduction)?;
    let flop = product(&[5, modelled.work.flop]);
    Some(Modelled { work: OpWork { flop, ..modelled.work }, ..modelled })
}

/// Returns a copy from the second tensor to the first, with one operation for each element.
fn copy(inputs: &Inputs) -> Option<Modelled> {
    let to = inputs.tensor(0)?;
    let from = inputs.tensor(1)?;
    let bytes = moved(&[(to.elements(), to.data_type), (from.elements(), from.data_type)]);
    let work = OpWork { flop: to.elements(), bytes };
    let name = |it: Option<DataType>| it.map_or("?", DataType::name);
    let types = if to.data_type == from.data_type { String::new() } else { format!(" from {}", name(from.data_type)) };
    let shape = format!("{}{types}", dims_text(to.dims));
    Some(Modelled { kind: OpKind::Copy, data_type: to.data_type, shape, work })
}

/// Returns an operation that only writes.
fn fill(inputs: &Inputs) -> Option<Modelled> {
    let Tensor { dims, data_type } = inputs.tensor(0)?;
    let work = OpWork { flop: 0, bytes: moved(&[(product(dims), data_type)]) };
    Some(Modelled { kind: OpKind::Copy, data_type, shape: dims_text(dims), work })
}

/// Returns the shape of a tensor as text: `4x197x768`, or `()` without dimensions.
pub(super) fn dims_text(dims: &[u64]) -> String {
    match dims {
        [] => "()".to_owned(),
        dims => dims.iter().map(u64::to_string).collect::<Vec<_>>().join("x"),
    }
}
