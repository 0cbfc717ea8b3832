//! The command line.

use std::fmt::Write as _;

use crate::Result;
use crate::check::STEPS;

/// One chore with its options.
#[derive(Debug, PartialEq)]
pub(crate) enum Chore {
    Help,
    Check(Selection),
    Fuzz {
        seconds: u32,
    },
    /// The cases are chosen by a regular expression.
    Growth {
        cases: String,
    },
    Hta,
    Advisories,
}

/// The steps to run, as indexes into [`STEPS`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Selection {
    All,
    From(usize),
    Only(usize),
}

/// Default duration for each target: long enough to find an error of the last edit, short enough to wait for.
const FUZZ_SECONDS: u32 = 60;

/// Parses the arguments after `cargo xtask`.
pub(crate) fn parse(words: &[String]) -> Result<Chore> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [] | ["help" | "-h" | "--help", ..] | [_, "-h" | "--help"] => Ok(Chore::Help),
        ["check"] => Ok(Chore::Check(Selection::All)),
        ["check", "--from", step] => Ok(Chore::Check(Selection::From(index_of(step)?))),
        ["check", "--only", step] => Ok(Chore::Check(Selection::Only(index_of(step)?))),
        ["fuzz"] => Ok(Chore::Fuzz { seconds: FUZZ_SECONDS }),
        ["fuzz", seconds] => Ok(Chore::Fuzz { seconds: parse_seconds(seconds)? }),
        ["growth"] => Ok(Chore::Growth { cases: String::new() }),
        ["growth", cases] => Ok(Chore::Growth { cases: cases.to_owned() }),
        ["hta"] => Ok(Chore::Hta),
        ["advisories"] => Ok(Chore::Advisories),
        _ => Err(unknown(&words)),
    }
}

/// The list of chores and of the steps of `check`.
pub(crate) fn help() -> String {
    let mut text = format!(
        "The chores of this repository.

Usage: cargo xtask CHORE

  check               everything CI checks, in the steps below; stops at the first that fails
  check --from STEP   from that step on
  check --only STEP   that step alone
  advisories          look for known vulnerabilities of dependencies (needs cargo-deny and the network)
  fuzz [SECONDS]      fuzz each reader with a nightly toolchain ({FUZZ_SECONDS} seconds each by default)
  growth [REGEX]      double traces of hard shapes and compare the CPU time of every command; REGEX selects from `shape / command`
  hta                 compare our figures of devices with those of HolisticTraceAnalysis (installs 500 MB of Python)

Steps of check:

"
    );
    for step in STEPS {
        let _ = writeln!(text, "  {:<18}  {}", step.name, step.about);
    }
    text
}

fn index_of(name: &str) -> Result<usize> {
    STEPS.iter().position(|step| step.name == name).ok_or_else(|| {
        let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        format!("expected a step of check ({}), found `{name}`", names.join(", "))
    })
}

fn parse_seconds(word: &str) -> Result<u32> {
    match word.parse() {
        // The fuzzer takes zero for no limit.
        Ok(seconds) if seconds > 0 => Ok(seconds),
        _ => Err(format!("expected a number of seconds above 0, found `{word}`")),
    }
}

fn unknown(words: &[&str]) -> String {
    format!("unknown command `{}`\n\nhint: `cargo xtask --help` lists the chores", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Chore> {
        let words: Vec<String> = line.split_whitespace().map(String::from).collect();
        parse(&words)
    }

    #[test]
    fn no_argument_means_help() {
        for line in ["", "--help", "-h", "help", "check --help"] {
            assert_eq!(parsed(line), Ok(Chore::Help), "`{line}`");
        }
    }

    #[test]
    fn a_step_is_chosen_by_its_name() {
        assert_eq!(parsed("check"), Ok(Chore::Check(Selection::All)));
        assert_eq!(parsed("check --from clippy"), Ok(Chore::Check(Selection::From(1))));
        assert_eq!(parsed("check --only fmt"), Ok(Chore::Check(Selection::Only(0))));
    }

    #[test]
    fn the_message_about_an_unknown_step_lists_all_steps() {
        let complaint = parsed("check --only lint").unwrap_err();
        assert!(complaint.contains("`lint`"), "{complaint}");
        assert!(complaint.contains("fmt, clippy"), "{complaint}");
    }

    #[test]
    fn fuzzing_takes_a_number_of_seconds_above_zero() {
        assert_eq!(parsed("fuzz 5"), Ok(Chore::Fuzz { seconds: 5 }));
        assert!(parsed("fuzz 0").is_err());
        assert!(parsed("fuzz forever").is_err());
    }

    #[test]
    fn growth_takes_at_most_one_regular_expression() {
        assert_eq!(parsed("growth"), Ok(Chore::Growth { cases: String::new() }));
        assert_eq!(parsed("growth names"), Ok(Chore::Growth { cases: "names".to_owned() }));
        assert!(parsed("growth names threads").is_err());
    }

    #[test]
    fn hta_takes_no_arguments() {
        assert_eq!(parsed("hta"), Ok(Chore::Hta));
        assert!(parsed("hta 5").is_err());
    }

    #[test]
    fn advisories_takes_no_arguments() {
        assert_eq!(parsed("advisories"), Ok(Chore::Advisories));
        assert!(parsed("advisories now").is_err());
    }

    #[test]
    fn the_help_names_every_step() {
        let help = help();
        for step in STEPS {
            assert!(help.contains(step.name), "`{}`", step.name);
        }
    }
}
