//! Environment variables.
//!
//! A program that is set-user-id, set-group-id or has capabilities of its own runs with rights that its caller lacks,
//! in an environment that its caller has chosen. There, variables of the recorder have no effect: they name files to
//! write.

use crate::os::process::has_more_rights_than_its_caller;
use std::ffi::OsString;

/// Returns the value of a variable, unless the environment is ignored.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|_| !has_more_rights_than_its_caller())
}

/// Returns all variables, or none if the environment is ignored.
pub(crate) fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    let is_ignored = has_more_rights_than_its_caller();
    (!is_ignored).then(std::env::vars_os).into_iter().flatten()
}

/// Returns true if a variable is set and ignored.
pub(crate) fn is_ignored(name: &str) -> bool {
    has_more_rights_than_its_caller() && std::env::var_os(name).is_some_and(|value| !value.is_empty())
}
