//! Counts of measurements by outcome.

/// Number of measurements by outcome. Those in none of these counts are still pending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Slices recorded on the track.
    pub recorded: u64,
    /// Not measured because no slot was free: collect more often, or use more slots.
    pub dropped: u64,
    /// Begun, but without a result: the device was lost, the commands never ran, or the times were invalid.
    pub lost: u64,
    /// Number of times that the device's clock contradicted everything known about it: it was set, or its rate changed
    /// more than clocks do. Later times are mapped by later facts only.
    pub clock_conflicts: u64,
}
