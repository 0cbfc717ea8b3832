//! Graphs that a device replays: their operations are registered once, and each replay is marked.

use crate::probe::flow::Flow;
use crate::probe::mode::mode;
use crate::probe::span::Span;
use crate::probe::track::{Timestamp, Track};
use crate::process::switch::OFF;
use crate::process::value::Value;
use crate::thread::site::Site;
use crate::util::lock::lock;
use ferrum_trace_model::vocab::device::CLOCK_ERROR_NS;
use ferrum_trace_model::vocab::{Op, graph as words, layer};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

/// Maximum number of operations of a graph. Further ones are counted.
const OPERATIONS_MAX: usize = 1 << 16;
/// Maximum number of different names of graphs and operations in a process. Further ones share a name.
const NAMES_MAX: usize = 1 << 12;
/// Name of graphs and operations beyond the maximum.
const OTHER: &str = "(other)";

const GRAPH_KEYS: &[&str] = &[words::CORRELATION, words::OPERATIONS];
const OP_KEYS: &[&str] = &[CLOCK_ERROR_NS, words::CORRELATION];
const OP_KEYS_WITH_LAYER: &[&str] = &[CLOCK_ERROR_NS, words::CORRELATION, layer::LAYER];

/// The operations of a graph, registered once while it is captured.
///
/// A device that replays a graph runs many operations with one launch, and the code that names them does not run.
/// Register them during the capture, in the order in which they run; mark each replay; and record the operations of a
/// replay when the device's timestamps are known.
///
/// ```
/// use ferrum_trace::llm::{Graph, Op};
/// use ferrum_trace::{Timestamp, Track};
/// use std::time::Duration;
/// # fn launch() {} fn device_times() -> Vec<(Timestamp, Timestamp)> { Vec::new() }
/// let mut graph = Graph::new("decode 32"); // at the capture
/// for layer in 0..2 {
///     graph.op("qkv_proj", Op::Gemm, Some(layer));
///     graph.op("attention", Op::Attention, Some(layer));
/// }
/// graph.op("lm_head", Op::Gemm, None);
///
/// let replay = graph.replay(); // at each replay: a span, which ends when it is dropped
/// launch();
/// let launched = replay.launched();
/// drop(replay);
///
/// let track = Track::new("GPU 0 / stream 7"); // later: begin and end of each operation, in order
/// graph.measured(&track, launched, device_times(), Duration::from_nanos(500));
/// ```
///
/// Registering takes a lock and allocates; it does nothing else that can block. Names are kept until the process ends,
/// at most 4,096 different ones. Marking a replay costs as much as a span with two arguments.
#[derive(Debug)]
pub struct Graph {
    site: &'static Site,
    operations: Vec<Operation>,
    n_dropped: usize,
}

#[derive(Clone, Copy, Debug)]
struct Operation {
    site: &'static Site,
    layer: Option<usize>,
}

impl Graph {
    /// Creates a graph without operations. Its replays are spans of this name and of the category `graph`.
    pub fn new(name: &str) -> Self {
        Self { site: site(name, words::CATEGORY, GRAPH_KEYS), operations: Vec::new(), n_dropped: 0 }
    }

    /// Registers the next operation: its name, its purpose, and the layer that it belongs to, counted from 0. At most
    /// 65,536 are kept.
    pub fn op(&mut self, name: &str, op: Op, layer: Option<usize>) {
        if self.operations.len() >= OPERATIONS_MAX {
            self.n_dropped += 1;
            return;
        }
        let keys = if layer.is_some() { OP_KEYS_WITH_LAYER } else { OP_KEYS };
        self.operations.push(Operation { site: site(name, op.as_str(), keys), layer });
    }

    /// Returns the number of registered operations.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Returns true if no operation is registered.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Returns the number of operations beyond the maximum, which are not registered.
    pub fn n_dropped(&self) -> usize {
        self.n_dropped
    }

    /// Begins the span of a replay. Launch the graph before it is dropped.
    #[inline]
    pub fn replay(&self) -> Replay {
        match mode() {
            OFF => Replay { span: Span::off(self.site), launched: Launched { id: 0 } },
            mode => {
                let id = Flow::new().id();
                let span = Span::begin(mode, self.site, [id.to_arg(), self.operations.len().to_arg()]);
                Replay { span, launched: Launched { id } }
            }
        }
    }

    /// Records the operations of a replay on the track of the device, with the begin and end of each, in the order of
    /// their registration. `clock_error` is the maximum error of these times. Returns the number of recorded
    /// operations: the smaller of the number of times and that of operations, and 0 if the replay was not recorded.
    pub fn measured(
        &self,
        track: &Track,
        launched: Launched,
        times: impl IntoIterator<Item = (Timestamp, Timestamp)>,
        clock_error: Duration,
    ) -> usize {
        if launched.id == 0 || mode() == OFF {
            return 0;
        }
        let error = u64::try_from(clock_error.as_nanos()).unwrap_or(u64::MAX);
        let mut n_recorded = 0;
        for (operation, (begin, end)) in self.operations.iter().zip(times) {
            let common = [error.to_arg(), launched.id.to_arg()];
            match operation.layer {
                Some(n) => {
                    let args = [common[0], common[1], n.to_arg()];
                    track.complete_with(operation.site, begin, end, &args);
                }
                None => track.complete_with(operation.site, begin, end, &common),
            }
            n_recorded += 1;
        }
        n_recorded
    }
}

/// The span of a replay, made by [`Graph::replay`].
#[must_use = "a replay ends when it is dropped: bind it to a name such as `_replay`"]
#[derive(Debug)]
pub struct Replay {
    span: Span<2>,
    launched: Launched,
}

impl Replay {
    /// Returns the number of the replay, for [`Graph::measured`].
    pub fn launched(&self) -> Launched {
        if self.span.is_on() { self.launched } else { Launched { id: 0 } }
    }
}

/// The number of a replay; it may be kept and moved to another thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    /// Unique in all processes of a trace; 0 if the replay is not recorded.
    id: u64,
}

type SiteKey = (String, &'static str, usize);

/// Sites of graphs and operations, by name, category and number of keys.
static SITES: LazyLock<Mutex<HashMap<SiteKey, &'static Site>>> = LazyLock::new(Mutex::default);

/// Returns the site of a name, which is made at its first use and kept.
fn site(name: &str, category: &'static str, keys: &'static [&'static str]) -> &'static Site {
    let mut sites = lock(&SITES);
    let is_full = sites.len() >= NAMES_MAX;
    let is_known = |name: &str| sites.contains_key(&(name.to_owned(), category, keys.len()));
    let name = if is_full && !is_known(name) { OTHER } else { name };
    let made = || {
        let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
        &*Box::leak(Box::new(Site::new(name, category, keys)))
    };
    sites.entry((name.to_owned(), category, keys.len())).or_insert_with(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_has_a_maximum_of_operations() {
        let mut graph = Graph::new("large");
        assert!(graph.is_empty());
        for _ in 0..OPERATIONS_MAX + 3 {
            graph.op("norm", Op::Norm, None);
        }
        assert_eq!((graph.len(), graph.n_dropped()), (OPERATIONS_MAX, 3));
    }

    #[test]
    fn equal_operations_share_a_site() {
        let one = site("a name", "gemm", OP_KEYS);
        assert!(std::ptr::eq(one, site("a name", "gemm", OP_KEYS)));
        assert!(!std::ptr::eq(one, site("a name", "norm", OP_KEYS)));
        assert!(!std::ptr::eq(one, site("a name", "gemm", OP_KEYS_WITH_LAYER)));
    }
}
