//! Where a trace goes: from what the user wrote to files that are ours alone.

use crate::config::{Options, program_name};
use crate::error::Error;
use crate::pattern::Pattern;
use crate::say::say;
use ferrum_trace_format::spool::layout::{FILE_MAGIC, file};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Values of the variable that mean off.
pub const OUT_OFF_WORDS: [&str; 6] = ["", "0", "off", "false", "no", "none"];

/// How often a spool that vanishes while it is being opened is tried again.
const CLAIM_ATTEMPTS: usize = 100;

/// What the output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An array of Chrome trace events.
    Json,
    /// The spool itself.
    Spool,
}

/// Files that no other process writes to.
#[derive(Debug)]
pub struct Destination {
    pub output: PathBuf,
    pub form: Form,
    pub spool_path: PathBuf,
}

impl Destination {
    /// Opens the spool of what `options` ask for, or of a name with the process's number in it if another process has
    /// that. The spool is locked for as long as it is open.
    pub fn claim(options: &Options) -> Result<(Self, File), Error> {
        let pid = std::process::id();
        let by_process = options.pattern.as_ref().map(Pattern::path);
        let wanted = full_path(by_process.as_deref().unwrap_or(&options.out), pid)?;
        let own = with_pid(&wanted, pid);
        // Processes come and go, and a number may come again: what the other one has recorded is wanted too.
        let keeps_finished = by_process.is_some();
        // In a directory, the name has the process's number already.
        let is_parents = options.is_forked && by_process.is_none() && !options.out.is_dir();
        if !is_parents && let Some(destination) = Self::claim_path(&wanted, keeps_finished)? {
            return Ok(destination);
        }
        let why = if is_parents { "this is a forked child" } else { "it is being recorded to already" };
        say(&format!("{}: {why}; recording to {}", wanted.display(), own.display()));
        let taken = || io::Error::from(io::ErrorKind::ResourceBusy);
        Self::claim_path(&own, keeps_finished)?.ok_or_else(|| Error::io("cannot record to", &own, taken()))
    }

    /// `None` if a live process records to that path.
    fn claim_path(output: &Path, keeps_finished: bool) -> Result<Option<(Self, File)>, Error> {
        let form = Form::of(output);
        let spool_path = form.spool_path(output);
        let cannot = |cause| Error::io("cannot record to", &spool_path, cause);
        for _ in 0..CLAIM_ATTEMPTS {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create(true).truncate(false).open(&spool_path).map_err(cannot)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(cause)) => return Err(cannot(cause)),
            }
            // Between opening and locking, its last owner may have removed it, or moved it away as we do below.
            if !is_at(&file, &spool_path) {
                continue;
            }
            match Leftover::of(&file) {
                Some(Leftover::Finished) if !keeps_finished => {}
                Some(leftover) => {
                    keep_aside(output, &spool_path, &file, leftover).map_err(cannot)?;
                    continue;
                }
                None => {}
            }
            file.set_len(0).map_err(cannot)?;
            let output = output.to_owned();
            return Ok(Some((Self { output, form, spool_path }, file)));
        }
        Err(cannot(io::ErrorKind::ResourceBusy.into()))
    }
}

impl Form {
    /// Where the spool of an output is.
    fn spool_path(self, output: &Path) -> PathBuf {
        match self {
            Self::Spool => output.to_owned(),
            Self::Json => with_ending(output, ".spool"),
        }
    }

    fn of(output: &Path) -> Self {
        match output.extension() {
            Some(ending) if ending == "spool" => Self::Spool,
            _ => Self::Json,
        }
    }
}

/// The absolute path, so that a later change of the working directory does not matter. In a directory, the file is named
/// after program and process.
fn full_path(out: &Path, pid: u32) -> Result<PathBuf, Error> {
    if out.as_os_str().is_empty() {
        return Err(Error::no_path());
    }
    let mut path = std::path::absolute(out).map_err(|cause| Error::io("cannot record to", out, cause))?;
    if path.is_dir() {
        path.push(format!("{}-{pid}.json", program_name()));
    }
    if path.exists() {
        // What a link leads to is replaced, not the link; and only a file is.
        path = path.canonicalize().map_err(|cause| Error::io("cannot record to", out, cause))?;
        if !path.is_file() {
            let cause = io::Error::other("expected a file or a directory, found something else");
            return Err(Error::io("cannot record to", out, cause));
        }
    }
    if let Some(json) = without_unwritten_form(&path) {
        say(&format!("{}: this version writes plain JSON; recording to {}", path.display(), json.display()));
        return Ok(json);
    }
    Ok(path)
}

/// For endings that promise a form that is not written yet, the path of a JSON file.
fn without_unwritten_form(path: &Path) -> Option<PathBuf> {
    let ending = path.extension()?.to_str()?;
    match ending {
        "gz" | "zst" if path.file_stem().is_some_and(|stem| Path::new(stem).extension().is_some()) => {
            Some(path.with_extension(""))
        }
        "gz" | "zst" | "pftrace" | "perfetto-trace" => Some(path.with_extension("json")),
        _ => None,
    }
}

/// `trace.json` and 17 make `trace.17.json`.
fn with_pid(path: &Path, pid: u32) -> PathBuf {
    with_infix(path, &pid.to_string())
}

/// `trace.json` and `dump-001` make `trace.dump-001.json`.
pub fn with_infix(path: &Path, infix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => format!("{stem}.{infix}.{ending}"),
        _ => format!("{name}.{infix}"),
    };
    path.with_file_name(name)
}

/// `trace.json` and `.spool` make `trace.json.spool`.
pub fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Whether the file has this name.
#[cfg(unix)]
pub fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let same = |a: &std::fs::Metadata, b: &std::fs::Metadata| a.ino() == b.ino() && a.dev() == b.dev();
    matches!((file.metadata(), std::fs::metadata(path)), (Ok(a), Ok(b)) if same(&a, &b))
}

#[cfg(not(unix))]
pub fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

/// What a spool that nobody holds is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leftover {
    /// What a killed process left.
    Unfinished,
    /// What a process has recorded that ended by itself.
    Finished,
}

impl Leftover {
    /// `None` for what is no spool.
    fn of(spool: &File) -> Option<Self> {
        use ferrum_trace_format::ReadAt;
        let mut words = [[0; 8]; file::FINISHED + 1];
        let n_bytes = spool.read_at(words.as_flattened_mut(), 0).unwrap_or(0);
        let is_whole = n_bytes == words.as_flattened().len();
        let is_finished = u64::from_le_bytes(words[file::FINISHED]) == 1;
        let is_spool = is_whole && u64::from_le_bytes(words[0]) == FILE_MAGIC;
        is_spool.then_some(if is_finished { Self::Finished } else { Self::Unfinished })
    }
}

/// Moves what another process left out of the way, under a name that recovers to `trace.PID.json`, and says so.
fn keep_aside(output: &Path, spool_path: &Path, spool: &File, leftover: Leftover) -> io::Result<()> {
    use ferrum_trace_format::ReadAt;
    let mut pid = [0; 8];
    spool.read_at(&mut pid, 8 * file::PID as u64)?;
    let pid = u64::from_le_bytes(pid) as u32;
    let own_name = with_pid(output, pid);
    let names = std::iter::once(own_name.clone()).chain((1..1000).map(|n| with_pid(&own_name, n)));
    let kept = names.map(|name| Form::of(output).spool_path(&name)).find(|kept| !kept.exists());
    let kept = kept.ok_or(io::ErrorKind::AlreadyExists)?;
    std::fs::rename(spool_path, &kept)?;
    let (old, kept) = (spool_path.display(), kept.display());
    let why = match leftover {
        Leftover::Unfinished => "which was killed",
        Leftover::Finished => "which has ended",
    };
    say(&format!("{old}: left by process {pid}, {why}; kept as {kept} for `ferrum-trace recover`"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_that_is_not_written_yet_becomes_json_by_name_too() {
        for (path, json) in
            [("a/t.json.gz", "a/t.json"), ("t.json.zst", "t.json"), ("t.gz", "t.json"), ("t.pftrace", "t.json")]
        {
            assert_eq!(without_unwritten_form(Path::new(path)), Some(PathBuf::from(json)));
        }
        for path in ["t.json", "t", "t.spool", "gz"] {
            assert_eq!(without_unwritten_form(Path::new(path)), None);
        }
    }

    #[test]
    fn the_process_number_goes_before_the_ending() {
        for (path, with) in [("a/trace.json", "a/trace.17.json"), ("trace", "trace.17"), (".hidden", ".hidden.17")] {
            assert_eq!(with_pid(Path::new(path), 17), PathBuf::from(with));
        }
    }

    /// A file that begins as a spool of process 17 does.
    fn spool_of_17(path: &Path, is_finished: bool) {
        let mut words = [0_u64; file::HEADER_WORDS];
        words[0] = FILE_MAGIC;
        words[file::PID] = 17;
        words[file::FINISHED] = u64::from(is_finished);
        std::fs::write(path, words.map(u64::to_le_bytes).as_flattened()).unwrap();
    }

    #[test]
    fn what_another_process_of_the_number_has_recorded_stays_if_each_has_its_own_path() {
        for (is_finished, keeps_finished, is_kept) in
            [(true, true, true), (true, false, false), (false, true, true), (false, false, true)]
        {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t.spool");
            spool_of_17(&path, is_finished);
            let (destination, file) = Destination::claim_path(&path, keeps_finished).unwrap().unwrap();
            assert_eq!(destination.spool_path, path);
            assert_eq!(file.metadata().unwrap().len(), 0);
            assert_eq!(folder.path().join("t.17.spool").exists(), is_kept);
        }
    }
}
