//! The flags of `roofline`.

use crate::flags::{CaptureArgs, InputArgs, ReportArgs};
use clap::ValueHint;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ferrum-trace roofline trace.json
  ferrum-trace roofline --device 'NVIDIA A100 80GB SXM' trace.json
  ferrum-trace roofline -o roofline.svg trace.json      # also .png and .html
  ferrum-trace roofline --print-devices > devices.txt

Exit codes: 0 success, 1 a trace has no operations with shapes, 2 error";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace roofline trace.json
  ferrum-trace roofline --device 'NVIDIA A100 80GB SXM' trace.json
  ferrum-trace roofline -o roofline.svg trace.json      # also .png and .html
  ferrum-trace roofline --print-devices > devices.txt   # edit it, then:
  ferrum-trace roofline --devices devices.txt trace.json
  ferrum-trace roofline --measure-cpu trace.json        # a program that ran on this CPU
  ferrum-trace roofline --json trace.json | jq '.rows[] | {op, shape, share}'

FLOP and bytes follow from the shapes that a trace contains: `Input Dims` of
torch's profiler (record_shapes=True), sums in the step marks of vLLM and SGLang,
and arguments such as `m`, `n`, `k` of operations of this recorder. A multiplication
and an addition are two FLOP, causal attention counts half, and each tensor is
moved once. MFU is the time that the FLOP of a step take at the dense peak rates of
their types, as a share of the time of its result; MBU the same for bytes.

With --json, one object per file, each on a line, with times in nanoseconds:
  version        1; increased by changes that break readers
  file           the trace as given; `-` is standard input
  timed_on       `device` if times are those of kernels, else `host`
  device         the peaks in use: `name`, `memory_gb_s`, `link_gb_s`, `matrix` and
                 `vector` (TFLOP/s by type); null if the device is not known
  convention     how FLOP, MFU and MBU are counted, as text
  modelled_ns    time of modelled operations
  unmodelled_ns  time of all others
  rows           operations by shape: `op`, `kind`, `shape`, `strides`, `dtype`,
                 `count`, `inside` (calls inside another row, in no sum),
                 `time_ns`, `mean_ns`; `flop` and `bytes` of one call,
                 `flop_per_byte`, `tflop_s`, `gb_s`; `roofline_ns` (shortest
                 time of one call), `roof` (`compute`, `memory` or `link`),
                 `share` and `bound` (null above 1, see `findings`)
  unmodelled     time without a model: `name`, `reason`, `count`, `time_ns`
  phases         `phase`, `steps`, `time_ns`, `flop`, `bytes`, `mfu`, `mbu`
  steps          the same for each complete step: `step` is its number, from 1
  trace          the same for the whole trace: `time_ns`, `flop`, `bytes`, `mfu`,
                 `mbu`
  capture        with --capture: `replays`, `kernels`, `matched`, …, as for `layers`
  findings       values above a peak, which show that a model or the table of
                 devices is wrong, as strings
  losses         what could not be read: `count`, `bytes`, and `first`
  recorder       what the recorder counted: `dropped`, `overwritten_chunks`,
                 `count`, and `recordings`; null if the trace says nothing
  notes          other remarks, as strings
For a file that could not be read, the object has only `version`, `file` and
`error`.

Exit codes:
  0    every file was read and has operations with shapes
  1    at least one file has no operation whose FLOP or bytes are known
  2    at least one file could not be read, or a flag is invalid
  130  interrupted; no partial file is left behind";

/// Show FLOP, bytes and rates of operations as shares of the device's peaks
///
/// Prints a table of operations by shape with their achieved rates, MFU and MBU by phase, and the time that could not
/// be modelled. With -o, also draws the roofline.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
#[command(mut_arg("files", |files| files.required(false).required_unless_present("print_devices")))]
pub(crate) struct RooflineArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,

    /// The device, by its name in the table; by default, the one that the trace names
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,

    /// Add the devices of this file to the table; they take precedence
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) devices: Option<PathBuf>,

    /// Measure the CPU of this machine for a second, and use it as the device
    ///
    /// The rate of products and sums of all threads together, and the rate at which they read memory. Use it for traces
    /// of programs that compute on this CPU, while nothing else runs. With --print-devices, prints the measured rates,
    /// which --devices takes.
    #[arg(long, conflicts_with_all = ["device"])]
    pub(crate) measure_cpu: bool,

    /// Print the built-in table of devices, in the format of --devices
    #[arg(long)]
    pub(crate) print_devices: bool,

    #[command(flatten)]
    pub(crate) capture: CaptureArgs,

    /// Number of rows of each table
    #[arg(short = 'n', long, value_name = "N", default_value_t = 30)]
    pub(crate) top: usize,

    /// Also list operations inside other listed ones
    #[arg(long)]
    pub(crate) inner: bool,

    /// Draw the roofline to this file (one FILE only): .svg, .png or .html
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite an existing picture
    #[arg(short, long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) report: ReportArgs,
}
