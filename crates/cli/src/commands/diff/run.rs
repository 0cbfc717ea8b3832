//! Compares two traces.

use super::args::DiffArgs;
use super::engines::{self, EnginesArgs};
use crate::exit_status::ExitStatus;

pub(crate) fn run(args: &DiffArgs) -> ExitStatus {
    engines::run(&EnginesArgs {
        files: args.files.clone(),
        rules: args.rules.clone(),
        print_rules: args.print_rules,
        json: args.report.json,
        markdown: args.markdown,
        verbose: args.report.verbose,
    })
}
