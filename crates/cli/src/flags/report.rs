//! `--json` and `--verbose`.

use crate::render::messages::Messages;

/// Flags of the report. A command for which a flag means something else changes its help with `mut_arg`.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct ReportArgs {
    /// Print JSON, one object per file
    #[arg(long)]
    pub(crate) json: bool,

    /// List everything that could not be read, not only the first 20 places
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

impl ReportArgs {
    /// Returns the messages with the verbosity of `--verbose`.
    pub(crate) fn messages(self) -> Messages {
        Messages { verbose: self.verbose }
    }
}
