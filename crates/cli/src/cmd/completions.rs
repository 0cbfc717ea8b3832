//! `completions`: scripts for shells.

use crate::args::Args;
use crate::verdict::Verdict;
use clap::CommandFactory;
use clap_complete::Shell;

pub fn run(shell: Shell) -> Verdict {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "ferrum-trace", &mut script);
    super::print(&script)
}
