//! wip
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
