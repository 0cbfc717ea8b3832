//! A socket in the file system: whose it is, and that it goes with its process.

use crate::os::process::set_at_exit;
use crate::util::lock::lock;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tokio::net::{UnixListener, UnixSocket};

/// Connections that wait for being accepted.
const BACKLOG: u32 = 64;
/// Who may connect: the user.
const MODE: u32 = 0o600;

/// Sockets of this process that are there.
static THERE: Mutex<Vec<SocketFile>> = Mutex::new(Vec::new());

#[derive(Debug, Clone, PartialEq)]
struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
    /// A forked child leaves its parent's alone.
    pid: u32,
}

/// A socket that goes when this does.
#[derive(Debug)]
pub struct Claim(SocketFile);

impl Drop for Claim {
    fn drop(&mut self) {
        lock(&THERE).retain(|place| *place != self.0);
        self.0.remove();
    }
}

/// Listens at a path. What a process that is gone left there is replaced; what is alive, or no socket, is not.
pub fn listen(path: &Path) -> io::Result<(UnixListener, Claim)> {
    clear(path)?;
    let socket = UnixSocket::new_stream()?;
    socket.bind(path)?;
    // Nobody can connect before it listens.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(MODE))?;
    let data = path.symlink_metadata()?;
    let path = std::path::absolute(path)?;
    let place = SocketFile { path, device: data.dev(), inode: data.ino(), pid: std::process::id() };
    set_at_exit(remove_at_exit);
    lock(&THERE).push(place.clone());
    let claim = Claim(place);
    Ok((socket.listen(BACKLOG)?, claim))
}

fn clear(path: &Path) -> io::Result<()> {
    let Ok(data) = path.symlink_metadata() else {
        return Ok(());
    };
    if !data.file_type().is_socket() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "expected a socket or nothing, found something else"));
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        Ok(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "a process listens there already")),
        Err(error) => Err(error),
    }
}

impl SocketFile {
    fn remove(&self) {
        let is_ours = |data: std::fs::Metadata| data.dev() == self.device && data.ino() == self.inode;
        if self.pid == std::process::id() && self.path.symlink_metadata().is_ok_and(is_ours) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Removes the sockets of this process at its end.
fn remove_at_exit() {
    // In a forked child, another thread of the parent may have had the lock for good.
    if let Ok(places) = THERE.try_lock() {
        places.iter().for_each(SocketFile::remove);
    }
}
