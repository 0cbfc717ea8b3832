//! Writes the trace of all processes.

use crate::commands::convert;
use crate::input::paths::Input;
use crate::input::source::{Passes, Source};
use crate::output::format::Format;
use crate::output::output_writer::write_to;
use crate::output::pending_file::Existing;
use crate::output::target::Target;
use crate::recording::{Folder, RecordedFile, RecordedProcess, RecordedProcesses, closed_pipe, merge_files};
use crate::render::messages::Messages;
use crate::user_error::UserError;
use ferrum_trace_analyze::merge::{Merged, MergedForm};
use std::io;
use std::path::{Path, PathBuf};

/// The merged trace, if the output format cannot be written by merging.
const MERGED: &str = "merged.json";

/// A written trace.
pub(crate) struct WrittenTrace {
    /// A file to summarize: the trace itself, if its format can be read.
    pub(crate) readable: PathBuf,
    /// The result of merging, if there were several files.
    pub(crate) merged: Option<Merged>,
}

/// The output of `record`.
pub(crate) struct TraceOutput<'a> {
    pub(crate) output: &'a Path,
    pub(crate) format: Format,
    pub(crate) folder: &'a Folder,
    pub(crate) messages: Messages,
}

impl TraceOutput<'_> {
    /// Writes the trace of all processes that recorded something.
    pub(crate) fn write(&self, recorded: &RecordedProcesses) -> Result<WrittenTrace, UserError> {
        match &recorded.files()[..] {
            [(_, one)] => self.convert(&one.path).map(|readable| WrittenTrace { readable, merged: None }),
            several => self.merge(several),
        }
    }

    fn merge(&self, files: &[(&RecordedProcess, &RecordedFile)]) -> Result<WrittenTrace, UserError> {
        let form = match self.format {
            Format::Chrome => Some(MergedForm::Chrome),
            Format::Perfetto => Some(MergedForm::Perfetto),
            _ => None,
        };
        if let Some(form) = form.filter(|_| !self.is_device()) {
            let merged = merge_files(files, self.output, form, &self.messages)?;
            return Ok(WrittenTrace { readable: self.output.to_owned(), merged: Some(merged) });
        }
        let path = self.folder.path().join(MERGED);
        let merged = merge_files(files, &path, MergedForm::Chrome, &self.messages)?;
        Ok(WrittenTrace { readable: self.convert(&path)?, merged: Some(merged) })
    }

    /// Writes one trace in the output format. As JSON, it is the file that the process would have written itself.
    fn convert(&self, file: &Path) -> Result<PathBuf, UserError> {
        let source = Source::of(Input::Other(file.to_owned()), Passes::Several, &self.messages)?;
        let error = |what: String| UserError::new(source.label.clone(), what);
        let written = write_to(&Target::File(self.output.to_owned()), Existing::Replace, |out| match self.format {
            Format::Chrome => {
                let mut trace = source.open().map_err(|error| source.error(&error))?;
                io::copy(&mut trace.reader, out).map(|_| ()).map_err(|cause| error(cause.to_string()))
            }
            _ => convert::write_plainly(&source, self.format, out).map(|_| ()).map_err(error),
        })?;
        written.ok_or_else(|| closed_pipe(self.output))?;
        let is_readable = matches!(self.format, Format::Chrome | Format::Perfetto | Format::Torch) && !self.is_device();
        Ok(if is_readable { self.output.to_owned() } else { file.to_owned() })
    }

    /// Returns true if the output is a pipe or a device, which cannot be read again.
    fn is_device(&self) -> bool {
        self.output.metadata().is_ok_and(|about| !about.is_file())
    }
}
