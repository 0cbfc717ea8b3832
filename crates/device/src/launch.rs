//! Work that was launched, and work that is done.

use ferrum_trace::{Flow, Timestamp};

/// Launched work, see [`DeviceTrack::launch`](crate::DeviceTrack::launch).
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// Name of the slice.
    pub name: &'static str,
    /// Category of the slice; may be empty.
    pub category: &'static str,
    /// The flow from the span that was open at the launch.
    pub flow: Option<Flow>,
    /// Time of the launch, before anything was enqueued.
    pub at: Timestamp,
}

impl Launch {
    /// A launch at the current time, from the innermost open span of this thread.
    pub(crate) fn here(name: &'static str, category: &'static str) -> Self {
        let flow = Flow::from_open_span();
        Self { name, category, flow, at: Timestamp::now() }
    }
}

/// Work that the device has finished.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// The launch of the work.
    pub launch: Launch,
    /// Begin in nanoseconds of the device's clock.
    pub begin: u64,
    /// End in nanoseconds of the device's clock.
    pub end: u64,
    /// Time at which the host knew that the work had ended.
    pub noticed: Timestamp,
}
