//! Where a trace goes.

use super::pending_file::{Existing, PendingFile};
use crate::flags::DASH;
use crate::user_error::UserError;
use ferrum_trace_format::spool::OutputFormat;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where a trace is to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Stdout,
    File(PathBuf),
}

impl Target {
    /// What the user asked for.
    pub fn of(typed: &Path) -> Self {
        if typed == Path::new(DASH) { Self::Stdout } else { Self::File(typed.to_owned()) }
    }

    /// What it is called in JSON.
    pub fn name(&self) -> String {
        match self {
            Self::Stdout => DASH.to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// What it is called in words.
    pub fn label(&self) -> String {
        match self {
            Self::Stdout => "standard output".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// The form that the name of a trace promises.
    pub fn form(&self) -> OutputFormat {
        match self {
            Self::Stdout => OutputFormat::default(),
            Self::File(path) => OutputFormat::of_name(&path.file_name().unwrap_or_default().to_string_lossy()).0,
        }
    }

    /// Whether both are the same file, or would be.
    pub fn is_at(&self, path: &Path) -> bool {
        match self {
            Self::Stdout => false,
            Self::File(own) => full(own) == full(path),
        }
    }

    /// Begins a trace there. A file of that name is not touched before the trace is complete.
    pub fn begin(&self, existing: Existing) -> Result<TraceWriter, UserError> {
        let (kind, existing) = match self {
            Self::Stdout => (OutputTarget::Stdout(io::stdout()), existing),
            Self::File(path) => (begin_file(path, existing)?, existing),
        };
        Ok(TraceWriter { kind, existing, label: self.label(), failure: None })
    }
}

fn begin_file(path: &Path, existing: Existing) -> Result<OutputTarget, UserError> {
    let cannot = |cause: io::Error| cannot_write(path.display().to_string(), &cause);
    match fs::metadata(path) {
        Ok(about) if about.is_dir() => {
            let hint = format!("name a file: `-o {}`", path.join("trace.json").display());
            Err(UserError::at(path, "expected a file to write, found a folder").hint(hint))
        }
        Ok(about) if about.is_file() && existing == Existing::Keep => Err(exists(path.display().to_string())),
        // Through links, so that it is the file that is replaced.
        Ok(about) if about.is_file() => {
            let path = fs::canonicalize(path).map_err(cannot)?;
            PendingFile::create(&path).map(OutputTarget::Pending).map_err(cannot)
        }
        // A pipe, `/dev/null` and their like keep their place.
        Ok(_) => File::options().write(true).open(path).map(OutputTarget::Device).map_err(cannot),
        Err(_) => PendingFile::create(path).map(OutputTarget::Pending).map_err(cannot),
    }
}

fn exists(name: String) -> UserError {
    UserError::new(name, "already exists").hint("use `--force` to overwrite it, or `-o PATH` to write elsewhere")
}

fn cannot_write(name: String, cause: &io::Error) -> UserError {
    let error = UserError::new(name, format!("cannot write: {cause}"));
    match cause.kind() {
        io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem => error.hint("use `-o PATH` to write elsewhere; the input is unchanged"),
        _ => error,
    }
}

/// The place of a file, whether it is there or not.
fn full(path: &Path) -> PathBuf {
    let by_folder = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(fs::canonicalize(folder).ok()?.join(path.file_name()?))
    };
    fs::canonicalize(path).ok().or_else(by_folder).unwrap_or_else(|| path.to_owned())
}

/// A trace that is being written.
#[derive(Debug)]
pub struct TraceWriter {
    kind: OutputTarget,
    existing: Existing,
    label: String,
    failure: Option<Failure>,
}

#[derive(Debug)]
enum OutputTarget {
    Stdout(io::Stdout),
    Device(File),
    Pending(PendingFile),
}

/// Why a trace was given up.
#[derive(Debug)]
pub enum Failure {
    /// Whoever was reading it has seen enough.
    ClosedPipe,
    Error(UserError),
}

impl TraceWriter {
    /// Why writing has failed, if it has.
    pub fn failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }

    /// The trace is complete.
    pub fn commit(self) -> Result<(), Failure> {
        let Self { kind, existing, label, .. } = self;
        let committed = match kind {
            OutputTarget::Stdout(mut stdout) => stdout.flush(),
            OutputTarget::Device(_) => Ok(()),
            OutputTarget::Pending(file) => file.commit(existing),
        };
        committed.map_err(|cause| Failure::of(label, &cause))
    }
}

impl Failure {
    /// What an error of the system comes to.
    pub fn of(label: String, cause: &io::Error) -> Self {
        match cause.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            io::ErrorKind::AlreadyExists => Self::Error(exists(label)),
            _ => Self::Error(cannot_write(label, cause)),
        }
    }
}

impl Write for TraceWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.kind {
            OutputTarget::Stdout(stdout) => stdout.write(bytes),
            OutputTarget::Device(file) => file.write(bytes),
            OutputTarget::Pending(pending) => pending.write(bytes),
        };
        if let Err(cause) = &written
            && cause.kind() != io::ErrorKind::Interrupted
        {
            self.failure = Some(Failure::of(self.label.clone(), cause));
        }
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrum_trace_format::Packing;

    #[test]
    fn a_dash_is_standard_output_and_all_else_a_file() {
        assert_eq!(Target::of(Path::new("-")), Target::Stdout);
        assert_eq!(Target::of(Path::new("./-")), Target::File("./-".into()));
    }

    #[test]
    fn the_ending_tells_the_packing() {
        let of = |name: &str| Target::of(Path::new(name)).form().packing;
        assert_eq!([of("a.json"), of("-"), of("gz"), of("d.gz/a")], [Packing::Plain; 4]);
        assert_eq!([of("a.json.gz"), of("a.GZ")], [Packing::Gzip; 2]);
        assert_eq!(of("a.pftrace.zst"), Packing::Zstd);
    }

    #[test]
    fn a_place_is_known_by_any_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let roundabout = Target::File(folder.path().join(".").join("a.json"));
        assert!(roundabout.is_at(&path), "not there yet");
        fs::write(&path, "[]").unwrap();
        assert!(roundabout.is_at(&path), "there");
        assert!(!roundabout.is_at(&folder.path().join("b.json")));
        assert!(!Target::Stdout.is_at(&path));
    }
}
