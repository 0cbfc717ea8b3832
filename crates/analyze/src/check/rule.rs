//! What a rule is.

use std::fmt;

/// Something that files should not have, or that is worth knowing of them.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name, which stays the same from version to version.
    pub code: &'static str,
    /// What it is, in a sentence.
    pub what: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Who suffers.
    pub viewers: Viewers,
    /// What the viewers do about it.
    pub harm: &'static str,
    /// What `repair` does about it.
    pub repair: &'static str,
}

impl Rule {
    /// Whether `repair` does something about it.
    pub(crate) fn is_repaired(&self) -> bool {
        !self.repair.starts_with("keeps") && !self.repair.starts_with("nothing")
    }
}

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Some viewer refuses the file, or loses something of it, or draws it wrong.
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

    /// Its letter in tables.
    pub fn letter(self) -> char {
        match self {
            Self::Perfetto => 'P',
            Self::Chrome => 'C',
            Self::Speedscope => 'S',
            Self::Firefox => 'F',
            Self::Hta => 'H',
        }
    }

    /// What it is called.
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

/// Some of the viewers, by their letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Viewers(pub &'static str);

impl Viewers {
    /// Which they are.
    pub fn iter(self) -> impl Iterator<Item = Viewer> {
        Viewer::ALL.into_iter().filter(move |&viewer| self.contains(viewer))
    }

    /// Whether one is among them.
    pub fn contains(self, viewer: Viewer) -> bool {
        self.0.contains(viewer.letter())
    }
}

impl fmt::Display for Viewers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// An error.
pub(crate) const fn error(
    code: &'static str,
    what: &'static str,
    viewers: &'static str,
    harm: &'static str,
    repair: &'static str,
) -> Rule {
    Rule { code, what, severity: Severity::Error, viewers: Viewers(viewers), harm, repair }
}

/// A note.
pub(crate) const fn note(
    code: &'static str,
    what: &'static str,
    viewers: &'static str,
    harm: &'static str,
    repair: &'static str,
) -> Rule {
    Rule { severity: Severity::Note, ..error(code, what, viewers, harm, repair) }
}
