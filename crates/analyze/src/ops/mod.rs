//! Classification of kernels and operations.
//!
//! `built_in.rules` has the classes and the patterns of their names. Engines record the operations of the vocabulary
//! (`vocab::Op`), and other tools' kernels have no such category, so classes are names of their own: some are the
//! operations, others are finer or are no operation of a model. [`Ops`] returns operations, as `steps` shows them.

mod class;
mod of_trace;
mod parse;
mod pattern;
mod rules;

pub use class::ClassId;
pub(crate) use of_trace::Ops;
pub use parse::RuleError;
pub use rules::{BUILT_IN_RULES, Rules};

#[cfg(test)]
use pattern::Pattern;

#[cfg(test)]
mod tests;
