//! The step `tidy`: rules of this repository that neither rustc nor clippy can check.

mod doors;
mod file;
mod leftovers;
mod manifest;
mod rust_code;
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
    words: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line, self.words)
    }
}

/// A rule looks at one file at a time.
type Rule = fn(&TextFile) -> Vec<Finding>;

const RULES: &[Rule] = &[shape::findings, leftovers::findings, unsafety::findings, doors::findings];

/// Puts every rule to every file of the repository, and prints all that is found.
pub fn check(workspace: &Workspace) -> Result {
    let files = file::all(workspace)?;
    let findings: Vec<Finding> = files.iter().flat_map(|file| RULES.iter().flat_map(|rule| rule(file))).collect();
    for finding in &findings {
        println!("{finding}");
    }
    println!("{} files, {} findings", files.len(), findings.len());
    match findings.len() {
        0 => Ok(()),
        _ => Err("the repository is not tidy: see the findings above".into()),
    }
}
