//! The feature `compiled-out`.

/// True if all call sites compile to nothing.
pub(crate) const COMPILED_OUT: bool = cfg!(feature = "compiled-out");
