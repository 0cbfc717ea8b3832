//! The origin of a recording: host, boot, and rank of the process.

use crate::os::environment::variable;
use std::ffi::{OsStr, OsString};

/// Environment variables that hold the rank of the process.
pub(crate) const RANK_VARIABLES: [&str; 3] = ["RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"];

/// Returns the value of the first of these variables that is set and not empty.
pub(crate) fn rank_text(value_of: impl Fn(&str) -> Option<OsString>) -> Option<OsString> {
    RANK_VARIABLES.iter().find_map(|name| value_of(name).filter(|rank| !rank.is_empty()))
}

/// Parses a rank.
pub(crate) fn rank_number(rank: &OsStr) -> Option<u32> {
    rank.to_str()?.trim().parse().ok()
}

/// Returns the rank of this process according to the environment.
pub(crate) fn rank_of_environment() -> Option<u32> {
    rank_text(variable).as_deref().and_then(rank_number)
}

/// Returns the name of the host.
pub(crate) fn host_name() -> Option<String> {
    let from_kernel = line_of("/proc/sys/kernel/hostname");
    from_kernel.or_else(|| std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty()))
}

/// Returns an id that changes at each boot of the system, when its monotonic clock restarts. Only on Linux.
pub(crate) fn boot_id() -> Option<String> {
    line_of("/proc/sys/kernel/random/boot_id")
}

fn line_of(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns the name of the running program, without folder and extension.
pub(crate) fn program_name() -> String {
    let program = std::env::current_exe().ok();
    let stem = program.as_deref().and_then(|program| program.file_stem());
    stem.map_or_else(|| "program".to_owned(), |stem| stem.to_string_lossy().into_owned())
}
