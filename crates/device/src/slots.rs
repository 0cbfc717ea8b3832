//! How many slots there can be.

use crate::error::Error;

/// Most slots of a timeline whose slots are made ahead: some megabytes.
pub const SLOTS_MAX: usize = 1 << 16;

/// Refuses what would take the engine's memory.
pub fn check_slots(slots: usize) -> Result<(), Error> {
    match slots {
        ..=SLOTS_MAX => Ok(()),
        _ => Err(Error::unsupported(format!("expected up to {SLOTS_MAX} slots, found {slots}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_slots_than_anybody_needs_are_refused() {
        assert!(check_slots(0).is_ok() && check_slots(SLOTS_MAX).is_ok());
        let error = check_slots(SLOTS_MAX + 1).unwrap_err();
        assert_eq!(error.to_string(), "expected up to 65536 slots, found 65537");
    }
}
