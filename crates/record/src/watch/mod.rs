//! Conditions that are evaluated while the program runs: triggers and windows.

pub(crate) mod dump;
pub(crate) mod panic_hook;
pub(crate) mod requests;
pub(crate) mod steps;
pub(crate) mod window;
