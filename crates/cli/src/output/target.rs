//! The destination of a trace: a file or standard output.

use super::pending_file::{Existing, PendingFile};
use crate::flags::DASH;
use crate::os::permissions;
use crate::render::table::clean;
use crate::user_error::UserError;
use ferrum_trace_format::spool::OutputFormat;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The destination of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Stdout,
    File(PathBuf),
}

impl Target {
    /// Parses the value of `-o`; `-` is standard output.
    pub(crate) fn of(typed: &Path) -> Self {
        if typed == Path::new(DASH) { Self::Stdout } else { Self::File(typed.to_owned()) }
    }

    /// Returns the name in JSON.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdout => DASH.to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// Returns the name in messages.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Stdout => "standard output".to_owned(),
            Self::File(path) => clean(&path.display().to_string()),
        }
    }

    /// Returns the output format and compression that the extension asks for.
    pub(crate) fn form(&self) -> OutputFormat {
        match self {
            Self::Stdout => OutputFormat::default(),
            Self::File(path) => OutputFormat::of_name(&path.file_name().unwrap_or_default().to_string_lossy()).0,
        }
    }

    /// Returns true if this is the file at `path`, whether or not it exists.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        match self {
            Self::Stdout => false,
            Self::File(own) => full(own) == full(path),
        }
    }

    /// Opens the destination. An existing file is not touched before [`TraceWriter::commit`].
    pub(crate) fn begin(&self, existing: Existing) -> Result<TraceWriter, UserError> {
        let (kind, existing) = match self {
            Self::Stdout => (OutputTarget::Stdout(io::stdout()), existing),
            Self::File(path) => (begin_file(path, existing)?, existing),
        };
        Ok(TraceWriter { kind, existing, label: self.label(), failure: None })
    }
}

fn begin_file(path: &Path, existing: Existing) -> Result<OutputTarget, UserError> {
    let cannot = |cause: io::Error| cannot_write(path.display().to_string(), &cause);
    if let Some(owner) = permissions::owner_of_foreign_link(path) {
        let error = UserError::at(path, format!("it is a link of another user (uid {owner}), which is not followed"));
        return Err(error.hint("use `-o PATH` to write elsewhere"));
    }
    match fs::metadata(path) {
        Ok(about) if about.is_dir() => {
            let hint = format!("name a file: `-o {}`", path.join("trace.json").display());
            Err(UserError::at(path, "expected a file to write, found a folder").hint(hint))
        }
        Ok(about) if about.is_file() && existing == Existing::Keep => Err(exists(path.display().to_string())),
        // Follow links, so that the file is replaced and not the link.
        Ok(about) if about.is_file() => {
            let path = fs::canonicalize(path).map_err(cannot)?;
            PendingFile::create(&path).map(OutputTarget::Pending).map_err(cannot)
        }
        // A pipe or a device such as `/dev/null` is written to directly.
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

/// Returns the canonical path of a file that may not exist.
fn full(path: &Path) -> PathBuf {
    let by_folder = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(fs::canonicalize(folder).ok()?.join(path.file_name()?))
    };
    fs::canonicalize(path).ok().or_else(by_folder).unwrap_or_else(|| path.to_owned())
}

/// Writes a trace to its destination.
#[derive(Debug)]
pub(crate) struct TraceWriter {
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

/// The reason why a trace could not be written.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader has closed the pipe.
    ClosedPipe,
    Error(UserError),
}

impl TraceWriter {
    /// Returns the error of the last write, if it failed.
    pub(crate) fn failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }

    /// Completes the trace.
    pub(crate) fn commit(self) -> Result<(), Failure> {
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
    /// Converts a system error about the output `label`.
    pub(crate) fn of(label: String, cause: &io::Error) -> Self {
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
    fn a_dash_is_standard_output_and_any_other_name_a_file() {
        assert_eq!(Target::of(Path::new("-")), Target::Stdout);
        assert_eq!(Target::of(Path::new("./-")), Target::File("./-".into()));
    }

    #[test]
    fn the_extension_selects_the_compression() {
        let of = |name: &str| Target::of(Path::new(name)).form().packing;
        assert_eq!([of("a.json"), of("-"), of("gz"), of("d.gz/a")], [Packing::Plain; 4]);
        assert_eq!([of("a.json.gz"), of("a.GZ")], [Packing::Gzip; 2]);
        assert_eq!(of("a.pftrace.zst"), Packing::Zstd);
    }

    #[test]
    fn one_file_is_recognized_by_different_paths() {
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
