//! Writing files: where they go, in which format, and that they appear only when they are complete.

pub(crate) mod format;
pub(crate) mod output_writer;
pub(crate) mod packed;
pub(crate) mod pending_file;
pub(crate) mod recorder_leftovers;
pub(crate) mod target;
mod unfinished_files;
