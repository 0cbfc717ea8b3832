//! Identity of a span of `tracing`.

/// A span as one of the layers sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpanKey {
    pub layer: u32,
    pub span: u64,
}
