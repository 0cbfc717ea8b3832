//! Resolves the paths that the user typed: files, folders, globs, and traces with a spool.

use super::recovery::{Outcome, Recovery};
use crate::flags::DASH;
use crate::output::output_writer::InputCount;
use crate::render::messages::Messages;
use crate::render::table::clean;
use crate::user_error::UserError;
use ferrum_trace_format::spool::is_spool;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The extension that a spool's name adds to its trace's.
const SPOOL_EXTENSION: &str = ferrum_trace_format::spool::FILE_EXTENSION;

/// One input file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Standard input.
    Stdin,
    /// A spool.
    Spool(PathBuf),
    /// Any other file: a trace, or not a trace at all.
    Other(PathBuf),
    /// A trace that is older than its spool, or missing.
    Unrecovered(Unrecovered),
}

/// A trace that its process did not complete, and its spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unrecovered {
    pub(crate) trace: PathBuf,
    pub(crate) spool: PathBuf,
}

impl Input {
    /// Returns the file to read; `None` for standard input.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Stdin => None,
            Self::Spool(path) | Self::Other(path) => Some(path),
            Self::Unrecovered(unrecovered) => Some(&unrecovered.spool),
        }
    }

    /// Returns the name in JSON.
    pub(crate) fn name(&self) -> String {
        self.path().map_or_else(|| DASH.to_owned(), |path| path.display().to_string())
    }

    /// Returns the name in messages.
    pub(crate) fn label(&self) -> String {
        self.path().map_or_else(|| "standard input".to_owned(), |path| clean(&path.display().to_string()))
    }
}

impl Unrecovered {
    /// Recovers the trace from its spool. Reports this if the trace is missing.
    pub(crate) fn recover(&self, recovery: &Recovery, messages: &Messages) -> Result<Outcome, UserError> {
        if !self.trace.exists() {
            let spool = self.spool.file_name().unwrap_or_default();
            let what = format!("missing, but its spool exists: recovering {}", spool.display());
            messages.note(&self.trace, &what);
        }
        recovery.run(Input::Spool(self.spool.clone()))
    }
}

/// A path that could not be resolved.
#[derive(Debug)]
pub(crate) struct InvalidInput {
    pub(crate) name: String,
    pub(crate) error: UserError,
}

/// The inputs of a command line.
pub(crate) type Inputs = Vec<Result<Input, InvalidInput>>;

/// Returns the number of inputs, and whether standard input is one of them.
pub(crate) fn count(inputs: &Inputs) -> InputCount {
    let has_stdin = inputs.iter().flatten().any(|input| *input == Input::Stdin);
    InputCount { n_inputs: inputs.len(), has_stdin }
}

/// Meaning of a folder on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folders {
    /// Stands for the spools in it.
    ListSpools,
    /// Stands for the traces in it and in its folders.
    ListTraces,
    /// Is an error.
    Reject,
}

/// Returns the files that the typed paths stand for, in their order, each once.
pub(crate) fn expand(typed: &[PathBuf], folders: Folders) -> Inputs {
    let mut found: Vec<Result<Input, InvalidInput>> = Vec::new();
    for path in typed {
        match resolve(path, folders) {
            Err(error) => found.push(Err(InvalidInput { name: path.display().to_string(), error })),
            Ok(inputs) => {
                for input in inputs {
                    let is_known =
                        |known: &Result<Input, InvalidInput>| known.as_ref().is_ok_and(|known| same(known, &input));
                    if !found.iter().any(is_known) {
                        found.push(Ok(input));
                    }
                }
            }
        }
    }
    found
}

/// Compares paths only: a spool may be found by its own name and by its trace's.
fn same(one: &Input, other: &Input) -> bool {
    one.path() == other.path()
}

/// Returns the files that one typed path stands for; at least one.
fn resolve(typed: &Path, folders: Folders) -> Result<Vec<Input>, UserError> {
    if typed == Path::new(DASH) {
        return Ok(vec![Input::Stdin]);
    }
    match fs::metadata(typed) {
        Ok(about) if about.is_dir() => match folders {
            Folders::ListSpools => spools_in(typed),
            Folders::ListTraces => traces_in(typed),
            Folders::Reject => Err(is_folder(typed)),
        },
        Ok(about) => Ok(vec![input_at(typed, about.is_file())]),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => resolve_missing(typed, folders),
        Err(cause) => Err(UserError::at(typed, format!("cannot open: {cause}"))),
    }
}

fn is_folder(typed: &Path) -> UserError {
    let hint = format!("name the traces in it: `{}`", typed.join("*.json").display());
    UserError::at(typed, "expected a trace, found a folder").hint(hint)
}

fn resolve_missing(typed: &Path, folders: Folders) -> Result<Vec<Input>, UserError> {
    if let Some(unrecovered) = Unrecovered::of(typed) {
        return Ok(vec![Input::Unrecovered(unrecovered)]);
    }
    if let Some(pattern) = typed.to_str().filter(|typed| typed.contains(['*', '?', '['])) {
        return matches(typed, pattern, folders);
    }
    let what = "no such file";
    let error = match trace_path(typed) {
        Some(trace) if trace.is_file() => UserError::at(typed, what).hint(format!(
            "{} is there: a process that ends by itself completes it and removes the spool",
            trace.display()
        )),
        Some(_) => UserError::at(typed, what),
        None => UserError::at(typed, format!("{what}, and no `{}` either", spool_path(typed).display())),
    };
    Err(error)
}

fn matches(typed: &Path, pattern: &str, folders: Folders) -> Result<Vec<Input>, UserError> {
    let mut found = glob_paths(typed, pattern)?;
    if folders == Folders::Reject {
        found.retain(|path| !path.is_dir());
    }
    if found.is_empty() {
        found = glob_paths(typed, &format!("{pattern}.{SPOOL_EXTENSION}"))?;
    }
    if found.is_empty() {
        return Err(UserError::at(typed, "no file matches"));
    }
    let inputs: Result<Vec<Vec<Input>>, UserError> = found.iter().map(|path| resolve(path, folders)).collect();
    Ok(inputs?.concat())
}

fn glob_paths(typed: &Path, pattern: &str) -> Result<Vec<PathBuf>, UserError> {
    // The rules of shells.
    let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::default() };
    let options = glob::MatchOptions { require_literal_separator: true, ..options };
    let wrong = |cause: glob::PatternError| UserError::at(typed, format!("expected a glob: {}", cause.msg));
    let paths = glob::glob_with(pattern, options).map_err(wrong)?;
    let unreadable = |error: glob::GlobError| UserError::at(error.path(), format!("cannot open: {}", error.error()));
    paths.map(|path| path.map_err(unreadable)).collect()
}

fn input_at(path: &Path, is_regular: bool) -> Input {
    if has_spool_extension(path) || !is_regular || begins_like_a_spool(path) {
        return Input::Spool(path.to_owned());
    }
    Unrecovered::of(path).map_or_else(|| Input::Other(path.to_owned()), Input::Unrecovered)
}

/// Returns true if the file begins with the magic number of a spool.
pub(crate) fn begins_like_a_spool(path: &Path) -> bool {
    let mut first_bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(8).read_to_end(&mut first_bytes));
    read.is_ok() && is_spool(&first_bytes)
}

fn spools_in(folder: &Path) -> Result<Vec<Input>, UserError> {
    let cannot = |cause: io::Error| UserError::at(folder, format!("cannot read the folder: {cause}"));
    let mut spools = Vec::new();
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if has_spool_extension(&path) && path.is_file() {
            spools.push(path);
        }
    }
    spools.sort();
    if spools.is_empty() {
        let what = format!("the folder has no file that ends in `.{SPOOL_EXTENSION}`");
        return Err(UserError::at(folder, what));
    }
    Ok(spools.into_iter().map(Input::Spool).collect())
}

/// Extensions of traces, plain and compressed.
const TRACE_EXTENSIONS: [&str; 8] = ["json", "gz", "zst", "zip", "pftrace", "perfetto-trace", "trace", SPOOL_EXTENSION];

/// Returns the traces in a folder and in its folders, sorted by path.
fn traces_in(folder: &Path) -> Result<Vec<Input>, UserError> {
    let mut paths = files_in(folder)?;
    let (folders, mut files): (Vec<PathBuf>, Vec<PathBuf>) = paths.drain(..).partition(|path| path.is_dir());
    for folder in folders {
        files.extend(files_in(&folder)?.into_iter().filter(|path| path.is_file()));
    }
    let is_trace = |path: &PathBuf| {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        extension.is_some_and(|extension| TRACE_EXTENSIONS.contains(&extension.as_str()))
    };
    files.retain(is_trace);
    // A spool whose trace is there too stands for both.
    let is_read_with_trace = |path: &PathBuf| trace_path(path).is_some_and(|trace| trace.is_file());
    files.retain(|path| !is_read_with_trace(path));
    files.sort();
    if files.is_empty() {
        let what =
            format!("expected traces in the folder, found none that ends in `.{}`", TRACE_EXTENSIONS.join("`, `."));
        return Err(UserError::at(folder, what));
    }
    Ok(files.iter().map(|path| input_at(path, true)).collect())
}

/// Returns the entries of a folder, without hidden ones.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, UserError> {
    let cannot = |cause: io::Error| UserError::at(folder, format!("cannot read the folder: {cause}"));
    let entries = fs::read_dir(folder).map_err(cannot)?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>().map_err(cannot)?;
    paths.retain(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')));
    Ok(paths)
}

impl Unrecovered {
    fn of(trace: &Path) -> Option<Self> {
        let spool = spool_path(trace);
        let is_there = !has_spool_extension(trace) && spool.is_file();
        is_there.then(|| Self { trace: trace.to_owned(), spool })
    }
}

/// Returns `trace.json.spool` for `trace.json`.
fn spool_path(trace: &Path) -> PathBuf {
    let mut name = trace.as_os_str().to_owned();
    name.push(".");
    name.push(SPOOL_EXTENSION);
    name.into()
}

/// Returns `trace.json` for `trace.json.spool`, and `run.json` for `run.spool`, whose trace had no extension. Returns
/// `None` if the name does not end in `.spool`, or has nothing else.
pub(crate) fn trace_path(spool: &Path) -> Option<PathBuf> {
    let trace = has_spool_extension(spool).then(|| spool.with_extension(""))?;
    let extension = trace.extension().map(|extension| extension.to_string_lossy().into_owned());
    // A number is not an extension, but a process or a rank.
    match extension.filter(|extension| extension.parse::<u64>().is_err()) {
        Some(_) => Some(trace),
        None => {
            let mut name = trace.into_os_string();
            name.push(".json");
            Some(name.into())
        }
    }
}

fn has_spool_extension(path: &Path) -> bool {
    path.extension() == Some(OsStr::new(SPOOL_EXTENSION))
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

    /// Returns the inputs or errors for paths within the folder, without the path of the folder.
    fn found(folder: &tempfile::TempDir, words: &[&str]) -> Vec<String> {
        let typed: Vec<PathBuf> = words.iter().map(|word| folder.path().join(word)).collect();
        spelled(folder, expand(&typed, Folders::ListSpools))
    }

    fn spelled(folder: &tempfile::TempDir, inputs: Vec<Result<Input, InvalidInput>>) -> Vec<String> {
        let spell = |input: Result<Input, InvalidInput>| match input {
            Ok(Input::Stdin) => "stdin".to_owned(),
            Ok(Input::Spool(path)) => format!("spool {}", path.display()),
            Ok(Input::Other(path)) => format!("other {}", path.display()),
            Ok(Input::Unrecovered(it)) => format!("{} for {}", it.spool.display(), it.trace.display()),
            Err(no) => no.error.to_string(),
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
    fn a_trace_next_to_a_spool_is_unrecovered() {
        let folder = folder_of(&[("a.json", b"[]"), ("a.json.spool", b""), ("b.json", b"[]")]);
        assert_eq!(found(&folder, &["a.json", "b.json"]), ["a.json.spool for a.json", "other b.json"]);
    }

    #[test]
    fn a_spool_is_recognized_by_its_name_or_by_its_first_bytes() {
        let folder = folder_of(&[("a.spool", b""), ("b", b"FERRUMSP..."), ("c", b"FERRUM")]);
        assert_eq!(found(&folder, &["a.spool", "b", "c"]), ["spool a.spool", "spool b", "other c"]);
    }

    #[test]
    fn a_folder_stands_for_the_spools_directly_in_it_in_order() {
        let folder = folder_of(&[("d/b.spool", b""), ("d/a.spool", b""), ("d/c.json", b""), ("d/e/x.spool", b"")]);
        assert_eq!(found(&folder, &["d"]), ["spool d/a.spool", "spool d/b.spool"]);
    }

    #[test]
    fn a_folder_is_not_a_trace() {
        let folder = folder_of(&[("d/a.json", b"[]"), ("d/e/b.json", b"[]")]);
        let typed = ["d", "d/*"].map(|word| folder.path().join(word));
        let found = spelled(&folder, expand(&typed, Folders::Reject));
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
    fn a_file_that_is_named_twice_is_listed_once() {
        let folder = folder_of(&[("a.json", b"[]"), ("a.json.spool", b"")]);
        assert_eq!(found(&folder, &["a.json.spool", "a.json", "*"]), ["spool a.json.spool"]);
    }

    #[test]
    fn a_missing_file_is_reported_with_both_names() {
        let folder = folder_of(&[("b.json", b"[]")]);
        let errors = found(&folder, &["a.json"]);
        assert_eq!(errors, ["a.json: no such file, and no `a.json.spool` either"]);
        assert_eq!(found(&folder, &["b.json.spool"]), ["b.json.spool: no such file"]);
    }

    #[test]
    fn the_spool_extension_is_added_and_removed() {
        assert_eq!(spool_path(Path::new("d/t.json")), Path::new("d/t.json.spool"));
        assert_eq!(trace_path(Path::new("d/t.json.spool")), Some("d/t.json".into()));
        assert_eq!(trace_path(Path::new("t.json")), None);
        assert_eq!(trace_path(Path::new("d/.spool")), None);
    }
}
