//! `man`: the manual pages.

use super::args::ManArgs;
use crate::commands::command_line::CommandLine;
use crate::exit_status::Verdict;
use crate::render::messages::Words;
use crate::render::printer::print;
use crate::user_error::Trouble;
use clap::CommandFactory;
use clap_mangen::Man;

pub fn run(args: &ManArgs) -> Verdict {
    let name = args.command.as_deref();
    let mut program = CommandLine::command();
    // Gives the commands their full names.
    program.build();
    let wanted = match name {
        None => Some(&program),
        Some(name) => program.find_subcommand(name),
    };
    let Some(wanted) = wanted.cloned() else {
        let names: Vec<String> = program.get_subcommands().map(|known| format!("`{}`", known.get_name())).collect();
        let what = format!("expected one of the commands {}", names.join(", "));
        Words::default().trouble(&Trouble::new(name.unwrap_or_default(), what));
        return Verdict::Trouble;
    };
    let mut page = Vec::new();
    // Writing to memory cannot fail.
    let _ = Man::new(wanted).manual("ferrum-trace").render(&mut page);
    print(&page)
}
