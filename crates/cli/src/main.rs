//! The ferrum-trace command.
//!
//! The other crates do the analysis; this one has flags, files and reports. Data goes to standard output, messages go
//! to standard error, and the exit code is an [`ExitStatus`](exit_status::ExitStatus).
//!
//! Modules, each of which uses only those below it:
//!
//! ```text
//! commands    one folder per command, and the command line
//! recording   the processes of a program that `record` runs
//! sides       sides of a comparison: traces, reduced to runs
//! input       opens what the user named: traces, spools, streams
//! output      writes files: path, format, compression, atomic rename
//! flags       flags that several commands have
//! render      tables, numbers, messages, progress, blocks of JSON
//! os, exit_status, user_error
//! ```

mod commands;
mod exit_status;
mod flags;
mod input;
mod os;
mod output;
#[cfg(unix)]
mod recording;
mod render;
mod sides;
mod user_error;

use std::process::ExitCode;

fn main() -> ExitCode {
    match commands::command_line::parse(std::env::args_os()) {
        Ok(args) => {
            render::table::set_wide(args.wide);
            commands::run(args.command)
        }
        Err(error) => commands::refusal::refuse(error),
    }
}
