//! Options of a merge.

use super::align::Align;

/// What is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MergedForm {
    /// Chrome trace JSON, an object.
    #[default]
    Chrome,
    /// The same, mended as by [`repair`](crate::repair::repair): takes 20 bytes of memory a slice.
    ChromeRepaired,
    /// A Perfetto trace.
    Perfetto,
}

/// How to merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergeOptions {
    /// How clocks are aligned.
    pub align: Align,
    /// What is written.
    pub form: MergedForm,
}
