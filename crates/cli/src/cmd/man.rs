//! `man`: the manual pages.

use crate::args::Args;
use crate::out::words::Words;
use crate::trouble::Trouble;
use crate::verdict::Verdict;
use clap::CommandFactory;
use clap_mangen::Man;

pub fn run(name: Option<&str>) -> Verdict {
    let mut program = Args::command();
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
    super::print(&page)
}
