//! What became of the slots.

/// How many times something was to be measured, by what became of it. What is none of them is still on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Slices that are on the track.
    pub recorded: u64,
    /// Not measured because no slot was free: collect more often, or ask for more slots.
    pub dropped: u64,
    /// Begun, but never to be known: the device was lost, the commands were never run, or the results made no sense.
    pub lost: u64,
    /// How often the device's clock turned out to be otherwise than all that was known of it: it was set, or its rate changed by
    /// more than clocks do. What comes after is mapped by what is known since.
    pub clock_conflicts: u64,
}
