//! What one process has recorded.

use super::end::End;
use super::tree::Tree;
use crate::input::Input;
use crate::out::target::Target;
use crate::recovery::{Outcome, Recovery};
use crate::spool_file::{Owner, SpoolFile};
use crate::trouble::Trouble;
use ferrum_trace_format::spool::{EventCounter, Summary};
use std::fmt;
use std::path::{Path, PathBuf};

/// What one process has recorded.
#[derive(Debug)]
pub struct Recorded {
    /// The file to read: its spool, or a snapshot of that if it still grows.
    pub file: PathBuf,
    pub fate: Fate,
    pub summary: Summary,
}

/// What has become of a process that recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It ended so.
    Ended(End),
    /// It ended and completed its file; only its parent knows how.
    ByItself,
    /// It ended and could not complete its file: it was killed, or left without ado.
    Killed,
    /// It still records.
    Records,
}

impl Recorded {
    /// Looks at a spool.
    pub fn of(spool: &Path, tree: &Tree) -> Result<Self, Trouble> {
        let SpoolFile { file, owner } = SpoolFile::open(spool, |_| {})?;
        let wrong = |error: ferrum_trace_format::Error| Trouble::at(spool, error.to_string());
        let mut counter = EventCounter::open(&file).map_err(wrong)?;
        let summary = counter.summary(&file).map_err(wrong)?;
        let fate = Fate::of(&summary, &owner, tree.end_of(summary.pid));
        if fate == Fate::Records {
            return Self::snapshot(spool);
        }
        Ok(Self { file: spool.to_owned(), fate, summary })
    }

    /// What a process has recorded that goes on: read twice, its spool would not be the same.
    fn snapshot(spool: &Path) -> Result<Self, Trouble> {
        let file = spool.with_extension("snapshot");
        let recovery = Recovery { target: Some(Target::File(file.clone())), force: true, keep: true };
        match recovery.run(Input::Spool(spool.to_owned()))? {
            Outcome::Recovered(recovered) => {
                // It may have ended meanwhile; the snapshot is whole all the same.
                let fate = if recovered.summary.finished { Fate::ByItself } else { Fate::Records };
                Ok(Self { file, fate, summary: recovered.summary })
            }
            Outcome::NobodyReads => Err(Trouble::at(&file, "cannot write")),
        }
    }
}

impl Fate {
    fn of(summary: &Summary, owner: &Owner, end: Option<End>) -> Self {
        match (end, owner) {
            (Some(end), _) => Self::Ended(end),
            (None, _) if summary.finished => Self::ByItself,
            (None, Owner::Us | Owner::Copy) => Self::Killed,
            (None, Owner::Recorder | Owner::Unknown(_)) => Self::Records,
        }
    }

    /// What it is called in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ended(End::Exit(_)) => "exit",
            Self::Ended(End::Signal(_)) => "signal",
            Self::ByItself => "by itself",
            Self::Killed => "killed",
            Self::Records => "still records",
        }
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(end) => end.fmt(f),
            Self::ByItself | Self::Killed | Self::Records => f.write_str(self.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_best_is_told() {
        let finished = Summary { finished: true, ..Summary::default() };
        let open = Summary::default();
        let fate = |summary, owner, end| Fate::of(summary, &owner, end).to_string();
        assert_eq!(fate(&finished, Owner::Us, Some(End::Exit(3))), "exit 3");
        assert_eq!(fate(&open, Owner::Us, Some(End::Signal(9))), "SIGKILL");
        assert_eq!(fate(&finished, Owner::Us, None), "by itself");
        assert_eq!(fate(&open, Owner::Us, None), "killed");
        assert_eq!(fate(&open, Owner::Recorder, None), "still records");
    }
}
