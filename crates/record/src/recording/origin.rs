//! Where a recording comes from: which host, which boot of it, which of the processes of one run.

use std::ffi::{OsStr, OsString};

/// Variables that tell one process of many from the others.
pub const RANK_VARIABLES: [&str; 3] = ["RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"];

/// What the first variable says that says something.
pub fn rank_text(value_of: impl Fn(&str) -> Option<OsString>) -> Option<OsString> {
    RANK_VARIABLES.iter().find_map(|name| value_of(name).filter(|rank| !rank.is_empty()))
}

/// The number that a rank is.
pub fn rank_number(rank: &OsStr) -> Option<u32> {
    rank.to_str()?.trim().parse().ok()
}

/// The rank of this process, if it has one.
pub fn rank_of_environment() -> Option<u32> {
    rank_text(|name| std::env::var_os(name)).as_deref().and_then(rank_number)
}

/// What the system calls itself.
pub fn host_name() -> Option<String> {
    let from_kernel = line_of("/proc/sys/kernel/hostname");
    from_kernel.or_else(|| std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty()))
}

/// What differs whenever the system is started, and with it its monotonic clock. Only Linux tells.
pub fn boot_id() -> Option<String> {
    line_of("/proc/sys/kernel/random/boot_id")
}

fn line_of(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns the name of the running program, without folder and extension.
pub fn program_name() -> String {
    let program = std::env::current_exe().ok();
    let stem = program.as_deref().and_then(|program| program.file_stem());
    stem.map_or_else(|| "program".to_owned(), |stem| stem.to_string_lossy().into_owned())
}
