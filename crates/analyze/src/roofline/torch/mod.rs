//! Models of the operations that torch's profiler records with their inputs.

mod attempt;
mod attention;
mod collective;
mod elementwise;
mod gemm;
mod inputs;
mod model;
mod moe;
mod norm;

pub(super) use attempt::Context;
pub(super) use collective::kernel_collective;
pub(super) use inputs::Inputs;
pub(super) use model::model;

#[cfg(test)]
mod tests;
