//! Maintenance tasks of this repository: `cargo xtask CHORE`.
//!
//! CI runs `cargo xtask check`; CONTRIBUTING.md describes each of its steps.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool prints")]

mod advisories;
mod args;
mod check;
mod devices;
mod fuzz;
mod growth;
mod hta;
mod licenses;
mod steps;
mod task;
mod tidy;
mod toolchain;
mod viewers;
mod workspace;

use std::process::ExitCode;

use args::Chore;
use workspace::Workspace;

/// The error is a complete message.
type Result<T = ()> = std::result::Result<T, String>;

const FAILED: u8 = 1;
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match args::parse(&words) {
        Ok(chore) => finish(run(chore), FAILED),
        Err(complaint) => finish(Err(complaint), USAGE),
    }
}

fn run(chore: Chore) -> Result {
    match chore {
        Chore::Help => print!("{}", args::help()),
        Chore::Check(selection) => check::check(&Workspace::find()?, selection)?,
        Chore::Advisories => advisories::check(&Workspace::find()?)?,
        Chore::Hta => hta::check(&Workspace::find()?)?,
        Chore::Growth { cases } => growth::measure(&Workspace::find()?, &cases)?,
        Chore::Fuzz { seconds } => fuzz::fuzz(&Workspace::find()?, seconds)?,
    }
    Ok(())
}

fn finish(outcome: Result, code: u8) -> ExitCode {
    let Err(complaint) = outcome else {
        return ExitCode::SUCCESS;
    };
    eprintln!("xtask: {complaint}");
    ExitCode::from(code)
}
