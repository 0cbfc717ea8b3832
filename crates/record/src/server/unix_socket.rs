//! Unix sockets: their owner, and their removal when the process ends.

use crate::os::process::set_at_exit;
use crate::util::lock::lock;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tokio::net::{UnixListener, UnixSocket};

/// Maximum number of connections that are not accepted yet.
const BACKLOG: u32 = 64;
/// Permissions of the socket: only the user may connect.
const MODE: u32 = 0o600;

/// Existing sockets of this process.
static SOCKETS: Mutex<Vec<SocketFile>> = Mutex::new(Vec::new());

#[derive(Debug, Clone, PartialEq)]
struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
    /// The process that created it: a forked child must not remove its parent's socket.
    pid: u32,
}

/// A socket that is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Claim(SocketFile);

impl Drop for Claim {
    fn drop(&mut self) {
        lock(&SOCKETS).retain(|socket| *socket != self.0);
        self.0.remove();
    }
}

/// Listens at a path. Replaces the socket of a process that has ended; fails if a process listens there or if the file
/// is not a socket.
pub(super) fn listen(path: &Path) -> io::Result<(UnixListener, Claim)> {
    clear(path)?;
    let socket = UnixSocket::new_stream()?;
    socket.bind(path)?;
    // No one can connect before it listens.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(MODE))?;
    let data = path.symlink_metadata()?;
    let path = std::path::absolute(path)?;
    let file = SocketFile { path, device: data.dev(), inode: data.ino(), pid: std::process::id() };
    set_at_exit(remove_at_exit);
    lock(&SOCKETS).push(file.clone());
    let claim = Claim(file);
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

/// Removes the sockets of this process. Called at exit.
fn remove_at_exit() {
    // In a forked child, the lock may be held forever by a thread of the parent.
    if let Ok(sockets) = SOCKETS.try_lock() {
        sockets.iter().for_each(SocketFile::remove);
    }
}
