//! Baselines: files with the figures of the runs of one side.
//!
//! `docs/gate.md` describes the format. Increase [`VERSION`] with a change that other versions cannot read.

use super::machine::Machine;
use super::side::Side;
use crate::output::pending_file::{Existing, PendingFile};
use crate::user_error::UserError;
use ferrum_trace_analyze::runs::{Profile, Run};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// First field of every baseline.
const FORMAT: &str = "ferrum-trace baseline";
/// Version of the format.
pub(crate) const VERSION: u32 = 1;
/// Folder of the baselines, in the current folder.
const FOLDER: &str = ".ferrum-trace/baselines";
const EXTENSION: &str = "json";
/// Largest number of parts of the profile.
const PARTS_MAX: usize = 500;
/// Largest file that is read. A baseline of a thousand runs has some megabytes.
const BYTES_MAX: u64 = 256 << 20;

/// Variables that change what the recorder writes, and so the figures.
const VARIABLES: [&str; 5] = [
    "FERRUM_TRACE_CATEGORIES",
    "FERRUM_TRACE_LIMIT",
    "FERRUM_TRACE_RING",
    "FERRUM_TRACE_ROTATE",
    "FERRUM_TRACE_WINDOW",
];

/// A stored baseline.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct BaselineFile {
    format: String,
    version: u32,
    /// Its name.
    pub(crate) name: String,
    /// Time at which it was saved, in seconds since 1970.
    pub(crate) saved_unix_s: u64,
    /// The machine of its runs.
    pub(crate) machine: Machine,
    /// The programs that made it.
    pub(crate) build: Build,
    /// Settings of its runs.
    pub(crate) settings: Settings,
    /// Figures of its runs.
    pub(crate) runs: Vec<Run>,
    /// Time of the steps of all runs by part.
    pub(crate) profile: Profile,
}

/// Programs that made a baseline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Build {
    /// Version of this command.
    pub(crate) ferrum_trace: String,
    /// Version of the measured program, as far as known.
    pub(crate) program: Option<String>,
}

/// Settings of the runs of a baseline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// The command, if the baseline was made by running one.
    pub(crate) command: Option<String>,
    /// Values of the variables that change the recording.
    pub(crate) variables: BTreeMap<String, String>,
}

/// Version of a file of any version.
#[derive(Deserialize)]
struct VersionOnly {
    version: u64,
}

/// Conditions under which new runs are made.
#[derive(Clone, Debug)]
pub(crate) struct Conditions {
    /// The machine.
    pub(crate) machine: Machine,
    /// Variables that change the recording; `None` if the new runs exist already, and their settings are unknown.
    pub(crate) variables: Option<BTreeMap<String, String>>,
}

impl Conditions {
    /// Returns the conditions of this process. `is_recording` is true if it will record the new runs.
    pub(crate) fn current(is_recording: bool) -> Self {
        Self { machine: Machine::current(), variables: is_recording.then(recording_variables) }
    }
}

impl BaselineFile {
    /// Creates a baseline of a side. Names of traces are left out, because they often contain the name of the host.
    pub(crate) fn new(name: String, saved_unix_s: u64, build: Build, settings: Settings, side: Side) -> Self {
        let Side { mut runs, mut profile, .. } = side;
        for (run, number) in runs.iter_mut().zip(1..) {
            run.names = vec![format!("run {number}")];
            run.figures.retain(|_, figure| figure.is_finite());
        }
        profile.shorten(PARTS_MAX);
        let format = FORMAT.to_owned();
        Self {
            format,
            version: VERSION,
            name,
            saved_unix_s,
            machine: Machine::current(),
            build,
            settings,
            runs,
            profile,
        }
    }

    /// Reads a baseline.
    pub(crate) fn read(path: &Path) -> Result<Self, UserError> {
        let missing = |cause: io::Error| match cause.kind() {
            io::ErrorKind::NotFound => UserError::at(path, "no such baseline")
                .hint("`ferrum-trace baseline list` lists the baselines, `ferrum-trace baseline save` makes one"),
            _ => UserError::at(path, format!("cannot read: {cause}")),
        };
        let mut bytes = Vec::new();
        File::open(path).and_then(|file| file.take(BYTES_MAX).read_to_end(&mut bytes)).map_err(missing)?;
        let wrong = |cause: serde_json::Error| UserError::at(path, format!("expected a baseline: {cause}"));
        let VersionOnly { version } = serde_json::from_slice(&bytes).map_err(wrong)?;
        if version != u64::from(VERSION) {
            let what = format!("expected a baseline of version {VERSION}, found version {version}");
            return Err(UserError::at(path, what).hint("save it again with this version of ferrum-trace"));
        }
        let baseline: Self = serde_json::from_slice(&bytes).map_err(wrong)?;
        if baseline.format != FORMAT {
            let what = format!("expected `format` to be `{FORMAT}`, found `{}`", baseline.format);
            return Err(UserError::at(path, what));
        }
        Ok(baseline)
    }

    /// Writes the file. It appears under its name when it is complete.
    pub(crate) fn write(&self, path: &Path, existing: Existing) -> Result<(), UserError> {
        let cannot = |cause: io::Error| match cause.kind() {
            io::ErrorKind::AlreadyExists => UserError::at(path, "exists already").hint("use `--force` to replace it"),
            _ => UserError::at(path, format!("cannot write: {cause}")),
        };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(cannot)?;
        }
        let mut text = serde_json::to_vec(self).map_err(|cause| cannot(cause.into()))?;
        text.push(b'\n');
        let mut file = PendingFile::create(path).map_err(cannot)?;
        file.write_all(&text).map_err(cannot)?;
        file.commit(existing).map_err(cannot)
    }

    /// Returns a line for each reason why new runs cannot be compared with this baseline.
    pub(crate) fn differences(&self, conditions: &Conditions) -> Vec<String> {
        let mut lines = self.machine.differences(&conditions.machine);
        let Some(current) = &conditions.variables else { return lines };
        let value = |variables: &BTreeMap<String, String>, name: &str| {
            variables.get(name).map_or_else(|| "not set".to_owned(), |value| format!("`{value}`"))
        };
        for name in VARIABLES {
            let (stored, now) = (value(&self.settings.variables, name), value(current, name));
            if stored != now {
                lines.push(format!("other setting {name}: {stored} in the baseline, {now} here"));
            }
        }
        lines
    }

    /// Returns the side of a comparison. Its runs have no times: they were not made together with any others.
    pub(crate) fn into_side(self) -> Side {
        let mut runs = self.runs;
        runs.iter_mut().for_each(|run| run.start_unix_ns = None);
        // Adding drops parts whose key is missing in the file.
        let mut profile = Profile::default();
        profile.add(&self.profile);
        Side { runs, profile, ..Side::default() }
    }
}

/// Returns the values of the variables that change the recording.
pub(crate) fn recording_variables() -> BTreeMap<String, String> {
    let value = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let text = |name: &str| Some((name.to_owned(), value(name)?.to_string_lossy().into_owned()));
    VARIABLES.into_iter().filter_map(text).collect()
}

/// Returns the default path of a baseline.
pub(crate) fn path_of_name(name: &str) -> Result<PathBuf, UserError> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "._-+".contains(letter);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        let what = "expected a name of letters, digits, `.`, `_`, `-` and `+`";
        return Err(UserError::new(format!("baseline `{name}`"), what).hint("use `-o FILE` to choose any path"));
    }
    Ok(Path::new(FOLDER).join(format!("{name}.{EXTENSION}")))
}

/// Returns the paths of the baselines in the default folder, sorted.
pub(crate) fn stored_baselines() -> Result<Vec<PathBuf>, UserError> {
    let folder = Path::new(FOLDER);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(UserError::at(folder, format!("cannot read the folder: {cause}"))),
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == EXTENSION));
    paths.sort();
    Ok(paths)
}

/// Returns true if the file begins like a baseline of any version.
pub(super) fn begins_like_a_baseline(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(256).read_to_end(&mut head));
    let is_named = |head: &[u8]| head.windows(FORMAT.len()).any(|window| window == FORMAT.as_bytes());
    read.is_ok() && head.trim_ascii_start().starts_with(b"{") && is_named(&head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrum_trace_analyze::runs::{PartKey, PartSum, Place, Stratum, StratumProfile, Unit};

    fn side() -> Side {
        let figures = BTreeMap::from([("ttft.p50".to_owned(), 5e6), ("odd".to_owned(), f64::NAN)]);
        let run = Run { names: vec!["host-7.spool".to_owned()], start_unix_ns: Some(7), figures, ..Run::default() };
        let mut profile = Profile::new(Unit::Step);
        let none = String::new;
        let key = PartKey { place: Place::Host, category: none(), name: "a".to_owned(), parent: none(), layer: None };
        let key = profile.key(key);
        let parts = BTreeMap::from([(key, PartSum { time_ns: 9, count: 1, position: 0 }), (77, PartSum::default())]);
        profile.strata.insert(Stratum::default(), StratumProfile { n_typical: 1, parts, ..StratumProfile::default() });
        Side { runs: vec![run], profile, ..Side::default() }
    }

    fn baseline() -> BaselineFile {
        BaselineFile::new("main".to_owned(), 1, Build::default(), Settings::default(), side())
    }

    #[test]
    fn a_written_baseline_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/main.json");
        baseline().write(&path, Existing::Keep).unwrap();
        assert!(begins_like_a_baseline(&path));
        let read = BaselineFile::read(&path).unwrap();
        assert_eq!(read.runs[0].names, ["run 1"], "the name of the host is left out");
        assert_eq!(read.runs[0].figures, BTreeMap::from([("ttft.p50".to_owned(), 5e6)]));
        let side = read.into_side();
        assert_eq!(side.runs[0].start_unix_ns, None);
        assert_eq!(side.profile.strata[&Stratum::default()].parts.len(), 1, "a part without a key is dropped");
        let refused = baseline().write(&path, Existing::Keep).unwrap_err();
        assert!(refused.to_string().contains("exists already"), "{refused}");
        baseline().write(&path, Existing::Replace).unwrap();
    }

    #[test]
    fn other_versions_and_other_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.json");
        let refusal = |text: &str| {
            fs::write(&path, text).unwrap();
            BaselineFile::read(&path).unwrap_err().to_string()
        };
        assert!(refusal(r#"{"version":2,"more":1}"#).contains("expected a baseline of version 1, found version 2"));
        assert!(refusal("[]").contains("expected a baseline: "));
        assert!(refusal(r#"{"version":1}"#).contains("expected a baseline: missing field"));
        let other = serde_json::to_string(&baseline()).unwrap().replace(FORMAT, "something");
        assert!(refusal(&other).contains("found `something`"));
    }

    #[test]
    fn other_settings_are_differences_if_the_new_runs_are_recorded_now() {
        let variables = |value: &str| BTreeMap::from([("FERRUM_TRACE_RING".to_owned(), value.to_owned())]);
        let mut stored = baseline();
        stored.settings.variables = variables("64MiB");
        let mut now = Conditions { machine: stored.machine.clone(), variables: None };
        assert_eq!(stored.differences(&now), [""; 0]);
        now.variables = Some(variables("64MiB"));
        assert_eq!(stored.differences(&now), [""; 0]);
        now.variables = Some(BTreeMap::new());
        let line = "other setting FERRUM_TRACE_RING: `64MiB` in the baseline, not set here";
        assert_eq!(stored.differences(&now), [line]);
    }

    #[test]
    fn names_cannot_leave_the_folder() {
        assert_eq!(path_of_name("main-1.2").unwrap(), Path::new(".ferrum-trace/baselines/main-1.2.json"));
        for wrong in ["", "a/b", "..", ".hidden", "a b"] {
            assert!(path_of_name(wrong).is_err(), "{wrong}");
        }
    }
}
