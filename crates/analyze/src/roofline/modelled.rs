//! The model of an operation with one shape.

use super::work::{DataType, OpKind, OpWork};

/// Work of an operation with one shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Modelled {
    /// Its kind.
    pub(super) kind: OpKind,
    /// Type in which it computes, if known.
    pub(super) data_type: Option<DataType>,
    /// Its shape as text.
    pub(super) shape: String,
    /// Work of one call.
    pub(super) work: OpWork,
}
