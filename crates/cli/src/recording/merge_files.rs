//! Merges the recordings of several processes into one trace.

use super::recorded_process::{RecordedFile, RecordedProcess};
use crate::input::paths::Input;
use crate::input::source::{Passes, Source};
use crate::output::output_writer::write_to;
use crate::output::pending_file::Existing;
use crate::output::target::Target;
use crate::render::messages::Messages;
use crate::user_error::UserError;
use ferrum_trace_analyze::merge::{self, MergeOptions, Merged, MergedForm};
use std::path::Path;
use std::sync::Arc;

/// Merges files into a new file at `path`.
pub(crate) fn merge_files(
    files: &[(&RecordedProcess, &RecordedFile)],
    path: &Path,
    form: MergedForm,
    messages: &Messages,
) -> Result<Merged, UserError> {
    let inputs = files.iter().map(|(recorded, file)| input(recorded, file, messages));
    let inputs: Vec<merge::Input> = inputs.collect::<Result<_, UserError>>()?;
    let options = MergeOptions { form, ..MergeOptions::default() };
    let merged = write_to(&Target::File(path.to_owned()), Existing::Replace, |out| {
        merge::merge(&inputs, out, &options).map_err(|error| UserError::at(path, error.to_string()))
    });
    merged?.ok_or_else(|| closed_pipe(path))
}

/// Returns the error of an output whose reader has closed the pipe.
pub(crate) fn closed_pipe(output: &Path) -> UserError {
    UserError::at(output, "cannot write: the reader has closed the pipe")
}

/// Names the input after its process, because its file is temporary.
fn input(recorded: &RecordedProcess, file: &RecordedFile, messages: &Messages) -> Result<merge::Input, UserError> {
    let source = Source::of(Input::Other(file.path.clone()), Passes::SeveralOfMany, messages)?;
    let name = format!("{} {}", recorded.summary.process, recorded.summary.pid);
    Ok(merge::Input {
        name,
        rank: None,
        rank_if_unknown: None,
        open: Arc::new(move || Ok(Box::new(source.open()?.reader))),
    })
}
