//! Sides of a comparison: the traces that the user named, reduced to runs.

#[cfg(unix)]
mod baseline_file;
mod figures;
mod load_ahead;
#[cfg(unix)]
mod machine;
mod metric_name;
mod side;
#[cfg(unix)]
mod spec;
mod trace_info;
mod traces;

#[cfg(unix)]
pub(crate) use baseline_file::{
    BaselineFile, Build, Conditions, Settings, path_of_name, recording_variables, stored_baselines,
};
pub(crate) use figures::figures;
#[cfg(unix)]
pub(crate) use machine::Machine;
pub(crate) use metric_name::{check_presence, default_metrics, lacking, parse_metric};
pub(crate) use side::{Measuring, Side};
#[cfg(unix)]
pub(crate) use spec::SideSpec;
