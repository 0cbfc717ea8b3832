//! Access to the operating system: clocks, files, threads, signals, standard error.

pub(crate) mod clock;
pub(crate) mod file;
pub(crate) mod signal;
pub(crate) mod stderr;
pub(crate) mod thread;
