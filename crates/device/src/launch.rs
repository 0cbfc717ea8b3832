//! What is known of a piece of work when it is handed to the device.

use ferrum_trace::{Flow, Timestamp};

/// Work that is on its way. [`DeviceTrack::launch`](crate::DeviceTrack::launch) makes one.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// What it is called.
    pub name: &'static str,
    /// Its category; may be empty.
    pub category: &'static str,
    /// From the span that was open where it was launched.
    pub flow: Option<Flow>,
    /// Before anything of it was enqueued.
    pub at: Timestamp,
}

impl Launch {
    /// Launched here and now, from the innermost open span of this thread.
    pub(crate) fn here(name: &'static str, category: &'static str) -> Self {
        let flow = Flow::from_open_span();
        Self { name, category, flow, at: Timestamp::now() }
    }
}

/// Work that the device is done with.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// What it was when it was launched.
    pub launch: Launch,
    /// Nanoseconds of the device.
    pub begin: u64,
    /// Nanoseconds of the device.
    pub end: u64,
    /// After the host knew that it had ended.
    pub noticed: Timestamp,
}
