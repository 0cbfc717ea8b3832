//! One file per group of figures: the parent's part collects and compares, the child's part measures.

pub(crate) mod busy;
#[cfg(feature = "peers")]
pub(crate) mod candle;
pub(crate) mod clock;
pub(crate) mod convert;
pub(crate) mod diff;
#[cfg(feature = "engine")]
pub(crate) mod engine;
pub(crate) mod forms;
pub(crate) mod gate;
pub(crate) mod laps;
pub(crate) mod latency;
pub(crate) mod modes;
pub(crate) mod off;
pub(crate) mod process;
pub(crate) mod push;
pub(crate) mod read;
pub(crate) mod soak;
pub(crate) mod span;
pub(crate) mod startup;
pub(crate) mod stopping;
pub(crate) mod what_if;

use crate::args::{Args, Figure};
use crate::contenders::Outcome;
use crate::rounds::Rounds;
use crate::table::{Cell, Table};

/// Measures the selected figures, in the order of the help.
pub(crate) fn run(args: &Args) -> Outcome<Vec<Table>> {
    type Run = fn(&Args) -> Outcome<Vec<Table>>;
    let figures: &[(Figure, Run)] = &[
        (Figure::Span, span::run),
        (Figure::Off, off::run),
        (Figure::Laps, laps::run),
        (Figure::Push, push::run),
        (Figure::Process, process::run),
        #[cfg(feature = "peers")]
        (Figure::Candle, candle::run),
        (Figure::Convert, convert::run),
        (Figure::Forms, forms::run),
        (Figure::Read, read::run),
        (Figure::Startup, startup::run),
        (Figure::Latency, latency::run),
        (Figure::Clock, clock::run),
        (Figure::Modes, modes::run),
        (Figure::Soak, soak::run),
        (Figure::Gate, gate::run),
        (Figure::Diff, diff::run),
        (Figure::WhatIf, what_if::run),
        (Figure::Stopping, stopping::run),
        (Figure::Busy, busy::run),
        #[cfg(feature = "engine")]
        (Figure::Engine, engine::run),
    ];
    let mut tables = Vec::new();
    for &(figure, run) in figures {
        if args.wants(figure) {
            crate::print_message(&format!("measuring: {figure:?}").to_lowercase());
            tables.extend(run(args)?);
        }
    }
    Ok(tables)
}

/// Four cells: minimum and median over the rounds, and the ratio of each to the same of the base.
fn against(rounds: &Rounds, base: &Rounds, decimals: usize) -> [Cell; 4] {
    [
        Cell::maybe(rounds.min(), decimals),
        Cell::maybe(rounds.median(), decimals),
        Cell::ratio(rounds.min(), base.min()),
        Cell::ratio(rounds.median(), base.median()),
    ]
}
