//! Kinds of operations.

/// Kind of an operation: it selects the formula and the limit of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpKind {
    /// Matrix product, also batched.
    Gemm,
    /// Matrix products of several weight matrices with parts of one input.
    GroupedGemm,
    /// Convolution.
    Convolution,
    /// Attention of any kind.
    Attention,
    /// Experts of a mixture of experts.
    Moe,
    /// Layer norm, RMS norm, batch norm, group norm.
    Norm,
    /// Operation on each element.
    Elementwise,
    /// Sum, mean, maximum and other reductions of one tensor.
    Reduction,
    /// Copy within a device.
    Copy,
    /// Copy between host and device.
    Transfer,
    /// Communication between ranks.
    Collective,
}

/// Part of a device that limits an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Matrix units and memory.
    Matrix,
    /// Vector units and memory.
    Vector,
    /// Connection to other devices.
    Link,
    /// Connection to the host, for which devices have no figure.
    Host,
}

impl OpKind {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gemm => "gemm",
            Self::GroupedGemm => "grouped gemm",
            Self::Convolution => "convolution",
            Self::Attention => "attention",
            Self::Moe => "moe",
            Self::Norm => "norm",
            Self::Elementwise => "elementwise",
            Self::Reduction => "reduction",
            Self::Copy => "copy",
            Self::Transfer => "transfer",
            Self::Collective => "collective",
        }
    }

    /// Returns the part of a device that limits it.
    pub fn unit(self) -> Unit {
        match self {
            Self::Gemm | Self::GroupedGemm | Self::Convolution | Self::Attention | Self::Moe => Unit::Matrix,
            Self::Norm | Self::Elementwise | Self::Reduction | Self::Copy => Unit::Vector,
            Self::Collective => Unit::Link,
            Self::Transfer => Unit::Host,
        }
    }

    /// Returns true if its bytes are those of the memory of a device.
    pub fn uses_memory(self) -> bool {
        matches!(self.unit(), Unit::Matrix | Unit::Vector)
    }
}
