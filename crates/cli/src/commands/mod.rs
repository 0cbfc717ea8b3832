//! The commands: one folder each.
//!
//! A folder has `args.rs` (flags), `run.rs` (work), `report.rs` (figures to print), `text.rs` (report for people) and
//! `json.rs` (object of `--json`), as far as the command needs them. Its `mod.rs` exports `Args` and `run`. Only
//! `record` uses other commands: it converts the recordings and ends with a summary.
//!
//! A new command is a new folder and two lines in this file: its `mod` and its entry in `commands!`, which generates
//! the command line and the dispatch. The macro could generate the `mod` too, but then rustfmt would not find the
//! files.

#[cfg(unix)]
mod baseline;
mod check;
pub(crate) mod command_line;
mod completions;
mod convert;
mod diff;
mod each_trace;
#[cfg(unix)]
mod gate;
mod layers;
mod man;
mod merge;
mod path;
#[cfg(unix)]
mod record;
mod recover;
pub(crate) mod refusal;
mod repair;
mod requests;
mod roofline;
mod steps;
mod summary;

use clap::Subcommand;
use std::process::ExitCode;

/// Declares the commands, in the order of the help: `Variant => module`.
macro_rules! commands {
    ($($(#[$attribute:meta])* $variant:ident => $module:ident,)+) => {
        /// A command and its flags.
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command {
            $($(#[$attribute])* $variant($module::Args),)+
        }

        /// Runs a command.
        pub(crate) fn run(command: Command) -> ExitCode {
            match command {
                $($(#[$attribute])* Command::$variant(args) => $module::run(&args).into(),)+
            }
        }
    };
}

commands! {
    #[cfg(unix)]
    Record => record,
    Summary => summary,
    Layers => layers,
    Steps => steps,
    Requests => requests,
    Path => path,
    Roofline => roofline,
    Diff => diff,
    #[cfg(unix)]
    Gate => gate,
    #[cfg(unix)]
    Baseline => baseline,
    Check => check,
    Repair => repair,
    Convert => convert,
    Merge => merge,
    Recover => recover,
    Completions => completions,
    Man => man,
}
