//! `cargo xtask check`: runs the steps in order and stops at the first that fails.

use std::time::{Duration, Instant};

use crate::args::Selection;
use crate::workspace::Workspace;
use crate::{Result, devices, licenses, steps, tidy, viewers};

/// One condition for a change to be accepted.
pub(crate) struct Step {
    pub name: &'static str,
    /// The condition, for `--help` and the headline.
    pub about: &'static str,
    run: fn(&Workspace) -> Result,
}

/// In the order they run: steps that fail often and fast come first, and `viewers` needs the files that `tests` writes.
pub(crate) const STEPS: &[Step] = &[
    step("fmt", "the code is formatted", steps::fmt),
    step("clippy", "clippy reports nothing", steps::clippy),
    step("docs", "the documentation builds without warnings", steps::docs),
    step("tests", "all tests pass", steps::tests),
    step("devices", "device times are measured correctly, on real drivers", devices::check),
    step("doctests", "the examples in the documentation run", steps::doctests),
    step("loom", "the publication protocol holds in all interleavings of 3 preemptions", steps::loom),
    step("compiled-out", "every call site builds with recording compiled out", steps::compiled_out),
    step("fuzz", "the fuzz targets build", steps::fuzz),
    step("tidy", "the rules that no compiler checks", tidy::check),
    step("licenses", "dependencies have licenses that deny.toml allows", licenses::check),
    step(
        "viewers",
        "Perfetto accepts the traces that the tests wrote, and the script of flame graphs works",
        viewers::check,
    ),
];

const fn step(name: &'static str, about: &'static str, run: fn(&Workspace) -> Result) -> Step {
    Step { name, about, run }
}

/// Runs the selected steps. The last line lists the duration of each.
pub(crate) fn check(workspace: &Workspace, selection: Selection) -> Result {
    let selected = select(selection);
    let mut table: Vec<String> = Vec::new();
    for (step_idx, step) in selected.iter().enumerate() {
        println!("\n== {}/{} {}: {}", step_idx + 1, selected.len(), step.name, step.about);
        let (outcome, took) = timed(|| (step.run)(workspace));
        let took = spell(took);
        if let Err(complaint) = outcome {
            table.push(format!("{} FAILED {took}", step.name));
            let left = selected[step_idx + 1..].iter();
            table.extend(left.map(|step| format!("{} not run", step.name)));
            println!("\ncheck: {}", table.join(" | "));
            return Err(format!("step `{}`: {complaint}\n\n{}", step.name, hint(step)));
        }
        println!("== {}: ok, {took}", step.name);
        table.push(format!("{} ok {took}", step.name));
    }
    println!("\ncheck: {}", table.join(" | "));
    Ok(())
}

fn select(selection: Selection) -> &'static [Step] {
    match selection {
        Selection::All => STEPS,
        Selection::From(first) => &STEPS[first..],
        Selection::Only(step) => &STEPS[step..=step],
    }
}

#[expect(clippy::disallowed_methods, reason = "measures how long a step takes")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let outcome = work();
    (outcome, start.elapsed())
}

fn spell(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds < 60 {
        format!("{:.1} s", duration.as_secs_f64())
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

fn hint(step: &Step) -> String {
    format!("hint: `cargo xtask check --only {0}` repeats this step, `--from {0}` continues from it", step.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        assert_eq!(spell(Duration::from_millis(1_240)), "1.2 s");
        assert_eq!(spell(Duration::from_secs(125)), "2 min 05 s");
    }

    #[test]
    fn a_selection_is_a_range_of_the_steps() {
        assert_eq!(select(Selection::All).len(), STEPS.len());
        assert_eq!(select(Selection::From(1)).len(), STEPS.len() - 1);
        assert_eq!(select(Selection::Only(2))[0].name, STEPS[2].name);
    }
}
