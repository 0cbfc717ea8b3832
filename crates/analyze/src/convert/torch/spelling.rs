//! Names and categories by which HolisticTraceAnalysis (HTA) recognizes device slices.

use crate::figures::gpu::DeviceWork;
use crate::kineto::{KERNEL, MEMCPY, MEMSET};
use std::borrow::Cow;

/// Spelling of a device slice that HTA classifies correctly.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Spelling<'a> {
    /// Its category.
    pub category: &'static str,
    /// Its name.
    pub name: Cow<'a, str>,
    /// Name of the call that launches such a slice.
    pub launch: &'static str,
}

impl<'a> Spelling<'a> {
    /// Returns the spelling of a slice. HTA classifies by name: `nccl…Kernel` communicates, `Memcpy…`, `Memset…` and
    /// `dma…` are copies, and a name that contains `Memcpy` or `Sync` is neither a copy nor a computation.
    pub(super) fn of(kind: DeviceWork, name: &'a str) -> Self {
        match kind {
            DeviceWork::Comm => Self::kernel(comm_name(name)),
            DeviceWork::Comp => Self::kernel(comp_name(name)),
            DeviceWork::Copy if holds(name, "memset") => {
                let name = if name.starts_with("Memset") { name.into() } else { format!("Memset ({name})").into() };
                Self { category: MEMSET, name, launch: "cudaMemsetAsync" }
            }
            DeviceWork::Copy => Self { category: MEMCPY, name: memcpy_name(name), launch: "cudaMemcpyAsync" },
        }
    }

    fn kernel(name: Cow<'a, str>) -> Self {
        Self { category: KERNEL, name, launch: "cudaLaunchKernel" }
    }
}

fn comm_name(name: &str) -> Cow<'_, str> {
    match name.strip_prefix("nccl") {
        Some(rest) if rest.contains("Kernel") => name.into(),
        _ => format!("ncclDevKernel_{name}").into(),
    }
}

fn comp_name(name: &str) -> Cow<'_, str> {
    let mut spelled = Cow::Borrowed(name);
    for word in ["Memcpy", "Memset", "Sync"] {
        if spelled.contains(word) {
            spelled = spelled.replace(word, &word.to_lowercase()).into();
        }
    }
    if spelled.starts_with("dma") { format!("kernel_{spelled}").into() } else { spelled }
}

fn memcpy_name(name: &str) -> Cow<'_, str> {
    const DIRECTIONS: [(&str, [&str; 2]); 3] =
        [("HtoD ", ["htod", "h2d"]), ("DtoH ", ["dtoh", "d2h"]), ("DtoD ", ["dtod", "d2d"])];
    if name.starts_with("Memcpy") {
        return name.into();
    }
    let direction = DIRECTIONS.iter().find(|(_, words)| words.iter().any(|word| holds(name, word)));
    format!("Memcpy {}({name})", direction.map_or("", |(direction, _)| direction)).into()
}

/// Returns true if a name contains a word, in any case.
fn holds(name: &str, word: &str) -> bool {
    name.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_named_as_hta_expects() {
        let spelled = |kind, name| {
            let Spelling { category, name, launch } = Spelling::of(kind, name);
            format!("{category}|{name}|{launch}")
        };
        let comm = |name| spelled(DeviceWork::Comm, name);
        assert_eq!(comm("all_reduce"), "kernel|ncclDevKernel_all_reduce|cudaLaunchKernel");
        assert_eq!(comm("ncclDevKernel_AllReduce(x)"), "kernel|ncclDevKernel_AllReduce(x)|cudaLaunchKernel");
        assert_eq!(comm("ncclAllReduce"), "kernel|ncclDevKernel_ncclAllReduce|cudaLaunchKernel");
        let comp = |name| spelled(DeviceWork::Comp, name);
        assert_eq!(comp("gemm"), "kernel|gemm|cudaLaunchKernel");
        assert_eq!(comp("fusedSyncMemcpy"), "kernel|fusedsyncmemcpy|cudaLaunchKernel");
        assert_eq!(comp("dmabuf scale"), "kernel|kernel_dmabuf scale|cudaLaunchKernel");
        let copy = |name| spelled(DeviceWork::Copy, name);
        assert_eq!(copy("Memcpy DtoH (Device -> Pinned)"), "gpu_memcpy|Memcpy DtoH (Device -> Pinned)|cudaMemcpyAsync");
        assert_eq!(copy("kv D2H"), "gpu_memcpy|Memcpy DtoH (kv D2H)|cudaMemcpyAsync");
        assert_eq!(copy("swap"), "gpu_memcpy|Memcpy (swap)|cudaMemcpyAsync");
        assert_eq!(copy("memset kv"), "gpu_memset|Memset (memset kv)|cudaMemsetAsync");
    }
}
