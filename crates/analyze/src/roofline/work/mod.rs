//! FLOP and bytes of operations, by their shapes. `docs/roofline.md` has the formulas.

mod attention;
mod collective;
mod convolution;
mod counts;
mod data_type;
mod elementwise;
mod gemm;
mod kind;
mod moe;
mod norm;
mod op_work;

pub(super) use attention::{Attention, AttentionTypes, TokenSums};
pub(super) use collective::{Collective, CollectiveKind};
pub(super) use convolution::Convolution;
pub(super) use counts::product;
pub use data_type::DataType;
pub(super) use elementwise::{broadcast, moved};
pub(super) use gemm::{Gemm, GemmTypes};
pub use kind::{OpKind, Unit};
pub(super) use moe::Moe;
pub(super) use norm::{BatchNorm, LayerNorm, RmsNorm};
pub use op_work::OpWork;
