//! Names of the open slices of each row.

use super::tracks::ThreadId;
use std::collections::HashMap;

/// Maximum size of the names. The ends of further slices have no name.
const BYTES_MAX: usize = 64 << 20;
/// Size of a slice in addition to its name and category.
const SLICE_BYTES: usize = size_of::<Lengths>();

/// The open slices of all rows. The end of a slice has only a row, so its name is that of the innermost open slice
/// there.
#[derive(Debug, Default)]
pub(crate) struct OpenSlices {
    rows: HashMap<ThreadId, OpenRow>,
    n_bytes: usize,
}

#[derive(Debug, Default)]
struct OpenRow {
    /// Names and categories, concatenated.
    texts: String,
    slices: Vec<Lengths>,
    /// Number of open slices inside these for which there was no room.
    n_nameless: u64,
}

#[derive(Clone, Copy, Debug)]
struct Lengths {
    name: usize,
    category: usize,
}

/// Name and category of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Words<'a> {
    pub name: &'a str,
    pub category: &'a str,
}

impl OpenSlices {
    /// Begins a slice.
    pub(crate) fn open(&mut self, thread: ThreadId, name: &str, category: &str) {
        let row = self.rows.entry(thread).or_default();
        let n_bytes = name.len() + category.len() + SLICE_BYTES;
        if row.n_nameless > 0 || self.n_bytes + n_bytes > BYTES_MAX {
            row.n_nameless += 1;
            return;
        }
        self.n_bytes += n_bytes;
        row.texts.push_str(name);
        row.texts.push_str(category);
        row.slices.push(Lengths { name: name.len(), category: category.len() });
    }

    /// Returns the name and category of the innermost open slice of a row.
    pub(crate) fn innermost(&self, thread: ThreadId) -> Option<Words<'_>> {
        let row = self.rows.get(&thread).filter(|row| row.n_nameless == 0)?;
        let Lengths { name, category } = *row.slices.last()?;
        let texts = &row.texts[row.texts.len() - name - category..];
        Some(Words { name: &texts[..name], category: &texts[name..] })
    }

    /// Ends the innermost open slice of a row.
    pub(crate) fn close(&mut self, thread: ThreadId) {
        let Some(row) = self.rows.get_mut(&thread) else { return };
        if row.n_nameless > 0 {
            row.n_nameless -= 1;
        } else if let Some(Lengths { name, category }) = row.slices.pop() {
            row.texts.truncate(row.texts.len() - name - category);
            self.n_bytes -= name + category + SLICE_BYTES;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: ThreadId = ThreadId { pid: 1, tid: 2 };

    #[test]
    fn the_innermost_open_slice_of_a_row_gives_the_name() {
        let mut open = OpenSlices::default();
        let other = ThreadId { pid: 1, tid: 3 };
        open.open(ROW, "outer", "a");
        open.open(ROW, "inner", "");
        open.open(other, "elsewhere", "b");
        assert_eq!(open.innermost(ROW), Some(Words { name: "inner", category: "" }));
        open.close(ROW);
        assert_eq!(open.innermost(ROW), Some(Words { name: "outer", category: "a" }));
        open.close(ROW);
        open.close(ROW);
        assert_eq!(open.innermost(ROW), None);
        assert_eq!(open.innermost(other), Some(Words { name: "elsewhere", category: "b" }));
    }

    #[test]
    fn slices_beyond_the_limit_have_no_name() {
        let mut open = OpenSlices::default();
        let long = "x".repeat(BYTES_MAX / 2);
        for name in ["first", &long, &long, "inside of it"] {
            open.open(ROW, name, "");
        }
        assert_eq!(open.innermost(ROW), None);
        open.close(ROW);
        assert_eq!(open.innermost(ROW), None);
        open.close(ROW);
        assert_eq!(open.innermost(ROW).map(|words| words.name.len()), Some(long.len()));
        open.close(ROW);
        assert_eq!(open.innermost(ROW), Some(Words { name: "first", category: "" }));
    }
}
