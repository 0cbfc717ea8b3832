//! The words of torch's profiler (Kineto).

/// A slice of a stream that computes or communicates.
pub const KERNEL: &str = "kernel";
/// A copy.
pub const MEMCPY: &str = "gpu_memcpy";
/// A filling of memory.
pub const MEMSET: &str = "gpu_memset";
/// The same three, as torch spelled them in 2021.
pub const KERNEL_2021: &str = "Kernel";
/// See [`KERNEL_2021`].
pub const MEMCPY_2021: &str = "Memcpy";
/// See [`KERNEL_2021`].
pub const MEMSET_2021: &str = "Memset";
/// All work of devices.
pub const DEVICE_WORK: [&str; 6] = [KERNEL, MEMCPY, MEMSET, KERNEL_2021, MEMCPY_2021, MEMSET_2021];
/// A call of the host to the device.
pub const RUNTIME: &str = "cuda_runtime";
/// An operation of the host.
pub const CPU_OP: &str = "cpu_op";
/// What the program says it does.
pub const ANNOTATION: &str = "user_annotation";
/// The same on a stream.
pub const GPU_ANNOTATION: &str = "gpu_user_annotation";
/// Arrows from calls to kernels.
pub const LAUNCH_FLOW: &str = "ac2g";
/// What the names of steps begin with.
pub const STEP_PREFIX: &str = "ProfilerStep#";
/// What the names of gloo's collectives begin with.
pub const GLOO_PREFIX: &str = "gloo:";
/// What the names of the calls to NCCL begin with.
pub const NCCL_PREFIX: &str = "nccl:";
/// What the names of NCCL's kernels begin with.
pub const NCCL_KERNELS: [&str; 2] = ["ncclDevKernel_", "ncclKernel_"];
/// What the names of torch's calls to collectives begin with.
pub const C10D_PREFIX: &str = "c10d::";
/// Argument of a collective: who takes part.
pub const GROUP_NAME: &str = "Process Group Name";
/// Argument of a collective: which of its group it is.
pub const SEQUENCE: &str = "Seq";
/// Field of the file: when its time zero was, in nanoseconds since 1970.
pub const BASE_TIME: &str = "baseTimeNanoseconds";
/// Field of the file: which host it is of.
pub const HOST_NAME: &str = "host_name";
/// Field of the file: an object with the [`RANK`].
pub const DISTRIBUTED: &str = "distributedInfo";
/// In [`DISTRIBUTED`]: which of the processes of one run it is.
pub const RANK: &str = "rank";
/// In [`DISTRIBUTED`]: how many groups of processes there are.
pub const GROUP_COUNT: &str = "pg_count";

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
pub fn is_category(category: &str) -> bool {
    CATEGORIES.contains(&category)
}
