//! Signals that arrive while the program runs, and ends of its processes.

use crate::os::interrupt;
use rustix::process::Signal;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Origin};
use std::io;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Signals that are forwarded to the program.
const FORWARDED: [i32; 6] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2];
/// Signals that ask a process to exit.
const TERMINATION: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// A process event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ProcessEvent {
    /// A process may have ended.
    ChildEnded,
    Signal(ReceivedSignal),
}

/// A signal that this process has received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceivedSignal {
    pub(crate) signal: Signal,
    /// True if it comes from the terminal, which sends it to the whole process group.
    pub(crate) is_from_terminal: bool,
}

impl ReceivedSignal {
    /// Returns true if it asks the process to exit.
    pub(crate) fn is_termination(self) -> bool {
        TERMINATION.contains(&self.signal.as_raw())
    }
}

/// Receives process events.
#[derive(Debug)]
pub(crate) struct ProcessEvents {
    receiver: Receiver<ProcessEvent>,
    /// Printed when a signal ends this process; `None` while signals are forwarded to the program.
    exit_message: Arc<Mutex<Option<String>>>,
}

impl ProcessEvents {
    /// Starts to catch signals. Ignored signals stay ignored, here and in the program.
    pub(crate) fn listen() -> io::Result<Self> {
        let ignored = ignored_signals();
        let wanted = FORWARDED.into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0);
        let mut signals = SignalsInfo::<WithOrigin>::new(wanted.chain([SIGCHLD]))?;
        let (sender, receiver) = channel();
        let exit_message = Arc::new(Mutex::new(None::<String>));
        let message = Arc::clone(&exit_message);
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for origin in &mut signals {
                let Some(event) = event_of(&origin) else { continue };
                let message = message.lock().unwrap_or_else(PoisonError::into_inner);
                match (&event, &*message) {
                    (ProcessEvent::Signal(signal), Some(message)) if signal.is_termination() => {
                        interrupt::exit(message)
                    }
                    // The receiver is gone when this process is about to exit.
                    _ => drop(sender.send(event)),
                }
            }
        })?;
        Ok(Self { receiver, exit_message })
    }

    /// Waits for the next event, for at most `timeout`.
    pub(crate) fn next(&self, timeout: Duration) -> Option<ProcessEvent> {
        self.receiver.recv_timeout(timeout).ok()
    }

    /// Makes termination signals end this process with this message.
    pub(crate) fn exit_on_signal(&self, exit_message: String) {
        *self.exit_message.lock().unwrap_or_else(PoisonError::into_inner) = Some(exit_message);
    }
}

fn event_of(origin: &Origin) -> Option<ProcessEvent> {
    if origin.signal == SIGCHLD {
        return Some(ProcessEvent::ChildEnded);
    }
    let signal = Signal::from_named_raw(origin.signal)?;
    Some(ProcessEvent::Signal(ReceivedSignal { signal, is_from_terminal: is_from_terminal(origin) }))
}

/// The kernel sends these signals only on behalf of a terminal. If it does not report the cause, the signal has no
/// sender.
fn is_from_terminal(origin: &Origin) -> bool {
    match origin.cause {
        Cause::Kernel => true,
        Cause::Unknown => origin.process.as_ref().is_none_or(|process| process.pid == 0),
        _ => false,
    }
}

/// Returns a bit per signal, starting with signal 1. Empty on systems other than Linux.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored_in(&status).unwrap_or(0)
}

fn ignored_in(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        assert_eq!(ignored_in("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t00\n"), Some(0x1001));
        assert_eq!(ignored_in("Name:\tx\n"), None);
    }
}
