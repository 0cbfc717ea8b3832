//! The folder that the processes record to.

use crate::user_error::UserError;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// File name of each process. The host is part of it, because processes on several hosts may have the same pid.
const FILE_PATTERN: &[u8] = b"/%h-%p.spool";

/// A private folder. It is removed when it is dropped, unless it has a name of its own.
#[derive(Debug)]
pub(crate) struct Folder {
    place: Place,
}

#[derive(Debug)]
enum Place {
    Temporary(TempDir),
    Named(PathBuf),
}

impl Folder {
    /// Creates the folder next to the output, where there should be enough space for files of about the same size.
    pub(crate) fn next_to(output: &Path) -> Result<Self, UserError> {
        let place = match fs::metadata(output) {
            // There may be no space next to a pipe or a device.
            Ok(about) if !about.is_file() => std::env::temp_dir(),
            _ => output.parent().map(Path::to_owned).unwrap_or_default(),
        };
        let cannot = |cause: String| {
            let error = UserError::at(output, format!("cannot record next to it: {cause}"));
            error.hint("use `-o PATH` to write elsewhere; its folder must exist")
        };
        let place = if place.as_os_str().is_empty() { PathBuf::from(".") } else { place };
        if !place.is_dir() {
            return Err(cannot("its folder does not exist".to_owned()));
        }
        // The program may change its working directory.
        let place = std::path::absolute(place).map_err(|cause| cannot(cause.to_string()))?;
        let mut prefix = output.file_name().unwrap_or_default().to_owned();
        prefix.push(".");
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".processes").permissions(fs::Permissions::from_mode(0o700));
        let folder = builder.tempdir_in(place);
        // Only the kind: the message also has the random name of the folder.
        Ok(Self { place: Place::Temporary(folder.map_err(|cause| cannot(cause.kind().to_string()))?) })
    }

    /// Creates the folder among the temporary files of the system.
    pub(crate) fn temporary() -> Result<Self, UserError> {
        let place = std::env::temp_dir();
        let cannot = |cause: io::Error| UserError::at(&place, format!("cannot record in it: {}", cause.kind()));
        let place = std::path::absolute(&place).map_err(cannot)?;
        let folder = tempfile::Builder::new().prefix("ferrum-trace.").tempdir_in(place).map_err(cannot)?;
        Ok(Self { place: Place::Temporary(folder) })
    }

    /// Creates a new folder at this path, and the folders above it. It stays.
    pub(crate) fn named(path: &Path) -> Result<Self, UserError> {
        let cannot = |cause: io::Error| match cause.kind() {
            io::ErrorKind::AlreadyExists => UserError::at(path, "expected a new folder, found an existing one"),
            _ => UserError::at(path, format!("cannot create the folder: {cause}")),
        };
        let path = std::path::absolute(path).map_err(cannot)?;
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(cannot)?;
        }
        fs::create_dir(&path).map_err(cannot)?;
        Ok(Self { place: Place::Named(path) })
    }

    pub(crate) fn path(&self) -> &Path {
        match &self.place {
            Place::Temporary(folder) => folder.path(),
            Place::Named(path) => path,
        }
    }

    /// Returns the value of `FERRUM_TRACE_OUT` for files in this folder.
    pub(crate) fn pattern(&self) -> OsString {
        let folder = self.path().as_os_str().as_bytes();
        let literal = folder.iter().flat_map(|&byte| if byte == b'%' { vec![b'%'; 2] } else { vec![byte] });
        OsString::from_vec(literal.chain(FILE_PATTERN.iter().copied()).collect())
    }

    /// Returns the files in it, sorted by name.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>, UserError> {
        let cannot = |cause: io::Error| UserError::at(self.path(), format!("cannot read the folder: {cause}"));
        let entries = fs::read_dir(self.path()).map_err(cannot)?;
        let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
        let mut files = paths.map_err(cannot)?;
        files.retain(|path| path.is_file());
        files.sort();
        Ok(files)
    }

    /// Keeps the folder.
    pub(crate) fn keep(self) -> PathBuf {
        match self.place {
            Place::Temporary(folder) => folder.keep(),
            Place::Named(path) => path,
        }
    }

    /// Removes the folder, also if it has a name.
    pub(crate) fn remove(self) {
        if let Place::Named(path) = &self.place {
            // The files of an incomplete run are of no use; an error changes nothing else.
            let _ = fs::remove_dir_all(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_escapes_the_name_of_the_folder() {
        let scratch = tempfile::tempdir().unwrap();
        let odd = scratch.path().join("100%p");
        fs::create_dir(&odd).unwrap();
        let folder = Folder::next_to(&odd.join("trace.json")).unwrap();
        let pattern = folder.pattern().into_string().unwrap();
        assert!(pattern.contains("/100%%p/trace.json."), "{pattern}");
        assert!(pattern.ends_with(".processes/%h-%p.spool"), "{pattern}");
        assert!(folder.path().is_absolute());
    }

    #[test]
    fn a_named_folder_is_new_and_stays() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("runs/base-01");
        drop(Folder::named(&path).unwrap());
        assert!(path.is_dir());
        let refused = Folder::named(&path).unwrap_err().to_string();
        assert!(refused.contains("found an existing one"), "{refused}");
        let other = scratch.path().join("runs/base-02");
        Folder::named(&other).unwrap().remove();
        assert!(!other.exists());
    }

    #[test]
    fn a_temporary_folder_is_removed() {
        let folder = Folder::temporary().unwrap();
        let path = folder.path().to_owned();
        assert!(path.is_dir());
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn a_missing_parent_folder_is_an_error() {
        let scratch = tempfile::tempdir().unwrap();
        let output = scratch.path().join("missing/trace.json");
        let refused = Folder::next_to(&output).unwrap_err().to_string();
        assert!(refused.contains("cannot record next to it"), "{refused}");
    }
}
