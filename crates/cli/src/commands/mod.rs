//! The commands: one folder each.
//!
//! A folder has `args.rs` (the flags), `run.rs` (the work), `text.rs` (the text for people) and `json.rs` (the object
//! that `--json` prints), as far as the command needs them. Its `mod.rs` exports `Args` and `run`. `record` is the only
//! command that uses others: its report ends with a summary of the trace.
//!
//! A new command is a new folder and two lines here, its `mod` and its entry in [`commands!`], from which both the
//! command line and the dispatch are made. The `mod` could be made there too, but rustfmt does not find files through a
//! macro.

mod check;
pub(crate) mod command_line;
mod completions;
mod convert;
mod each_trace;
mod layers;
mod man;
mod merge;
#[cfg(unix)]
mod record;
mod recover;
mod repair;
mod requests;
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
    Check => check,
    Repair => repair,
    Convert => convert,
    Merge => merge,
    Recover => recover,
    Completions => completions,
    Man => man,
}
