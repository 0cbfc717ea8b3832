//! The folder that the processes record to.

use crate::user_error::UserError;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What each process calls its file: processes of several hosts may share the folder, and have the same numbers.
const FILE_PATTERN: &[u8] = b"/%h-%p.spool";

/// A folder that is nobody else's. It vanishes when it is dropped.
#[derive(Debug)]
pub struct Folder {
    folder: TempDir,
}

impl Folder {
    /// Makes it beside the output, where there is room for it: what is recorded takes about as much.
    pub fn beside(output: &Path) -> Result<Self, UserError> {
        let place = match fs::metadata(output) {
            // Beside a pipe or a device is no room.
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
        // The program may go elsewhere.
        let place = std::path::absolute(place).map_err(|cause| cannot(cause.to_string()))?;
        let mut prefix = output.file_name().unwrap_or_default().to_owned();
        prefix.push(".");
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".processes").permissions(fs::Permissions::from_mode(0o700));
        let folder = builder.tempdir_in(place);
        // What is more in it is the name of the folder that could not be made.
        Ok(Self { folder: folder.map_err(|cause| cannot(cause.kind().to_string()))? })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What `FERRUM_TRACE_OUT` must be for files to come here.
    pub fn pattern(&self) -> OsString {
        let folder = self.path().as_os_str().as_bytes();
        let literal = folder.iter().flat_map(|&byte| if byte == b'%' { vec![b'%'; 2] } else { vec![byte] });
        OsString::from_vec(literal.chain(FILE_PATTERN.iter().copied()).collect())
    }

    /// The files in it, in the order of their names.
    pub fn files(&self) -> Result<Vec<PathBuf>, UserError> {
        let cannot = |cause: io::Error| UserError::at(self.path(), format!("cannot read the folder: {cause}"));
        let entries = fs::read_dir(self.path()).map_err(cannot)?;
        let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
        let mut files = paths.map_err(cannot)?;
        files.retain(|path| path.is_file());
        files.sort();
        Ok(files)
    }

    /// It stays.
    pub fn keep(self) -> PathBuf {
        self.folder.keep()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_leads_into_the_folder_whatever_that_is_called() {
        let scratch = tempfile::tempdir().unwrap();
        let odd = scratch.path().join("100%p");
        fs::create_dir(&odd).unwrap();
        let folder = Folder::beside(&odd.join("trace.json")).unwrap();
        let pattern = folder.pattern().into_string().unwrap();
        assert!(pattern.contains("/100%%p/trace.json."), "{pattern}");
        assert!(pattern.ends_with(".processes/%h-%p.spool"), "{pattern}");
        assert!(folder.path().is_absolute());
    }

    #[test]
    fn there_is_none_where_there_is_no_place_for_the_output() {
        let scratch = tempfile::tempdir().unwrap();
        let output = scratch.path().join("missing/trace.json");
        let refused = Folder::beside(&output).unwrap_err().to_string();
        assert!(refused.contains("cannot record next to it"), "{refused}");
    }
}
