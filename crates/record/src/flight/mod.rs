//! The flight recorder of a recording: its dumps and triggers.

pub(crate) mod dumps;
pub(crate) mod options;
pub(crate) mod post_roll;
pub(crate) mod recording;
pub(crate) mod step;
pub(crate) mod triggers;
