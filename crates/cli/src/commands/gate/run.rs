//! Measures both sides, decides, and prints the result.

use super::args::GateArgs;
use super::decision::{Decision, ERROR_RATE, Rules};
use super::inputs::{SideInput, Specs};
use super::outputs;
use super::report::GateReport;
use super::series::Series;
use crate::exit_status::ExitStatus;
use crate::os::interrupt;
use crate::render::printer::Printer;
use crate::sides::Measuring;
use crate::user_error::UserError;
use ferrum_trace_analyze::runs::MeasureOptions;

pub(crate) fn run(args: &GateArgs) -> ExitStatus {
    let mut printer = Printer::new(args.messages(), args.json);
    let report = report(args).inspect_err(|error| {
        if let Err(error) = outputs::write_error(args, error) {
            printer.messages.error(&error);
        }
    });
    match report.and_then(|report| outputs::write(args, &report, &mut printer).map(|status| (report, status))) {
        Ok((report, status)) => status.max(report.status()),
        Err(error) => printer.error("gate", &error),
    }
}

fn report(args: &GateArgs) -> Result<GateReport, UserError> {
    let options = MeasureOptions::default();
    let measuring = Measuring { options, messages: args.messages(), ..Measuring::default() };
    let rules = args.rules();
    let specs = Specs::of(args.base.as_deref(), &args.new)?;
    let has_command = specs.has_command();
    if !has_command {
        interrupt::install("nothing was decided");
    }
    let mut inputs = specs.open(&measuring, args.force)?;
    let (series, decision) = if has_command {
        let (series, decision) = Series::new(args, &rules, &measuring)?.run(&mut inputs)?;
        (Some(series), decision)
    } else {
        (None, inputs.base.as_ref().map(|base| decide(&rules, base, &inputs.new)).transpose()?)
    };
    let runs = &inputs.new.side.runs;
    let checked = args.limits.iter().filter(|_| !runs.is_empty()).map(|limit| limit.check(runs));
    let limits = checked.collect::<Result<Vec<_>, UserError>>()?;
    Ok(GateReport { inputs, series, decision, limits, is_strict: args.strict })
}

/// Decides about existing runs, at one look.
fn decide(rules: &Rules, base: &SideInput, new: &SideInput) -> Result<Decision, UserError> {
    let metrics = rules.metrics(&base.side, &new.side)?;
    rules.decide(&base.side, &new.side, &metrics, ERROR_RATE / metrics.len() as f64)
}
