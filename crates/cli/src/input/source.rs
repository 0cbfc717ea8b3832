//! Opening a trace, wherever it is: a file, a spool, a compressed file, a stream.

pub(crate) use super::bytes::Passes;

use super::bytes::Bytes;
use super::paths::{Input, Unrecovered};
use super::recovered_text::report_recovered;
use super::recovery::{Outcome, Recovery};
use super::spool_file::{Owner, SpoolFile};
use crate::render::messages::Messages;
use crate::render::progress::Progress;
use crate::user_error::UserError;
use ferrum_trace_format::Error;
use ferrum_trace_format::chrome::read::{LoadOptions, Loaded, load, load_async_args};
use ferrum_trace_format::open::{Container, Notes, Opened, TraceFormat};
use std::borrow::Borrow;
use std::collections::HashSet;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A trace to read.
pub(crate) struct Source {
    /// Name in JSON.
    pub(crate) name: String,
    /// Name in messages.
    pub(crate) label: String,
    /// Path of the file; `None` for standard input.
    pub(crate) path: Option<PathBuf>,
    bytes: Bytes,
}

/// An opened trace.
pub(crate) struct OpenTrace {
    pub(crate) reader: TraceReader,
    pub(crate) facts: TraceFacts,
}

/// Facts about a trace that opening it reveals.
#[derive(Clone, Debug)]
pub(crate) struct TraceFacts {
    /// Containers of the trace, outermost first.
    pub(crate) containers: Vec<Container>,
    pub(crate) kind: TraceFormat,
    notes: Notes,
}

impl TraceFacts {
    /// Returns remarks of the reader. They are complete once the trace has been read.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.all()
    }
}

/// Reads a trace as Chrome trace events.
pub(crate) struct TraceReader {
    opened: Opened,
    /// Progress in uncompressed bytes, if the source itself does not report progress.
    progress: Option<Progress>,
}

impl Read for TraceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.opened.read(buffer)?;
        if let Some(progress) = &self.progress {
            progress.advance(n_bytes as u64);
        }
        Ok(n_bytes)
    }
}

/// Opens a trace for an analysis that reads it several times, and keeps the facts of the last opening.
pub(crate) struct Reopen<S> {
    source: S,
    facts: Mutex<Option<TraceFacts>>,
}

impl<S: Borrow<Source>> Reopen<S> {
    pub(crate) fn new(source: S) -> Self {
        Self { source, facts: Mutex::default() }
    }

    pub(crate) fn source(&self) -> &Source {
        self.source.borrow()
    }

    /// Opens the trace from its start.
    pub(crate) fn open(&self) -> Result<Box<dyn Read + Send>, Error> {
        let OpenTrace { reader, facts } = self.source().open()?;
        *self.facts.lock().unwrap_or_else(PoisonError::into_inner) = Some(facts);
        Ok(Box::new(reader))
    }

    /// Returns the facts of the last opening; `None` if the trace was not opened.
    pub(crate) fn facts(&self) -> Option<TraceFacts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the remarks of the last reader; none if the trace was not opened.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.facts().map(|facts| facts.notes()).unwrap_or_default()
    }
}

impl Source {
    /// Finds a trace. If it is missing and its spool exists, it is recovered first.
    pub(crate) fn of(input: Input, passes: Passes, messages: &Messages) -> Result<Self, UserError> {
        let input = match input {
            Input::Unrecovered(unrecovered) => recover_or_read_spool(unrecovered, messages),
            other => other,
        };
        let bytes = match input.path() {
            None if io::stdin().is_terminal() => {
                let error = UserError::new(input.label(), "expected a trace, found a terminal");
                return Err(error.hint("`ferrum-trace - < trace.json`"));
            }
            None => Bytes::of_stream(Box::new(io::stdin()), passes),
            Some(path) => Bytes::of_file(path, passes),
        };
        let cannot = |cause: io::Error| UserError::new(input.label(), format!("cannot open: {cause}"));
        Ok(Self {
            name: input.name(),
            label: input.label(),
            path: input.path().map(Path::to_owned),
            bytes: bytes.map_err(cannot)?,
        })
    }

    /// Opens the trace from its start. A stream that was found for one pass is empty the second time.
    pub(crate) fn open(&self) -> Result<OpenTrace, Error> {
        let (opened, progress) = self.bytes.open(&self.label)?;
        let facts =
            TraceFacts { containers: opened.containers.clone(), kind: opened.kind, notes: opened.notes.clone() };
        Ok(OpenTrace { reader: TraceReader { opened, progress }, facts })
    }

    /// Opens the trace and loads its events, with these arguments. Names may be repeated.
    pub(crate) fn load(&self, args: Vec<String>) -> Result<(Loaded, TraceFacts), UserError> {
        self.load_with(args, load)
    }

    /// Like [`load`](Self::load), with the arguments of async events too.
    pub(crate) fn load_with_async_args(&self, args: Vec<String>) -> Result<(Loaded, TraceFacts), UserError> {
        self.load_with(args, load_async_args)
    }

    fn load_with(
        &self,
        args: Vec<String>,
        load: impl FnOnce(TraceReader, &LoadOptions) -> Result<Loaded, Error>,
    ) -> Result<(Loaded, TraceFacts), UserError> {
        let OpenTrace { reader, facts } = self.open().map_err(|error| self.error(&error))?;
        let options = LoadOptions { args: distinct(args), ..LoadOptions::default() };
        let loaded = load(reader, &options).map_err(|error| self.error(&error))?;
        Ok((loaded, facts))
    }

    /// Returns an error about this trace.
    pub(crate) fn error(&self, error: &Error) -> UserError {
        UserError::new(self.label.clone(), error.to_string())
    }
}

/// Removes repeated names.
fn distinct(names: Vec<String>) -> Vec<String> {
    let mut known = HashSet::new();
    names.into_iter().filter(|name| known.insert(name.clone())).collect()
}

/// Recovers a trace that its process did not complete. Returns its spool if the trace cannot be written, or should not
/// be.
fn recover_or_read_spool(unrecovered: Unrecovered, messages: &Messages) -> Input {
    let spool = Input::Spool(unrecovered.spool.clone());
    if unrecovered.trace.exists() {
        messages.note(&unrecovered.trace, "reading its spool instead, which has at least the same events");
        return spool;
    }
    if is_being_recorded(&unrecovered.spool) {
        messages.note(&unrecovered.trace, "its process still records: reading the spool as it is now");
        return spool;
    }
    match unrecovered.recover(&Recovery::default(), messages) {
        Ok(Outcome::Recovered(recovered)) => {
            report_recovered(messages, &recovered);
            Input::Other(unrecovered.trace)
        }
        Ok(Outcome::ClosedPipe) => spool,
        // The folder may not be writable.
        Err(error) => {
            messages.note(&unrecovered.trace, &format!("cannot be recovered ({error}): reading the spool"));
            spool
        }
    }
}

/// Returns true if a live process records to this spool.
pub(crate) fn is_being_recorded(spool: &Path) -> bool {
    matches!(SpoolFile::open(spool, |_| {}), Ok(SpoolFile { owner: Owner::Recorder, .. }))
}
