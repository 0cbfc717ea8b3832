//! The flags of `completions`.

use clap_complete::Shell;

const EXAMPLES: &str = "\
Examples:
  source <(ferrum-trace completions bash)                 # in ~/.bashrc
  ferrum-trace completions fish | source                  # in config.fish
  ferrum-trace completions zsh > ~/.zfunc/_ferrum-trace   # if it is in fpath";

/// Print a completion script for your shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// The shell to generate the script for
    pub(crate) shell: Shell,
}
