//! Flows between spans.

use crate::probe::mode::mode;
use crate::process::attach;
use crate::process::current::site_id;
use crate::process::switch::{self, OFF};
use crate::thread::buffer::{self, Draft};
use crate::thread::site::Site;
use ferrum_trace_format::spool::record::{FLOW, RecordKind, SHARED_FLOW};
use std::sync::atomic::{AtomicU64, Ordering};

static SITE: Site = Site::new(FLOW, FLOW, &[]);

/// A flow from one span to another, which may be on another thread. Viewers draw it as an arrow.
///
/// ```
/// use ferrum_trace::{Flow, span};
/// let flow = Flow::new();
/// {
///     let span = span!("enqueue", "scheduler");
///     span.flow_out(flow);
/// }
/// std::thread::spawn(move || {
///     let span = span!("run", "scheduler");
///     span.flow_in(flow);
/// });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flow(u64);

impl Flow {
    /// Creates a flow with a unique number.
    #[allow(clippy::new_without_default)] // Each call returns a different flow.
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        // Viewers match flows by number across all processes of a trace.
        Self(u64::from(std::process::id()) << 32 | (n & 0xffff_ffff))
    }

    /// Creates a flow between processes. Sender and receiver use the same number, such as that of a request; in a trace
    /// that `ferrum-trace merge` makes of both, the flow leads from the sender to the receiver. Since nothing arrives
    /// before it is sent, such flows also bound the offset between the clocks of two hosts.
    ///
    /// Only the lower 62 bits of the number are used. Use each number for one flow.
    ///
    /// ```
    /// use ferrum_trace::{Flow, span};
    /// let request = 4711;
    /// let span = span!("send to decoder");
    /// span.flow_out(Flow::between_processes(request));
    /// ```
    pub fn between_processes(number: u64) -> Self {
        Self(number & (SHARED_FLOW - 1) | SHARED_FLOW)
    }

    /// Returns the number that connects the ends of the flow.
    pub(crate) fn id(self) -> u64 {
        self.0
    }

    /// Begins a flow in the innermost open span of this thread, now. Returns `None` if no span is open. For libraries
    /// that are called inside a span whose guard they do not have.
    pub fn from_open_span() -> Option<Self> {
        let has_span = mode() != OFF && buffer::current().has_open_level();
        has_span.then(|| {
            let flow = Self::new();
            flow.record(RecordKind::FlowStart);
            flow
        })
    }

    /// Records a point of the flow if its span is recorded.
    pub(crate) fn record_if(self, is_on: bool, kind: RecordKind) {
        if is_on {
            self.record(kind);
        }
    }

    pub(crate) fn record(self, kind: RecordKind) {
        let now = switch::now();
        let draft = Draft { kind, site: 0, start: now, end: now, leading: &[self.0], args: &[] };
        attach::record(|| site_id(&SITE), &draft);
    }
}
