//! What the paths that a user typed stand for.

use crate::out::words::Words;
use crate::recovery::{Outcome, Recovery};
use crate::trouble::Trouble;
use ferrum_trace_format::spool::is_spool;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What a spool's name has more than its trace's.
const SPOOL_ENDING: &str = ferrum_trace_format::spool::FILE_EXTENSION;
/// Stands for standard input, or standard output.
pub const DASH: &str = "-";

/// One file to work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Standard input.
    Stdin,
    /// A spool.
    Spool(PathBuf),
    /// Something else: a trace, or no trace at all.
    Other(PathBuf),
    /// A trace that is behind its spool, or not there at all.
    Unrecovered(Unrecovered),
}

/// A trace that its process did not complete, and the spool that it can be made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrecovered {
    pub trace: PathBuf,
    pub spool: PathBuf,
}

impl Input {
    /// The file that is read.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Stdin => None,
            Self::Spool(path) | Self::Other(path) => Some(path),
            Self::Unrecovered(unrecovered) => Some(&unrecovered.spool),
        }
    }

    /// What it is called in JSON.
    pub fn name(&self) -> String {
        self.path().map_or_else(|| DASH.to_owned(), |path| path.display().to_string())
    }

    /// What it is called in words.
    pub fn words(&self) -> String {
        self.path().map_or_else(|| "standard input".to_owned(), |path| path.display().to_string())
    }
}

impl Unrecovered {
    /// Makes the trace of the spool beside it, and says so. Any command that is given such a trace begins with this.
    pub fn recover(&self, recovery: &Recovery, words: &Words) -> Result<Outcome, Trouble> {
        if !self.trace.exists() {
            let spool = self.spool.file_name().unwrap_or_default();
            let what = format!("missing, but its spool exists: recovering {}", spool.display());
            words.note(&self.trace, &what);
        }
        recovery.run(Input::Spool(self.spool.clone()))
    }
}

/// A word that stands for no input, and why.
#[derive(Debug)]
pub struct NoInput {
    pub name: String,
    pub trouble: Trouble,
}

/// What a folder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folders {
    /// The spools in it.
    HoldSpools,
    /// Nothing.
    AreRefused,
}

/// The files that the typed words stand for, in their order, each once.
pub fn expand(typed: &[PathBuf], folders: Folders) -> Vec<Result<Input, NoInput>> {
    let mut found: Vec<Result<Input, NoInput>> = Vec::new();
    for word in typed {
        match resolve(word, folders) {
            Err(trouble) => found.push(Err(NoInput { name: word.display().to_string(), trouble })),
            Ok(inputs) => {
                for input in inputs {
                    let is_known =
                        |known: &Result<Input, NoInput>| known.as_ref().is_ok_and(|known| same(known, &input));
                    if !found.iter().any(is_known) {
                        found.push(Ok(input));
                    }
                }
            }
        }
    }
    found
}

/// A spool may be found by its own name and by its trace's.
fn same(one: &Input, other: &Input) -> bool {
    one.path() == other.path()
}

/// The files that one typed word stands for; at least one.
fn resolve(word: &Path, folders: Folders) -> Result<Vec<Input>, Trouble> {
    if word == Path::new(DASH) {
        return Ok(vec![Input::Stdin]);
    }
    match fs::metadata(word) {
        Ok(about) if about.is_dir() => match folders {
            Folders::HoldSpools => spools_in(word),
            Folders::AreRefused => Err(is_folder(word)),
        },
        Ok(about) => Ok(vec![input_at(word, about.is_file())]),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => resolve_missing(word, folders),
        Err(cause) => Err(Trouble::at(word, format!("cannot open: {cause}"))),
    }
}

fn is_folder(word: &Path) -> Trouble {
    let hint = format!("name the traces in it: `{}`", word.join("*.json").display());
    Trouble::at(word, "expected a trace, found a folder").hint(hint)
}

fn resolve_missing(word: &Path, folders: Folders) -> Result<Vec<Input>, Trouble> {
    if let Some(unrecovered) = Unrecovered::of(word) {
        return Ok(vec![Input::Unrecovered(unrecovered)]);
    }
    if let Some(pattern) = word.to_str().filter(|word| word.contains(['*', '?', '['])) {
        return matches(word, pattern, folders);
    }
    let what = "no such file";
    let trouble = match trace_path(word) {
        Some(trace) if trace.is_file() => Trouble::at(word, what).hint(format!(
            "{} is there: a process that ends by itself completes it and removes the spool",
            trace.display()
        )),
        Some(_) => Trouble::at(word, what),
        None => Trouble::at(word, format!("{what}, and no `{}` either", spool_path(word).display())),
    };
    Err(trouble)
}

fn matches(word: &Path, pattern: &str, folders: Folders) -> Result<Vec<Input>, Trouble> {
    let mut found = glob_paths(word, pattern)?;
    if folders == Folders::AreRefused {
        found.retain(|path| !path.is_dir());
    }
    if found.is_empty() {
        found = glob_paths(word, &format!("{pattern}.{SPOOL_ENDING}"))?;
    }
    if found.is_empty() {
        return Err(Trouble::at(word, "no file matches"));
    }
    let inputs: Result<Vec<Vec<Input>>, Trouble> = found.iter().map(|path| resolve(path, folders)).collect();
    Ok(inputs?.concat())
}

fn glob_paths(word: &Path, pattern: &str) -> Result<Vec<PathBuf>, Trouble> {
    // As shells do it.
    let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::default() };
    let options = glob::MatchOptions { require_literal_separator: true, ..options };
    let wrong = |cause: glob::PatternError| Trouble::at(word, format!("expected a glob: {}", cause.msg));
    let paths = glob::glob_with(pattern, options).map_err(wrong)?;
    let unreadable = |error: glob::GlobError| Trouble::at(error.path(), format!("cannot open: {}", error.error()));
    paths.map(|path| path.map_err(unreadable)).collect()
}

fn input_at(path: &Path, is_regular: bool) -> Input {
    if has_spool_ending(path) || !is_regular || begins_like_a_spool(path) {
        return Input::Spool(path.to_owned());
    }
    Unrecovered::of(path).map_or_else(|| Input::Other(path.to_owned()), Input::Unrecovered)
}

/// Whether its first bytes are those of a spool.
pub fn begins_like_a_spool(path: &Path) -> bool {
    let mut first_bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(8).read_to_end(&mut first_bytes));
    read.is_ok() && is_spool(&first_bytes)
}

fn spools_in(folder: &Path) -> Result<Vec<Input>, Trouble> {
    let cannot = |cause: io::Error| Trouble::at(folder, format!("cannot read the folder: {cause}"));
    let mut spools = Vec::new();
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if has_spool_ending(&path) && path.is_file() {
            spools.push(path);
        }
    }
    spools.sort();
    if spools.is_empty() {
        let what = format!("the folder has no file that ends in `.{SPOOL_ENDING}`");
        return Err(Trouble::at(folder, what));
    }
    Ok(spools.into_iter().map(Input::Spool).collect())
}

impl Unrecovered {
    fn of(trace: &Path) -> Option<Self> {
        let spool = spool_path(trace);
        let is_there = !has_spool_ending(trace) && spool.is_file();
        is_there.then(|| Self { trace: trace.to_owned(), spool })
    }
}

/// `trace.json.spool` for `trace.json`.
fn spool_path(trace: &Path) -> PathBuf {
    let mut name = trace.as_os_str().to_owned();
    name.push(".");
    name.push(SPOOL_ENDING);
    name.into()
}

/// `trace.json` for `trace.json.spool`, and `run.json` for `run.spool` and the like, which had no ending of a trace. `None`
/// if the name has no such ending, or nothing else.
pub fn trace_path(spool: &Path) -> Option<PathBuf> {
    let trace = has_spool_ending(spool).then(|| spool.with_extension(""))?;
    let ending = trace.extension().map(|ending| ending.to_string_lossy().into_owned());
    // A number is that of a process or a rank.
    match ending.filter(|ending| ending.parse::<u64>().is_err()) {
        Some(_) => Some(trace),
        None => {
            let mut name = trace.into_os_string();
            name.push(".json");
            Some(name.into())
        }
    }
}

fn has_spool_ending(path: &Path) -> bool {
    path.extension() == Some(OsStr::new(SPOOL_ENDING))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_of(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        folder
    }

    /// What is found for a word within the folder: names, or the complaint, without the folder.
    fn found(folder: &tempfile::TempDir, words: &[&str]) -> Vec<String> {
        let typed: Vec<PathBuf> = words.iter().map(|word| folder.path().join(word)).collect();
        spelled(folder, expand(&typed, Folders::HoldSpools))
    }

    fn spelled(folder: &tempfile::TempDir, inputs: Vec<Result<Input, NoInput>>) -> Vec<String> {
        let spell = |input: Result<Input, NoInput>| match input {
            Ok(Input::Stdin) => "stdin".to_owned(),
            Ok(Input::Spool(path)) => format!("spool {}", path.display()),
            Ok(Input::Other(path)) => format!("other {}", path.display()),
            Ok(Input::Unrecovered(it)) => format!("{} for {}", it.spool.display(), it.trace.display()),
            Err(no) => no.trouble.to_string(),
        };
        let prefix = format!("{}/", folder.path().display());
        inputs.into_iter().map(|input| spell(input).replace(&prefix, "")).collect()
    }

    #[test]
    fn a_missing_trace_stands_for_its_spool() {
        let folder = folder_of(&[("a.json.spool", b"")]);
        assert_eq!(found(&folder, &["a.json"]), ["a.json.spool for a.json"]);
    }

    #[test]
    fn a_trace_with_a_spool_beside_it_is_behind() {
        let folder = folder_of(&[("a.json", b"[]"), ("a.json.spool", b""), ("b.json", b"[]")]);
        assert_eq!(found(&folder, &["a.json", "b.json"]), ["a.json.spool for a.json", "other b.json"]);
    }

    #[test]
    fn a_spool_is_known_by_its_name_or_by_its_first_bytes() {
        let folder = folder_of(&[("a.spool", b""), ("b", b"FERRUMSP..."), ("c", b"FERRUM")]);
        assert_eq!(found(&folder, &["a.spool", "b", "c"]), ["spool a.spool", "spool b", "other c"]);
    }

    #[test]
    fn a_folder_stands_for_the_spools_right_in_it_in_order() {
        let folder = folder_of(&[("d/b.spool", b""), ("d/a.spool", b""), ("d/c.json", b""), ("d/e/x.spool", b"")]);
        assert_eq!(found(&folder, &["d"]), ["spool d/a.spool", "spool d/b.spool"]);
    }

    #[test]
    fn a_folder_is_no_trace() {
        let folder = folder_of(&[("d/a.json", b"[]"), ("d/e/b.json", b"[]")]);
        let typed = ["d", "d/*"].map(|word| folder.path().join(word));
        let found = spelled(&folder, expand(&typed, Folders::AreRefused));
        assert_eq!(found, ["d: expected a trace, found a folder", "other d/a.json"]);
    }

    #[test]
    fn globs_are_expanded_as_shells_do() {
        let files: [(&str, &[u8]); 4] = [("r/1/t.json.spool", b""), ("r/2/t.json.spool", b""), ("a", b""), (".a", b"")];
        let folder = folder_of(&files);
        let both = ["spool r/1/t.json.spool", "spool r/2/t.json.spool"];
        assert_eq!(found(&folder, &["r/*/*.spool"]), both);
        assert_eq!(found(&folder, &["r/**/*.spool"]), both);
        assert_eq!(found(&folder, &["r/[!1]/*"]), both[1..]);
        assert_eq!(found(&folder, &["*a"]), ["other a"]);
        assert_eq!(found(&folder, &["*b"]), ["*b: no file matches"]);
        assert_eq!(found(&folder, &["r/*/t.json"]), both, "traces that are missing have spools");
    }

    #[test]
    fn a_file_whose_name_looks_like_a_glob_is_a_file() {
        let folder = folder_of(&[("a[1].spool", b""), ("a1.spool", b"")]);
        assert_eq!(found(&folder, &["a[1].spool"]), ["spool a[1].spool"]);
    }

    #[test]
    fn what_is_named_twice_is_found_once() {
        let folder = folder_of(&[("a.json", b"[]"), ("a.json.spool", b"")]);
        assert_eq!(found(&folder, &["a.json.spool", "a.json", "*"]), ["spool a.json.spool"]);
    }

    #[test]
    fn what_is_missing_is_said_with_both_names() {
        let folder = folder_of(&[("b.json", b"[]")]);
        let complaint = found(&folder, &["a.json"]);
        assert_eq!(complaint, ["a.json: no such file, and no `a.json.spool` either"]);
        assert_eq!(found(&folder, &["b.json.spool"]), ["b.json.spool: no such file"]);
    }

    #[test]
    fn the_ending_comes_and_goes() {
        assert_eq!(spool_path(Path::new("d/t.json")), Path::new("d/t.json.spool"));
        assert_eq!(trace_path(Path::new("d/t.json.spool")), Some("d/t.json".into()));
        assert_eq!(trace_path(Path::new("t.json")), None);
        assert_eq!(trace_path(Path::new("d/.spool")), None);
    }
}
