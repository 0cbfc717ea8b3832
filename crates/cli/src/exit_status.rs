//! What the exit code says.

use std::process::ExitCode;

/// From best to worst; several files have the worst of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExitStatus {
    /// All is as it should be.
    Success = 0,
    /// The work is done, and something was found.
    Finding = 1,
    /// The work could not be done.
    Error = 2,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_several_is_the_largest() {
        let statuses = [ExitStatus::Success, ExitStatus::Error, ExitStatus::Finding];
        assert_eq!(statuses.into_iter().max(), Some(ExitStatus::Error));
        assert!(ExitStatus::Finding > ExitStatus::Success);
    }
}
