//! The comparison that `diff` prints.

use super::args::DiffArgs;
use crate::flags::DASH;
use crate::sides::{Measuring, Side};
use crate::user_error::UserError;
use ferrum_trace_analyze::compare::{Comparison, compare};
use ferrum_trace_analyze::runs::MeasureOptions;
use std::path::{Path, PathBuf};

/// Both sides and their comparison.
pub(crate) struct DiffReport {
    pub(crate) base: Side,
    pub(crate) new: Side,
    pub(crate) comparison: Comparison,
    /// Confidence level of the intervals.
    pub(crate) level: f64,
    /// Largest number of causes to list.
    pub(crate) top: usize,
    /// True to list everything.
    pub(crate) verbose: bool,
}

impl DiffReport {
    /// Measures both sides and compares them.
    pub(crate) fn of(args: &DiffArgs) -> Result<Self, UserError> {
        let (base, new) = sides(args)?;
        let measuring = Measuring {
            options: MeasureOptions {
                phases: args.phases.clone(),
                stability: base.len() == 1 && new.len() == 1,
                stacks: args.output.is_some(),
            },
            selection: args.selection.selection(),
            messages: args.messages(),
        };
        let [mut base, new] = measuring.sides([base, new])?;
        if base.trace_names().eq(new.trace_names()) {
            base.notes.push("both sides are the same trace".to_owned());
        }
        let comparison = compare(base.as_runs(), new.as_runs(), &args.options());
        if comparison.metrics.is_empty() {
            let what = "expected steps, requests or slices that the flags select, found none on both sides";
            return Err(UserError::new("diff", what));
        }
        Ok(Self { base, new, comparison, level: args.level, top: args.top, verbose: args.verbose })
    }
}

/// Returns the paths of both sides.
fn sides(args: &DiffArgs) -> Result<(&[PathBuf], &[PathBuf]), UserError> {
    let (base, new) = match (&args.base[..], &args.with[..]) {
        ([base, new], []) => (std::slice::from_ref(base), std::slice::from_ref(new)),
        (base, []) => {
            let what = format!("expected two traces, or --with and the traces of the new side; found {}", base.len());
            return Err(UserError::new("diff", what).hint("`ferrum-trace diff base.json --with new.json`"));
        }
        (base, new) => (base, new),
    };
    let is_stdin = |path: &&PathBuf| path.as_path() == Path::new(DASH);
    if base.iter().chain(new).filter(is_stdin).count() > 1 {
        return Err(UserError::new(DASH, "standard input can be read once only"));
    }
    Ok((base, new))
}
