//! What GPUs and other devices did, in the trace: on rows of their own, at the device's own times, without waiting for it.
//!
//! Waiting for the device at every probe destroys what is measured. So begin and end are written into the engine's own stream of
//! commands, by the device, and collected when the device has them:
//!
//! ```text
//!  host     ├ launch ┤├ launch ┤                 ├ collect ┤
//!               ╰──────────╮╰─────────╮
//!  GPU 0 / queue       ├ attention ┤├ gemm ┤
//! ```
//!
//! - A **timeline** is one row: `WgpuTimeline`, `OpenClTimeline`, `CudaTimeline`, `MetalTimeline` (each behind its feature),
//!   or a [`DeviceTrack`] for a device of any other kind. `collect` never waits.
//! - It has a number of **slots**: how much can be on its way at a time. What finds none is not measured, and counted: [`Counts`].
//! - An **arrow** leads from the span in which something was launched to what the device did.
//! - Every slice has the argument **`clock_error_ns`**: by how much its times may be off, since they come from another clock. The
//!   clocks are compared by [`ClockMap`]; `calibrate` makes that precise, and everything that is collected helps as well.
//! - A device that is **lost** is an [`Error`] of `collect`, and what was on its way is counted. Nothing here panics.
//!
//! While nothing is recorded (see [`ferrum_trace`]), `begin` is one load, and nothing is written into the stream.
//!
//! # Features
//!
//! None is on by itself, and without them there is nothing but the core.
//!
//! | feature | what it gives | where it was run |
//! | --- | --- | --- |
//! | `wgpu` | `WgpuTimeline`: timestamp queries | Vulkan on Mesa's lavapipe, in the tests |
//! | `wgpu-vulkan` | the same, and `request_calibrated_device`, whose clock is known to about a microsecond | likewise |
//! | `opencl` | `OpenClTimeline`: profiling events | PoCL, in the tests |
//! | `cuda` | `CudaTimeline`: events with timing | not yet run on a GPU; its logic on a stand-in |
//! | `metal` | `MetalTimeline`, on macOS: times of command buffers | not yet run on a Mac; its logic on a stand-in |
//!
//! `docs/devices.md` in the repository shows how each is used.
//!
//! # Limits
//!
//! - Memory: what the slots take, and nothing that grows. There are up to 65,536 of them where they are made ahead (wgpu, CUDA).
//! - Rates of two clocks are taken to be within 100 ppm of each other; what contradicts that is counted, and times are
//!   mapped anew from there.
//! - A device's counter that begins again at zero gives one slice that makes no sense, which is counted as lost.

mod clock_map;
#[cfg(any(test, feature = "opencl", all(feature = "metal", target_os = "macos")))]
mod command_timeline;
mod counts;
#[cfg(feature = "cuda")]
mod cuda_driver;
#[cfg(feature = "cuda")]
mod cuda_timeline;
mod device_track;
mod error;
#[cfg(any(test, feature = "cuda"))]
mod event_timeline;
mod launch;
#[cfg(all(feature = "metal", target_os = "macos"))]
mod metal_timeline;
#[cfg(feature = "opencl")]
mod opencl_event;
#[cfg(feature = "opencl")]
mod opencl_timeline;
#[cfg(any(test, feature = "cuda", feature = "wgpu"))]
mod slots;
#[cfg(test)]
mod stand_in;
#[cfg(any(test, feature = "cuda", feature = "opencl", all(feature = "metal", target_os = "macos")))]
mod trouble;
#[cfg(feature = "wgpu-vulkan")]
mod vulkan_clock;
#[cfg(feature = "wgpu")]
mod wgpu_batch;
#[cfg(feature = "wgpu")]
mod wgpu_calibration;
#[cfg(feature = "wgpu")]
mod wgpu_timeline;

pub use clock_map::{ClockMap, Mapped};
pub use counts::Counts;
#[cfg(feature = "cuda")]
pub use cuda_timeline::{CudaSlot, CudaTimeline};
pub use device_track::DeviceTrack;
pub use error::Error;
pub use launch::{Done, Launch};
#[cfg(all(feature = "metal", target_os = "macos"))]
pub use metal_timeline::MetalTimeline;
#[cfg(feature = "opencl")]
pub use opencl_timeline::{OpenClSlot, OpenClTimeline};
#[cfg(feature = "wgpu-vulkan")]
pub use vulkan_clock::request_calibrated_device;
#[cfg(feature = "wgpu")]
pub use wgpu_timeline::{PassSlot, WgpuSlot, WgpuTimeline};
