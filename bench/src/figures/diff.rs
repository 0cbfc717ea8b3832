//! Time and memory of `ferrum-trace diff` of two large traces, relative to `summary` of one.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::args::Args;
use crate::cargo_build;
use crate::contenders::Outcome;
use crate::rounds::Rounds;
use crate::sys;
use crate::table::{Cell, Table};
use crate::torch_like;

/// Size of each trace.
const BYTES: u64 = 1_400_000_000;
const BASE: &str = "base.json";
const NEW: &str = "new.json";
/// The commands, with the exit codes of a success.
const COMMANDS: [(&[&str], &[i32]); 2] = [(&["summary", BASE], &[0]), (&["diff", BASE, NEW], &[0, 1])];

/// Results of one command.
#[derive(Default)]
struct Cost {
    wall_s: Rounds,
    cpu_s: Rounds,
    peak_mb: Rounds,
}

/// Runs the commands in turn.
pub(crate) fn run(args: &Args) -> Outcome<Vec<Table>> {
    let program = cargo_build::build(&["ferrum-trace-cli"])?.program("ferrum-trace")?;
    let scratch = tempfile::tempdir()?;
    let mut n_events = 0;
    for name in [BASE, NEW] {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(scratch.path().join(name))?);
        n_events = torch_like::write(&mut file, BYTES)?;
        file.flush()?;
    }
    let mut costs = [Cost::default(), Cost::default()];
    // The first round reads the files from the disk.
    for round in 0..=args.rounds {
        for ((words, success), cost) in COMMANDS.iter().zip(&mut costs) {
            let found = measure(&program, words, success, scratch.path())?;
            if round > 0 {
                cost.wall_s.push(found.wall_s);
                cost.cpu_s.push(found.cpu_s);
                cost.peak_mb.push(found.peak_bytes as f64 / 1e6);
            }
        }
    }
    Ok(vec![table(&costs, n_events)])
}

fn measure(program: &Path, words: &[&str], success: &[i32], folder: &Path) -> Outcome<sys::ChildCost> {
    let child =
        Command::new(program).args(words).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let cost = sys::wait(child)?;
    match success.contains(&cost.code) {
        true => Ok(cost),
        false => Err(format!("ferrum-trace {} ended with {}", words.join(" "), cost.code).into()),
    }
}

fn table(costs: &[Cost; 2], n_events: u64) -> Table {
    let [summary, _] = costs;
    let row = |((words, _), cost): (&(&[&str], &[i32]), &Cost)| {
        let (wall, cpu, peak) = (cost.wall_s.median(), cost.cpu_s.median(), cost.peak_mb.median());
        vec![
            Cell::text(words.join(" ")),
            Cell::maybe(wall, 2),
            Cell::ratio(wall, summary.wall_s.median()),
            Cell::maybe(cpu, 2),
            Cell::ratio(cpu, summary.cpu_s.median()),
            Cell::maybe(peak, 0),
            Cell::ratio(peak, summary.peak_mb.median()),
        ]
    };
    Table {
        title: "Diff".to_owned(),
        note: format!(
            "Two traces like those of torch.profiler, {:.2} GB and {:.2} million events each, in the page cache: medians of \
             the whole process. `x` is the ratio to `summary` of one trace.",
            BYTES as f64 / 1e9,
            n_events as f64 / 1e6
        ),
        columns: vec!["command", "s", "x time", "CPU s", "x CPU", "MB", "x memory"],
        rows: COMMANDS.iter().zip(costs).map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_to_the_summary() {
        let cost = |value: f64| Cost {
            wall_s: [value].into_iter().collect(),
            cpu_s: [value * 2.0].into_iter().collect(),
            peak_mb: [value * 100.0].into_iter().collect(),
        };
        let text = table(&[cost(2.0), cost(3.0)], 5).to_markdown();
        let row = text.lines().find(|line| line.contains("diff base.json new.json")).unwrap();
        assert_eq!(row.matches("1.5").count(), 3, "{text}");
    }

    #[test]
    fn a_command_that_fails_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = measure(Path::new("sh"), &["-c", "exit 2"], &[0], folder.path()).unwrap_err();
        assert!(error.to_string().ends_with("ended with 2"), "{error}");
    }
}
