//! The command line.

use clap::{Parser, ValueEnum};

use crate::contenders::{self, Contender, FLOOR};

/// Compares ferrum-trace with a floor and its peers, all in one interleaved run.
#[derive(Debug, Parser)]
#[command(
    name = "bench",
    bin_name = "cargo run --release -p bench --",
    after_help = "Examples:\n  cargo run --release -p bench\n  cargo run --release -p bench -- span --rounds 3\n  \
                  cargo run --release -p bench -- span --only ferrum-trace,tsc-trace\n  \
                  cargo run --release -p bench -- all --save epyc-2core"
)]
pub(crate) struct Args {
    /// Figure to measure
    #[arg(value_enum, default_value_t = Figure::All, hide_default_value = true)]
    pub figure: Figure,

    /// Rounds; every contender runs once in each
    #[arg(long, default_value_t = 7, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,

    /// Only these contenders (the floor always runs)
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',', value_parser = known_name)]
    pub only: Vec<String>,

    /// Duration of `soak`
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1440))]
    pub minutes: u32,

    /// Folder in which `soak` keeps its files
    #[arg(long, value_name = "DIR")]
    pub keep: Option<std::path::PathBuf>,

    /// A/A comparisons of `gate`
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub aa: u32,

    /// Runs per side of an A/A comparison of `gate`
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,

    /// Comparisons of `gate` for each planted slowdown
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub planted: u32,

    /// Print JSON instead of tables
    #[arg(long)]
    pub json: bool,

    /// Also write the tables to bench/runs/YYYY-MM-DD-NAME.md
    #[arg(long, value_name = "NAME", value_parser = file_name)]
    pub save: Option<String>,
}

/// One group of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Figure {
    /// Everything below, about eight minutes
    All,
    /// ns per span, 0 and 2 arguments, 1, 2 and 8 threads
    Span,
    /// ns per call site while recording is off
    Off,
    /// ns per slice of `laps!`
    Laps,
    /// `push` of the original engine's interface, ours against a model of its own
    Push,
    /// whole process: CPU, finishing time, memory, disk, what survives kill -9
    Process,
    /// spans of candle itself while it decodes, against tracing-chrome
    #[cfg(feature = "peers")]
    Candle,
    /// spool to finished JSON, against serde_json
    Convert,
    /// each output format: whole process, finishing, bytes
    Forms,
    /// a large trace to its summary, against serde_json and trace_processor; needs 4 GB of disk
    Read,
    /// delay of a program that records nothing
    Startup,
    /// percentiles of one span at a million per second
    Latency,
    /// our clock against CLOCK_MONOTONIC over 10 s
    Clock,
    /// ns per call in each mode of a program that runs for weeks
    Modes,
    /// a flight recorder at full speed for minutes; not part of `all`
    Soak,
    /// error rates of `ferrum-trace diff` and `gate` on runs of the example engine; not part of `all`
    Gate,
    /// `ferrum-trace diff` of two large traces against `summary` of one; needs 3 GB of disk; not part of `all`
    Diff,
    /// predictions of `ferrum-trace path --what-if` against measured changes of the engine; not part of `all`
    WhatIf,
    /// the decoding thread's longest pause while files are written; needs 11 GB of disk
    Stopping,
    /// losses and delays while every processor is busy, as root and as another user; not part of `all`
    Busy,
    /// time that recording adds to the decode steps of an engine
    #[cfg(feature = "engine")]
    Engine,
}

impl Args {
    pub(crate) fn wants(&self, figure: Figure) -> bool {
        let is_part_of_all =
            !matches!(figure, Figure::Soak | Figure::Gate | Figure::Diff | Figure::WhatIf | Figure::Busy);
        self.figure == figure || self.figure == Figure::All && is_part_of_all
    }

    /// The selected contenders, the floor first because every ratio is to it.
    pub(crate) fn contenders(&self) -> Vec<&'static dyn Contender> {
        let is_selected = |contender: &&dyn Contender| {
            self.only.is_empty()
                || contender.name() == FLOOR.name()
                || self.only.iter().any(|name| name == contender.name())
        };
        contenders::all().into_iter().filter(is_selected).collect()
    }
}

fn known_name(name: &str) -> Result<String, String> {
    if contenders::find(name).is_some() {
        return Ok(name.to_owned());
    }
    let names: Vec<&str> = contenders::all().iter().map(|contender| contender.name()).collect();
    Err(format!("expected one of {}", names.join(", ")))
}

fn file_name(name: &str) -> Result<String, String> {
    let plain = |character: char| character.is_ascii_alphanumeric() || character == '-' || character == '_';
    if !name.is_empty() && name.chars().all(plain) {
        return Ok(name.to_owned());
    }
    Err("expected letters, digits, `-` and `_`".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn the_floor_runs_even_if_it_is_not_selected() {
        let args = Args::parse_from(["bench", "span", "--only", "reference"]);
        let names: Vec<&str> = args.contenders().iter().map(|contender| contender.name()).collect();
        assert_eq!(names, ["floor", "reference"]);
    }

    #[test]
    fn a_name_that_leads_out_of_the_folder_is_refused() {
        assert!(Args::try_parse_from(["bench", "--save", "../x"]).is_err());
    }
}
