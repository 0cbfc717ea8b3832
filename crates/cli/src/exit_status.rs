//! The exit code.

use std::process::ExitCode;

/// The exit code, from best to worst. Several files get the worst of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ExitStatus {
    /// Done, and nothing was found.
    Success,
    /// Done, and the data is not enough for an answer.
    Unknown,
    /// Done, and something was found.
    Finding,
    /// Not done.
    Error,
    /// Ended by Ctrl-C or a signal.
    Interrupted,
}

impl ExitStatus {
    /// Returns the code. The codes are not in the order of severity: 1 and 2 are the codes of other tools.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Finding => 1,
            Self::Error => 2,
            Self::Unknown => 3,
            Self::Interrupted => 130,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.code())
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
        assert!(ExitStatus::Finding > ExitStatus::Unknown, "a finding is certain");
    }

    #[test]
    fn every_status_has_its_code() {
        use ExitStatus::{Error, Finding, Interrupted, Success, Unknown};
        assert_eq!([Success, Finding, Error, Unknown, Interrupted].map(ExitStatus::code), [0, 1, 2, 3, 130]);
    }
}
