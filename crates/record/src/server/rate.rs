//! A rate limit.

/// A rate limit that allows a burst, and then one use per period.
#[derive(Debug)]
pub(super) struct Rate {
    burst: u64,
    period_nanos: u64,
    /// The time at which all uses so far would be over if there were one per period.
    paid_until: u64,
}

impl Rate {
    pub(super) const fn new(burst: u64, period_nanos: u64) -> Self {
        Self { burst, period_nanos, paid_until: 0 }
    }

    /// Returns the nanoseconds until the next use is allowed; 0 for now.
    pub(super) fn wait(&self, now: u64) -> u64 {
        let debt = self.paid_until.saturating_sub(now);
        debt.saturating_sub(self.period_nanos.saturating_mul(self.burst.saturating_sub(1)))
    }

    /// Counts one use.
    pub(super) fn count(&mut self, now: u64) {
        self.paid_until = self.paid_until.max(now).saturating_add(self.period_nanos);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_allowed_and_then_one_per_period() {
        let mut rate = Rate::new(3, 100);
        let mut granted = |now| {
            let is_granted = rate.wait(now) == 0;
            if is_granted {
                rate.count(now);
            }
            is_granted
        };
        let at_once: Vec<bool> = (0..5).map(|_| granted(1_000)).collect();
        assert_eq!(at_once, [true, true, true, false, false]);
        assert!(!granted(1_099));
        assert!(granted(1_100));
        assert!(!granted(1_101));
        assert!((0..3).all(|_| granted(5_000)) && !granted(5_000));
    }

    #[test]
    fn the_returned_wait_is_long_enough() {
        let mut rate = Rate::new(2, 100);
        rate.count(0);
        rate.count(0);
        assert_eq!(rate.wait(0), 100);
        assert_eq!(rate.wait(100), 0);
    }
}
