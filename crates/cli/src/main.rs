//! The ferrum-trace command.
//!
//! Flags, glue and words; what is computed is computed in the other crates. Data goes to standard output, words go to
//! standard error, and the exit code is a [`Verdict`](exit_status::Verdict).

mod commands;
mod exit_status;
mod flags;
mod input;
mod os;
mod output;
#[cfg(unix)]
mod recording;
mod render;
mod user_error;

use std::process::ExitCode;

fn main() -> ExitCode {
    match commands::command_line::parse(std::env::args_os()) {
        Ok(args) => {
            render::table::set_wide(args.wide);
            commands::run(args.command)
        }
        // Also help and version, which are printed instead.
        Err(error) => error.exit(),
    }
}
