//! Generates a completion script.

use super::args::CompletionsArgs;
use crate::commands::command_line::CommandLine;
use crate::exit_status::ExitStatus;
use crate::render::printer::print;
use clap::CommandFactory;

pub(crate) fn run(args: &CompletionsArgs) -> ExitStatus {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut CommandLine::command(), "ferrum-trace", &mut script);
    print(&script)
}
