//! `--capture`.

use clap::ValueHint;
use std::path::PathBuf;

/// Traces of the captures of graphs.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct CaptureArgs {
    /// Name the kernels of replayed graphs by this trace of their capture; repeatable
    ///
    /// A trace that was recorded while graphs were captured has the operations, modules, layers and shapes of their
    /// kernels; a trace of replays has only the kernels. The kernels of each replay get them by order and kernel name,
    /// as the arguments `layer`, `operation`, `module` and `Input Dims`. Repeat the flag for captures of other batch
    /// sizes: a replay uses the graphs of the smallest size that is at least that of its step. The share of kernels
    /// that match is printed, and those that do not are listed.
    #[arg(long = "capture", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) captures: Vec<PathBuf>,
}
