//! The text files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Finding, rust_code};
use crate::Result;
use crate::task::Task;
use crate::workspace::Workspace;

/// A text file of the repository.
pub(super) struct TextFile {
    /// Path from the root, with `/`.
    pub path: String,
    pub text: String,
    /// For Rust: the text with blanks for comments and literals, with the same lines. Otherwise empty.
    pub code: String,
}

impl TextFile {
    pub(super) fn new(path: &str, text: String) -> Self {
        let code = if path.ends_with(".rs") { rust_code::blanked(&text) } else { String::new() };
        Self { path: path.into(), text, code }
    }

    /// True for files kept byte for byte as some program wrote them. Rules about layout do not apply to them.
    pub(super) fn is_test_data(&self) -> bool {
        self.path.split('/').any(|folder| folder == "data")
    }

    pub(super) fn finding(&self, line_idx: usize, message: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line: line_idx + 1, message: message.into() }
    }
}

/// Every text file that is tracked, or would be after `git add`. Files that are not UTF-8 are left out.
pub(super) fn all(workspace: &Workspace) -> Result<Vec<TextFile>> {
    let mut paths = match tracked(workspace) {
        Ok(paths) => paths,
        // Sources from an archive have no repository.
        Err(complaint) => {
            println!("{complaint}\nchecking all files instead of those that git lists");
            walked(workspace.root())?
        }
    };
    paths.sort();
    Ok(paths.iter().filter_map(|path| read(workspace.root(), path)).collect())
}

fn tracked(workspace: &Workspace) -> Result<Vec<String>> {
    let task = Task::new(workspace, "git").words("ls-files -z --cached --others --exclude-standard");
    let listed = String::from_utf8_lossy(&task.output()?).into_owned();
    Ok(listed.split_terminator('\0').map(String::from).collect())
}

fn walked(root: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|err| format!("{}: {err}", folder.display()))?;
        let (inner, found): (Vec<PathBuf>, Vec<PathBuf>) =
            entries.flatten().map(|entry| entry.path()).partition(|path| path.is_dir());
        folders.extend(inner.into_iter().filter(|folder| !is_output(folder)));
        files.extend(found);
    }
    let relative = files.iter().filter_map(|file| file.strip_prefix(root).ok());
    Ok(relative.map(|file| file.to_string_lossy().replace('\\', "/")).collect())
}

/// Returns true for the folders that `.gitignore` names.
fn is_output(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default();
    [".git", "target", "corpus", "artifacts"].iter().any(|output| name == *output)
}

fn read(root: &Path, path: &str) -> Option<TextFile> {
    let text = fs::read_to_string(root.join(path)).ok()?;
    (!text.contains('\0')).then(|| TextFile::new(path, text))
}
