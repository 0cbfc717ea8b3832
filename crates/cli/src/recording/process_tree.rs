//! The program and its descendants.

use super::end::End;
use super::process_events::ReceivedSignal;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpgid, kill_process, kill_process_group, wait};
use std::collections::HashMap;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A running program, and the ends of those descendants that this process could wait for.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    program: Pid,
    ends: HashMap<u32, End>,
    has_more: bool,
}

impl ProcessTree {
    /// Starts the program, by default in the process group of this process, so that signals of the terminal reach both.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        adopt_orphans();
        let child = command.spawn()?;
        let program = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { program, ends: HashMap::new(), has_more: true })
    }

    /// Starts the program in a process group of its own, so that [`signal_group`](Self::signal_group) reaches all its
    /// processes and signals of the terminal reach this process only.
    pub(crate) fn start_group(command: &mut Command) -> io::Result<Self> {
        Self::start(command.process_group(0))
    }

    /// Sends a signal to all processes of the program's group.
    pub(crate) fn signal_group(&self, signal: Signal) {
        // An error means that all of them have ended.
        let _ = kill_process_group(self.program, signal);
    }

    /// Collects the processes that have ended.
    pub(crate) fn reap(&mut self) {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    if let Some(end) = End::of(status) {
                        self.ends.insert(pid.as_raw_nonzero().get().unsigned_abs(), end);
                    }
                }
                Ok(None) => {
                    self.has_more = true;
                    return;
                }
                Err(Errno::INTR) => {}
                Err(_) => {
                    self.has_more = false;
                    return;
                }
            }
        }
    }

    /// Returns the end of the program, if it has ended.
    pub(crate) fn end(&self) -> Option<End> {
        self.end_of(self.program.as_raw_nonzero().get().unsigned_abs())
    }

    /// Returns the end of a process. `None` if it runs, or if its parent has waited for it.
    pub(crate) fn end_of(&self, pid: u32) -> Option<End> {
        self.ends.get(&pid).copied()
    }

    /// Returns true if some process still runs, as far as this process can see.
    pub(crate) fn has_more(&self) -> bool {
        self.has_more
    }

    /// Forwards a signal to the program, unless the terminal has sent it to both. The pid is valid, because the program
    /// was not waited for yet.
    pub(crate) fn forward(&self, signal: ReceivedSignal) {
        if self.end().is_none() && !(signal.is_from_terminal && self.is_in_our_group()) {
            // An error means that it has just ended, which `reap` will find.
            let _ = kill_process(self.program, signal.signal);
        }
    }

    /// Returns true if signals of the terminal reach the program too.
    fn is_in_our_group(&self) -> bool {
        matches!((getpgid(Some(self.program)), getpgid(None)), (Ok(its), Ok(ours)) if its == ours)
    }
}

/// Makes orphaned descendants children of this process, so that it can wait for them.
#[cfg(target_os = "linux")]
fn adopt_orphans() {
    // If this fails, descendants are still found by the spools that they lock.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

#[cfg(not(target_os = "linux"))]
fn adopt_orphans() {}
