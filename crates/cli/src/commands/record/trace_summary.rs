//! The summary at the end of `record`.

use crate::commands::summary::{self, Args as SummaryArgs, SummaryObject, SummaryReport};
use crate::flags::By;
use crate::input::captures::Captures;
use crate::input::paths::Input;
use crate::input::source::{Passes, Source};
use crate::output::target::Target;
use crate::render::messages::Messages;
use crate::user_error::UserError;
use std::path::Path;

/// Number of rows.
const TOP: usize = 30;

/// The summary of the written trace.
pub(crate) struct TraceSummary {
    source: Source,
    report: SummaryReport,
    args: SummaryArgs,
}

impl TraceSummary {
    /// Summarizes the file `readable` under the name of the output.
    pub(crate) fn of(readable: &Path, output: &Path, messages: &Messages) -> Result<Self, UserError> {
        let mut source = Source::of(Input::Other(readable.to_owned()), Passes::One, messages)?;
        (source.name, source.label) = (Target::of(output).name(), Target::of(output).label());
        let args = SummaryArgs { by: vec![By::Name], top: TOP, ..SummaryArgs::default() };
        let report = SummaryReport::of(&source, &args, &Captures::default())?;
        Ok(Self { source, report, args })
    }

    /// Returns the text of `summary`.
    pub(crate) fn text(&self) -> String {
        summary::text(&self.source, &self.report, &self.args.by)
    }

    /// Returns the object of `summary`.
    pub(crate) fn object(&self) -> SummaryObject<'_> {
        SummaryObject::new(&self.source, &self.report, &self.args)
    }

    /// Reports the places that could not be read.
    pub(crate) fn report_losses(&self, messages: &Messages) {
        messages.losses(&self.source.label, &self.report.loaded.losses, &self.report.notes);
    }
}
