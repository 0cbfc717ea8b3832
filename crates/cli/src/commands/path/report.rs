//! The figures that `path` prints.

use super::args::PathArgs;
use crate::input::captures::Captures;
use crate::input::source::Source;
use crate::render::{captures, contents, limits, recorder};
use crate::user_error::UserError;
use ferrum_trace_analyze::{
    CriticalPath, Nesting, PATH_ARGS, PathError, PathSubject, Piece, PieceKind, REQUEST_ARGS, STEP_ARGS, Transfer,
    names_device, path,
};
use ferrum_trace_format::chrome::read::Loaded;
use ferrum_trace_model::{StringId, Trace};

/// Results for one trace.
pub(crate) struct PathReport {
    pub(crate) loaded: Loaded,
    pub(crate) notes: Vec<String>,
    /// The path, or the reason why there is none.
    pub(crate) path: Result<CriticalPath, String>,
    /// Result of `--capture`.
    pub(crate) transfer: Option<Transfer>,
}

impl PathReport {
    /// Loads a trace and finds its path.
    pub(crate) fn of(source: &Source, args: &PathArgs, captures: &Captures) -> Result<Self, UserError> {
        let wanted = STEP_ARGS.into_iter().chain(PATH_ARGS).chain(REQUEST_ARGS).chain(captures.arg_names());
        let wanted = wanted.map(str::to_owned).collect();
        let (mut loaded, facts) = match args.request {
            Some(_) => source.load_with_async_args(wanted)?,
            None => source.load(wanted)?,
        };
        let transfer = captures.apply(&mut loaded.trace);
        let nesting = Nesting::of(&loaded.trace);
        let found = path(&loaded.trace, &nesting, &args.options(names_device(&loaded.fields)));
        let mut notes = facts.notes();
        notes.extend(limits::notes(&loaded.trace));
        notes.extend(recorder::notes(&loaded.recordings));
        notes.extend(captures::notes(transfer.as_ref()));
        notes.extend(found.as_ref().ok().and_then(outside_note));
        let path = found.map_err(|error| missing(&loaded.trace, &error));
        Ok(Self { notes, path, loaded, transfer })
    }

    /// Returns a description of the window.
    pub(crate) fn window(&self, path: &CriticalPath) -> String {
        match &path.subject {
            PathSubject::Step { place, slice } => {
                let name = self.loaded.trace.slices.name[*slice as usize];
                format!("step {} ({})", place + 1, self.loaded.trace.strings.get(name))
            }
            PathSubject::Time => "a range of time".to_owned(),
            PathSubject::Request(id) => format!("request {id}"),
            PathSubject::Whole => "the whole trace".to_owned(),
        }
    }

    /// Returns the name of a row or of a piece.
    pub(crate) fn name(&self, name: Option<StringId>) -> Option<&str> {
        name.map(|name| self.loaded.trace.strings.get(name))
    }

    /// Returns the name of the slice of a piece.
    pub(crate) fn name_of(&self, piece: &Piece) -> Option<&str> {
        self.name(piece.slice.map(|slice| self.loaded.trace.slices.name[slice as usize]))
    }
}

/// Returns a note if a part of the path has its cause outside of the file.
fn outside_note(path: &CriticalPath) -> Option<String> {
    let outside = path.totals.of_kind(PieceKind::OutsideFile);
    (outside > 0).then(|| {
        "a part of the path has its cause outside the file; shares are those of the rest of the path".to_owned()
    })
}

/// Returns the reason why there is no path.
fn missing(trace: &Trace, error: &PathError) -> String {
    match error {
        PathError::NoSteps | PathError::Empty => format!("{error}; {}", contents::contents_text(trace)),
        _ => error.to_string(),
    }
}
