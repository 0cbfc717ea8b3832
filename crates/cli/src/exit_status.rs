//! The exit code.

use std::process::ExitCode;

/// The exit code, from best to worst. Several files get the worst of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ExitStatus {
    /// Done, and nothing was found.
    Success = 0,
    /// Done, and something was found.
    Finding = 1,
    /// Not done.
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
