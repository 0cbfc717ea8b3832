//! Where a trace goes: from what the user wrote to files that are ours alone.

use crate::config::{Options, program_name};
use crate::error::Error;
use crate::origin::host_name;
use crate::say::say;
use ferrum_trace_format::spool;
use ferrum_trace_format::spool::layout::{FILE_MAGIC, file};
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
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
    /// What viewers open.
    Trace(spool::Form),
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

/// A destination and its spool, which is locked for as long as it is open.
pub type Claimed = (Destination, File);

/// The same for one file of several.
#[derive(Debug)]
pub struct ClaimedPart {
    pub claimed: Claimed,
    pub number: u32,
    /// `trace.json`, after which the files are named.
    pub base: PathBuf,
}

impl Destination {
    /// Opens the spool of what `options` ask for, or of a name with the process's number in it if another process has
    /// that. The spool is locked for as long as it is open.
    pub fn claim(options: &Options) -> Result<Claimed, Error> {
        let pid = std::process::id();
        let wanted = full_path(&options.out, pid)?;
        let own = with_pid(&wanted, pid);
        // In a directory, the name has the process's number already.
        let is_parents = options.is_forked && !options.out.is_dir();
        if !is_parents && let Some(destination) = Self::claim_path(&wanted)? {
            return Ok(destination);
        }
        say_elsewhere(&wanted, &own, is_parents);
        let taken = || io::Error::from(io::ErrorKind::ResourceBusy);
        Self::claim_path(&own)?.ok_or_else(|| Error::io("cannot record to", &own, taken()))
    }

    /// The next file of a recording that goes on in several: `trace.001.json` and so on, the first number above `after` that no
    /// file has, complete or not.
    pub fn claim_part(base: &Path, after: u32) -> Result<ClaimedPart, Error> {
        let busy = || Error::io("cannot record to", base, io::ErrorKind::ResourceBusy.into());
        Self::claim_number(base, after)?.ok_or_else(busy)
    }

    /// The first such file of this process. The base has the process's number in it if another process has that.
    pub fn claim_first_part(options: &Options) -> Result<ClaimedPart, Error> {
        let pid = std::process::id();
        let wanted = full_path(&options.out, pid)?;
        let is_parents = options.is_forked && !options.out.is_dir();
        if !is_parents && let Some(part) = Self::claim_number(&wanted, 0)? {
            return Ok(part);
        }
        let own = with_pid(&wanted, pid);
        say_elsewhere(&wanted, &own, is_parents);
        Self::claim_part(&own, 0)
    }

    /// `None` if a live process records to the first number that is free.
    fn claim_number(base: &Path, after: u32) -> Result<Option<ClaimedPart>, Error> {
        for number in after.saturating_add(1)..u32::MAX {
            let output = with_infix(base, &format!("{number:03}"));
            let spool = Form::of(&output).spool_path(&output);
            if output.exists() {
                continue;
            }
            if let Ok(left) = OpenOptions::new().read(true).write(true).open(&spool) {
                match left.try_lock() {
                    Err(TryLockError::WouldBlock) => return Ok(None),
                    // What a killed process left is for `ferrum-trace recover`.
                    _ => continue,
                }
            }
            let claimed = Self::claim_path(&output)?;
            return Ok(claimed.map(|claimed| ClaimedPart { claimed, number, base: base.to_owned() }));
        }
        Ok(None)
    }

    /// `None` if a live process records to that path.
    fn claim_path(output: &Path) -> Result<Option<Claimed>, Error> {
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
            if is_worth_keeping(&file) {
                keep_aside(output, &spool_path, &file).map_err(cannot)?;
                continue;
            }
            file.set_len(0).map_err(cannot)?;
            let output = output.to_owned();
            return Ok(Some((Self { output, form, spool_path }, file)));
        }
        Err(cannot(io::ErrorKind::ResourceBusy.into()))
    }
}

fn say_elsewhere(wanted: &Path, own: &Path, is_parents: bool) {
    let why = if is_parents { "this is a forked child" } else { "it is being recorded to already" };
    say(&format!("{}: {why}; recording to {}", wanted.display(), own.display()));
}

impl Form {
    /// Where the spool of an output is.
    fn spool_path(self, output: &Path) -> PathBuf {
        match self {
            Self::Spool => output.to_owned(),
            Self::Trace(_) => with_ending(output, ".spool"),
        }
    }

    fn of(output: &Path) -> Self {
        match output.extension() {
            Some(ending) if ending == "spool" => Self::Spool,
            _ => Self::Trace(trace_form(output)),
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
    let Some((plain, feature)) = without_absent_form(&path) else {
        return Ok(path);
    };
    let why = format!("the feature `{feature}` was left out of this program");
    say(&format!("{}: {why}; recording to {}", path.display(), plain.display()));
    Ok(plain)
}

/// The form that a path promises.
pub fn trace_form(path: &Path) -> spool::Form {
    spool::Form::of_name(&file_name(path)).0
}

/// For endings that promise a packing that was not compiled in, the path of a file without it, and the feature that it needs.
fn without_absent_form(path: &Path) -> Option<(PathBuf, &'static str)> {
    let absent = [("gz", "gzip", cfg!(feature = "gzip")), ("zst", "zstd", cfg!(feature = "zstd"))];
    let ending = path.extension()?;
    let (_, feature, _) = absent.into_iter().find(|(packed, _, is_there)| ending == *packed && !is_there)?;
    let stem = path.with_extension("");
    let plain = if stem.extension().is_some() { stem } else { stem.with_extension("json") };
    Some((plain, feature))
}

fn file_name(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}

/// `%p` becomes the process's number, `%r` its rank (0 if it has none), `%h` the host's name, `%%` a percent sign.
pub fn expand(out: &OsStr, rank: Option<&OsStr>) -> OsString {
    let rank = rank.map_or("0".into(), OsStr::to_string_lossy);
    let mut expanded = Vec::new();
    let mut bytes = out.as_encoded_bytes().iter().peekable();
    while let Some(&byte) = bytes.next() {
        let replacement = match (byte, bytes.peek()) {
            (b'%', Some(b'p')) => std::process::id().to_string(),
            (b'%', Some(b'r')) => file_name_of(&rank),
            (b'%', Some(b'h')) => file_name_of(&host_name().unwrap_or_else(|| "host".to_owned())),
            (b'%', Some(b'%')) => "%".to_owned(),
            _ => {
                expanded.push(byte);
                continue;
            }
        };
        bytes.next();
        expanded.extend_from_slice(replacement.as_bytes());
    }
    os_string(expanded)
}

#[cfg(unix)]
fn os_string(bytes: Vec<u8>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

#[cfg(not(unix))]
fn os_string(bytes: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

/// What comes from outside must not lead out of the folder.
fn file_name_of(text: &str) -> String {
    text.replace(['/', '\\', '\0'], "_")
}

/// `trace.json` and 17 make `trace.17.json`.
fn with_pid(path: &Path, pid: u32) -> PathBuf {
    with_infix(path, &pid.to_string())
}

/// `trace.json` and `dump-001` make `trace.dump-001.json`; `trace.json.gz` makes `trace.dump-001.json.gz`.
pub fn with_infix(path: &Path, infix: &str) -> PathBuf {
    let name = file_name(path);
    let ending = match spool::Form::of_name(&name).1 {
        "" => name.rfind('.').filter(|&dot| dot > 0).map_or("", |dot| &name[dot..]),
        ending => ending,
    };
    let stem = &name[..name.len() - ending.len()];
    path.with_file_name(format!("{stem}.{infix}{ending}"))
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

/// A spool that nobody holds and that was not finished is what a killed process left.
fn is_worth_keeping(spool: &File) -> bool {
    use ferrum_trace_format::ReadAt;
    let mut words = [[0; 8]; file::FINISHED + 1];
    let n_bytes = spool.read_at(words.as_flattened_mut(), 0).unwrap_or(0);
    let is_whole = n_bytes == words.as_flattened().len();
    is_whole && u64::from_le_bytes(words[0]) == FILE_MAGIC && u64::from_le_bytes(words[file::FINISHED]) != 1
}

/// Moves what a killed process left out of the way, under a name that recovers to `trace.PID.json`, and says so.
fn keep_aside(output: &Path, spool_path: &Path, spool: &File) -> io::Result<()> {
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
    say(&format!("{old}: left by process {pid}, which was killed; kept as {kept} for `ferrum-trace recover`"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> String {
        expand(OsStr::new(text), Some(OsStr::new("7/../x"))).into_string().unwrap()
    }

    #[test]
    fn placeholders_are_filled_in_and_cannot_leave_the_folder() {
        let pid = std::process::id();
        assert_eq!(expanded("a-%p.json"), format!("a-{pid}.json"));
        assert_eq!(expanded("%r.json"), "7_.._x.json");
        assert_eq!(expanded("100%%-%x-%"), "100%-%x-%");
        assert!(!expanded("%h").is_empty() && !expanded("%h").contains('%'));
    }

    #[test]
    fn a_packing_that_was_left_out_is_left_out_of_the_name() {
        let plain = |path: &str| without_absent_form(Path::new(path)).map(|(plain, _)| plain);
        let expected = |path: &str, is_there: bool| (!is_there).then(|| PathBuf::from(path));
        let (gzip, zstd) = (cfg!(feature = "gzip"), cfg!(feature = "zstd"));
        assert_eq!(plain("a/t.json.gz"), expected("a/t.json", gzip));
        assert_eq!(plain("t.gz"), expected("t.json", gzip));
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
}
