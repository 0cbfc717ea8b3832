//! Dependencies between the crates go one way.
//!
//! ```text
//! cli -> analyze -> format -> model        device -> record -> format -> model
//! ```

use super::Finding;
use super::file::TextFile;
use super::manifest::{dependencies, package_name};

/// Each crate and the crates of this repository that it may depend on. A new dependency is a commit of its own, with
/// its reason.
const ALLOWED: &[(&str, &[&str])] = &[
    ("ferrum-trace-model", &[]),
    ("ferrum-trace-format", &["ferrum-trace-model"]),
    ("ferrum-trace", &["ferrum-trace-format", "ferrum-trace-model"]),
    ("ferrum-trace-analyze", &["ferrum-trace-format", "ferrum-trace-model"]),
    ("ferrum-trace-cli", &["ferrum-trace-analyze", "ferrum-trace-format", "ferrum-trace-model"]),
    ("ferrum-trace-device", &["ferrum-trace"]),
    ("ferrum-bench-core", &["ferrum-trace"]),
    ("ferrum-trace-testkit", &["ferrum-trace-format", "ferrum-trace-model"]),
];

/// The crate that only tests may use.
const TESTKIT: &str = "ferrum-trace-testkit";

const THIS_FILE: &str = "xtask/src/tidy/dependencies.rs";

pub(super) fn findings(file: &TextFile) -> Vec<Finding> {
    if file.path.rsplit('/').next() != Some("Cargo.toml") {
        return Vec::new();
    }
    let Some(package) = package_name(&file.text) else {
        return Vec::new();
    };
    let allowed = ALLOWED.iter().find(|(name, _)| *name == package).map(|(_, allowed)| *allowed);
    if allowed.is_none() && file.path.starts_with("crates/") {
        return vec![file.finding(0, format!("`{package}` has no line in {THIS_FILE}"))];
    }
    let inner = dependencies(&file.text).into_iter().filter(|it| !it.is_dev && is_ours(&it.name));
    let forbidden = inner.filter(|it| match allowed {
        Some(allowed) => !allowed.contains(&it.name.as_str()),
        None => it.name == TESTKIT,
    });
    forbidden.map(|it| file.finding(it.line_idx, complaint(package, &it.name))).collect()
}

fn is_ours(name: &str) -> bool {
    ALLOWED.iter().any(|(ours, _)| *ours == name)
}

fn complaint(package: &str, name: &str) -> String {
    match name {
        TESTKIT => format!("`{TESTKIT}` is for `[dev-dependencies]`"),
        _ => format!("`{package}` may not depend on `{name}`: see {THIS_FILE}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, package: &str, rest: &str) -> Vec<String> {
        let text = format!("[package]\nname = \"{package}\"\n{rest}");
        findings(&TextFile::new(path, text)).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_dependency_is_allowed_in_one_direction_only() {
        let format = "[dependencies]\nferrum-trace-format.workspace = true\n";
        assert!(complaints("crates/record/Cargo.toml", "ferrum-trace", format).is_empty());
        assert_eq!(
            complaints("crates/model/Cargo.toml", "ferrum-trace-model", format),
            ["`ferrum-trace-model` may not depend on `ferrum-trace-format`: see xtask/src/tidy/dependencies.rs"]
        );
    }

    #[test]
    fn the_command_line_tool_depends_on_the_recorder_only_in_tests() {
        let record = "[dependencies]\nferrum-trace = { path = \"../record\" }\n";
        assert_eq!(complaints("crates/cli/Cargo.toml", "ferrum-trace-cli", record).len(), 1);
        let tests = record.replace("[dep", "[dev-dep");
        assert!(complaints("crates/cli/Cargo.toml", "ferrum-trace-cli", &tests).is_empty());
    }

    #[test]
    fn only_tests_may_depend_on_the_testkit() {
        let testkit = "[dependencies]\nferrum-trace-testkit.workspace = true\n";
        let expected = ["`ferrum-trace-testkit` is for `[dev-dependencies]`"];
        assert_eq!(complaints("crates/record/Cargo.toml", "ferrum-trace", testkit), expected);
        assert_eq!(complaints("bench/Cargo.toml", "bench", testkit), expected);
    }

    #[test]
    fn a_new_crate_must_be_listed() {
        assert_eq!(
            complaints("crates/new/Cargo.toml", "ferrum-trace-new", ""),
            ["`ferrum-trace-new` has no line in xtask/src/tidy/dependencies.rs"]
        );
    }
}
