//! wip
mod clock_map;
mod counts;
#[cfg(feature = "cuda")]
mod cuda_driver;
#[cfg(feature = "cuda")]
mod cuda_timeline;
mod device_track;
mod error;
#[cfg(feature = "cuda")]
mod event_timeline;
mod launch;
#[cfg(feature = "opencl")]
mod opencl_event;
#[cfg(feature = "opencl")]
mod opencl_timeline;
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
#[cfg(feature = "opencl")]
pub use opencl_timeline::{OpenClSlot, OpenClTimeline};
#[cfg(feature = "wgpu-vulkan")]
pub use vulkan_clock::request_calibrated_device;
#[cfg(feature = "wgpu")]
pub use wgpu_timeline::{PassSlot, WgpuSlot, WgpuTimeline};
