//! How a process ended.

use rustix::process::{Signal, WaitStatus};
use std::fmt;

/// What shells add to the number of the signal that ended a process.
const SIGNAL_CODES: i32 = 128;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Exit(i32),
    Signal(i32),
}

impl End {
    /// `None` if it has not ended.
    pub fn of(status: WaitStatus) -> Option<Self> {
        status.exit_status().map(Self::Exit).or_else(|| status.terminating_signal().map(Self::Signal))
    }

    /// What a shell would say of it.
    pub fn exit_code(self) -> u8 {
        let code = match self {
            Self::Exit(code) => code,
            Self::Signal(signal) => SIGNAL_CODES + signal,
        };
        // The system gives no others.
        u8::try_from(code).unwrap_or(u8::MAX)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exit {code}"),
            Self::Signal(signal) => match name_of(*signal) {
                Some(name) => write!(f, "SIG{name}"),
                None => write!(f, "signal {signal}"),
            },
        }
    }
}

/// The signals that processes usually end by.
fn name_of(signal: i32) -> Option<&'static str> {
    Some(match Signal::from_named_raw(signal)? {
        Signal::HUP => "HUP",
        Signal::INT => "INT",
        Signal::QUIT => "QUIT",
        Signal::ILL => "ILL",
        Signal::TRAP => "TRAP",
        Signal::ABORT => "ABRT",
        Signal::BUS => "BUS",
        Signal::FPE => "FPE",
        Signal::KILL => "KILL",
        Signal::USR1 => "USR1",
        Signal::SEGV => "SEGV",
        Signal::USR2 => "USR2",
        Signal::PIPE => "PIPE",
        Signal::ALARM => "ALRM",
        Signal::TERM => "TERM",
        Signal::XCPU => "XCPU",
        Signal::SYS => "SYS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_shells() {
        assert_eq!([End::Exit(0), End::Exit(3), End::Exit(255)].map(End::exit_code), [0, 3, 255]);
        assert_eq!([End::Signal(2), End::Signal(9)].map(End::exit_code), [130, 137]);
    }

    #[test]
    fn signals_have_names() {
        let words = [End::Exit(1), End::Signal(9), End::Signal(6), End::Signal(40)].map(|end| end.to_string());
        assert_eq!(words, ["exit 1", "SIGKILL", "SIGABRT", "signal 40"]);
    }
}
