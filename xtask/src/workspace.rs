//! Folders of the repository.

use std::env;
use std::path::{Path, PathBuf};

use crate::Result;

/// The root and the target folder.
pub(crate) struct Workspace {
    root: PathBuf,
    target: PathBuf,
}

impl Workspace {
    /// Finds this repository, and the target folder that the environment selects.
    pub(crate) fn find() -> Result<Self> {
        let own = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&own).parent().ok_or("the folder of xtask has no parent")?.to_path_buf();
        let target = match env::var_os("CARGO_TARGET_DIR") {
            // Absolute, because the steps run in the root, but the program may have been started elsewhere.
            Some(chosen) => std::path::absolute(chosen).map_err(|err| format!("`CARGO_TARGET_DIR`: {err}"))?,
            None => root.join("target"),
        };
        Ok(Self { root, target })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Folder for traces that tests write for the chore `hta`.
    pub(crate) fn hta_check(&self) -> PathBuf {
        self.target.join("hta-check")
    }

    /// Folder for traces that tests write for the step `viewers`.
    pub(crate) fn viewer_check(&self) -> PathBuf {
        self.target.join("viewer-check")
    }
}
