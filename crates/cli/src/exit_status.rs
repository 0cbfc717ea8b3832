//! What the exit code says.

use std::process::ExitCode;

/// From best to worst; several files have the worst of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// All is as it should be.
    Fine = 0,
    /// The work is done, and something was found.
    Finding = 1,
    /// The work could not be done.
    Trouble = 2,
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> Self {
        Self::from(verdict as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_several_is_the_largest() {
        let verdicts = [Verdict::Fine, Verdict::Trouble, Verdict::Finding];
        assert_eq!(verdicts.into_iter().max(), Some(Verdict::Trouble));
        assert!(Verdict::Finding > Verdict::Fine);
    }
}
