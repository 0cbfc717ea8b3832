//! The step `tidy`: rules of this repository that neither rustc nor clippy can check.

mod cycles;
mod dependencies;
mod file;
mod layers;
mod leftovers;
pub(crate) mod manifest;
mod modules;
mod openings;
mod prose_width;
mod rust_code;
mod rust_paths;
mod shape;
mod unsafety;

use std::fmt;

use crate::Result;
use crate::workspace::Workspace;
use file::TextFile;

/// One place that breaks one rule.
#[derive(Debug, PartialEq)]
struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// A rule that needs one file at a time.
type FileRule = fn(&TextFile) -> Vec<Finding>;

/// A rule that needs all files at once.
type TreeRule = fn(&[TextFile]) -> Vec<Finding>;

const FILE_RULES: &[FileRule] =
    &[shape::findings, leftovers::findings, unsafety::findings, dependencies::findings, prose_width::findings];

const TREE_RULES: &[TreeRule] = &[layers::findings, openings::findings];

/// Applies every rule to the files of the repository and prints the findings.
pub(crate) fn check(workspace: &Workspace) -> Result {
    let files = file::all(workspace)?;
    let in_files = files.iter().flat_map(|file| FILE_RULES.iter().flat_map(|rule| rule(file)));
    let in_tree = TREE_RULES.iter().flat_map(|rule| rule(&files));
    let findings: Vec<Finding> = in_files.chain(in_tree).collect();
    for finding in &findings {
        println!("{finding}");
    }
    println!("{} files, {} findings", files.len(), findings.len());
    match findings.len() {
        0 => Ok(()),
        _ => Err("the repository is not tidy: see the findings above".into()),
    }
}
