//! Output paths: from the path that the user gave to files that no other process writes.

use crate::error::Error;
use crate::os::private_file::{self, OutputPermissions};
use crate::os::stderr::say;
use crate::recording::options::SessionOptions;
use crate::recording::origin::program_name;
use crate::recording::pattern::Pattern;
use ferrum_trace_format::spool;
use ferrum_trace_format::spool::layout::{FILE_MAGIC, file};
use std::borrow::Cow;
use std::fs::{File, Metadata, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of attempts if the spool is removed while it is being opened.
const CLAIM_ATTEMPTS: usize = 100;
/// The end of the name of an output that is being written.
pub(crate) const NEXT: &str = ".next";
/// The end of the name of a copy of a ring.
pub(crate) const COPY: &str = ".copy";
/// The end of the name of a spool that is an output and has no event yet.
const NEW: &str = ".new";

/// The kind of output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputKind {
    /// A trace for viewers.
    Trace(spool::OutputFormat),
    /// The spool itself.
    Spool,
}

/// An output and its spool, which no other process writes.
#[derive(Debug)]
pub(crate) struct Destination {
    pub output: PathBuf,
    pub form: OutputKind,
    pub spool_path: PathBuf,
    /// `Some` while a finished trace still has the spool's name; the first event replaces it.
    pub staged: Option<Staged>,
    /// Permissions of a finished spool, if the spool is the output. While it is recorded, it is private.
    pub permissions: Option<OutputPermissions>,
}

/// A spool under a temporary name, beside the finished trace that it replaces with its first event.
#[derive(Debug)]
pub(crate) struct Staged {
    path: PathBuf,
    target: PathBuf,
    /// The finished trace, locked so that no other process records to its name meanwhile.
    replaced: File,
    is_in_place: AtomicBool,
}

impl Staged {
    /// Opens the temporary file beside `target`. `replaced` is the file at `target`, locked by this process, which
    /// makes the temporary file ours too.
    fn beside(target: &Path, replaced: File) -> io::Result<(Self, File)> {
        let path = with_ending(target, NEW);
        let file = private_file::create_anew(&path)?;
        file.lock()?;
        let target = target.to_owned();
        Ok((Self { path, target, replaced, is_in_place: AtomicBool::new(false) }, file))
    }

    /// Replaces the finished trace. Several threads may call this at once: all return after it has happened.
    pub(crate) fn put_in_place(&self) {
        if !self.is_in_place.load(Ordering::Acquire) {
            // Fails if another thread was faster.
            let _ = std::fs::rename(&self.path, &self.target);
            self.is_in_place.store(true, Ordering::Release);
        }
    }

    pub(crate) fn is_in_place(&self) -> bool {
        self.is_in_place.load(Ordering::Acquire)
    }

    /// Removes the temporary file if it was not put in place, and releases the name for other processes.
    pub(crate) fn give_up(&self) {
        if !self.is_in_place() {
            let _ = std::fs::remove_file(&self.path);
        }
        let _ = self.replaced.unlock();
    }
}

/// The result of claiming a path.
#[derive(Debug)]
enum Claim<T> {
    Ours(T),
    /// The path cannot be recorded to, for this reason.
    Taken(String),
}

/// Reasons to record to another path.
const RECORDED_TO_ALREADY: &str = "it is being recorded to already";
const THIS_IS_A_CHILD: &str = "this is a forked child";

/// A destination and its spool, which is locked while it is open.
pub(crate) type Claimed = (Destination, File);

/// The same for one part of a rotating recording.
#[derive(Debug)]
pub(crate) struct ClaimedPart {
    pub claimed: Claimed,
    pub number: u32,
    /// The path that the parts are named after: `trace.json`.
    pub base: PathBuf,
}

/// The path a process records to if no other process uses it.
struct Wanted {
    path: PathBuf,
    /// True if a finished trace at this path must be kept: the path has the process's number, and the system reuses
    /// numbers.
    keeps_finished: bool,
    /// True if it is the forked parent's path.
    is_parents: bool,
}

impl Wanted {
    fn from_options(options: &SessionOptions) -> Result<Self, Error> {
        let by_process = options.pattern.as_ref().map(Pattern::path);
        let path = full_path(by_process.as_deref().unwrap_or(&options.out), std::process::id())?;
        // In a directory, the name already has the process's number.
        let is_parents = options.is_forked && by_process.is_none() && !options.out.is_dir();
        Ok(Self { path, keeps_finished: by_process.is_some(), is_parents })
    }
}

impl Destination {
    /// Opens the spool for the path in `options`, or for a name with the process's number in it if another process uses
    /// that path. The spool is locked while it is open.
    pub(crate) fn claim(options: &SessionOptions) -> Result<Claimed, Error> {
        let Wanted { path, keeps_finished, is_parents } = Wanted::from_options(options)?;
        let why = match is_parents {
            true => THIS_IS_A_CHILD.to_owned(),
            false => match Self::claim_path(&path, keeps_finished)? {
                Claim::Ours(destination) => return Ok(destination),
                Claim::Taken(why) => why,
            },
        };
        let own = own_path_instead(&path, &why);
        match Self::claim_path(&own, keeps_finished)? {
            Claim::Ours(destination) => Ok(destination),
            Claim::Taken(why) => Err(cannot_record_to(&own, why)),
        }
    }

    /// Claims the next part of a rotating recording: `trace.001.json` and so on, with the first number above `after`
    /// that no file has, finished or not.
    pub(crate) fn claim_part(base: &Path, after: u32) -> Result<ClaimedPart, Error> {
        match Self::claim_number(base, after)? {
            Claim::Ours(part) => Ok(part),
            Claim::Taken(why) => Err(cannot_record_to(base, why)),
        }
    }

    /// Claims the first part of this process. The base has the process's number in it if another process uses the path.
    pub(crate) fn claim_first_part(options: &SessionOptions) -> Result<ClaimedPart, Error> {
        // A part gets a number that no file has, so finished files are kept anyway.
        let Wanted { path, is_parents, .. } = Wanted::from_options(options)?;
        let why = match is_parents {
            true => THIS_IS_A_CHILD.to_owned(),
            false => match Self::claim_number(&path, 0)? {
                Claim::Ours(part) => return Ok(part),
                Claim::Taken(why) => why,
            },
        };
        Self::claim_part(&own_path_instead(&path, &why), 0)
    }

    /// Claims a part. It is taken if a live process records to the first free number.
    fn claim_number(base: &Path, after: u32) -> Result<Claim<ClaimedPart>, Error> {
        for number in after.saturating_add(1)..u32::MAX {
            let output = with_infix(base, &format!("{number:03}"));
            let spool = OutputKind::of(&output).spool_path(&output);
            // Also a link that leads nowhere.
            if output.symlink_metadata().is_ok() {
                continue;
            }
            match private_file::open(&spool).map(|left| left.try_lock()) {
                Ok(Err(TryLockError::WouldBlock)) => return Ok(Claim::Taken(RECORDED_TO_ALREADY.to_owned())),
                // A spool that a killed process left is kept for `ferrum-trace recover`.
                Ok(_) => continue,
                Err(cause) if cause.kind() != io::ErrorKind::NotFound => continue,
                Err(_) => {}
            }
            return Ok(match Self::claim_path(&output, false)? {
                Claim::Ours(claimed) => Claim::Ours(ClaimedPart { claimed, number, base: base.to_owned() }),
                Claim::Taken(why) => Claim::Taken(why),
            });
        }
        Ok(Claim::Taken("all numbers of parts are in use".to_owned()))
    }

    /// Claims a path. It is taken if a live process records to it, or if the spool's name leads to anything but a file
    /// of this user.
    ///
    /// The spool is always a new file. One that a process has left is removed or gets another name; it is not used
    /// again, because whoever has it mapped could change what this process reads.
    fn claim_path(output: &Path, keeps_finished: bool) -> Result<Claim<Claimed>, Error> {
        let form = OutputKind::of(output);
        let spool_path = form.spool_path(output);
        let cannot = |cause| Error::io("cannot record to", &spool_path, cause);
        let destination = |staged, replaced: Option<&Metadata>| {
            let permissions = (form == OutputKind::Spool).then(|| OutputPermissions::replacing(replaced));
            Self { output: output.to_owned(), form, spool_path: spool_path.clone(), staged, permissions }
        };
        for _ in 0..CLAIM_ATTEMPTS {
            let (file, is_new) = match private_file::create(&spool_path) {
                Ok(file) => (file, true),
                Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => return Err(cannot(cause)),
                Err(_) => match private_file::open(&spool_path) {
                    Ok(file) => (file, false),
                    // Its owner has removed it meanwhile.
                    Err(cause) if cause.kind() == io::ErrorKind::NotFound => continue,
                    Err(cause) => return Ok(Claim::Taken(format!("{}: {cause}", spool_path.display()))),
                },
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(Claim::Taken(RECORDED_TO_ALREADY.to_owned())),
                Err(TryLockError::Error(cause)) => return Err(cannot(cause)),
            }
            // Between opening and locking, its last owner may have removed it, or moved it as is done below.
            if !is_at(&file, &spool_path) {
                continue;
            }
            if is_new {
                remove_leftovers(output, &spool_path);
                return Ok(Claim::Ours((destination(None, None), file)));
            }
            match Leftover::of(&file) {
                Leftover::Nothing => private_file::remove(&spool_path).map_err(cannot)?,
                Leftover::Finished | Leftover::Other if form == OutputKind::Spool && !keeps_finished => {
                    remove_leftovers(output, &spool_path);
                    let replaced = file.metadata().map_err(cannot)?;
                    let (staged, file) = Staged::beside(output, file).map_err(cannot)?;
                    return Ok(Claim::Ours((destination(Some(staged), Some(&replaced)), file)));
                }
                leftover => keep_aside(output, &spool_path, &file, leftover).map_err(cannot)?,
            }
        }
        Err(cannot(io::ErrorKind::ResourceBusy.into()))
    }
}

/// Removes what a killed process has left beside its output. The lock on the spool shows that no process uses it.
fn remove_leftovers(output: &Path, spool_path: &Path) {
    let beside = [(output, NEXT), (spool_path, COPY), (spool_path, NEW)];
    for (path, ending) in beside {
        // Not there, in nearly all cases. A file of another user stays.
        let _ = private_file::remove(&with_ending(path, ending));
    }
}

fn cannot_record_to(path: &Path, why: String) -> Error {
    Error::io("cannot record to", path, io::Error::new(io::ErrorKind::ResourceBusy, why))
}

/// Returns the path with the process's number in it, and reports that this process records there instead.
fn own_path_instead(wanted: &Path, why: &str) -> PathBuf {
    let own = with_pid(wanted, std::process::id());
    say(&format!("{}: {why}; recording to {}", wanted.display(), own.display()));
    own
}

impl OutputKind {
    /// Returns the path of an output's spool.
    fn spool_path(self, output: &Path) -> PathBuf {
        match self {
            Self::Spool => output.to_owned(),
            Self::Trace(_) => with_ending(output, spool::FILE_ENDING),
        }
    }

    fn of(output: &Path) -> Self {
        match output.extension() {
            Some(ending) if ending == spool::FILE_EXTENSION => Self::Spool,
            _ => Self::Trace(trace_form(output)),
        }
    }
}

/// Returns the absolute path, so that a later change of the working directory has no effect. In a directory, the file
/// is named after program and process.
fn full_path(out: &Path, pid: u32) -> Result<PathBuf, Error> {
    if out.as_os_str().is_empty() {
        return Err(Error::no_path());
    }
    let cannot = |cause| Error::io("cannot record to", out, cause);
    let mut path = std::path::absolute(out).map_err(cannot)?;
    private_file::check_link(&path).map_err(cannot)?;
    if path.is_dir() {
        path.push(format!("{}-{pid}.json", program_name()));
    }
    if path.exists() {
        // The target of a link is replaced, not the link; and only regular files are replaced.
        path = path.canonicalize().map_err(cannot)?;
        if !path.is_file() {
            return Err(cannot(io::Error::other("expected a file or a directory, found something else")));
        }
    }
    let Some((plain, feature)) = without_missing_compression(&path) else {
        return Ok(path);
    };
    let why = format!("the feature `{feature}` was left out of this program");
    say(&format!("{}: {why}; recording to {}", path.display(), plain.display()));
    Ok(plain)
}

/// Returns the output format for a path, by its extension.
pub(crate) fn trace_form(path: &Path) -> spool::OutputFormat {
    spool::OutputFormat::of_name(&file_name(path)).0
}

/// If the path's extension needs a compression that was not compiled in, returns the path without it, and the feature
/// that it needs.
fn without_missing_compression(path: &Path) -> Option<(PathBuf, &'static str)> {
    let compressions = [("gz", "gzip", cfg!(feature = "gzip")), ("zst", "zstd", cfg!(feature = "zstd"))];
    let ending = path.extension()?;
    let is_missing = |(ext, _, is_built): &(&str, _, _)| ending.eq_ignore_ascii_case(ext) && !is_built;
    let (_, feature, _) = compressions.into_iter().find(is_missing)?;
    let stem = path.with_extension("");
    let plain = if stem.extension().is_some() { stem } else { stem.with_extension("json") };
    Some((plain, feature))
}

fn file_name(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}

/// `trace.json` and 17 make `trace.17.json`.
fn with_pid(path: &Path, pid: u32) -> PathBuf {
    with_infix(path, &pid.to_string())
}

/// `trace.json` and `dump-001` make `trace.dump-001.json`; `trace.json.gz` makes `trace.dump-001.json.gz`.
pub(crate) fn with_infix(path: &Path, infix: &str) -> PathBuf {
    let name = file_name(path);
    let ending = match spool::OutputFormat::of_name(&name).1 {
        "" => name.rfind('.').filter(|&dot| dot > 0).map_or("", |dot| &name[dot..]),
        ending => ending,
    };
    let stem = &name[..name.len() - ending.len()];
    path.with_file_name(format!("{stem}.{infix}{ending}"))
}

/// `trace.json` and `.spool` make `trace.json.spool`.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Returns true if the path is the name of this file. A link to it is not.
#[cfg(unix)]
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let same = |a: &std::fs::Metadata, b: &std::fs::Metadata| a.ino() == b.ino() && a.dev() == b.dev();
    matches!((file.metadata(), std::fs::symlink_metadata(path)), (Ok(a), Ok(b)) if same(&a, &b))
}

#[cfg(not(unix))]
pub fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

/// The content of an existing file at the spool's path that no process has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leftover {
    /// Empty, or zeros where a spool begins: a process was killed before it recorded anything.
    Nothing,
    /// A spool that a killed process left.
    Unfinished,
    /// The spool of a process that ended normally.
    Finished,
    /// Not a spool.
    Other,
}

impl Leftover {
    fn of(spool: &File) -> Self {
        use ferrum_trace_format::ReadAt;
        let mut words = [[0; 8]; file::FINISHED + 1];
        let n_bytes = spool.read_at(words.as_flattened_mut(), 0).unwrap_or(0);
        let is_whole = n_bytes == words.as_flattened().len();
        let is_finished = u64::from_le_bytes(words[file::FINISHED]) == 1;
        match u64::from_le_bytes(words[0]) {
            FILE_MAGIC if is_whole && is_finished => Self::Finished,
            FILE_MAGIC if is_whole => Self::Unfinished,
            0 => Self::Nothing,
            _ => Self::Other,
        }
    }
}

/// Renames a file that another process left to a name that recovers to `trace.PID.json`, and reports it.
fn keep_aside(output: &Path, spool_path: &Path, spool: &File, leftover: Leftover) -> io::Result<()> {
    use ferrum_trace_format::ReadAt;
    let mut pid = [0; 8];
    spool.read_at(&mut pid, 8 * file::PID as u64)?;
    let pid = u64::from_le_bytes(pid) as u32;
    let own_name = if leftover == Leftover::Other { with_infix(output, "old") } else { with_pid(output, pid) };
    let names = std::iter::once(own_name.clone()).chain((1..1000).map(|n| with_pid(&own_name, n)));
    let kept = names.map(|name| OutputKind::of(output).spool_path(&name)).find(|kept| !kept.exists());
    let kept = kept.ok_or(io::ErrorKind::AlreadyExists)?;
    std::fs::rename(spool_path, &kept)?;
    let (old, kept) = (spool_path.display(), kept.display());
    let why = match leftover {
        // A process that calls `exec` keeps its number.
        Leftover::Unfinished if pid == std::process::id() => "which became this program",
        Leftover::Finished => "which has finished it",
        Leftover::Other => {
            say(&format!("{old}: no spool; kept as {kept}"));
            return Ok(());
        }
        Leftover::Unfinished | Leftover::Nothing => "which was killed",
    };
    say(&format!("{old}: left by process {pid}, {why}; kept as {kept} for `ferrum-trace recover`"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compression_that_is_not_compiled_in_is_removed_from_the_name() {
        let plain = |path: &str| without_missing_compression(Path::new(path)).map(|(plain, _)| plain);
        let expected = |path: &str, is_there: bool| (!is_there).then(|| PathBuf::from(path));
        let (gzip, zstd) = (cfg!(feature = "gzip"), cfg!(feature = "zstd"));
        assert_eq!(plain("a/t.json.gz"), expected("a/t.json", gzip));
        assert_eq!(plain("t.gz"), expected("t.json", gzip));
        assert_eq!(plain("T.JSON.GZ"), expected("T.JSON", gzip));
        assert_eq!(plain("t.pftrace.gz"), expected("t.pftrace", gzip));
        assert_eq!(plain("t.json.zst"), expected("t.json", zstd));
        for path in ["t.json", "t", "t.spool", "gz", "t.pftrace", "t.perfetto-trace"] {
            assert_eq!(plain(path), None);
        }
    }

    #[test]
    fn the_process_number_goes_before_the_ending() {
        for (path, with) in [
            ("a/trace.json", "a/trace.17.json"),
            ("trace", "trace.17"),
            (".hidden", ".hidden.17"),
            ("a.b/trace.txt", "a.b/trace.17.txt"),
            ("trace.spool", "trace.17.spool"),
            ("x.trace.pftrace", "x.trace.17.pftrace"),
            #[cfg(feature = "gzip")]
            ("trace.json.gz", "trace.17.json.gz"),
            #[cfg(feature = "zstd")]
            ("trace.zst", "trace.17.zst"),
        ] {
            assert_eq!(with_pid(Path::new(path), 17), PathBuf::from(with));
        }
    }

    /// Writes a file that begins like a spool of process 17.
    fn spool_of_17(path: &Path, is_finished: bool) {
        let mut words = [0_u64; file::HEADER_WORDS];
        words[0] = FILE_MAGIC;
        words[file::PID] = 17;
        words[file::FINISHED] = u64::from(is_finished);
        std::fs::write(path, words.map(u64::to_le_bytes).as_flattened()).unwrap();
    }

    #[test]
    fn a_finished_spool_is_kept_if_the_path_names_the_process() {
        for (is_finished, keeps_finished, is_kept) in
            [(true, true, true), (true, false, false), (false, true, true), (false, false, true)]
        {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t.spool");
            spool_of_17(&path, is_finished);
            let Claim::Ours((destination, file)) = Destination::claim_path(&path, keeps_finished).unwrap() else {
                panic!("nobody else records to it");
            };
            assert_eq!(destination.spool_path, path);
            assert_eq!(file.metadata().unwrap().len(), 0);
            assert_eq!(folder.path().join("t.17.spool").exists(), is_kept);
        }
    }
}
