//! The words of torch's profiler (Kineto).

use ferrum_trace_format::chrome::read::for_each_member;

/// A slice of a stream that computes or communicates.
pub(crate) const KERNEL: &str = "kernel";
/// A copy.
pub(crate) const MEMCPY: &str = "gpu_memcpy";
/// A filling of memory.
pub(crate) const MEMSET: &str = "gpu_memset";
/// The same three, as torch spelled them in 2021.
pub(crate) const KERNEL_2021: &str = "Kernel";
/// See [`KERNEL_2021`].
pub(crate) const MEMCPY_2021: &str = "Memcpy";
/// See [`KERNEL_2021`].
pub(crate) const MEMSET_2021: &str = "Memset";
/// All work of devices.
pub(crate) const DEVICE_WORK: [&str; 6] = [KERNEL, MEMCPY, MEMSET, KERNEL_2021, MEMCPY_2021, MEMSET_2021];
/// A call of the host to the device.
pub(crate) const RUNTIME: &str = "cuda_runtime";
/// All calls of the host to devices, of now and of 2021.
pub(crate) const RUNTIMES: [&str; 5] = [RUNTIME, "cuda_driver", "Runtime", "privateuse1_runtime", "mtia_runtime"];
/// Argument that joins a kernel with the call that launched it.
pub(crate) const CORRELATION: &str = "correlation";
/// Argument that joins a kernel with the operation that launched it.
pub(crate) const EXTERNAL_ID: &str = "External id";
/// An operation of the host.
pub(crate) const CPU_OP: &str = "cpu_op";
/// All operations of the host, of now and of 2021.
pub(crate) const OPERATIONS: [&str; 2] = [CPU_OP, "Operator"];
/// What the program says it does.
pub(crate) const ANNOTATION: &str = "user_annotation";
/// The same on a stream.
pub(crate) const GPU_ANNOTATION: &str = "gpu_user_annotation";
/// Arrows from calls to kernels.
pub(crate) const LAUNCH_FLOW: &str = "ac2g";
/// What the names of steps begin with.
pub(crate) const STEP_PREFIX: &str = "ProfilerStep#";
/// What the names of gloo's collectives begin with.
pub(crate) const GLOO_PREFIX: &str = "gloo:";
/// What the names of the calls to NCCL begin with.
pub(crate) const NCCL_PREFIX: &str = "nccl:";
/// What the names of NCCL's kernels begin with.
pub(crate) const NCCL_KERNELS: [&str; 2] = ["ncclDevKernel_", "ncclKernel_"];
/// What the names of torch's calls to collectives begin with.
pub(crate) const C10D_PREFIX: &str = "c10d::";
/// The name of the events in which torch tells what a collective was called with.
pub(crate) const PARAMETERS: &str = "record_param_comms";
/// Argument of [`PARAMETERS`]: which collective it is.
pub(crate) const COLLECTIVE_NAME: &str = "Collective name";
/// Argument of a collective: who takes part.
pub(crate) const GROUP_NAME: &str = "Process Group Name";
/// Argument of a collective: which of its group it is.
pub(crate) const SEQUENCE: &str = "Seq";
/// Field of the file: when its time zero was, in nanoseconds since 1970.
pub(crate) const BASE_TIME: &str = "baseTimeNanoseconds";
/// Field of the file: which host it is of.
pub(crate) const HOST_NAME: &str = "host_name";
/// Field of the file: an object with the [`RANK`].
pub(crate) const DISTRIBUTED: &str = "distributedInfo";
/// Field of the file: a list of the devices that the machine has.
pub(crate) const DEVICE_PROPERTIES: &str = "deviceProperties";
/// In [`DISTRIBUTED`]: which of the processes of one run it is.
pub(crate) const RANK: &str = "rank";
/// In [`DISTRIBUTED`]: how many ranks there are.
pub(crate) const WORLD_SIZE: &str = "world_size";
/// In [`DISTRIBUTED`]: how many groups of processes there are.
pub(crate) const GROUP_COUNT: &str = "pg_count";
/// Argument of a slice that was converted: the category that it had before.
pub(crate) const ORIGINAL_CATEGORY: &str = "category";

/// Categories that only torch's profiler writes, of now and of 2021.
const CATEGORIES: [&str; 25] = [
    KERNEL,
    MEMCPY,
    MEMSET,
    RUNTIME,
    CPU_OP,
    ANNOTATION,
    GPU_ANNOTATION,
    LAUNCH_FLOW,
    "cuda_driver",
    "cuda_sync",
    "cuda_profiler_range",
    "cpu_instant_event",
    "fwdbwd",
    "overhead",
    "python_function",
    "Trace",
    "mtia_runtime",
    "mtia_ccp_events",
    "privateuse1_runtime",
    "privateuse1_driver",
    KERNEL_2021,
    MEMCPY_2021,
    MEMSET_2021,
    "Runtime",
    "Operator",
];

/// Whether a category is one of torch's.
pub(crate) fn is_category(category: &str) -> bool {
    CATEGORIES.contains(&category)
}

/// Metadata that torch writes, and the argument of each. TraceLens refuses a file with any other.
const METADATA: [(&str, &str); 5] = [
    ("process_name", "name"),
    ("process_labels", "labels"),
    ("process_sort_index", "sort_index"),
    ("thread_name", "name"),
    ("thread_sort_index", "sort_index"),
];

/// Returns whether torch writes metadata events of this name, with these arguments.
pub(crate) fn is_metadata(name: &str, args: &[u8]) -> bool {
    let Some((_, wanted)) = METADATA.iter().find(|(known, _)| *known == name) else {
        return false;
    };
    let mut has_argument = false;
    for_each_member(args, |key, _| has_argument |= key.raw == wanted.as_bytes());
    has_argument
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_of_torch_have_a_known_name_and_its_argument() {
        assert!(is_metadata("process_labels", br#"{"labels":"GPU 0"}"#));
        assert!(is_metadata("thread_sort_index", br#"{"x":1,"sort_index":3}"#));
        assert!(!is_metadata("thread_name", br#"{"labels":"a"}"#));
        assert!(!is_metadata("thread_name", b""));
        assert!(!is_metadata("ferrum_trace", br#"{"name":"a"}"#));
    }
}
