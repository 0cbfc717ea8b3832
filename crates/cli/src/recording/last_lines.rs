//! The last lines of the output of a command.

use crate::render::table::clean;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Number of lines.
const LINES: usize = 10;
/// Bytes at the end of the output that are searched for lines.
const BYTES: u64 = 8 << 10;

/// Returns the last lines of a file, each indented. Empty if there are none.
pub(super) fn last_lines(path: &Path) -> String {
    let bytes = last_bytes(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let shown = lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default();
    shown.iter().map(|line| format!("\n  {}", clean(line))).collect()
}

fn last_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let size = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(size.saturating_sub(BYTES)))?;
    let mut bytes = Vec::new();
    file.take(BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_returned() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output.txt");
        std::fs::write(&path, "long\n".repeat(9000) + "\u{1b}[2Jodd\n\n" + &"end\n".repeat(9)).unwrap();
        assert_eq!(last_lines(&path), format!("\n  \u{fffd}[2Jodd{}", "\n  end".repeat(9)));
        std::fs::write(&path, "\n\n").unwrap();
        assert_eq!(last_lines(&path), "");
        assert_eq!(last_lines(&folder.path().join("missing")), "");
    }
}
