//! The ferrum-trace command.
//!
//! Flags, glue and words; what is computed is computed in the other crates. Data goes to standard output, words go to
//! standard error, and the exit code is a [`Verdict`].

mod args;
mod cmd;
mod input;
mod interrupt;
mod out;
mod recovery;
mod spool_file;
mod trouble;
mod verdict;

use out::words::Words;
use std::process::ExitCode;
use verdict::Verdict;

fn main() -> ExitCode {
    let verdict = match args::parse(std::env::args_os()) {
        Ok(args) => cmd::run(args.command),
        Err(args::Unparsed::ByClap(error)) => error.exit(),
        Err(args::Unparsed::FileAlone(trouble)) => {
            Words::default().trouble(&trouble);
            Verdict::Trouble
        }
    };
    verdict.into()
}
