//! The end of a process.

use rustix::process::WaitStatus;
use signal_hook::low_level::signal_name;
use std::fmt;

/// Number that shells add to the signal that ended a process.
const SIGNAL_CODES: i32 = 128;

/// Exit code or signal of a process that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Exit(i32),
    Signal(i32),
}

impl End {
    /// Returns `None` if the process has not ended.
    pub(crate) fn of(status: WaitStatus) -> Option<Self> {
        status.exit_status().map(Self::Exit).or_else(|| status.terminating_signal().map(Self::Signal))
    }

    /// Returns the exit code that a shell would report.
    pub(crate) fn exit_code(self) -> u8 {
        let code = match self {
            Self::Exit(code) => code,
            Self::Signal(signal) => SIGNAL_CODES + signal,
        };
        // The system has no larger codes.
        u8::try_from(code).unwrap_or(u8::MAX)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exit {code}"),
            Self::Signal(signal) => match signal_name(*signal) {
                Some(name) => f.write_str(name),
                None => write!(f, "signal {signal}"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_shells() {
        assert_eq!([End::Exit(0), End::Exit(3), End::Exit(255)].map(End::exit_code), [0, 3, 255]);
        assert_eq!([End::Signal(2), End::Signal(9)].map(End::exit_code), [130, 137]);
    }

    #[test]
    fn signals_have_names() {
        let ends = [End::Exit(1), End::Signal(9), End::Signal(6), End::Signal(25), End::Signal(40)];
        assert_eq!(ends.map(|end| end.to_string()), ["exit 1", "SIGKILL", "SIGABRT", "SIGXFSZ", "signal 40"]);
    }
}
