//! Files that were requested over this interface; no other files can be read over it.

use super::answer::name_of;
use crate::flight::dumps::dumps_beside;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Maximum number of files in the list. Older files stay on disk but can no longer be read over HTTP.
const FILES_MAX: usize = 1000;

/// Outputs, the newest last.
#[derive(Debug, Default)]
pub(super) struct Files {
    outputs: VecDeque<PathBuf>,
    /// Outputs of flight recorders for which a dump was requested, with the time of the first request.
    dumped: VecDeque<(PathBuf, SystemTime)>,
}

/// A file that may be read.
#[derive(Debug)]
pub(super) struct Found {
    pub name: String,
    path: PathBuf,
    modified: SystemTime,
}

impl Files {
    /// Adds an output.
    pub(super) fn add(&mut self, path: &Path) {
        self.outputs.retain(|known| known != path);
        self.outputs.push_back(path.to_owned());
        if self.outputs.len() > FILES_MAX {
            self.outputs.pop_front();
        }
    }

    /// Makes dumps of an output that are written from now on readable.
    pub(super) fn add_dumps(&mut self, output: &Path, wall_nanos: u64) {
        if !self.dumped.iter().any(|(known, _)| known == output) {
            self.dumped.push_back((output.to_owned(), UNIX_EPOCH + Duration::from_nanos(wall_nanos)));
        }
        if self.dumped.len() > FILES_MAX {
            self.dumped.pop_front();
        }
    }

    /// Returns the file of this name, or the newest. A file gets its name when it is complete, except for a spool that
    /// is `active`.
    pub(super) fn find(&self, name: Option<&str>, active: Option<&Path>) -> Option<Found> {
        let outputs = self.outputs.iter().filter(|path| !(Some(path.as_path()) == active && is_spool(path))).cloned();
        let dumps = self.dumped.iter().flat_map(|(output, since)| dumps_since(output, *since));
        let found = outputs.chain(dumps).filter_map(Found::at);
        found.filter(|file| name.is_none_or(|name| file.name == name)).max_by_key(|file| file.modified)
    }
}

fn is_spool(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == ferrum_trace_format::spool::FILE_EXTENSION)
}

/// Returns the dumps of an output that were written since `since`.
fn dumps_since(output: &Path, since: SystemTime) -> impl Iterator<Item = PathBuf> {
    let is_new = move |path: &PathBuf| path.metadata().and_then(|data| data.modified()).is_ok_and(|time| time >= since);
    dumps_beside(output).into_iter().map(|(_, path)| path).filter(is_new)
}

impl Found {
    fn at(path: PathBuf) -> Option<Self> {
        let data = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some(Self { name: name_of(&path), modified: data.modified().unwrap_or(UNIX_EPOCH), path })
    }

    /// Opens the file and returns it with its length. Fails if a link has taken its place.
    pub(super) fn open(&self) -> io::Result<(File, u64)> {
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let file = options.read(true).open(&self.path)?;
        let data = file.metadata()?;
        if !data.is_file() {
            return Err(io::Error::other("not a file"));
        }
        Ok((file, data.len()))
    }

    /// Returns the media type, by the file's extension.
    pub(super) fn content_type(&self) -> &'static str {
        match self.name.rsplit_once('.').map_or("", |(_, ending)| ending) {
            "json" => "application/json",
            "gz" => "application/gzip",
            "zst" => "application/zstd",
            _ => "application/octet-stream",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_were_not_requested_here_are_not_found() {
        let folder = std::env::temp_dir().join(format!("ferrum-http-files-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str| std::fs::write(folder.join(name), name).unwrap();
        ["a.json", "b.json", "a.dump-001.json", "a.dump-x.json", "b.dump-001.json"].into_iter().for_each(write);
        let mut files = Files::default();
        assert!(files.find(None, None).is_none());
        files.add(&folder.join("a.json"));
        files.add(&folder.join("not written yet.json"));
        assert_eq!(files.find(None, None).unwrap().name, "a.json");
        assert!(files.find(Some("a.dump-001.json"), None).is_none());
        files.add_dumps(&folder.join("a.json"), 0);
        for (name, is_found) in [
            ("a.json", true),
            ("a.dump-001.json", true),
            ("a.dump-x.json", false),
            ("b.json", false),
            ("b.dump-001.json", false),
            ("not written yet.json", false),
            ("../a.json", false),
        ] {
            assert_eq!(files.find(Some(name), None).is_some(), is_found, "{name}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
