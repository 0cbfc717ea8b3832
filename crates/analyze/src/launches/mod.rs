//! Device work, and the slices of the host that launched it.
//!
//! A launch is found in one of three ways, tried in this order:
//!
//! 1. The call with the same `correlation`, as torch.profiler writes it. All kernels of a graph have the correlation of
//!    the graph's launch.
//! 2. The operation with the same `External id`, where the call is not in the file.
//! 3. The flow that ends exactly where the work starts, as recorders of device work write it.

pub(crate) mod device_work;
pub(crate) mod flow_origins;
pub(crate) mod launchers;
pub(crate) mod launching_slices;
