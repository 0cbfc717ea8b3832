//! Recognizes events of collectives: work that several ranks do together.

use crate::kineto;
use ferrum_trace_format::chrome::read::{Event, Scalar, for_each_member};
use ferrum_trace_model::vocab::{Op, comm};
use std::borrow::Cow;

/// Event of a rank that takes part in a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Collective<'a> {
    /// Name of the collective.
    pub name: Cow<'a, str>,
    /// Name of its process group; empty if the trace does not have it.
    pub group: Cow<'a, str>,
    /// Its sequence number among those of its group and name, if the trace has it.
    pub number: Option<u64>,
    /// True if the event lasts until the rank is done, not only until the work is submitted.
    pub is_whole: bool,
}

/// Returns the collective that an event belongs to.
pub(super) fn collective_of<'a>(event: &Event<'a>) -> Option<Collective<'a>> {
    let name = event.name?.decode();
    let category = event.category.map(|category| category.decode()).unwrap_or_default();
    let (name, is_whole) = if category == Op::Comm.as_str() || name.starts_with(kineto::GLOO_PREFIX) {
        (name, true)
    } else if name.starts_with(kineto::NCCL_PREFIX) {
        // The same annotation on a stream is ignored: the kernel shows it.
        if category == kineto::GPU_ANNOTATION {
            return None;
        }
        (name, false)
    } else if let Some(kernel) = nccl_kernel(&name) {
        (format!("{}{kernel}", kineto::NCCL_PREFIX).into(), true)
    } else if name.starts_with(kineto::C10D_PREFIX) {
        (name, false)
    } else if name == kineto::PARAMETERS {
        (format!("{name}: {}", collective_name(event)?).into(), false)
    } else {
        return None;
    };
    if is_between_two(&name) {
        return None;
    }
    let (mut group, mut number) = (Cow::default(), None);
    for_each_member(event.args.unwrap_or_default(), |key, value| match &*key.decode() {
        comm::GROUP | kineto::GROUP_NAME => group = value.decode(),
        comm::NUMBER | kineto::SEQUENCE => number = plain_number(value),
        _ => {}
    });
    Some(Collective { name, group, number, is_whole })
}

/// Returns the name of a collective from its arguments.
fn collective_name<'a>(event: &Event<'a>) -> Option<Cow<'a, str>> {
    let mut found = None;
    for_each_member(event.args.unwrap_or_default(), |key, value| {
        if key.raw == kineto::COLLECTIVE_NAME.as_bytes() {
            found = Some(value.decode());
        }
    });
    found
}

/// Returns true if no rank can be done before all have begun. In others, such as a broadcast, the sender can be.
pub(super) fn waits_for_all(name: &str) -> bool {
    let letters = letters(name);
    ["allreduce", "allgather", "reducescatter", "alltoall", "barrier"].iter().any(|word| letters.contains(word))
}

/// Returns true for point-to-point operations, in which not all ranks take part.
fn is_between_two(name: &str) -> bool {
    let letters = letters(name);
    ["send", "recv", "receive", "coalesced"].iter().any(|word| letters.contains(word))
}

fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphabetic).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// Returns `AllReduce` for `ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)`.
fn nccl_kernel(name: &str) -> Option<&str> {
    let rest = kineto::NCCL_KERNELS.iter().find_map(|prefix| name.strip_prefix(prefix))?;
    rest.split(['_', '(']).next().filter(|name| !name.is_empty())
}

fn plain_number(value: Scalar<'_>) -> Option<u64> {
    std::str::from_utf8(value.plain()?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrum_trace_format::chrome::read::Cursor;

    fn recognized(json: &str) -> Option<(String, String, Option<u64>, bool)> {
        let event = Event::read(&mut Cursor::new(json.as_bytes(), 0), 0).unwrap();
        let found = collective_of(&event)?;
        Some((found.name.into_owned(), found.group.into_owned(), found.number, found.is_whole))
    }

    #[test]
    fn collectives_of_all_recorders_are_recognized() {
        let cases = [
            (
                r#"{"name":"all_reduce","cat":"comm","args":{"group":"tp","number":7}}"#,
                ("all_reduce", "tp", Some(7), true),
            ),
            (r#"{"name":"gloo:all_gather","cat":"user_annotation"}"#, ("gloo:all_gather", "", None, true)),
            (r#"{"name":"nccl:all_reduce","cat":"user_annotation"}"#, ("nccl:all_reduce", "", None, false)),
            (r#"{"name":"c10d::allreduce_","cat":"cpu_op"}"#, ("c10d::allreduce_", "", None, false)),
            (
                r#"{"name":"record_param_comms","cat":"cpu_op","args":{"Collective name":"allreduce","Seq":9}}"#,
                ("record_param_comms: allreduce", "", Some(9), false),
            ),
            (
                r#"{"name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)","cat":"kernel","args":{"Process Group Name":"3","Seq":4}}"#,
                ("nccl:AllReduce", "3", Some(4), true),
            ),
        ];
        for (json, (name, group, number, is_whole)) in cases {
            assert_eq!(recognized(json), Some((name.to_owned(), group.to_owned(), number, is_whole)), "{json}");
        }
        for json in [
            r#"{"name":"matmul","cat":"gemm"}"#,
            r#"{"name":"nccl:all_reduce","cat":"gpu_user_annotation"}"#,
            r#"{"name":"nccl:send 0->1","cat":"user_annotation"}"#,
            r#"{"cat":"comm"}"#,
        ] {
            assert_eq!(recognized(json), None, "{json}");
        }
    }

    #[test]
    fn only_collectives_with_input_of_all_ranks_wait_for_all() {
        for name in ["all_reduce", "gloo:barrier", "nccl:AllGather", "nccl:_reduce_scatter_base", "all-to-all"] {
            assert!(waits_for_all(name), "{name}");
        }
        for name in ["gloo:broadcast", "nccl:reduce", "gather", "scatter"] {
            assert!(!waits_for_all(name), "{name}");
        }
    }
}
