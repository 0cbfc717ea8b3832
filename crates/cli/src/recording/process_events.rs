//! What happens while the program runs: signals for it, and ends of its processes.

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

/// Signals that are meant for the program.
const FORWARDED: [i32; 6] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2];
/// Those of them that ask for an end.
const ENDING: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// Something that has happened.
#[derive(Clone, Copy, Debug)]
pub enum ProcessEvent {
    /// A process may have ended.
    ChildEnded,
    Signal(ReceivedSignal),
}

/// A signal.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedSignal {
    pub signal: Signal,
    /// Whether it comes from the terminal, which sends it to the whole process group.
    pub is_from_terminal: bool,
}

impl ReceivedSignal {
    /// Whether it asks for an end.
    pub fn is_termination(self) -> bool {
        ENDING.contains(&self.signal.as_raw())
    }
}

/// All notices from now on.
#[derive(Debug)]
pub struct ProcessEvents {
    receiver: Receiver<ProcessEvent>,
    /// Said when a wish to end does end this process; `None` as long as the program is to end first.
    exit_message: Arc<Mutex<Option<String>>>,
}

impl ProcessEvents {
    /// From now on no signal ends this process by itself. Those that are ignored stay so, here and in the program.
    pub fn listen() -> io::Result<Self> {
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
                        interrupt::leave(message)
                    }
                    // Nobody listens when this process is about to end.
                    _ => drop(sender.send(event)),
                }
            }
        })?;
        Ok(Self { receiver, exit_message })
    }

    /// The next one, if there is one before patience ends.
    pub fn next(&self, patience: Duration) -> Option<ProcessEvent> {
        self.receiver.recv_timeout(patience).ok()
    }

    /// From now on a wish to end ends this process, and this is said.
    pub fn exit_on_signal(&self, exit_message: String) {
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

/// Of these signals, the kernel itself sends only what comes from a terminal. Where it does not say so, nobody has sent it.
fn is_from_terminal(origin: &Origin) -> bool {
    match origin.cause {
        Cause::Kernel => true,
        Cause::Unknown => origin.process.as_ref().is_none_or(|process| process.pid == 0),
        _ => false,
    }
}

/// A bit a signal, from 1 on. Only Linux tells.
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
    fn what_is_ignored_stands_in_the_status() {
        assert_eq!(ignored_in("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t00\n"), Some(0x1001));
        assert_eq!(ignored_in("Name:\tx\n"), None);
    }
}
