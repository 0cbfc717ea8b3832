//! Input and result of a model.

use crate::roofline::missing::Missing;
use crate::roofline::modelled::Modelled;
use crate::roofline::step_sums::StepSums;

/// Facts from around an operation.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::roofline) struct Context {
    /// Sums of sequence lengths, from the mark of the step.
    pub(in crate::roofline) sums: Option<StepSums>,
    /// Number of ranks of the run.
    pub(in crate::roofline) ranks: Option<u64>,
}

/// Result of a model: `None` if the name is not one of its operations.
pub(super) type Attempt = Option<Result<Modelled, Missing>>;
