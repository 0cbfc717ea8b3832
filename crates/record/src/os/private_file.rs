//! Files of the recorder in folders that other users can write to.
//!
//! A spool is shared memory: whoever can open the file can change what the process reads from it. So every file is
//! created exclusively and opened to its user alone, a name that leads to something else is never followed, and a file
//! that an ended process has left is removed and created anew, not truncated: another user may still have it mapped.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::path::Path;

/// Permissions of a file that only its user may open.
#[cfg(unix)]
const PRIVATE: u32 = 0o600;
/// Permissions that a new file of another program gets, less those in the process's umask.
#[cfg(unix)]
const NEW_FILE: u32 = 0o666;
/// Permission bits, without those for set-user-id and the like.
#[cfg(unix)]
const PERMISSION_BITS: u32 = 0o777;
/// Mode bits of a folder such as `/tmp`: everyone creates files there, and each user removes only their own.
#[cfg(unix)]
const SHARED_FOLDER: u32 = 0o1002;

/// Number of attempts if a name is taken again each time that it was freed.
const CREATE_ATTEMPTS: usize = 100;

/// Creates a file that only this user may open, under a name that nothing has.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, PRIVATE);
    options.open(path)
}

/// Like [`create`]. A file of this user that has the name is removed; anything else there is an error.
pub(crate) fn create_anew(path: &Path) -> io::Result<File> {
    for _ in 0..CREATE_ATTEMPTS {
        match create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => remove(path)?,
            created => return created,
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// Creates a file without a name, which is gone when it is closed. `path` is its name for a moment on file systems that
/// have no such files.
pub(crate) fn create_unnamed(path: &Path) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_TMPFILE | libc::O_EXCL).mode(PRIVATE);
        if let Ok(file) = options.open(folder) {
            return Ok(file);
        }
    }
    let file = create_anew(path)?;
    // A system that cannot remove an open file leaves it, and the next recording removes it.
    let _ = std::fs::remove_file(path);
    Ok(file)
}

/// Opens an existing file of this user. A link, a file of another user and anything that is not a regular file are
/// errors of the kind `PermissionDenied`.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    check(&std::fs::symlink_metadata(path)?)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    // Another user may replace the file between check and opening.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW);
    let file = options.open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Removes an existing file of this user. Anything else is an error, as in [`open`].
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    let removed = std::fs::symlink_metadata(path).and_then(|about| {
        check(&about)?;
        std::fs::remove_file(path)
    });
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

fn check(about: &Metadata) -> io::Result<()> {
    let refused = |why: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    if about.is_symlink() {
        return refused("expected a file, found a link, which is not followed".to_owned());
    }
    if !about.is_file() {
        return refused("expected a file, found something else".to_owned());
    }
    #[cfg(unix)]
    {
        let owner = std::os::unix::fs::MetadataExt::uid(about);
        if owner != crate::os::process::user() {
            return refused(format!("it belongs to another user (uid {owner})"));
        }
    }
    Ok(())
}

/// Returns an error if a path is a link that another user has placed in a folder that everyone may write to. Linux
/// follows such links neither, unless it is told to (`fs.protected_symlinks`).
pub(crate) fn check_link(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let Some(link) = std::fs::symlink_metadata(path).ok().filter(Metadata::is_symlink) else {
            return Ok(());
        };
        let Some(folder) = path.parent().and_then(|folder| std::fs::metadata(folder).ok()) else {
            return Ok(());
        };
        let is_shared = folder.mode() & SHARED_FOLDER == SHARED_FOLDER;
        if is_shared && link.uid() != crate::os::process::user() && link.uid() != folder.uid() {
            let why = format!("it is a link of another user (uid {}), which is not followed", link.uid());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Permissions of a finished output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutputPermissions {
    #[cfg(unix)]
    mode: u32,
    /// The group to which they apply, unless it is that of any new file.
    #[cfg(unix)]
    group: Option<u32>,
}

impl OutputPermissions {
    /// Returns the permissions for an output at `path`: those of the file that it replaces, or those of any new file of
    /// this process. A file of another user can only restrict them.
    pub(crate) fn at(path: &Path) -> Self {
        let replaced = std::fs::symlink_metadata(path).ok().filter(Metadata::is_file);
        Self::replacing(replaced.as_ref())
    }

    /// Like [`at`](Self::at), for the file that is replaced.
    #[cfg(unix)]
    pub(crate) fn replacing(replaced: Option<&Metadata>) -> Self {
        use crate::os::process::{umask, user};
        use std::os::unix::fs::MetadataExt;
        let of_new_file = || umask().map_or(PRIVATE, |umask| NEW_FILE & !umask);
        match replaced {
            None => Self { mode: of_new_file(), group: None },
            Some(old) if old.uid() == user() => Self { mode: old.mode() & PERMISSION_BITS, group: Some(old.gid()) },
            Some(old) => Self { mode: old.mode() & of_new_file(), group: None },
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn replacing(_replaced: Option<&Metadata>) -> Self {
        Self {}
    }

    /// Gives them to a file. Best effort: without them, only its user may open it.
    pub(crate) fn give_to(self, file: &File) {
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
            let has_group = |group| file.metadata().is_ok_and(|about| about.gid() == group);
            let is_of_group =
                self.group.is_none_or(|group| has_group(group) || fchown(file, None, Some(group)).is_ok());
            // The group would be another one: it gets no more than everyone.
            let mode = if is_of_group { self.mode } else { self.mode & !0o070 | (self.mode & 0o007) << 3 & self.mode };
            let _ = file.set_permissions(Permissions::from_mode(mode));
        }
        #[cfg(not(unix))]
        let _ = file;
    }

    /// Closes a file that was an output to all but its user.
    pub(crate) fn take_from(file: &File) {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let _ = file.set_permissions(Permissions::from_mode(PRIVATE));
        }
        #[cfg(not(unix))]
        let _ = file;
    }
}

/// Writes the entries of the folder of `path` to the disk, so that a name that was given or taken stays so.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A folder may be writable and not readable; some file systems cannot sync one.
    let Ok(folder) = File::open(folder) else {
        return Ok(());
    };
    match folder.sync_all() {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        result => result,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_file_is_created_for_its_user_alone_and_never_over_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        create(&path).unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(create(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_stale_file_is_replaced_and_not_truncated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut stale = create(&path).unwrap();
        stale.write_all(b"still mapped elsewhere").unwrap();
        let fresh = create_anew(&path).unwrap();
        assert_eq!(stale.metadata().unwrap().len(), 22);
        assert_eq!(fresh.metadata().unwrap().len(), 0);
        assert_ne!(stale.metadata().unwrap().ino(), fresh.metadata().unwrap().ino());
    }

    #[test]
    fn links_and_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        std::fs::write(&target, "precious").unwrap();
        symlink(&target, &link).unwrap();
        let refusals = [create_anew(&link).err(), open(&link).err(), remove(&link).err(), open(folder.path()).err()];
        for refusal in refusals {
            assert_eq!(refusal.unwrap().kind(), io::ErrorKind::PermissionDenied);
        }
        assert_eq!(std::fs::read(&target).unwrap(), b"precious");
        assert!(link.is_symlink());
    }

    #[test]
    fn an_unnamed_file_leaves_no_name() {
        for folder in [std::env::temp_dir(), "/dev/shm".into()] {
            let Ok(folder) = tempfile::tempdir_in(folder) else { continue };
            let mut file = create_unnamed(&folder.path().join("a")).unwrap();
            file.write_all(b"x").unwrap();
            assert_eq!(folder.path().read_dir().unwrap().count(), 0);
        }
    }

    #[test]
    fn an_output_keeps_the_permissions_of_the_file_that_it_replaces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.json");
        let new = OutputPermissions::at(&path);
        std::fs::write(&path, "").unwrap();
        assert_eq!(new.mode, mode(&path), "those of any new file");
        for kept in [0o600, 0o640, 0o444, 0o666] {
            std::fs::set_permissions(&path, Permissions::from_mode(kept)).unwrap();
            let next = folder.path().join("next");
            OutputPermissions::at(&path).give_to(&create_anew(&next).unwrap());
            assert_eq!(mode(&next), kept);
        }
    }
}
