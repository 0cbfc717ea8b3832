//! Permissions of written files, and links that are not followed.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Permissions of a file that only its user may open.
#[cfg(unix)]
const PRIVATE: u32 = 0o600;

/// Creates a file that only its user may open, under a name that nothing has.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, PRIVATE);
    options.open(path)
}

/// Gives a file the permissions of the file at `path`, or those of any new file. A file of another user can only
/// restrict them.
#[cfg(unix)]
pub(crate) fn give_final(file: &File, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    /// Permissions that a new file gets, less those in the umask.
    const NEW_FILE: u32 = 0o666;
    /// Permission bits, without those for set-user-id and the like.
    const PERMISSION_BITS: u32 = 0o777;

    let own = file.metadata()?;
    let of_new_file = NEW_FILE & !umask();
    let mode = match fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file) {
        None => of_new_file,
        Some(old) if old.uid() != own.uid() => old.mode() & of_new_file,
        Some(old) => {
            let mode = old.mode() & PERMISSION_BITS;
            let is_of_group = old.gid() == own.gid() || fchown(file, None, Some(old.gid())).is_ok();
            // The group is another one: it gets no more than everyone.
            if is_of_group { mode } else { mode & !0o070 | mode & (mode & 0o007) << 3 }
        }
    };
    file.set_permissions(fs::Permissions::from_mode(mode))
}

/// Other systems have no such permissions.
#[cfg(not(unix))]
pub(crate) fn give_final(_: &File, _: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns the permissions that new files do not get. The system can only exchange them, which is done once.
#[cfg(unix)]
fn umask() -> u32 {
    use rustix::fs::Mode;
    static UMASK: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *UMASK.get_or_init(|| {
        let before = rustix::process::umask(Mode::RWXG | Mode::RWXO);
        rustix::process::umask(before);
        before.bits()
    })
}

/// Writes the entries of the folder of `path` to the disk, so that a name that was given stays so.
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

/// Returns the owner of a link that another user has placed in a folder that everyone may write to. Linux does not
/// follow such links either, unless it is told to (`fs.protected_symlinks`).
#[cfg(unix)]
pub(crate) fn owner_of_foreign_link(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    /// Mode bits of a folder such as `/tmp`: everyone creates files there, and each user removes only their own.
    const SHARED_FOLDER: u32 = 0o1002;

    let link = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_symlink)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::metadata(folder).ok()?;
    let is_shared = folder.mode() & SHARED_FOLDER == SHARED_FOLDER;
    let user = rustix::process::geteuid().as_raw();
    (is_shared && link.uid() != user && link.uid() != folder.uid()).then(|| link.uid())
}

/// Other systems do not report owners in this way.
#[cfg(not(unix))]
pub(crate) fn owner_of_foreign_link(_: &Path) -> Option<u32> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn a_file_gets_the_permissions_of_the_one_that_it_replaces() {
        let folder = tempfile::tempdir().unwrap();
        let (path, new) = (folder.path().join("t.json"), folder.path().join("new"));
        let file = create_private(&new).unwrap();
        let mode = || fs::metadata(&new).unwrap().mode() & 0o7777;
        assert_eq!(mode(), PRIVATE);
        give_final(&file, &path).unwrap();
        fs::write(&path, "").unwrap();
        assert_eq!(mode(), fs::metadata(&path).unwrap().mode() & 0o7777, "those of any new file");
        for kept in [0o600, 0o640, 0o444, 0o666] {
            fs::set_permissions(&path, Permissions::from_mode(kept)).unwrap();
            give_final(&file, &path).unwrap();
            assert_eq!(mode(), kept);
        }
    }
}
