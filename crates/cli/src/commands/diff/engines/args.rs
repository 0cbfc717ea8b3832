//! Flags of `diff --engines`.

use std::path::PathBuf;

/// Flags of the comparison.
#[derive(Clone, Debug, Default)]
pub(crate) struct EnginesArgs {
    /// The base and the new trace.
    pub(crate) files: Vec<PathBuf>,
    /// File with rules that come before the built-in ones.
    pub(crate) rules: Option<PathBuf>,
    /// Print the built-in rules instead.
    pub(crate) print_rules: bool,
    /// Print JSON.
    pub(crate) json: bool,
    /// Print Markdown.
    pub(crate) markdown: bool,
    /// List all places that could not be read, and all names without a class.
    pub(crate) verbose: bool,
}
