//! The trace of all processes that `record` has run.

use crate::commands::convert;
use crate::input::paths::Input;
use crate::input::source::{Passes, Source};
use crate::output::format::Format;
use crate::output::output_writer::make_at;
use crate::output::pending_file::Existing;
use crate::output::target::Target;
use crate::recording::{Folder, Gathered, Recorded, RecordedFile};
use crate::render::messages::Words;
use crate::user_error::Trouble;
use ferrum_trace_analyze::merge::{self, MergeOptions, Merged, MergedForm};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the traces of several processes are put together in, if the output is of a form that cannot be written at once.
const MERGED: &str = "merged.json";

/// A trace that was written.
pub struct Made {
    /// A file that can be summed up: the trace itself, if its form can be read.
    pub whole: PathBuf,
    /// What came of putting several together.
    pub merged: Option<Merged>,
}

/// Where to write a trace, and how.
pub struct Making<'a> {
    pub output: &'a Path,
    pub format: Format,
    pub folder: &'a Folder,
    pub words: Words,
}

impl Making<'_> {
    /// Writes the trace of all processes that recorded something.
    pub fn make(&self, gathered: &Gathered) -> Result<Made, Trouble> {
        let files =
            gathered.recorded.iter().flat_map(|recorded| recorded.files.iter().map(move |file| (recorded, file)));
        let files: Vec<(&Recorded, &RecordedFile)> = files.filter(|(_, file)| file.n_events > 0).collect();
        match &files[..] {
            [(_, one)] => self.convert(&one.path).map(|whole| Made { whole, merged: None }),
            several => self.put_together(several),
        }
    }

    fn put_together(&self, files: &[(&Recorded, &RecordedFile)]) -> Result<Made, Trouble> {
        let inputs = files.iter().map(|(recorded, file)| self.input(recorded, file));
        let inputs: Vec<merge::Input> = inputs.collect::<Result<_, Trouble>>()?;
        let form = match self.format {
            Format::Chrome => Some(MergedForm::Chrome),
            Format::Perfetto => Some(MergedForm::Perfetto),
            _ => None,
        };
        if let Some(form) = form.filter(|_| !self.is_device()) {
            let merged = merge_to(&inputs, self.output, form)?;
            return Ok(Made { whole: self.output.to_owned(), merged: Some(merged) });
        }
        let path = self.folder.path().join(MERGED);
        let merged = merge_to(&inputs, &path, MergedForm::Chrome)?;
        Ok(Made { whole: self.convert(&path)?, merged: Some(merged) })
    }

    /// Its name is that of the process: the file will not be there any more.
    fn input(&self, recorded: &Recorded, file: &RecordedFile) -> Result<merge::Input, Trouble> {
        let source = Source::of(Input::Other(file.path.clone()), Passes::SeveralOfMany, &self.words)?;
        let name = format!("{} {}", recorded.summary.process, recorded.summary.pid);
        Ok(merge::Input { name, rank: None, rank_if_unknown: None, open: Arc::new(move || source.open_boxed()) })
    }

    /// Writes one trace in the form that is asked for. As JSON, that of a process is what it would have written itself.
    fn convert(&self, file: &Path) -> Result<PathBuf, Trouble> {
        let source = Source::of(Input::Other(file.to_owned()), Passes::Several, &self.words)?;
        let trouble = |what: String| Trouble::new(source.words.clone(), what);
        let made = make_at(&Target::File(self.output.to_owned()), Existing::IsReplaced, |out| match self.format {
            Format::Chrome => {
                let mut trace = source.open().map_err(|error| source.trouble(&error))?;
                io::copy(&mut trace, out).map(|_| ()).map_err(|cause| trouble(cause.to_string()))
            }
            _ => convert::write_plainly(&source, self.format, out).map(|_| ()).map_err(trouble),
        })?;
        made.ok_or_else(|| nobody_reads(self.output))?;
        let is_readable = matches!(self.format, Format::Chrome | Format::Perfetto | Format::Torch) && !self.is_device();
        Ok(if is_readable { self.output.to_owned() } else { file.to_owned() })
    }

    /// Whether the output is a pipe or the like, which cannot be read again.
    fn is_device(&self) -> bool {
        self.output.metadata().is_ok_and(|about| !about.is_file())
    }
}

fn merge_to(inputs: &[merge::Input], path: &Path, form: MergedForm) -> Result<Merged, Trouble> {
    let options = MergeOptions { form, ..MergeOptions::default() };
    let merged = make_at(&Target::File(path.to_owned()), Existing::IsReplaced, |out| {
        merge::merge(inputs, out, &options).map_err(|error| Trouble::at(path, error.to_string()))
    });
    merged?.ok_or_else(|| nobody_reads(path))
}

fn nobody_reads(output: &Path) -> Trouble {
    Trouble::at(output, "cannot write: the reader has closed the pipe")
}
