//! The flags of `man`.

const EXAMPLES: &str = "\
Examples:
  ferrum-trace man recover | man -l -
  ferrum-trace man > /usr/local/share/man/man1/ferrum-trace.1";

/// Print the manual page
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ManArgs {
    /// The command to print the page of
    pub(crate) command: Option<String>,
}
