//! The program, and the processes that come of it.

use super::end::End;
use super::process_events::ReceivedSignal;
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, getpgid, kill_process, wait};
use std::collections::HashMap;
use std::io;
use std::process::Command;

/// A program that runs, and what has become of those of its processes that nobody else waits for.
#[derive(Debug)]
pub struct ProcessTree {
    program: Pid,
    ends: HashMap<u32, End>,
    has_more: bool,
}

impl ProcessTree {
    /// Starts the program, in the process group of this one: what a terminal does to one, it does to both.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        adopt_orphans();
        let child = command.spawn()?;
        let program = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { program, ends: HashMap::new(), has_more: true })
    }

    /// Takes note of those that have ended.
    pub fn reap(&mut self) {
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

    /// How the program ended, if it has.
    pub fn end(&self) -> Option<End> {
        self.end_of(self.program.as_raw_nonzero().get().unsigned_abs())
    }

    /// How a process ended, if that is known here: its parent may have waited for it.
    pub fn end_of(&self, pid: u32) -> Option<End> {
        self.ends.get(&pid).copied()
    }

    /// Whether some process still runs, as far as can be told.
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    /// Tells the program what somebody wishes of it, unless it knows. It has not been waited for yet, so the number is its own.
    pub fn forward(&self, signal: ReceivedSignal) {
        if self.end().is_none() && !(signal.is_from_terminal && self.is_in_our_group()) {
            // That it has just ended is seen soon enough.
            let _ = kill_process(self.program, signal.signal);
        }
    }

    /// Whether what the terminal sends to us reaches the program too.
    fn is_in_our_group(&self) -> bool {
        matches!((getpgid(Some(self.program)), getpgid(None)), (Ok(its), Ok(ours)) if its == ours)
    }
}

/// Processes whose parent has ended become ours, so that somebody can tell that they still run, and how they end.
#[cfg(target_os = "linux")]
fn adopt_orphans() {
    // Where this cannot be had, they are known by the files that they record to.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

#[cfg(not(target_os = "linux"))]
fn adopt_orphans() {}
