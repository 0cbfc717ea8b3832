//! Complete runs of the command: arguments, exit code, standard output, standard error, and the files that are left.

/// Child processes that record.
mod maker;
/// `merge`.
mod merge;
/// Running the command in a folder of its own.
mod scene;

/// Async operations in `summary`.
mod arguments;
mod asyncs;
/// `check`.
mod by;
mod check;
/// `convert`.
mod convert;
/// Damaged spools, and files that are not spools.
mod damage;
/// `diff`.
mod diff;
/// `diff --engines`.
mod diff_engines;
/// `gate` and `baseline`.
mod gate;
/// Help, version, completions, manual pages, and commands that do not exist.
mod help;
/// Hidden characters and markup in every text of a trace.
mod hostile;
/// Interruption while a trace is written.
mod interruption;
/// `--json`.
mod json;
/// `layers` and its charts.
mod layers;
/// Spools whose process still records.
mod live;
/// Losses of the recorder, in every command and every format.
mod losses;
/// `-o`, `--force`, `--keep`, and the name of the output.
mod output;
/// Perfetto traces of all writers.
#[cfg(unix)]
mod path;
mod perfetto;
/// `record`.
mod record;
/// `recover`: spools of killed processes.
mod recover;
/// `repair`.
mod repair;
/// `requests`.
mod requests;
mod roofline;
/// Sources of a trace: pipes, globs, compressed, damaged, growing and missing files.
mod slo;
mod sources;
/// Standard input, output and error.
mod stdio;
/// `steps`.
mod steps;
/// `summary`, and files without a command.
mod summary;
