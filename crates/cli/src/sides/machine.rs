//! Facts about this machine that decide whether times can be compared.

use serde::{Deserialize, Serialize};
use std::fs;

/// A machine, without anything that identifies it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// Model of the processor.
    pub(crate) cpu: String,
    /// Number of processors that this process may use.
    pub(crate) cores: u64,
    /// Operating system and its version.
    pub(crate) os: String,
    /// Memory in bytes, if known.
    pub(crate) memory_bytes: Option<u64>,
}

impl Machine {
    /// Returns the facts about this machine.
    pub(crate) fn current() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let version = text("/proc/sys/kernel/osrelease");
        Self {
            cpu: cpu_in(&text("/proc/cpuinfo")).unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: std::thread::available_parallelism().map_or(0, |n| n.get() as u64),
            os: format!("{} {}", std::env::consts::OS, version.trim()).trim_end().to_owned(),
            memory_bytes: memory_in(&text("/proc/meminfo")),
        }
    }

    /// Returns a line for each difference that makes times incomparable. `self` is the machine of the baseline.
    pub(crate) fn differences(&self, current: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.cpu != current.cpu {
            lines.push(format!("other CPU: `{}` in the baseline, `{}` here", self.cpu, current.cpu));
        }
        if self.cores != current.cores {
            lines.push(format!("other number of cores: {} in the baseline, {} here", self.cores, current.cores));
        }
        lines
    }
}

/// Returns the model in the text of `/proc/cpuinfo`.
fn cpu_in(cpuinfo: &str) -> Option<String> {
    let value = |key: &str| {
        let fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        fields.map(|(name, value)| (name.trim(), value.trim())).find(|(name, _)| *name == key).map(|(_, value)| value)
    };
    ["model name", "Model", "Hardware", "CPU part"].into_iter().find_map(value).map(str::to_owned)
}

/// Returns the total memory in the text of `/proc/meminfo`.
fn memory_in(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_and_memory_are_read_from_the_system() {
        assert_eq!(cpu_in("processor\t: 0\nmodel name\t: Fast 9000\n"), Some("Fast 9000".to_owned()));
        assert_eq!(cpu_in("processor\t: 0\n"), None);
        assert_eq!(memory_in("MemTotal:       16000 kB\nMemFree: 1 kB\n"), Some(16_384_000));
        assert_eq!(memory_in("MemTotal: many\n"), None);
    }

    #[test]
    fn another_cpu_or_number_of_cores_is_a_difference() {
        let one = Machine { cpu: "a".to_owned(), cores: 2, os: "linux 6".to_owned(), memory_bytes: Some(1) };
        let other = Machine { os: "linux 7".to_owned(), memory_bytes: None, ..one.clone() };
        assert_eq!(one.differences(&other), [""; 0]);
        let other = Machine { cpu: "b".to_owned(), cores: 4, ..one.clone() };
        let lines = ["other CPU: `a` in the baseline, `b` here", "other number of cores: 2 in the baseline, 4 here"];
        assert_eq!(one.differences(&other), lines);
    }
}
