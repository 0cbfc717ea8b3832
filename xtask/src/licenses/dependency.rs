//! A line of `cargo tree`.

use crate::Result;

/// The format of `cargo tree`: package, tab, license.
pub(super) const FORMAT: &str = "{p}\t{l}";

/// A dependency, or a crate of this repository.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Dependency {
    /// Name and version.
    pub name: String,
    /// The license of its manifest; empty if there is none.
    pub license: String,
    /// Its source; empty for crates.io.
    source: String,
}

impl Dependency {
    /// Parses a line such as `serde_derive v1.0.0 (proc-macro)\tMIT`.
    pub(super) fn parse(line: &str) -> Result<Self> {
        let unexpected = || format!("expected a line of `cargo tree`, found `{line}`");
        let (package, license) = line.split_once('\t').ok_or_else(unexpected)?;
        let package = package.replace(" (proc-macro)", "");
        let (name, source) = package.split_once(" (").unwrap_or((&package, ""));
        let source = source.trim_end_matches(')');
        Ok(Self { name: name.to_owned(), license: license.to_owned(), source: source.to_owned() })
    }

    /// Returns the source if it is neither crates.io nor a folder.
    pub(super) fn foreign_source(&self) -> Option<&str> {
        let is_folder = std::path::Path::new(&self.source).is_absolute();
        (!self.source.is_empty() && !is_folder).then_some(&self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> (String, String, Option<String>) {
        let it = Dependency::parse(line).unwrap();
        let foreign = it.foreign_source().map(str::to_owned);
        (it.name, it.license, foreign)
    }

    #[test]
    fn a_line_has_a_package_a_license_and_a_source() {
        let root = env!("CARGO_MANIFEST_DIR");
        let expected =
            |name: &str, foreign: Option<&str>| (name.to_owned(), "MIT".to_owned(), foreign.map(str::to_owned));
        assert_eq!(parsed("a v1.0.0\tMIT"), expected("a v1.0.0", None));
        assert_eq!(parsed("a v1.0.0 (proc-macro)\tMIT"), expected("a v1.0.0", None));
        assert_eq!(parsed(&format!("a v1.0.0 ({root})\tMIT")), expected("a v1.0.0", None));
        assert_eq!(parsed(&format!("a v1.0.0 (proc-macro) ({root})\tMIT")), expected("a v1.0.0", None));
        let git = "https://example.org/a.git?branch=b#1234";
        assert_eq!(parsed(&format!("a v1.0.0 ({git})\tMIT")), expected("a v1.0.0", Some(git)));
        assert_eq!(parsed("a v1.0.0 (registry `other`)\tMIT"), expected("a v1.0.0", Some("registry `other`")));
        assert!(Dependency::parse("a v1.0.0").is_err());
    }
}
