//! The trace that `record` has made, summed up.

use crate::commands::summary::{self, Args as SummaryArgs, By, SummaryObject, SummaryReport};
use crate::input::paths::Input;
use crate::input::source::{Passes, Source};
use crate::render::messages::Messages;
use crate::user_error::UserError;
use std::path::Path;

/// Rows of the summary.
const TOP: usize = 30;

/// A trace, summed up.
pub struct TraceSummary {
    source: Source,
    report: SummaryReport,
    args: SummaryArgs,
}

impl TraceSummary {
    /// Of a file that stands for the output.
    pub fn of(whole: &Path, output: &Path, messages: &Messages) -> Result<Self, UserError> {
        let mut source = Source::of(Input::Other(whole.to_owned()), Passes::One, messages)?;
        (source.name, source.label) = (output.display().to_string(), output.display().to_string());
        let args = SummaryArgs { by: vec![By::Name], top: TOP, ..SummaryArgs::default() };
        let report = SummaryReport::of(&source, &args)?;
        Ok(Self { source, report, args })
    }

    /// What is printed of it.
    pub fn text(&self) -> String {
        summary::text(&self.source, &self.report, &self.args.by)
    }

    /// The same as JSON.
    pub fn object(&self) -> SummaryObject<'_> {
        SummaryObject::new(&self.source, &self.report, &self.args)
    }

    /// Says what could not be read.
    pub fn tell_losses(&self, messages: &Messages) {
        messages.losses(&self.source.label, &self.report.loaded.losses, &self.report.notes);
    }
}
