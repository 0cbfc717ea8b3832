//! A temporary folder for a test.

use std::fs;
use std::path::{Path, PathBuf};

/// An empty folder for the test with this name.
pub(crate) fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reference").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}
