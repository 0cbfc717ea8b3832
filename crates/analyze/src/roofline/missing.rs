//! Reasons why an operation has no model.

/// Reason why the work of an operation is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Missing {
    /// There is no formula for the operation.
    UnknownOperation,
    /// The operation is known, and its shapes are not recorded.
    NoShapes,
    /// The shapes do not fit the operation.
    UnexpectedShapes,
    /// The lengths of the sequences are not recorded: the mark of the step does not state their sums.
    NoSequenceLengths,
    /// The number of ranks is not recorded.
    NoRanks,
    /// The kernel was launched by a graph: its operation and shapes are in the capture of the graph.
    ReplayedGraph,
    /// The launch of the kernel is not in the file, or lies in no operation.
    NoOperation,
    /// The operation launches kernels, and no device work is in the file.
    NoDeviceWork,
}

impl Missing {
    /// Returns the reason as part of a sentence.
    pub fn describe(self) -> &'static str {
        match self {
            Self::UnknownOperation => "no formula for this operation",
            Self::NoShapes => "no shapes recorded",
            Self::UnexpectedShapes => "shapes that do not fit the operation",
            Self::NoSequenceLengths => "no sums of sequence lengths in the mark of its step",
            Self::NoRanks => "no number of ranks recorded",
            Self::ReplayedGraph => "launched by a graph: shapes are in its capture (`--capture`)",
            Self::NoOperation => "no operation in the file launched it",
            Self::NoDeviceWork => "its kernels are not in the file",
        }
    }
}
