//! Finds the call or the operation that launched device work, by the ids that both have.

use super::device_work::IsWork;
use crate::kineto::{CORRELATION, EXTERNAL_ID, OPERATIONS};
use crate::structure::ancestors::NONE;
use crate::structure::arg_filter::arg_column;
use crate::structure::arg_reader::ArgReader;
use crate::structure::by_arg::ByArg;
use ferrum_trace_model::vocab::device::CLOCK_ERROR_NS;
use ferrum_trace_model::{ArgValue, Order, Trace};

/// Arguments that join device work with its launch. They must be loaded with the trace.
pub(crate) const LAUNCH_ARGS: [&str; 3] = [CORRELATION, EXTERNAL_ID, CLOCK_ERROR_NS];

/// Slice of the host that launched device work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Launcher {
    /// The call with the same correlation.
    Call(u32),
    /// The operation with the same `External id`.
    Operation(u32),
    /// Other device work has its call in the file and this has not: it was launched before the file begins.
    OutsideFile,
    /// Unknown.
    Unknown,
}

impl Launcher {
    /// Returns the slice.
    pub(crate) fn slice(self) -> Option<u32> {
        match self {
            Self::Call(slice) | Self::Operation(slice) => Some(slice),
            Self::OutsideFile | Self::Unknown => None,
        }
    }
}

/// Slices of the host that launched device work.
#[derive(Debug)]
pub(crate) struct Launchers {
    by_correlation: ById,
    by_operation: ById,
    /// True if any device work has a correlation.
    pub(crate) is_correlated: bool,
    /// True if any device work has the correlation of a call.
    is_joined: bool,
}

/// For each id of device work the slice of the host that has it too, or [`NONE`].
type ById = ByArg<u32>;

impl Launchers {
    /// Finds the launchers of a trace. `on_device` tells which slices are device work. Of several slices with
    /// the same id, the last of the file counts.
    pub(crate) fn of(trace: &Trace, on_device: &[impl IsWork]) -> Self {
        let by_correlation = by_id(trace, CORRELATION, on_device, |_| true);
        let is_correlated = by_correlation.values().next().is_some();
        let is_joined = by_correlation.values().any(|&slice| slice != NONE);
        let mut launchers = Self { by_correlation, by_operation: ByArg::new(None), is_correlated, is_joined };
        if launchers.has_unknown(trace, on_device) {
            let operations = OPERATIONS.map(|category| trace.strings.find(category));
            let is_operation = |slice: usize| operations.contains(&Some(trace.slices.category[slice]));
            launchers.by_operation = by_id(trace, EXTERNAL_ID, on_device, is_operation);
        }
        launchers
    }

    /// Returns the launcher of device work with these arguments.
    pub(crate) fn of_work(&self, correlation: Option<ArgValue>, external: Option<ArgValue>) -> Launcher {
        if let Some(slice) = correlation.and_then(|id| known(&self.by_correlation, id)) {
            return Launcher::Call(slice);
        }
        if let Some(slice) = external.and_then(|id| known(&self.by_operation, id)) {
            return Launcher::Operation(slice);
        }
        if correlation.is_some() && self.is_joined { Launcher::OutsideFile } else { Launcher::Unknown }
    }

    /// Returns true if device work has the correlation of a call.
    pub(crate) fn is_answered(&self, correlation: ArgValue) -> bool {
        known(&self.by_correlation, correlation).is_some()
    }

    /// Returns the slices that launch device work. A slice may occur twice.
    pub(crate) fn slices(&self) -> impl Iterator<Item = u32> {
        self.by_correlation.values().chain(self.by_operation.values()).copied().filter(|&slice| slice != NONE)
    }

    /// Returns true if the call of any device work is not known.
    fn has_unknown(&self, trace: &Trace, on_device: &[impl IsWork]) -> bool {
        let mut correlation = ArgReader::of(trace, CORRELATION);
        let is_unknown = |order: u32| correlation.get(order).and_then(|id| known(&self.by_correlation, id)).is_none();
        works(trace, on_device).any(is_unknown)
    }
}

fn known(by_id: &ById, id: ArgValue) -> Option<u32> {
    by_id.get(id).copied().filter(|&slice| slice != NONE)
}

/// Joins device work with slices of the host by the value of an argument.
fn by_id(trace: &Trace, key: &str, on_device: &[impl IsWork], is_launcher: impl Fn(usize) -> bool) -> ById {
    let mut found = ByArg::new(arg_column(trace, key));
    let mut ids = ArgReader::of(trace, key);
    let mut has_work = false;
    for id in works(trace, on_device).filter_map(|order| ids.get(order)) {
        found.insert(id, NONE);
        has_work = true;
    }
    if !has_work {
        return found;
    }
    let mut ids = ArgReader::of(trace, key);
    for (slice, _) in on_device.iter().enumerate().filter(|(_, work)| !work.is_work()) {
        if let Some(id) = ids.get(trace.slices.order[slice])
            && is_launcher(slice)
            && found.get(id).is_some()
        {
            found.insert(id, slice as u32);
        }
    }
    found
}

/// Returns the positions of device work in the file.
fn works(trace: &Trace, on_device: &[impl IsWork]) -> impl Iterator<Item = Order> {
    on_device.iter().zip(&trace.slices.order).filter(|(work, _)| work.is_work()).map(|(_, &order)| order)
}

/// Reads the arguments that lead from device work to its launcher.
pub(crate) struct WorkIds<'a> {
    correlation: ArgReader<'a>,
    external: ArgReader<'a>,
}

impl<'a> WorkIds<'a> {
    /// Reads the arguments of this trace.
    pub(crate) fn of(trace: &'a Trace) -> Self {
        Self { correlation: ArgReader::of(trace, CORRELATION), external: ArgReader::of(trace, EXTERNAL_ID) }
    }

    /// Returns the launcher of the device work with this position in the file.
    pub(crate) fn launcher(&mut self, launchers: &Launchers, order: u32) -> Launcher {
        launchers.of_work(self.correlation.get(order), self.external.get(order))
    }
}
