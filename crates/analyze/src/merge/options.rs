//! Options of a merge.

use super::align::Align;

/// Output format of a merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MergedForm {
    /// Chrome trace JSON, an object.
    #[default]
    Chrome,
    /// Chrome trace JSON with repairs as by [`repair`](crate::repair::repair): takes 20 bytes of memory per slice.
    ChromeRepaired,
    /// A Perfetto trace.
    Perfetto,
}

/// Options of [`merge`](super::merge).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergeOptions {
    /// Alignment of clocks.
    pub align: Align,
    /// Output format.
    pub form: MergedForm,
}
