//! Writing files: where they go, in which format, and that they appear only when they are complete.

pub mod format;
pub mod output_writer;
pub mod packed;
pub mod pending_file;
pub mod target;
mod unfinished_files;
