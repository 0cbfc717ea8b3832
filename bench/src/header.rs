//! Date, machine and versions of a run: enough to repeat it, but nothing that identifies the machine or its user.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::contenders::Contender;
use crate::sys;

/// The lock file at the time of compilation.
const LOCK: &str = include_str!("../../Cargo.lock");

/// The information above the tables.
#[derive(Debug)]
pub(crate) struct Header {
    pub date: String,
    machine: String,
    kernel: String,
    compiler: &'static str,
    versions: Vec<(String, String)>,
    command: String,
    load: String,
    scratch: &'static str,
}

impl Header {
    pub(crate) fn collect(contenders: &[&'static dyn Contender]) -> Self {
        let packages = contenders.iter().flat_map(|contender| contender.packages());
        let versions = packages.chain(&["serde_json"]).map(|name| ((*name).to_owned(), version(name))).collect();
        Self {
            date: civil_date(seconds_since_epoch()),
            machine: machine(),
            kernel: first_line("/proc/sys/kernel/osrelease"),
            compiler: env!("BENCH_RUSTC"),
            versions,
            command: command(),
            scratch: sys::file_system(&std::env::temp_dir()),
            load: first_line("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned(),
        }
    }

    pub(crate) fn to_markdown(&self) -> String {
        let mut out = format!("## Run of {}\n\n", self.date);
        let versions: Vec<String> = self.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
        for (key, value) in [
            ("command", format!("`{}`", self.command)),
            ("machine", self.machine.clone()),
            ("kernel", self.kernel.clone()),
            ("compiler", self.compiler.to_owned()),
            ("load before", self.load.clone()),
            ("scratch files on", self.scratch.to_owned()),
            ("versions", versions.join(", ")),
        ] {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "- {key}: {value}");
        }
        out
    }

    pub(crate) fn to_json(&self) -> Value {
        let versions: serde_json::Map<String, Value> =
            self.versions.iter().map(|(name, version)| (name.clone(), json!(version))).collect();
        json!({
            "date": self.date, "machine": self.machine, "kernel": self.kernel, "compiler": self.compiler,
            "command": self.command, "load": self.load, "scratch": self.scratch, "versions": versions,
        })
    }
}

/// The newest locked version of a package: the one of this crate, since older ones are locked for dependencies.
fn version(name: &str) -> String {
    let wanted = format!("name = \"{name}\"");
    let mut lines = LOCK.lines();
    let mut found = String::from("?");
    while let Some(line) = lines.next() {
        if line == wanted {
            let version = lines.next().and_then(|line| line.strip_prefix("version = "));
            version.unwrap_or("?").trim_matches('"').clone_into(&mut found);
        }
    }
    found
}

/// The command without paths.
fn command() -> String {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let features = features();
    let separator = if given.is_empty() { "" } else { " -- " };
    format!("cargo run --release -p bench{features}{separator}{}", given.join(" "))
}

/// The flags that select the features of this program.
fn features() -> String {
    let all = [
        ("peers", cfg!(feature = "peers")),
        ("engine", cfg!(feature = "engine")),
        ("devices", cfg!(feature = "devices")),
    ];
    let enabled: Vec<&str> = all.iter().filter(|(_, is_enabled)| *is_enabled).map(|(name, _)| *name).collect();
    match enabled[..] {
        [] => " --no-default-features".to_owned(),
        ["peers", "engine"] => String::new(),
        _ => format!(" --no-default-features --features {}", enabled.join(",")),
    }
}

fn machine() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |key: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split(':').nth(1)).unwrap_or("?").trim().to_owned()
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let guest = if cpuinfo.contains("hypervisor") { ", virtual machine" } else { "" };
    format!("{}, {cores} cores at {} MHz{guest}", field("model name"), field("cpu MHz"))
}

fn first_line(path: &str) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().next().unwrap_or("?").to_owned()
}

fn seconds_since_epoch() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

/// `YYYY-MM-DD` in UTC.
fn civil_date(seconds: u64) -> String {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut days = seconds / 86_400;
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}", month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right_around_a_leap_day() {
        assert_eq!(civil_date(0), "1970-01-01");
        assert_eq!(civil_date(951_782_400), "2000-02-29");
        assert_eq!(civil_date(951_868_800), "2000-03-01");
        assert_eq!(civil_date(1_798_761_599), "2026-12-31");
    }

    #[test]
    fn versions_come_from_the_lock_file() {
        assert_ne!(version("serde_json"), "?");
        assert_eq!(version("no-such-package"), "?");
    }
}
