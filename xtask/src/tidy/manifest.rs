//! Reads the package name and the dependencies of a `Cargo.toml`.

/// A line that names a dependency.
#[derive(Debug, PartialEq)]
pub(super) struct Dependency {
    pub name: String,
    pub line_idx: usize,
    /// Only for tests, examples and benchmarks.
    pub is_dev: bool,
}

/// The package's own name.
pub(crate) fn package_name(text: &str) -> Option<&str> {
    let lines = text.lines().skip_while(|line| line.trim() != "[package]");
    lines.filter_map(|line| value_of(line, "name")).next()
}

/// All dependencies: normal, dev and build, on every platform.
pub(super) fn dependencies(text: &str) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut table = Table::Other;
    for (line_idx, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(header) = line.strip_prefix('[') {
            table = Table::of(header.trim_end_matches(']'));
            if let Table::One { name, is_dev } = &table {
                found.push(Dependency { name: name.clone(), line_idx, is_dev: *is_dev });
            }
        } else if let (Table::Many { is_dev }, Some((key, value))) = (&table, line.split_once('=')) {
            let name = renamed(value).unwrap_or_else(|| key.split('.').next().unwrap_or_default().trim());
            found.push(Dependency { name: name.trim_matches('"').into(), line_idx, is_dev: *is_dev });
        }
    }
    found
}

enum Table {
    /// `[dependencies]`: one line for each.
    Many {
        is_dev: bool,
    },
    /// `[dependencies.NAME]`: a table for one dependency.
    One {
        name: String,
        is_dev: bool,
    },
    Other,
}

impl Table {
    fn of(header: &str) -> Self {
        let kind = ["dev-dependencies", "build-dependencies", "dependencies"]
            .into_iter()
            .find(|kind| format!(".{header}.").contains(&format!(".{kind}.")));
        let Some(kind) = kind.filter(|_| !header.starts_with("workspace")) else {
            return Self::Other;
        };
        let is_dev = kind.starts_with("dev");
        match header.rsplit_once(&format!("{kind}.")) {
            Some((_, name)) => Self::One { name: name.trim_matches('"').into(), is_dev },
            None => Self::Many { is_dev },
        }
    }
}

/// The name behind `alias = { package = "name" }`.
fn renamed(value: &str) -> Option<&str> {
    let inner = value.trim().strip_prefix('{')?;
    inner.split([',', '}']).find_map(|pair| value_of(pair, "package"))
}

fn value_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let (found, value) = line.split_once('=')?;
    (found.trim() == key).then(|| value.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"
[package]
name = "a" # Ours.

[features]
fast = ["b/fast"]

[dependencies]
b.workspace = true
alias = { path = "../c", package = "c" }

[dependencies.d]
version = "1"

[target.'cfg(loom)'.dev-dependencies]
e = "0.7"

[build-dependencies]
f = "1"

[lints]
workspace = true
"#;

    #[test]
    fn every_spelling_of_a_dependency_is_read() {
        let found = dependencies(MANIFEST);
        let names: Vec<(&str, bool)> = found.iter().map(|it| (it.name.as_str(), it.is_dev)).collect();
        assert_eq!(names, [("b", false), ("c", false), ("d", false), ("e", true), ("f", false)]);
        assert_eq!(found[0].line_idx, 8);
    }

    #[test]
    fn the_package_has_a_name() {
        assert_eq!(package_name("[package]\nname = \"a\"\n"), Some("a"));
        assert_eq!(package_name("[workspace]\nmembers = []\n"), None);
    }

    #[test]
    fn the_shared_versions_of_the_workspace_are_no_dependencies() {
        assert_eq!(dependencies("[workspace.dependencies]\nb = \"1\"\n"), []);
    }
}
