//! One recording: a session with its spool, definitions and output.

pub(crate) mod background;
pub(crate) mod definitions;
pub(crate) mod destination;
pub(crate) mod ending_thread;
pub(crate) mod keeper;
pub(crate) mod options;
pub(crate) mod origin;
pub(crate) mod output;
pub(crate) mod part;
pub(crate) mod pattern;
mod point_log;
pub(crate) mod quiet_file;
pub(crate) mod session;
