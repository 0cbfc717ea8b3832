//! The trace of all processes that `record` has run.

use crate::args::Format;
use crate::cmd::convert;
use crate::cmd::making::make_at;
use crate::cmd::merge::merge_sources;
use crate::input::Input;
use crate::out::pending::Existing;
use crate::out::target::Target;
use crate::out::words::Words;
use crate::recording::{Folder, Gathered, Recorded};
use crate::source::{Passes, Source};
use crate::trouble::Trouble;
use ferrum_trace_analyze::merge::{MergeOptions, Merged, MergedForm};
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
        let recorded = gathered.recorded.iter().filter(|recorded| recorded.summary.events > 0);
        let sources: Result<Vec<Arc<Source>>, Trouble> = recorded.map(|recorded| self.source(recorded)).collect();
        match &sources?[..] {
            [one] => self.convert(one).map(|whole| Made { whole, merged: None }),
            several => self.merge(several),
        }
    }

    fn source(&self, recorded: &Recorded) -> Result<Arc<Source>, Trouble> {
        let mut source = Source::of(Input::Other(recorded.file.clone()), Passes::Several, &self.words)?;
        // The file will not be there any more.
        source.name = format!("{} {}", recorded.summary.process, recorded.summary.pid);
        Ok(Arc::new(source))
    }

    fn merge(&self, sources: &[Arc<Source>]) -> Result<Made, Trouble> {
        let merge = |path: &Path, form| {
            let options = MergeOptions { form, ..MergeOptions::default() };
            let made = merge_sources(sources, &[], &Target::File(path.to_owned()), Existing::IsReplaced, &options);
            made.map_err(|(_, trouble)| trouble)?.ok_or_else(|| nobody_reads(path))
        };
        let (merged, whole) = match self.format {
            Format::Chrome if !self.is_device() => (merge(self.output, MergedForm::Chrome)?, self.output.to_owned()),
            Format::Perfetto if !self.is_device() => {
                (merge(self.output, MergedForm::Perfetto)?, self.output.to_owned())
            }
            _ => {
                let path = self.folder.path().join(MERGED);
                let merged = merge(&path, MergedForm::Chrome)?;
                let source = Source::of(Input::Other(path), Passes::Several, &self.words)?;
                (merged, self.convert(&source)?)
            }
        };
        Ok(Made { whole, merged: Some(merged) })
    }

    /// Writes one trace in the form that is asked for. As JSON, that of a process is what it would have written itself.
    fn convert(&self, source: &Source) -> Result<PathBuf, Trouble> {
        let trouble = |what: String| Trouble::new(source.words.clone(), what);
        let made = make_at(&Target::File(self.output.to_owned()), Existing::IsReplaced, |out| match self.format {
            Format::Chrome => {
                let mut trace = source.open().map_err(|error| source.trouble(&error))?;
                io::copy(&mut trace, out).map(|_| ()).map_err(|cause| trouble(cause.to_string()))
            }
            _ => convert::write_plainly(source, self.format, out).map(|_| ()).map_err(trouble),
        })?;
        made.ok_or_else(|| nobody_reads(self.output))?;
        let is_readable = matches!(self.format, Format::Chrome | Format::Perfetto | Format::Torch) && !self.is_device();
        Ok(match &source.path {
            Some(path) if !is_readable => path.clone(),
            _ => self.output.to_owned(),
        })
    }

    /// Whether the output is a pipe or the like, which cannot be read again.
    fn is_device(&self) -> bool {
        self.output.metadata().is_ok_and(|about| !about.is_file())
    }
}

fn nobody_reads(output: &Path) -> Trouble {
    Trouble::at(output, "cannot write: nobody reads it")
}
