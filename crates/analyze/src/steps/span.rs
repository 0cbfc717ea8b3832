//! Time span of a step: on the host, and on the devices that work for it.

use super::device::Work;
use super::find::Found;
use ferrum_trace_model::Trace;

/// Time of a step, split by host and device work. The four parts sum to the step's duration. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Host only: the step's mark is open, and no device works for it.
    pub host: i64,
    /// Devices only: at least one works for it, and its mark is not open.
    pub device: i64,
    /// Host and devices at once.
    pub both: i64,
    /// Neither: the mark has ended, and work of the step is queued on a device.
    pub neither: i64,
}

impl Split {
    /// Adds the split of another step.
    pub fn add(&mut self, other: &Self) {
        self.host = self.host.saturating_add(other.host);
        self.device = self.device.saturating_add(other.device);
        self.both = self.both.saturating_add(other.both);
        self.neither = self.neither.saturating_add(other.neither);
    }
}

/// Time span of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StepSpan {
    /// The start of its mark, or of its first work on a device if that is earlier.
    pub start: i64,
    /// The end of its mark, or of its last work on a device if that is later.
    pub end: i64,
    /// The end of its last work on a device, if it has any.
    pub device_end: Option<i64>,
    /// Split of the span.
    pub split: Split,
}

/// Returns the spans of all steps. `works` must be sorted by step.
pub(super) fn spans(trace: &Trace, found: &Found, works: &[Work]) -> Vec<StepSpan> {
    let mut spans: Vec<StepSpan> = Vec::with_capacity(found.steps.len());
    let mut rest = works;
    for (place, step) in found.steps.iter().enumerate() {
        let n_works = rest.iter().take_while(|work| work.step as usize == place).count();
        let (own, others) = rest.split_at(n_works);
        rest = others;
        let mut times: Vec<(i64, i64)> =
            own.iter().map(|work| (work.start, trace.slices.end(work.slice as usize))).collect();
        times.sort_unstable();
        let slice = step.slice as usize;
        let mark = (trace.slices.start[slice], trace.slices.end(slice));
        spans.push(span(mark, !found.is_on_device, &times));
    }
    spans
}

/// Returns the span of one step, whose times on devices are sorted by start. A mark of a device counts for the begin
/// and end of the step only.
fn span(mark: (i64, i64), is_on_host: bool, times: &[(i64, i64)]) -> StepSpan {
    let (mut on_device, mut on_both) = (0_i64, 0_i64);
    let mut covered_to = i64::MIN;
    for &(start, end) in times {
        let start = start.max(covered_to);
        if start < end {
            on_device = on_device.saturating_add(end.saturating_sub(start));
            let together = end.min(mark.1).saturating_sub(start.max(mark.0)).max(0);
            on_both = on_both.saturating_add(together);
            covered_to = end;
        }
    }
    let device_end = times.iter().map(|&(_, end)| end).max();
    let start = times.first().map_or(mark.0, |&(start, _)| start.min(mark.0));
    let end = device_end.map_or(mark.1, |end| end.max(mark.1));
    let both = if is_on_host { on_both } else { 0 };
    let host = if is_on_host { mark.1.saturating_sub(mark.0).saturating_sub(both) } else { 0 };
    let device = on_device.saturating_sub(both);
    let neither = end.saturating_sub(start).saturating_sub(host).saturating_sub(device).saturating_sub(both);
    StepSpan { start, end, device_end, split: Split { host, device, both, neither } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(span: &StepSpan) -> [i64; 4] {
        let Split { host, device, both, neither } = span.split;
        [host, device, both, neither]
    }

    #[test]
    fn time_is_split_into_host_and_device() {
        let none = span((10, 20), true, &[]);
        assert_eq!((none.start, none.end, none.device_end, parts(&none)), (10, 20, None, [10, 0, 0, 0]));
        // Kernels within the mark, across its end, in parallel, and after a pause.
        let later = span((10, 20), true, &[(12, 14), (18, 25), (19, 23), (30, 40)]);
        assert_eq!((later.start, later.end, later.device_end), (10, 40, Some(40)));
        assert_eq!(parts(&later), [6, 15, 4, 5]);
        let before = span((10, 20), true, &[(5, 8)]);
        assert_eq!((before.start, before.end, parts(&before)), (5, 20, [10, 3, 0, 2]));
        let on_device = span((10, 20), false, &[(10, 14), (16, 20)]);
        assert_eq!(parts(&on_device), [0, 8, 0, 2]);
    }

    proptest! {
        #[test]
        fn the_split_agrees_with_a_scan_of_each_moment(
            mark in (0_i64..30, 0_i64..20),
            mut times in prop::collection::vec((0_i64..60, 0_i64..15), 0..8),
        ) {
            times.sort_unstable();
            let times: Vec<_> = times.iter().map(|&(start, length)| (start, start + length)).collect();
            let mark = (mark.0, mark.0 + mark.1);
            let found = span(mark, true, &times);
            let mut expected = [0_i64; 4];
            for now in found.start..found.end {
                let is_host = (mark.0..mark.1).contains(&now);
                let is_device = times.iter().any(|&(start, end)| (start..end).contains(&now));
                let part = match (is_host, is_device) {
                    (true, false) => 0,
                    (false, true) => 1,
                    (true, true) => 2,
                    (false, false) => 3,
                };
                expected[part] += 1;
            }
            prop_assert_eq!(parts(&found), expected);
            prop_assert_eq!(expected.iter().sum::<i64>(), found.end - found.start);
        }
    }
}
