//! The step `licenses`: dependencies of the published crates have a license that `deny.toml` allows, and are from
//! crates.io.

mod allow_list;
mod dependency;

use crate::Result;
use crate::task::Task;
use crate::workspace::Workspace;
use allow_list::AllowList;
use dependency::Dependency;
use std::collections::BTreeSet;
use std::fs;

/// The rules, in the format of cargo-deny.
const RULES: &str = "deny.toml";

/// Checks every dependency of the published crates, with all features, on all platforms.
pub(crate) fn check(workspace: &Workspace) -> Result {
    let path = workspace.root().join(RULES);
    let text = fs::read_to_string(&path).map_err(|err| format!("`{}`: {err}", path.display()))?;
    let allowed = AllowList::parse(&text)?;
    let dependencies = dependencies(workspace)?;
    let findings = findings(&allowed, &dependencies);
    for finding in &findings {
        println!("{finding}");
    }
    println!("{} dependencies, {} findings", dependencies.len(), findings.len());
    if findings.is_empty() { Ok(()) } else { Err(format!("dependencies break the rules in {RULES}: see above")) }
}

fn dependencies(workspace: &Workspace) -> Result<BTreeSet<Dependency>> {
    let task = Task::cargo(workspace).words("tree --edges normal,build --all-features --target all");
    let task = task.words("--prefix none --no-dedupe --format").arg(dependency::FORMAT);
    let task = published(workspace)?.iter().fold(task, |task, name| task.arg("--package").arg(name));
    let listed = String::from_utf8_lossy(&task.output()?).into_owned();
    listed.lines().filter(|line| !line.is_empty()).map(Dependency::parse).collect()
}

/// Returns the names of the crates that are published.
fn published(workspace: &Workspace) -> Result<Vec<String>> {
    let folder = workspace.root().join("crates");
    let entries = fs::read_dir(&folder).map_err(|err| format!("`{}`: {err}", folder.display()))?;
    let manifests = entries.flatten().filter_map(|entry| fs::read_to_string(entry.path().join("Cargo.toml")).ok());
    let published = manifests.filter(|text| !text.lines().any(|line| line.trim() == "publish = false"));
    let mut names: Vec<String> =
        published.filter_map(|text| crate::tidy::manifest::package_name(&text).map(str::to_owned)).collect();
    names.sort();
    if names.is_empty() {
        Err(format!("`{}`: expected published crates, found none", folder.display()))
    } else {
        Ok(names)
    }
}

/// Returns a line for each rule that is broken.
fn findings(allowed: &AllowList, dependencies: &BTreeSet<Dependency>) -> Vec<String> {
    let mut findings = Vec::new();
    for it in dependencies {
        findings.extend(allowed.complaint(&it.license).map(|what| format!("{}: {what}", it.name)));
        findings.extend(
            it.foreign_source().map(|source| {
                format!("{}: expected a crate of crates.io or of this repository, found {source}", it.name)
            }),
        );
    }
    let unused = allowed.unused(dependencies.iter().map(|it| it.license.as_str()));
    findings.extend(unused.map(|license| format!("{RULES}: no dependency has the license `{license}`")));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&str]) -> Vec<String> {
        let allowed = AllowList::parse("[licenses]\nallow = [\"MIT\"]\n").unwrap();
        findings(&allowed, &lines.iter().map(|line| Dependency::parse(line).unwrap()).collect())
    }

    #[test]
    fn dependencies_with_allowed_licenses_are_no_findings() {
        assert_eq!(of(&["a v1.0.0\tMIT OR GPL-3.0-only", "b v1.0.0 (proc-macro)\tMIT"]), [""; 0]);
    }

    #[test]
    fn each_broken_rule_is_found() {
        let found = of(&[
            "a v1.0.0\tCDDL-1.0",
            "b v1.0.0\t",
            "c v1.0.0 (https://example.org/c.git#1234)\tMIT",
            "d v1.0.0\tMIT AND no-license",
        ]);
        assert_eq!(
            found,
            [
                "a v1.0.0: license `CDDL-1.0` is not allowed by deny.toml",
                "b v1.0.0: expected a license in its manifest, found none",
                "c v1.0.0: expected a crate of crates.io or of this repository, found https://example.org/c.git#1234",
                "d v1.0.0: expected a license expression of SPDX, found `MIT AND no-license`: unknown term",
            ]
        );
        assert_eq!(of(&["a v1.0.0\tCDDL-1.0"])[1], "deny.toml: no dependency has the license `MIT`");
    }
}
