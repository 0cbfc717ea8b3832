//! Arrows between spans.

use crate::attach;
use crate::buffer::Draft;
use crate::global;
use crate::site::Site;
use ferrum_trace_format::spool::record::Kind;
use std::sync::atomic::{AtomicU64, Ordering};

static SITE: Site = Site::new("flow", "flow", &[]);

/// An arrow from one span to another, which may be on another thread.
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
    /// An arrow of its own.
    #[allow(clippy::new_without_default)] // Each is another one.
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        // Viewers know flows by number across all processes of a trace.
        Self(u64::from(std::process::id()) << 32 | (n & 0xffff_ffff))
    }

    pub(crate) fn record(self, kind: Kind) {
        let now = global::now();
        let draft = Draft { kind, site: 0, start: now, end: now, leading: &[self.0], args: &[] };
        attach::record(|| SITE.id(), &draft);
    }
}
