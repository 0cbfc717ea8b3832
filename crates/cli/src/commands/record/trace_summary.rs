//! The trace that `record` has made, summed up.

use crate::commands::summary::{self, Args as SummaryArgs, By, SummaryObject, Summed};
use crate::input::paths::Input;
use crate::input::source::{Passes, Source};
use crate::render::messages::Words;
use crate::user_error::Trouble;
use std::path::Path;

/// Rows of the summary.
const TOP: usize = 30;

/// A trace, summed up.
pub struct Sum {
    source: Source,
    summed: Summed,
    args: SummaryArgs,
}

impl Sum {
    /// Of a file that stands for the output.
    pub fn of(whole: &Path, output: &Path, words: &Words) -> Result<Self, Trouble> {
        let mut source = Source::of(Input::Other(whole.to_owned()), Passes::One, words)?;
        (source.name, source.words) = (output.display().to_string(), output.display().to_string());
        let args = SummaryArgs { by: vec![By::Name], top: TOP, ..SummaryArgs::default() };
        let summed = Summed::of(&source, &args)?;
        Ok(Self { source, summed, args })
    }

    /// What is printed of it.
    pub fn text(&self) -> String {
        summary::text(&self.source, &self.summed, &self.args.by)
    }

    /// The same as JSON.
    pub fn object(&self) -> SummaryObject<'_> {
        SummaryObject::new(&self.source, &self.summed, &self.args)
    }

    /// Says what could not be read.
    pub fn tell_losses(&self, words: &Words) {
        words.losses(&self.source.words, &self.summed.loaded.losses, &self.summed.notes);
    }
}
