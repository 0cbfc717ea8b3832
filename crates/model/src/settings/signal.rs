//! The signals that can serve as a trigger.

use std::fmt;

/// A signal that the system leaves to programs: SIGUSR1, SIGUSR2, SIGHUP and, on Linux, SIGRTMIN to SIGRTMAX. Signals
/// for faults, and signals that stop or end a program, are excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    number: i32,
}

#[cfg(unix)]
impl Signal {
    /// SIGHUP.
    pub const HUP: Self = Self { number: libc::SIGHUP };
    /// SIGUSR1.
    pub const USR1: Self = Self { number: libc::SIGUSR1 };
    /// SIGUSR2.
    pub const USR2: Self = Self { number: libc::SIGUSR2 };

    const NAMED: [(&'static str, Self); 3] = [("SIGHUP", Self::HUP), ("SIGUSR1", Self::USR1), ("SIGUSR2", Self::USR2)];

    /// Returns the signal with this number, if programs may use it.
    pub fn from_number(number: i32) -> Option<Self> {
        let is_named = Self::NAMED.iter().any(|(_, named)| named.number == number);
        (is_named || is_real_time(number)).then_some(Self { number })
    }

    /// Parses `SIGUSR2`, `usr2`, `12` or `SIGRTMIN+3`.
    pub fn from_text(text: &str) -> Option<Self> {
        let upper = text.trim().to_ascii_uppercase();
        if let Ok(number) = upper.parse() {
            return Self::from_number(number);
        }
        let name = upper.strip_prefix("SIG").unwrap_or(&upper);
        if let Some(rest) = name.strip_prefix("RTMIN") {
            let above = match rest.trim() {
                "" => 0,
                rest => rest.strip_prefix('+')?.trim().parse::<u8>().ok()?,
            };
            return Some(Self { number: real_time_min()? + i32::from(above) }).filter(|it| is_real_time(it.number));
        }
        Self::NAMED.iter().find(|(named, _)| named.strip_prefix("SIG") == Some(name)).map(|&(_, signal)| signal)
    }
}

#[cfg(not(unix))]
impl Signal {
    /// Returns `None`: there are no signals on this platform.
    pub fn from_text(_text: &str) -> Option<Self> {
        None
    }
}

impl Signal {
    /// Returns the system's number of the signal.
    pub fn number(self) -> i32 {
        self.number
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[cfg(unix)]
        if let Some((name, _)) = Self::NAMED.iter().find(|(_, named)| named == self) {
            return f.write_str(name);
        }
        match real_time_min() {
            Some(min) => write!(f, "SIGRTMIN+{}", self.number - min),
            None => write!(f, "{}", self.number),
        }
    }
}

/// Returns the first real-time signal. The C library reserves some, so it is known only at run time.
fn real_time_min() -> Option<i32> {
    #[cfg(target_os = "linux")]
    return Some(libc::SIGRTMIN());
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(unix)]
fn is_real_time(number: i32) -> bool {
    #[cfg(target_os = "linux")]
    return (libc::SIGRTMIN()..=libc::SIGRTMAX()).contains(&number);
    #[cfg(not(target_os = "linux"))]
    return number < 0;
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_parsed() {
        for (text, signal) in
            [("SIGUSR2", Signal::USR2), ("usr1", Signal::USR1), ("10", Signal::USR1), ("hup", Signal::HUP)]
        {
            assert_eq!(Signal::from_text(text), Some(signal), "{text}");
        }
        let real_time = Signal::from_text("SIGRTMIN + 2").unwrap();
        assert_eq!((real_time.number, real_time.to_string().as_str()), (libc::SIGRTMIN() + 2, "SIGRTMIN+2"));
        assert_eq!(Signal::from_number(libc::SIGRTMIN()), Signal::from_text("rtmin"));
    }

    #[test]
    fn signals_that_end_or_stop_a_program_or_report_a_fault_are_refused() {
        let texts = [
            "SIGKILL",
            "9",
            "SIGSTOP",
            "SIGSEGV",
            "SIGTERM",
            "SIGINT",
            "SIGCHLD",
            "0",
            "-1",
            "32",
            "65",
            "SIGRTMIN+99",
        ];
        for text in texts.into_iter().chain(["", "SIG", "SIGRTMIN-1", "SIGRTMIN+-1", "99999999999999"]) {
            assert_eq!(Signal::from_text(text), None, "{text}");
        }
    }
}
