//! Renders a manual page.

use super::args::ManArgs;
use crate::commands::command_line::CommandLine;
use crate::exit_status::ExitStatus;
use crate::render::messages::Messages;
use crate::render::printer::print;
use crate::user_error::UserError;
use clap::CommandFactory;
use clap_mangen::Man;

pub(crate) fn run(args: &ManArgs) -> ExitStatus {
    let name = args.command.as_deref();
    let mut program = CommandLine::command();
    // Sets the full names of the commands.
    program.build();
    let wanted = match name {
        None => Some(&program),
        Some(name) => program.find_subcommand(name),
    };
    let Some(wanted) = wanted.cloned() else {
        let names: Vec<String> = program.get_subcommands().map(|known| format!("`{}`", known.get_name())).collect();
        let what = format!("expected one of the commands {}", names.join(", "));
        Messages::default().error(&UserError::new(name.unwrap_or_default(), what));
        return ExitStatus::Error;
    };
    let mut page = Vec::new();
    // Writing to memory cannot fail.
    let _ = Man::new(wanted).manual("ferrum-trace").render(&mut page);
    print(&page)
}
