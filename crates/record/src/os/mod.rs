//! Access to the operating system: clocks, files, processes, threads, signals and standard error.

pub(crate) mod clock;
pub(crate) mod fault;
pub(crate) mod file;
pub(crate) mod file_size;
pub(crate) mod memory;
pub(crate) mod process;
pub(crate) mod signal;
pub(crate) mod stderr;
pub(crate) mod thread;
