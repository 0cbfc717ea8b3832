//! Recognizes the marks of steps one slice at a time, by the rules of `steps/find.rs`.

use crate::kineto::{ANNOTATION, GPU_ANNOTATION};
use crate::steps::{Mark, StepSource, phase_at_start};
use ferrum_trace_format::chrome::read::for_each_member;
use ferrum_trace_model::vocab::{Phase, UNCLOSED, step};

/// Mark of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StepMark {
    /// Its kind.
    pub kind: MarkKind,
    /// The phase that it states.
    pub phase: Option<Phase>,
}

/// Kinds of marks, from the best to the last resort. A trace with marks of several kinds has steps of the best kind
/// only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MarkKind {
    /// A mark of the host.
    Host,
    /// `ProfilerStep#…` on the host.
    HostProfiler,
    /// A mark of a device.
    Device,
    /// `ProfilerStep#…` on a device.
    DeviceProfiler,
}

impl StepMark {
    /// Returns the mark of a slice, if it is a step that has ended.
    pub(super) fn of(name: &str, category: &str, args: &[u8]) -> Option<Self> {
        let is_on_device = category == GPU_ANNOTATION;
        let mark = if category == step::CATEGORY {
            Mark::new(StepSource::Ferrum, own_phase(name, args))
        } else if let Some(mark) = Mark::of_name(name) {
            mark
        } else if category == ANNOTATION || is_on_device {
            Mark::of_annotation(name)?
        } else {
            return None;
        };
        let kind = match (is_on_device, mark.source == StepSource::Profiler) {
            (false, false) => MarkKind::Host,
            (false, true) => MarkKind::HostProfiler,
            (true, false) => MarkKind::Device,
            (true, true) => MarkKind::DeviceProfiler,
        };
        let is_unfinished = !is_on_device && arg(args, UNCLOSED).is_some();
        (!is_unfinished).then_some(Self { kind, phase: mark.phase })
    }
}

fn own_phase(name: &str, args: &[u8]) -> Option<Phase> {
    arg(args, step::PHASE).and_then(|text| Phase::from_text(&text)).or_else(|| phase_at_start(name))
}

/// Returns an argument as text. If its name occurs twice, the last value counts.
pub(super) fn arg(args: &[u8], name: &str) -> Option<String> {
    let mut found = None;
    for_each_member(args, |key, value| {
        if key.raw == name.as_bytes() {
            found = Some(value.decode().into_owned());
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_those_of_the_command_steps() {
        let kind = |name: &str, category: &str, args: &str| {
            StepMark::of(name, category, args.as_bytes()).map(|mark| (mark.kind, mark.phase))
        };
        assert_eq!(kind("decode", "step", ""), Some((MarkKind::Host, Some(Phase::Decode))));
        assert_eq!(kind("s", "step", r#"{"phase":"prefill"}"#), Some((MarkKind::Host, Some(Phase::Prefill))));
        assert_eq!(kind("decode", "step", r#"{"unclosed":true}"#), None);
        assert_eq!(kind("step[DECODE bs=1]", "", ""), Some((MarkKind::Host, Some(Phase::Decode))));
        assert_eq!(kind("decode", "gpu_user_annotation", ""), Some((MarkKind::Device, Some(Phase::Decode))));
        assert_eq!(kind("ProfilerStep#1", "user_annotation", ""), Some((MarkKind::HostProfiler, None)));
        assert_eq!(kind("ProfilerStep#1", "gpu_user_annotation", ""), Some((MarkKind::DeviceProfiler, None)));
        assert_eq!((kind("decode", "op", ""), kind("other", "user_annotation", "")), (None, None));
        assert!(MarkKind::Host < MarkKind::HostProfiler && MarkKind::HostProfiler < MarkKind::Device);
    }
}
