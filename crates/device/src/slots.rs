//! The limit of slots.

use crate::error::Error;

/// Maximum number of slots of a timeline that allocates them in advance: some megabytes.
pub(crate) const SLOTS_MAX: usize = 1 << 16;

/// Refuses a number of slots that would take too much memory.
pub(crate) fn check_slots(slots: usize) -> Result<(), Error> {
    match slots {
        ..=SLOTS_MAX => Ok(()),
        _ => Err(Error::unsupported(format!("expected up to {SLOTS_MAX} slots, found {slots}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_slots_are_refused() {
        assert!(check_slots(0).is_ok() && check_slots(SLOTS_MAX).is_ok());
        let error = check_slots(SLOTS_MAX + 1).unwrap_err();
        assert_eq!(error.to_string(), "expected up to 65536 slots, found 65537");
    }
}
