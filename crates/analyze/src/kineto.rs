//! Names that torch's profiler (Kineto) uses.

use ferrum_trace_format::chrome::read::for_each_member;

/// Category of a kernel.
pub(crate) const KERNEL: &str = "kernel";
/// Category of a copy.
pub(crate) const MEMCPY: &str = "gpu_memcpy";
/// Category of a memset.
pub(crate) const MEMSET: &str = "gpu_memset";
/// The category of kernels as torch spelled it in 2021.
pub(crate) const KERNEL_2021: &str = "Kernel";
/// The category of copies as torch spelled it in 2021.
pub(crate) const MEMCPY_2021: &str = "Memcpy";
/// The category of memsets as torch spelled it in 2021.
pub(crate) const MEMSET_2021: &str = "Memset";
/// Categories of all device work.
pub(crate) const DEVICE_WORK: [&str; 6] = [KERNEL, MEMCPY, MEMSET, KERNEL_2021, MEMCPY_2021, MEMSET_2021];
/// Category of a call of the host to the device.
pub(crate) const RUNTIME: &str = "cuda_runtime";
/// Categories of all calls of the host to devices, today and in 2021.
pub(crate) const RUNTIMES: [&str; 5] = [RUNTIME, "cuda_driver", "Runtime", "privateuse1_runtime", "mtia_runtime"];
/// Argument that joins a kernel with the call that launched it.
pub(crate) const CORRELATION: &str = "correlation";
/// Argument that joins a kernel with the operation that launched it.
pub(crate) const EXTERNAL_ID: &str = "External id";
/// Arguments that describe the inputs of an operation: shapes, types, values and strides.
pub(crate) const INPUT_ARGS: [&str; 4] = ["Input Dims", "Input type", "Concrete Inputs", "Input Strides"];
/// Category of an operation of the host.
pub(crate) const CPU_OP: &str = "cpu_op";
/// Categories of all operations of the host, today and in 2021.
pub(crate) const OPERATIONS: [&str; 2] = [CPU_OP, "Operator"];
/// Category of an annotation by the program.
pub(crate) const ANNOTATION: &str = "user_annotation";
/// Category of an annotation on a stream.
pub(crate) const GPU_ANNOTATION: &str = "gpu_user_annotation";
/// Category of flows from calls to kernels.
pub(crate) const LAUNCH_FLOW: &str = "ac2g";
/// Prefix of the names of steps.
pub(crate) const STEP_PREFIX: &str = "ProfilerStep#";
/// Prefix of the names of gloo's collectives.
pub(crate) const GLOO_PREFIX: &str = "gloo:";
/// Prefix of the names of calls to NCCL.
pub(crate) const NCCL_PREFIX: &str = "nccl:";
/// Prefixes of the names of NCCL's kernels.
pub(crate) const NCCL_KERNELS: [&str; 2] = ["ncclDevKernel_", "ncclKernel_"];
/// Prefix of the names of torch's calls to collectives.
pub(crate) const C10D_PREFIX: &str = "c10d::";
/// Name of the events that have the parameters of a collective.
pub(crate) const PARAMETERS: &str = "record_param_comms";
/// Argument of [`PARAMETERS`]: name of the collective.
pub(crate) const COLLECTIVE_NAME: &str = "Collective name";
/// Argument of a collective: name of the process group.
pub(crate) const GROUP_NAME: &str = "Process Group Name";
/// Argument of a collective: sequence number in its group.
pub(crate) const SEQUENCE: &str = "Seq";
/// Field of the file: its time zero, in nanoseconds since 1970.
pub(crate) const BASE_TIME: &str = "baseTimeNanoseconds";
/// Field of the file: name of the host.
pub(crate) const HOST_NAME: &str = "host_name";
/// Field of the file: an object with the rank of the process.
pub const DISTRIBUTED: &str = "distributedInfo";
/// Field of the file: a list of the devices of the machine.
pub const DEVICE_PROPERTIES: &str = "deviceProperties";
/// In [`DISTRIBUTED`]: rank of the process.
pub(crate) const RANK: &str = "rank";
/// In [`DISTRIBUTED`]: number of ranks.
pub(crate) const WORLD_SIZE: &str = "world_size";
/// In [`DISTRIBUTED`]: number of process groups.
pub(crate) const GROUP_COUNT: &str = "pg_count";
/// Argument of a converted slice: its category before the conversion.
pub(crate) const ORIGINAL_CATEGORY: &str = "category";

/// Categories that only torch's profiler writes, today and in 2021.
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

/// Returns true if a category is one of torch's.
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
