//! File systems for tests: small ones that fill up, and read-only ones.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A mounted file system, unmounted when dropped.
#[derive(Debug)]
pub struct Mount {
    folder: tempfile::TempDir,
}

impl Mount {
    /// A file system in memory with this size in bytes.
    pub fn small(bytes: u64) -> Self {
        Self::tmpfs(&format!("size={bytes}"))
    }

    /// An empty file system that is read-only, also for root.
    pub fn read_only() -> Self {
        Self::tmpfs("size=1m,ro")
    }

    fn tmpfs(options: &str) -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "ferrum-trace-test"]).arg(folder.path());
        run(&mut mount, "this test mounts a small file system, which needs root (or CAP_SYS_ADMIN) and `mount`");
        Self { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazy, so that a hanging child does not keep the test from ending.
        let unmounted = Command::new("umount").arg("--lazy").arg(self.folder.path()).status();
        if !std::thread::panicking() {
            assert!(unmounted.expect("`umount` runs").success());
        }
    }
}

fn run(command: &mut Command, why: &str) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; {why}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}; {why}", complaint.trim());
}
