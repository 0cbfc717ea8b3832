//! A recording: a session and its flight recorder.

use crate::error::Error;
use crate::flight::dumps::Dumps;
use crate::flight::options::FlightOptions;
use crate::flight::triggers::Triggers;
use crate::memory::snapshot::Snapshot;
use crate::os::stderr::say;
use crate::recording::background;
use crate::recording::destination::{COPY, with_ending};
use crate::recording::options::SessionOptions;
use crate::recording::output;
use crate::recording::part::Part;
use crate::recording::session::Session;
use crate::stats::Stats;
use crate::thread::buffer::quietly;
use ferrum_trace_model::Trigger;
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

/// A session with its dumps and triggers. A rotating recording has one of these for each part.
///
/// Dereferences to its session.
#[derive(Debug)]
pub(crate) struct Recording {
    session: Arc<Session>,
    dumps: Dumps,
    triggers: Triggers,
}

impl Deref for Recording {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl Recording {
    /// Starts a session and its flight recorder.
    pub(crate) fn start(options: &SessionOptions, flight: &FlightOptions) -> Result<Arc<Self>, Error> {
        Ok(Self::new(Session::start(options)?, flight))
    }

    /// Starts the part after this one. Returns `None` if the recording does not rotate.
    pub(crate) fn next(&self, options: &SessionOptions, flight: &FlightOptions) -> Result<Option<Arc<Self>>, Error> {
        let next = self.session.next(options)?;
        Ok(next.map(|session| Self::new(session, flight)))
    }

    fn new(session: Arc<Session>, flight: &FlightOptions) -> Arc<Self> {
        let is_ring = session.spool().is_ring();
        let dumps = Dumps::new(flight.dumps, session.output_path().to_owned(), is_ring);
        Arc::new(Self { session, dumps, triggers: Triggers::new(flight, is_ring) })
    }

    /// Returns the session alone.
    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    pub(crate) fn dumps(&self) -> &Dumps {
        &self.dumps
    }

    pub(crate) fn triggers(&self) -> &Triggers {
        &self.triggers
    }

    /// Writes the pending dump from the ring, and reports an error on standard error. Calls `copied` when the data of
    /// the dump can no longer be overwritten. If that makes the calling thread a deputy, a writer writes the dump.
    pub(crate) fn write_dump(&self, copied: impl FnOnce()) {
        self.write_pending(|path, trigger| {
            let copy = Snapshot::take(self.spool().file(), &with_ending(path, COPY));
            quietly(|| self.spool().unpin());
            copied();
            let copy = Arc::new(copy?);
            let written = background::quietly(&Arc::new({
                let (copy, path, whole_micros) = (Arc::clone(&copy), path.to_owned(), self.has_whole_micros());
                move || output::write_dump(copy.file(), &path, trigger.clone(), whole_micros)
            }));
            let panicked = || Err(Error::io("cannot write the trace", path, io::Error::other("the writer panicked")));
            let written = written.unwrap_or_else(panicked);
            if written.is_err() && background::is_cancelled() {
                self.dumps.keep_copy(copy);
            }
            written
        });
    }

    /// Writes the dump that is still pending when the recording ends, from the copy made for it or from the ring.
    fn write_last_dump(&self) {
        self.write_pending(|path, trigger| {
            let copy = self.dumps.take_copy();
            let spool = copy.as_ref().map_or(self.spool().file(), |copy| copy.file());
            output::write_dump(spool, path, trigger, self.has_whole_micros())
        });
    }

    /// Writes the pending dump, if there is one, and reports an error on standard error.
    fn write_pending(&self, write: impl FnOnce(&Path, Trigger) -> Result<(), Error>) {
        if let Err(error) = self.dumps.write_pending(write) {
            say(&error.to_string());
        }
    }

    /// Completes the output of a recording that has been closed, and removes the spool unless it is the output.
    pub(crate) fn complete(&self) -> Result<Stats, Error> {
        let stats = self.session.complete(|| self.write_last_dump())?;
        Ok(self.with_dumps(stats))
    }

    /// Returns the counts so far, including those of the parts before this one.
    pub(crate) fn stats(&self) -> Result<Stats, Error> {
        let mut stats = self.with_dumps(self.session.stats()?);
        stats += self.part().map_or_else(Stats::default, Part::completed);
        Ok(stats)
    }

    fn with_dumps(&self, stats: Stats) -> Stats {
        let refused = self.dumps.refused();
        Stats { dumps: self.dumps.n_granted(), dumps_refused: refused.total(), refused, ..stats }
    }
}
