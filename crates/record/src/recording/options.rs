//! Options of one session.

use crate::os::clock::ClockKind;
use crate::recording::origin::{program_name, rank_of_environment};
use crate::recording::pattern::Pattern;
use ferrum_trace_model::settings::{Extent, Rotate, is_off};
use std::path::PathBuf;

/// `off` if no handler of `SIGBUS` is wanted.
const SIGBUS: &str = "FERRUM_TRACE_SIGBUS";
/// Default limit of the spool: 4 GiB, about 260 million spans.
pub(crate) const DEFAULT_LIMIT: u64 = 4 << 30;

/// Options of one session.
#[derive(Clone, Debug)]
pub(crate) struct SessionOptions {
    /// Output path as the user gave it.
    pub out: PathBuf,
    /// Pattern that `out` was made from, if it contains the process id. A forked child makes its own path from it.
    pub pattern: Option<Pattern>,
    pub limit: u64,
    /// Size of the ring of a flight recorder.
    pub ring: Option<Extent>,
    /// Rotation rule. Not used together with a ring, which keeps the newest data in one file.
    pub rotate: Option<Rotate>,
    /// Called by the keeper thread with the id of the session when a part is full, or when outputs of earlier parts
    /// should be written again.
    pub on_parts_due: Option<fn(u64)>,
    /// Called by the keeper thread from time to time.
    pub on_keeping: Option<fn()>,
    /// `None` for the best clock of this machine.
    pub clock: Option<ClockKind>,
    /// `None` for the name of the program.
    pub process_name: Option<String>,
    /// Number of this process among the processes of one run.
    pub rank: Option<u32>,
    /// True in a forked child whose parent records to `out`, so that this process must not.
    pub is_forked: bool,
    /// True if times in JSON are whole microseconds.
    pub whole_micros: bool,
    /// True if a handler of `SIGBUS` is installed, for a spool that another process truncates.
    pub handles_sigbus: bool,
}

impl SessionOptions {
    /// Default options, with the rank that the environment states.
    pub(crate) fn new(out: PathBuf) -> Self {
        Self {
            out,
            pattern: None,
            limit: DEFAULT_LIMIT,
            ring: None,
            rotate: None,
            on_parts_due: None,
            on_keeping: None,
            clock: None,
            process_name: None,
            rank: rank_of_environment(),
            is_forked: false,
            whole_micros: false,
            handles_sigbus: std::env::var(SIGBUS).map_or(true, |value| !is_off(&value)),
        }
    }

    /// Returns the bytes that the spool may take.
    pub(crate) fn spool_limit(&self) -> u64 {
        match self.ring {
            Some(Extent::Bytes(bytes)) => bytes,
            Some(Extent::Time(_)) | None => self.limit,
        }
    }

    /// Returns the name of the process in the trace.
    pub(crate) fn process_name(&self) -> String {
        self.process_name.clone().unwrap_or_else(program_name)
    }
}
