//! Records the work of GPUs and other devices: on tracks of their own, with the device's own timestamps, without
//! waiting for the device.
//!
//! Waiting for the device at every probe would change what is measured. Instead, the device writes timestamps at begin
//! and end, as part of the engine's own command stream, and the host collects them when they are ready:
//!
//! ```text
//!  host     ├ launch ┤├ launch ┤                 ├ collect ┤
//!               ╰──────────╮╰─────────╮
//!  GPU 0 / queue       ├ attention ┤├ gemm ┤
//! ```
//!
//! - A **timeline** is one track: `WgpuTimeline`, `OpenClTimeline`, `CudaTimeline`, `MetalTimeline` (each behind its
//!   feature), or a [`DeviceTrack`] for any other device. `collect` never waits.
//! - It has a number of **slots**: the measurements that can be pending at a time. Work without a free slot is not
//!   measured, but counted: see [`Counts`].
//! - A **flow** leads from the span in which work was launched to the slice on the device's track.
//! - Every slice has the argument **`clock_error_ns`**, the bound of its error, since its times come from another
//!   clock. [`ClockMap`] compares the clocks; `calibrate` makes the comparison precise, and every collected result
//!   helps too.
//! - A **lost** device is an [`Error`] of `collect`, and pending measurements are counted. Nothing here panics.
//!
//! While nothing is recorded (see [`ferrum_trace`]), `begin` is one load, and nothing is written into the stream.
//!
//! # Features
//!
//! All are off by default. Without them there is only [`DeviceTrack`].
//!
//! | feature | provides | tested on |
//! | --- | --- | --- |
//! | `wgpu` | `WgpuTimeline`: timestamp queries | Vulkan on Mesa's lavapipe, in the tests |
//! | `wgpu-vulkan` | the same, and `request_calibrated_device`, whose clock is mapped within about a microsecond | likewise |
//! | `opencl` | `OpenClTimeline`: profiling events | PoCL, in the tests |
//! | `cuda` | `CudaTimeline`: events with timing | not yet run on a GPU; its logic on a simulated device |
//! | `metal` | `MetalTimeline`, on macOS: times of command buffers | not yet run on a Mac; its logic on a simulated device |
//!
//! `docs/devices.md` in the repository shows how each is used.
//!
//! # Limits
//!
//! - Memory: only the slots. Timelines that allocate them in advance (wgpu, CUDA) have at most 65,536.
//! - The rates of two clocks are assumed to be within 100 ppm of each other. A contradiction is counted, and times are
//!   mapped anew from there.
//! - A device counter that wraps around to zero gives one invalid slice, which is counted as lost.

mod clock_map;
#[cfg(any(test, feature = "opencl", all(feature = "metal", target_os = "macos")))]
mod command_timeline;
mod counts;
#[cfg(feature = "cuda")]
mod cuda_driver;
#[cfg(feature = "cuda")]
mod cuda_timeline;
mod device_track;
#[cfg(any(test, feature = "cuda", feature = "opencl", all(feature = "metal", target_os = "macos")))]
mod driver_failure;
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
