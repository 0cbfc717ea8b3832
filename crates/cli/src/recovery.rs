//! From a spool to its trace.

use crate::input::{Input, trace_path};
use crate::out::pending::Existing;
use crate::out::progress::{Progress, Watched};
use crate::out::target::{Failure, Target, TraceWriter};
use crate::spool_file::{Owner, SpoolFile};
use crate::trouble::Trouble;
use ferrum_trace_format::ReadAt;
use ferrum_trace_format::spool::{Summary, is_spool, to_chrome, to_format};
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

/// Most threads that work on one spool.
const WORKERS_MAX: usize = 8;

/// How spools are to be recovered.
#[derive(Clone, Debug, Default)]
pub struct Recovery {
    /// Where the trace goes, if not to its own name.
    pub target: Option<Target>,
    /// Whether a file of that name is replaced.
    pub force: bool,
    /// Whether the spool stays.
    pub keep: bool,
}

/// What became of one spool.
#[derive(Debug)]
pub enum Outcome {
    Recovered(Box<Recovered>),
    /// Whoever was reading the trace has seen enough.
    NobodyReads,
}

/// A trace that was made.
#[derive(Debug)]
pub struct Recovered {
    /// The spool.
    pub input: Input,
    pub target: Target,
    pub summary: Summary,
    /// Why the spool is still there; `None` if it is not, or never was a file.
    pub stay: Option<Stay>,
    /// What should have been removed and could not be.
    pub leftovers: Vec<Trouble>,
}

/// Why a spool was not removed.
#[derive(Debug)]
pub enum Stay {
    /// It was asked for.
    Asked,
    /// Its process still records.
    Recorder,
    /// Nobody knows whether its process still records.
    Unknown(io::Error),
}

impl Recovered {
    /// Whether the process still records.
    pub fn is_live(&self) -> bool {
        matches!(self.stay, Some(Stay::Recorder))
    }
}

impl Recovery {
    /// Makes the trace of a spool.
    pub fn run(&self, input: Input) -> Result<Outcome, Trouble> {
        let spool = open(&input)?;
        refuse_others(&spool.file, &input.words())?;
        let target = self.target_for(input.path())?;
        if !matches!(spool.owner, Owner::Us | Owner::Copy) {
            leave_to_recorder(&target, input.path())?;
        }
        let existing = if self.force { Existing::IsReplaced } else { Existing::Stays };
        let summary = match write(&spool.file, &input, &target, existing)? {
            Written::Whole(summary) => *summary,
            Written::NobodyReads => return Ok(Outcome::NobodyReads),
        };
        let (stay, leftovers) = self.clean_up(input.path(), spool, &target, summary.finished);
        Ok(Outcome::Recovered(Box::new(Recovered { input, target, summary, stay, leftovers })))
    }

    fn target_for(&self, path: Option<&Path>) -> Result<Target, Trouble> {
        let target = match (&self.target, path) {
            (Some(target), _) => target.clone(),
            (None, None) => Target::Stdout,
            (None, Some(path)) => match trace_path(path) {
                Some(trace) => Target::File(trace),
                None => return Err(no_name(path)),
            },
        };
        match path {
            Some(path) if target.is_at(path) => Err(no_name(path)),
            _ => Ok(target),
        }
    }

    /// Removes what is not needed any more, now that the trace has its name. A spool that its recorder has finished is
    /// what somebody asked for, and stays.
    fn clean_up(
        &self,
        path: Option<&Path>,
        spool: SpoolFile,
        target: &Target,
        is_finished: bool,
    ) -> (Option<Stay>, Vec<Trouble>) {
        let Some(path) = path else {
            return (None, Vec::new());
        };
        let mut leftovers = Vec::new();
        let stay = match spool.owner {
            Owner::Copy => return (None, leftovers),
            Owner::Recorder => return (Some(Stay::Recorder), leftovers),
            Owner::Unknown(cause) => return (Some(Stay::Unknown(cause)), leftovers),
            Owner::Us if *target == Target::Stdout => return (Some(Stay::Asked), leftovers),
            Owner::Us if self.keep || is_finished => Some(Stay::Asked),
            Owner::Us => {
                leftovers.extend(remove(path).err());
                None
            }
        };
        if let Some(spare) = trace_path(path).map(spare_path).filter(|spare| is_spare(spare)) {
            leftovers.extend(remove(&spare).err());
        }
        // Until here nobody else could take the spool's name.
        drop(spool.file);
        (stay, leftovers)
    }
}

fn open(input: &Input) -> Result<SpoolFile, Trouble> {
    let progress = Progress::start(input.words(), None);
    let copied = |n_bytes| progress.advance(n_bytes);
    match input.path() {
        Some(path) => SpoolFile::open(path, copied),
        None if io::stdin().is_terminal() => {
            let trouble = Trouble::new(input.words(), "expected a spool, found a terminal");
            Err(trouble.hint("`ferrum-trace recover - < trace.json.spool`"))
        }
        None => SpoolFile::copy(io::stdin().lock(), &input.words(), copied),
    }
}

/// A recorder that has written a trace swaps it with another file at each flush, and must find there what it has put
/// there: replacing it would cost the recording.
fn leave_to_recorder(target: &Target, spool: Option<&Path>) -> Result<(), Trouble> {
    match spool.and_then(trace_path) {
        Some(trace) if target.is_at(&trace) && trace.exists() => {
            let trouble = Trouble::at(&trace, "its process still records and updates the trace itself");
            Err(trouble.hint("use `-o PATH` to write a snapshot elsewhere"))
        }
        _ => Ok(()),
    }
}

/// What came of writing.
enum Written {
    Whole(Box<Summary>),
    NobodyReads,
}

fn write(spool: &File, input: &Input, target: &Target, existing: Existing) -> Result<Written, Trouble> {
    let name = input.words();
    let mut out = target.begin(existing)?;
    let progress = Progress::start(name.clone(), spool.size().ok());
    let form = target.form();
    let converted = to_format(&Watched { file: spool, progress: &progress }, &mut out, form, n_workers());
    progress.wait_for_disk();
    let failure = match converted {
        Ok(summary) => match out.commit() {
            Ok(()) => return Ok(Written::Whole(Box::new(summary))),
            Err(failure) => failure,
        },
        Err(error) => failure_of(&mut out, &name, &error),
    };
    match failure {
        Failure::NobodyReads => Ok(Written::NobodyReads),
        Failure::Trouble(trouble) => Err(trouble),
    }
}

fn failure_of(out: &mut TraceWriter, name: &str, error: &ferrum_trace_format::Error) -> Failure {
    out.failure().unwrap_or_else(|| Failure::Trouble(Trouble::new(name, error.to_string())))
}

/// Bytes that tell a spool from other files.
const HEADER_BYTES: usize = 512;

/// What is no spool is found out before anything else is asked about it.
fn refuse_others(spool: &File, name: &str) -> Result<(), Trouble> {
    let cannot = |cause: io::Error| Trouble::new(name, format!("cannot read the spool: {cause}"));
    let mut first_bytes = [0; HEADER_BYTES];
    let n_bytes = spool.read_at(&mut first_bytes, 0).map_err(cannot)?;
    let first_bytes = &first_bytes[..n_bytes];
    if first_bytes.is_empty() {
        let trouble = Trouble::new(name, "expected a spool, found an empty file");
        return Err(trouble.hint("its process ended before it began to record"));
    }
    match to_chrome(first_bytes, &mut io::sink(), 1) {
        Err(error) if error.is_wrong_format() => {
            let trouble = Trouble::new(name, error.to_string());
            Err(match first_bytes.trim_ascii_start() {
                bytes if is_spool(bytes) && n_bytes == HEADER_BYTES => {
                    trouble.hint("use the version of ferrum-trace that recorded it")
                }
                [b'[' | b'{', ..] => trouble.hint("this looks like a finished trace, which needs no recovery"),
                _ => trouble,
            })
        }
        _ => Ok(()),
    }
}

fn no_name(path: &Path) -> Trouble {
    let what = "the spool's name does not end in `.spool`, so the trace needs another name";
    Trouble::at(path, what).hint("use `-o PATH` to name the trace")
}

fn remove(path: &Path) -> Result<(), Trouble> {
    fs::remove_file(path).map_err(|cause| Trouble::at(path, format!("cannot remove: {cause}")))
}

/// The second file that a recorder keeps for its next flush.
fn spare_path(trace: PathBuf) -> PathBuf {
    let mut name = trace.into_os_string();
    name.push(".next");
    name.into()
}

/// What traces begin with: those of Chrome, Perfetto, gzip and zstd.
const FIRST_BYTES: [u8; 4] = [b'[', 0x0a, 0x1f, 0x28];

/// Whether there is such a file, and it begins like a trace: one of that name may be another's.
fn is_spare(path: &Path) -> bool {
    let mut first_byte = Vec::new();
    let is_file = fs::symlink_metadata(path).is_ok_and(|about| about.is_file());
    let read = is_file.then(|| File::open(path)?.take(1).read_to_end(&mut first_byte));
    matches!(read, Some(Ok(_))) && first_byte.first().is_none_or(|first| FIRST_BYTES.contains(first))
}

/// As many as there are processors, within reason.
fn n_workers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(WORKERS_MAX)
}
