//! Rules and viewers.

use std::fmt;

/// Property that files should not have, or that is worth knowing.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Stable name of the rule.
    pub code: &'static str,
    /// Description, one sentence.
    pub what: &'static str,
    /// Severity.
    pub severity: Severity,
    /// Affected viewers.
    pub viewers: Viewers,
    /// Effect in the viewers.
    pub harm: &'static str,
    /// Action of `repair`.
    pub repair: &'static str,
}

impl Rule {
    /// Returns true if `repair` changes the file because of this rule.
    pub(crate) fn is_repaired(&self) -> bool {
        !self.repair.starts_with("keeps") && !self.repair.starts_with("nothing")
    }
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A viewer refuses the file, loses a part of it, or draws it wrong.
    Error,
    /// Worth knowing.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Note => "note",
        })
    }
}

/// A program that opens traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Viewer {
    /// Perfetto.
    Perfetto,
    /// chrome://tracing.
    Chrome,
    /// speedscope.
    Speedscope,
    /// Firefox Profiler.
    Firefox,
    /// HolisticTraceAnalysis.
    Hta,
}

impl Viewer {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Perfetto, Self::Chrome, Self::Speedscope, Self::Firefox, Self::Hta];

    /// Returns its letter in tables.
    pub fn letter(self) -> char {
        match self {
            Self::Perfetto => 'P',
            Self::Chrome => 'C',
            Self::Speedscope => 'S',
            Self::Firefox => 'F',
            Self::Hta => 'H',
        }
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Perfetto => "Perfetto",
            Self::Chrome => "chrome://tracing",
            Self::Speedscope => "speedscope",
            Self::Firefox => "Firefox Profiler",
            Self::Hta => "HolisticTraceAnalysis",
        }
    }
}

/// Set of viewers, by their letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Viewers(pub &'static str);

impl Viewers {
    /// Returns the viewers of the set.
    pub fn iter(self) -> impl Iterator<Item = Viewer> {
        Viewer::ALL.into_iter().filter(move |&viewer| self.contains(viewer))
    }

    /// Returns true if the set contains a viewer.
    pub fn contains(self, viewer: Viewer) -> bool {
        self.0.contains(viewer.letter())
    }
}

impl fmt::Display for Viewers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Creates a rule.
pub(crate) const fn rule(
    severity: Severity,
    code: &'static str,
    what: &'static str,
    viewers: &'static str,
    harm: &'static str,
    repair: &'static str,
) -> Rule {
    Rule { code, what, severity, viewers: Viewers(viewers), harm, repair }
}
