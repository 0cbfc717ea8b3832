//! Traces of the captures of graphs.

use super::paths::Input;
use super::source::{Passes, Source};
use crate::flags::CaptureArgs;
use crate::render::messages::Messages;
use crate::user_error::UserError;
use ferrum_trace_analyze::{
    CAPTURE_ARGS, CapturedGraph, LAYER_ARGS, MODULE_ARG, Nesting, OPERATION_ARG, ReplayedOperations, SHAPES_ARG,
    STEP_ARGS, Transfer, captured_graphs, transfer, transfer_operations,
};
use ferrum_trace_model::Trace;

/// The graphs of all files of `--capture`.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    graphs: Vec<CapturedGraph>,
}

impl Captures {
    /// Reads the files of the flag.
    pub(crate) fn of(args: &CaptureArgs, messages: &Messages) -> Result<Self, UserError> {
        let mut captures = Self::default();
        for path in &args.captures {
            let source = Source::of(Input::Other(path.clone()), Passes::One, messages)?;
            let (loaded, facts) = source.load(CAPTURE_ARGS.map(str::to_owned).to_vec())?;
            messages.losses(&source.label, &loaded.losses, &facts.notes());
            let graphs = captured_graphs(&loaded.trace, &Nesting::of(&loaded.trace));
            if graphs.is_empty() {
                let what = "expected a trace of the capture of a graph, found no launch between \
                            `StreamBeginCapture` and `StreamEndCapture`";
                return Err(UserError::new(source.label, what));
            }
            captures.graphs.extend(graphs);
        }
        Ok(captures)
    }

    /// Returns the arguments that must be loaded with a trace of replays.
    pub(crate) fn arg_names(&self) -> impl Iterator<Item = &str> {
        let added = [OPERATION_ARG, MODULE_ARG, SHAPES_ARG];
        let names = STEP_ARGS.into_iter().chain(LAYER_ARGS).chain(added);
        names.filter(|_| !self.graphs.is_empty())
    }

    /// Names the kernels of replays. Returns `None` without `--capture`.
    pub(crate) fn apply(&self, trace: &mut Trace) -> Option<Transfer> {
        (!self.graphs.is_empty()).then(|| transfer(trace, &self.graphs))
    }

    /// Does the same, and returns the operations of replays.
    pub(crate) fn apply_operations(&self, trace: &mut Trace) -> (Option<Transfer>, ReplayedOperations) {
        if self.graphs.is_empty() {
            return (None, ReplayedOperations::default());
        }
        let (transfer, operations) = transfer_operations(trace, &self.graphs);
        (Some(transfer), operations)
    }
}
