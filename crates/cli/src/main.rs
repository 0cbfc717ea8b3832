//! The ferrum-trace command.
//!
//! Flags, glue and words; what is computed is computed in the other crates. Data goes to standard output, words go to
//! standard error, and the exit code is a [`Verdict`](verdict::Verdict).

mod args;
mod cmd;
mod file_id;
mod input;
mod interrupt;
mod out;
#[cfg(unix)]
mod recording;
mod recovery;
mod replay;
mod source;
mod spool_file;
mod trouble;
mod verdict;
#[cfg(unix)]
mod viewer;

use std::process::ExitCode;

fn main() -> ExitCode {
    match args::parse(std::env::args_os()) {
        Ok(args) => {
            out::table::set_wide(args.wide);
            cmd::run(args.command)
        }
        // Also help and version, which are printed instead.
        Err(error) => error.exit(),
    }
}
