//! Events at one point in time: instants, counters, and begins and ends of async events.

use crate::process::attach;
use crate::process::categories::is_muted;
use crate::process::current::site_id;
use crate::process::switch;
use crate::thread::arg::Arg;
use crate::thread::buffer::Draft;
use crate::thread::site::Site;
use ferrum_trace_format::spool::record::RecordKind;

/// Records an instant. For [`instant!`](crate::instant).
#[doc(hidden)]
pub fn instant(site: &'static Site, args: &[Arg]) {
    if is_muted(site) {
        return;
    }
    point(RecordKind::Instant, site, &[], args);
}

/// Records values of counters. For [`counter!`](crate::counter).
#[doc(hidden)]
pub fn counter(site: &'static Site, args: &[Arg]) {
    if is_muted(site) {
        return;
    }
    point(RecordKind::Counter, site, &[], args);
}

/// Records an event at the present time. `leading` are words of the record before the arguments.
pub(crate) fn point(kind: RecordKind, site: &'static Site, leading: &[u64], args: &[Arg]) {
    point_at(switch::now(), kind, site, leading, args);
}

/// Records an event at a time on the clock of the process's recording.
pub(crate) fn point_at(now: u64, kind: RecordKind, site: &'static Site, leading: &[u64], args: &[Arg]) {
    let draft = Draft { kind, site: 0, start: now, end: now, leading, args };
    attach::record(|| site_id(site), &draft);
}
