//! Vulkan's calibrated timestamps: the driver reads the device's clock directly.
//!
//! The driver can read the host's clock too and report the maximum distance between the two reads. Mesa's lavapipe
//! always reports 1 ns, which is not possible; so the host's clock is read here, before and after, which is valid for
//! any driver.
//!
//! wgpu does not enable the extension, and a device only has extensions enabled at its creation; so this module creates
//! one.
#![allow(unsafe_code)]

use ash::ext::calibrated_timestamps;
use ash::vk::{CalibratedTimestampInfoEXT, TimeDomainEXT};
use ferrum_trace::Timestamp;
use wgpu::hal::vulkan::Api as Vulkan;
use wgpu::{Adapter, Device, DeviceDescriptor, Queue, RequestDeviceError};

/// Creates a device as [`Adapter::request_device`] does, with `VK_EXT_calibrated_timestamps` if the driver has it, so
/// that [`WgpuTimeline`](crate::WgpuTimeline) maps its clock within about a microsecond and never has to wait for a
/// calibration.
///
/// # Errors
///
/// The errors of [`Adapter::request_device`].
pub async fn request_calibrated_device(
    adapter: &Adapter,
    descriptor: &DeviceDescriptor<'_>,
) -> Result<(Device, Queue), RequestDeviceError> {
    match open_calibrated(adapter, descriptor) {
        Some(opened) => opened,
        None => adapter.request_device(descriptor).await,
    }
}

/// Returns `None` if the device must be created without the extension, which also reports errors of the descriptor.
fn open_calibrated(
    adapter: &Adapter,
    descriptor: &DeviceDescriptor<'_>,
) -> Option<Result<(Device, Queue), RequestDeviceError>> {
    let is_sound = adapter.features().contains(descriptor.required_features)
        && descriptor.required_limits.check_limits(&adapter.limits());
    // SAFETY: the adapter is only queried and opened, never destroyed, while the guard lives.
    let opener = unsafe { adapter.as_hal::<Vulkan>() }.filter(|_| is_sound)?;
    if !opener.physical_device_capabilities().supports_extension(calibrated_timestamps::NAME) {
        return None;
    }
    // SAFETY: features and limits are supported by the adapter. The callback adds one extension that the driver
    // supports, and removes nothing.
    let opened = unsafe {
        opener.open_with_callback(
            descriptor.required_features,
            &descriptor.required_limits,
            &descriptor.memory_hints,
            Some(Box::new(|args| {
                if !args.extensions.contains(&calibrated_timestamps::NAME) {
                    args.extensions.push(calibrated_timestamps::NAME);
                }
            })),
        )
    }
    .ok()?;
    drop(opener);
    // SAFETY: the device was just opened by this adapter, with the features of the descriptor.
    Some(unsafe { adapter.create_device_from_hal::<Vulkan>(opened, descriptor) })
}

/// The clock of a device with the extension.
pub(crate) struct VulkanClock {
    device: Device,
    calls: calibrated_timestamps::Device,
    /// Nanoseconds per tick.
    period: f64,
}

impl VulkanClock {
    /// Returns `None` if the device lacks the extension, or its clock cannot be read.
    pub(crate) fn of(device: &Device) -> Option<Self> {
        // SAFETY: the device is only queried, never destroyed, while the guard lives.
        let raw = unsafe { device.as_hal::<Vulkan>() }?;
        if !raw.enabled_device_extensions().contains(&calibrated_timestamps::NAME) {
            return None;
        }
        let instance = raw.shared_instance();
        let asking = calibrated_timestamps::Instance::new(instance.entry(), instance.raw_instance());
        // SAFETY: the physical device belongs to a live device of this instance.
        let domains =
            unsafe { asking.get_physical_device_calibrateable_time_domains(raw.raw_physical_device()) }.ok()?;
        if !domains.contains(&TimeDomainEXT::DEVICE) {
            return None;
        }
        // SAFETY: as above.
        let properties = unsafe { instance.raw_instance().get_physical_device_properties(raw.raw_physical_device()) };
        let calls = calibrated_timestamps::Device::new(instance.raw_instance(), raw.raw_device());
        drop(raw);
        Some(Self { device: device.clone(), calls, period: f64::from(properties.limits.timestamp_period) })
    }

    /// The device's clock in nanoseconds, and the host times before and after the read.
    pub(crate) fn read(&self) -> Option<(u64, (u64, u64))> {
        // SAFETY: the device is not destroyed while the guard lives.
        let _alive = unsafe { self.device.as_hal::<Vulkan>() }?;
        let clocks = [CalibratedTimestampInfoEXT::default().time_domain(TimeDomainEXT::DEVICE)];
        let before = Timestamp::now();
        // SAFETY: the device is alive, was created with the extension, and has this clock.
        let (ticks, _) = unsafe { self.calls.get_calibrated_timestamps(&clocks) }.ok()?;
        let after = Timestamp::now();
        let device = (*ticks.first()? as f64 * self.period) as u64;
        Some((device, (before.monotonic_nanos(), after.monotonic_nanos())))
    }
}
