//! Work of an operation.

/// Work of one call of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OpWork {
    /// Floating-point operations; a multiplication and an addition count as two.
    pub flop: u64,
    /// Bytes that have to be moved, each tensor once; `None` if a type is unknown.
    pub bytes: Option<u64>,
}
