//! Opening what the user named: paths, traces, spools and streams.

pub mod paths;
pub mod recovered_text;
pub mod recovery;
mod replay;
pub mod source;
pub mod spool_file;
