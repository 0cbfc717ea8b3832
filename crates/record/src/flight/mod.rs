//! State of the flight recorder.

pub(crate) mod post_roll;
