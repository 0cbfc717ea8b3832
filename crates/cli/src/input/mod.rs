//! Opening what the user named: paths, traces, spools and streams.

mod bytes;
pub(crate) mod captures;
pub(crate) mod paths;
pub(crate) mod recovered_text;
pub(crate) mod recovery;
mod replay;
pub(crate) mod source;
pub(crate) mod spool_file;
